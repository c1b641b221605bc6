"""A request as a file: read it safely, and preview it as the form does."""

from __future__ import annotations

from dataclasses import replace

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent

from slipway.errors import FieldErrors
from slipway.naming import is_workload_uid
from slipway.request_file import parse_request_file
from webapp.accounts.models import Team
from webapp.workloads import code
from webapp.workloads.actions.intent import default_cluster, usable_class
from webapp.workloads.preview import Preview, preview

MAX_FILE_BYTES = 1024 * 1024
# Stands where a stored workload has its own id.
PLACEHOLDER_UID = "preview2"


def render(text: str, *, uid: str | None, owner: str | None) -> Preview:
    """The preview of a request file. Raises FieldErrors by the file's own field names."""
    parsed = parse_request_file(read_yaml(text))
    if uid is not None and not is_workload_uid(uid):
        raise FieldErrors(
            {"id": (f"{uid!r} is no workload id. It is the 8 characters in the page's address.",)}
        )
    team = Team.objects.filter(slug=parsed.request.team).first()
    if team is None:
        known = ", ".join(Team.objects.values_list("slug", flat=True)) or "none"
        raise FieldErrors(
            {"team": (f"There is no team {parsed.request.team!r}. Known teams: {known}.",)}
        )
    bundle = code.bundle_from_script(parsed.script) if parsed.script else None
    request = replace(parsed.request, code=bundle.ref() if bundle else None)
    chosen = usable_class(team, request)
    return preview(
        request=request,
        team=team,
        owner=owner or "",
        cluster=default_cluster(),
        class_spec=chosen.as_spec() if chosen else None,
        uid=uid or PLACEHOLDER_UID,
    )


def read_yaml(text: str) -> object:
    """Plain data from YAML 1.2, without aliases: a few lines of those can unfold to gigabytes.

    Raises FieldErrors on `file`.
    """
    if len(text.encode("utf-8", errors="replace")) > MAX_FILE_BYTES:
        raise FieldErrors({"file": (f"The file is larger than {MAX_FILE_BYTES // 1024} KiB.",)})
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            if isinstance(event, AliasEvent):
                line = event.start_mark.line + 1
                message = f"Line {line} uses an alias (*name). Write the value out."
                raise FieldErrors({"file": (message,)})
        return YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError) as exc:
        place = getattr(exc, "problem_mark", None)
        where = f" at line {place.line + 1}" if place else ""
        raise FieldErrors(
            {"file": (f"This is not YAML that can be read{where}: {_short(exc)}",)}
        ) from exc


def _short(exc: Exception) -> str:
    return (getattr(exc, "problem", None) or str(exc)).splitlines()[0][:200]
