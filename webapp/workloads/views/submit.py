"""The new-job form, its plan panel, and the submit."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from slipway.errors import FieldErrors
from webapp.accounts import access
from webapp.accounts.http import PageRequest
from webapp.accounts.models import Team
from webapp.workloads import actions, code, templates
from webapp.workloads.drawing import draw_slice
from webapp.workloads.forms import WorkloadForm, initial_from
from webapp.workloads.models import Workload


@require_GET
def new(request: PageRequest, team_slug: str) -> HttpResponse:
    team = access.get_or_404(request.user, "submit", Team.objects.all(), slug=team_slug)
    chosen = templates.template(request.GET.get("template", ""))
    form = WorkloadForm(team=team, user=request.user, initial=chosen.initial if chosen else None)
    return _page(request, team, form, chosen)


@require_GET
def clone(request: PageRequest, uid: str) -> HttpResponse:
    workload = access.get_or_404(
        request.user, "submit", Workload.objects.visible_to(request.user), uid=uid
    )
    script = code.script_of(bytes(workload.code.data)) if workload.code else ""
    form = WorkloadForm(
        team=workload.team, user=request.user, initial=initial_from(workload.as_request(), script)
    )
    return _page(request, workload.team, form, None)


@require_POST
def plan(request: PageRequest, team_slug: str) -> HttpResponse:
    """The plan panel for the form as it is now. Nothing is stored."""
    team = access.get_or_404(request.user, "submit", Team.objects.all(), slug=team_slug)
    form = WorkloadForm(request.POST, request.FILES, team=team, user=request.user)
    form.is_valid()
    return render(request, "workloads/_plan.html", {**_plan_context(form), "is_update": True})


@require_POST
def submit(request: PageRequest, team_slug: str) -> HttpResponse:
    team = access.get_or_404(request.user, "submit", Team.objects.all(), slug=team_slug)
    form = WorkloadForm(request.POST, request.FILES, team=team, user=request.user)
    if not form.is_valid() or form.preview is None:
        return _page(request, team, form, None, status=422)
    try:
        workload = actions.submit(
            by=request.user,
            team=team,
            request=form.preview.plan.request,
            bundle=form.bundle,
            uid=form.cleaned_data["uid"],
        )
    except FieldErrors as exc:
        for messages in exc.errors.values():
            form.add_error(None, " ".join(messages))
        return _page(request, team, form, None, status=422)
    return redirect(workload)


def _page(
    request: PageRequest,
    team: Team,
    form: WorkloadForm,
    chosen: templates.JobTemplate | None,
    status: int = 200,
) -> HttpResponse:
    if not form.is_bound:
        form = _planned(form, team, request)
    context = {
        "team": team,
        "form": form,
        "job_templates": templates.JOB_TEMPLATES,
        "chosen": chosen,
        **_plan_context(form),
    }
    return render(request, "workloads/new.html", context, status=status)


def _planned(form: WorkloadForm, team: Team, request: PageRequest) -> WorkloadForm:
    """The same form with a plan of its initial values, when these make one; without error marks when not."""
    values = {name: form[name].value() for name in form.fields if form[name].value() is not None}
    bound = WorkloadForm(values, team=team, user=request.user)
    if bound.is_valid():
        form.preview = bound.preview
    return form


def _plan_context(form: WorkloadForm) -> dict[str, object]:
    shown = form.preview
    drawing = draw_slice(shown.plan.rungs[0].shape) if shown else None
    return {"preview": shown, "drawing": drawing, "form": form}
