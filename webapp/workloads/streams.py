"""Server-sent events for pages: `?topic=workload:<uid>` or `?topic=team:<slug>`, several at once for lists."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.urls import path
from django.views.decorators.http import require_GET

from webapp.accounts import access
from webapp.accounts.models import Team, User
from webapp.live.hub import hub, team_topic, workload_topic
from webapp.workloads.models import Workload

MAX_TOPICS = 50
# The browser connects again by itself; then access is checked again.
LONGEST_S = 600


@require_GET
async def stream(request: HttpRequest) -> StreamingHttpResponse:
    user = await request.auser()
    topics = await sync_to_async(_allowed)(user, request.GET.getlist("topic"))
    response = StreamingHttpResponse(_for_a_while(topics), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    # nginx would otherwise collect events until its buffer is full.
    response["X-Accel-Buffering"] = "no"
    return response


def _allowed(user: User | AnonymousUser, wanted: list[str]) -> list[str]:
    """The topics, each through the access check. One that may not be heard is a 404, as for its page."""
    if not wanted or len(wanted) > MAX_TOPICS:
        raise Http404
    return [_check(user, topic) for topic in wanted]


def _check(user: User | AnonymousUser, topic: str) -> str:
    noun, _, key = topic.partition(":")
    if noun == "workload":
        return workload_topic(access.get_or_404(user, "view", Workload.objects.all(), uid=key).uid)
    if noun == "team":
        return team_topic(access.get_or_404(user, "view", Team.objects.all(), slug=key).slug)
    raise Http404


async def _for_a_while(topics: list[str]) -> AsyncIterator[str]:
    until = time.monotonic() + LONGEST_S
    events = hub.listen(topics)
    try:
        async for event in events:
            yield event
            if time.monotonic() > until:
                return
    finally:
        await events.aclose()


app_name = "live"
urlpatterns = [path("", stream, name="stream")]
