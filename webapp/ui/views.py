"""The page that shows every component, and the pages for when something is wrong."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

STATES = (
    "queued", "creating", "waiting", "starting", "running", "stopping", "finishing", "succeeded", "failed", "stopped",
)  # fmt: skip
TOKENS = (
    "ground",
    "surface",
    "raised",
    "line",
    "ink",
    "ink-soft",
    "accent",
    "accent-soft",
    "copper",
    "bar",
    "good",
    "busy",
    "warn",
    "bad",
    "idle",
    "done",
)


@require_GET
def styleguide(request: HttpRequest) -> HttpResponse:
    return render(request, "ui/styleguide.html", {"states": STATES, "tokens": TOKENS})


@login_not_required
def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _error(
        request,
        400,
        "This request makes no sense",
        "Its address or form was cut or changed on the way.",
    )


@login_not_required
def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _error(
        request,
        403,
        "You may see this, but not do that",
        "Ask the owner, a lead of the team, or a platform admin.",
    )


@login_not_required
def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _error(
        request,
        404,
        "There is nothing here",
        "It may have been deleted, or belong to a team that you are not in.",
    )


@login_not_required
def server_error(request: HttpRequest) -> HttpResponse:
    return _error(
        request,
        500,
        "Slipway has failed here",
        "Nothing is half-done. The log of the web process says why.",
    )


@login_not_required
def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _error(
        request,
        403,
        "This form is too old",
        "You signed in or out since its page was opened. Go back, reload, send it again.",
    )


def _error(request: HttpRequest, status: int, title: str, text: str) -> HttpResponse:
    return render(
        request, "ui/error.html", {"status": status, "title": title, "text": text}, status=status
    )
