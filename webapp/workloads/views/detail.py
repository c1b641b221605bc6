"""One workload: the page, the pieces that live updates fetch again, and downloads."""

from __future__ import annotations

from django.http import (
    Http404,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    StreamingHttpResponse,
)
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from webapp.accounts import access
from webapp.accounts.http import PageRequest
from webapp.workloads import actions, queries
from webapp.workloads.models import Attempt, Workload
from webapp.workloads.page import attempt_of, slices_of, status_context, timeline_of
from webapp.workloads.preview import as_yaml


def _workload(request: PageRequest, uid: str, action: access.Action = "view") -> Workload:
    visible = Workload.objects.visible_to(request.user).for_page()
    return access.get_or_404(request.user, action, visible, uid=uid)


def _attempt(request: PageRequest, workload: Workload) -> Attempt:
    attempt = attempt_of(workload, request.GET.get("attempt", ""))
    if attempt is None:
        raise Http404
    return attempt


@require_GET
def detail(request: PageRequest, uid: str) -> HttpResponse:
    workload = _workload(request, uid)
    attempt = _attempt(request, workload)
    context = {
        **status_context(request.user, workload, attempt),
        "slices": slices_of(attempt),
        "timeline": timeline_of(workload),
        "log": queries.log_part(attempt, 0),
        "manifest_yaml": as_yaml(attempt.manifest),
        "attempts": list(workload.attempts.all()),
    }
    return render(request, "workloads/detail.html", context)


@require_GET
def status(request: PageRequest, uid: str) -> HttpResponse:
    workload = _workload(request, uid)
    context = status_context(request.user, workload, _attempt(request, workload))
    return render(request, "workloads/_status.html", context)


@require_GET
def status_json(request: PageRequest, uid: str) -> JsonResponse:
    """For scripts that wait: state, reason, and which hosts are ready."""
    workload = _workload(request, uid)
    attempt = _attempt(request, workload)
    reason = attempt.why()
    return JsonResponse(
        {
            "state": workload.state,
            "reason": {"code": reason.code, "sentence": reason.sentence},
            "attempt": attempt.number,
            "object": {"namespace": attempt.namespace, "name": attempt.object_name},
            "slices": [
                {
                    "index": record.index,
                    "hosts": [
                        {"index": h["index"], "ready": h["ready"], "phase": h["phase"]}
                        for h in record.hosts
                    ],
                }
                for record in attempt.slice_records.all()
            ],
        }
    )


@require_GET
def slices(request: PageRequest, uid: str) -> HttpResponse:
    workload = _workload(request, uid)
    attempt = _attempt(request, workload)
    context = {"workload": workload, "attempt": attempt, "slices": slices_of(attempt)}
    return render(request, "workloads/_slices.html", context)


@require_GET
def timeline(request: PageRequest, uid: str) -> HttpResponse:
    workload = _workload(request, uid)
    context = {"workload": workload, "timeline": timeline_of(workload)}
    return render(request, "workloads/_timeline.html", context)


@require_GET
def log(request: PageRequest, uid: str) -> JsonResponse:
    attempt = _attempt(request, _workload(request, uid))
    after = request.GET.get("after", "0")
    if not after.isdecimal() or len(after) > 15:
        return JsonResponse({"error": "after is a byte offset, such as 0."}, status=400)
    part = queries.log_part(attempt, int(after))
    return JsonResponse({"text": part.text, "next": part.next, "end": part.end})


@require_GET
def log_download(request: PageRequest, uid: str) -> HttpResponseBase:
    attempt = _attempt(request, _workload(request, uid))
    response = StreamingHttpResponse(
        (bytes(piece) for piece in queries.log_bytes(attempt)),
        content_type="text/plain; charset=utf-8",
    )
    return _attached(response, f"{attempt.object_name}.log")


@require_GET
def manifest(request: PageRequest, uid: str) -> HttpResponseBase:
    attempt = _attempt(request, _workload(request, uid))
    response = HttpResponse(
        as_yaml(attempt.manifest), content_type="application/yaml; charset=utf-8"
    )
    return _attached(response, f"{attempt.object_name}.yaml")


@require_GET
def code_download(request: PageRequest, uid: str) -> HttpResponseBase:
    workload = _workload(request, uid)
    if workload.code is None:
        raise Http404
    response = HttpResponse(bytes(workload.code.data), content_type="application/zip")
    return _attached(response, f"{workload.uid}-code.zip")


@require_POST
def stop(request: PageRequest, uid: str) -> HttpResponse:
    workload = _workload(request, uid, "stop")
    actions.stop(by=request.user, workload=workload)
    return redirect(workload)


@require_POST
def delete(request: PageRequest, uid: str) -> HttpResponse:
    workload = _workload(request, uid, "delete")
    actions.delete(by=request.user, workload=workload)
    return redirect("workloads:list")


def _attached(response: HttpResponseBase, name: str) -> HttpResponseBase:
    """A file to keep: whatever it holds, the browser does not render it."""
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response
