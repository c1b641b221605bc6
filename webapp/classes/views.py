"""Compute classes: everybody sees what they may use, platform admins change them."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from slipway.compute_class import ComputeClassSpec
from slipway.errors import FieldErrors
from webapp.accounts import access
from webapp.accounts.http import PageRequest
from webapp.classes import actions
from webapp.classes.forms import ClassEditor
from webapp.classes.models import ComputeClass


@require_GET
def index(request: PageRequest) -> HttpResponse:
    found = ComputeClass.objects.visible_to(request.user).prefetch_related("teams")
    rows = [(row, row.as_spec()) for row in found]
    may_manage = access.can(request.user, "manage", access.PLATFORM)
    return render(request, "classes/list.html", {"rows": rows, "may_manage": may_manage})


@require_http_methods(["GET", "POST"])
def new(request: PageRequest) -> HttpResponse:
    access.require(request.user, "manage", access.PLATFORM)
    if request.method == "GET":
        return _page(request, ClassEditor(), None)
    return _post(request, None)


@require_http_methods(["GET", "POST"])
def edit(request: PageRequest, name: str) -> HttpResponse:
    row = access.get_or_404(request.user, "manage", ComputeClass.objects.all(), name=name)
    if request.method == "GET":
        initial = {
            "name": row.name,
            "description": row.description,
            "open_to_all": row.open_to_all,
            "teams": list(row.teams.values_list("pk", flat=True)),
        }
        return _page(request, ClassEditor(spec=row.as_spec(), initial=initial), row)
    return _post(request, row)


@require_POST
def delete(request: PageRequest, name: str) -> HttpResponse:
    row = access.get_or_404(request.user, "manage", ComputeClass.objects.all(), name=name)
    actions.delete(by=request.user, compute_class=row)
    return redirect("classes:list")


def _post(request: PageRequest, row: ComputeClass | None) -> HttpResponse:
    editor = ClassEditor.of(request.POST)
    move = request.POST.get("move", "")
    if move:
        return _page(request, editor.moved(move), row)
    spec = editor.spec()
    if spec is None or not _saved(request, editor, spec, row):
        return _page(request, editor, row, status=422)
    return redirect("classes:list")


def _saved(
    request: PageRequest, editor: ClassEditor, spec: ComputeClassSpec, row: ComputeClass | None
) -> bool:
    values = editor.form.cleaned_data
    try:
        actions.save(
            by=request.user,
            spec=spec,
            description=values["description"],
            teams=None if values["open_to_all"] else values["teams"],
            compute_class=row,
        )
    except FieldErrors as exc:
        editor.show(exc)
        return False
    return True


def _page(
    request: PageRequest, editor: ClassEditor, row: ComputeClass | None, status: int = 200
) -> HttpResponse:
    context = {"form": editor.form, "rules": editor.rules, "row": row}
    return render(request, "classes/edit.html", context, status=status)
