"""Lists, pages, watches, selectors and tables."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest

from devcluster import selectors
from devcluster.api.table import human
from devcluster.errors import BadRequest
from devcluster.resources import CONFIGMAPS, RAYJOBS
from devcluster.resources import PODS as POD_RESOURCE
from devcluster.store import Store
from tests.devcluster.api.conftest import JOBS, MAPS, config_map, rayjob, watch

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def fill(http: httpx.Client, count: int) -> str:
    for number in range(count):
        http.post(MAPS, json=config_map(f"c{number:02}", {"team": "a" if number % 2 else "b"}))
    version: str = http.get(MAPS).json()["metadata"]["resourceVersion"]
    return version


def seen(events: list[dict[str, object]]) -> list[tuple[object, str]]:
    return [(e["type"], e["object"]["metadata"].get("name", "")) for e in events]  # type: ignore[index]


def test_pages_show_one_moment_whatever_happens_between(http: httpx.Client) -> None:
    fill(http, 5)
    first = http.get(MAPS, params={"limit": "2"}).json()
    assert first["metadata"]["remainingItemCount"] == 3
    http.delete(f"{MAPS}/c03")
    http.post(MAPS, json=config_map("c99"))
    params = {"limit": "9", "continue": first["metadata"]["continue"]}
    rest = http.get(MAPS, params=params).json()
    assert [o["metadata"]["name"] for o in rest["items"]] == ["c02", "c03", "c04"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_token_that_is_too_old_comes_back_with_a_usable_one(http: httpx.Client) -> None:
    fill(http, 5)
    first = http.get(MAPS, params={"limit": "2"}).json()
    for number in range(60):
        http.post(MAPS, json=config_map(f"x{number}"))
    params = {"limit": "2", "continue": first["metadata"]["continue"]}
    gone = http.get(MAPS, params=params)
    assert (gone.status_code, gone.json()["reason"]) == (410, "Expired")
    params["continue"] = gone.json()["metadata"]["continue"]
    rest = http.get(MAPS, params=params).json()
    assert [o["metadata"]["name"] for o in rest["items"]] == ["c02", "c03"]


def test_a_token_of_nobody_is_refused(http: httpx.Client) -> None:
    assert http.get(MAPS, params={"continue": "nonsense"}).status_code == 400


def test_a_version_of_the_future_times_out(http: httpx.Client) -> None:
    answer = http.get(MAPS, params={"resourceVersion": "999999"})
    assert (answer.status_code, answer.json()["reason"]) == (504, "Timeout")


def test_a_watch_begins_with_what_is_there_or_after_a_version(http: httpx.Client) -> None:
    version = fill(http, 2)
    assert seen(watch(http, MAPS)) == [("ADDED", "c00"), ("ADDED", "c01")]
    http.delete(f"{MAPS}/c00")
    assert seen(watch(http, MAPS, resourceVersion=version)) == [("DELETED", "c00")]


def test_a_watch_from_a_forgotten_version_is_one_error_of_410(http: httpx.Client) -> None:
    version = fill(http, 1)
    fill(http, 60)
    (event,) = watch(http, MAPS, resourceVersion=version)
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")


def test_a_watch_sees_objects_enter_and_leave_its_selection(http: httpx.Client) -> None:
    http.post(MAPS, json=config_map("m", {"team": "a"}))
    version = http.get(MAPS).json()["metadata"]["resourceVersion"]
    for team in ("b", "a", "a"):
        changed = config_map("m", {"team": team}, team=team)
        http.put(f"{MAPS}/m", json=changed)
    http.put(f"{MAPS}/m", json=config_map("m", {"team": "a"}, other="x"))
    events = watch(http, MAPS, resourceVersion=version, labelSelector="team=a")
    assert [event["type"] for event in events] == ["DELETED", "ADDED", "MODIFIED"]
    assert events[0]["object"]["metadata"]["labels"] == {"team": "a"}


def test_a_watch_ends_with_a_bookmark_to_go_on_from(http: httpx.Client, store: Store) -> None:
    version = fill(http, 1)
    http.post(JOBS, json=rayjob())  # another resource moves the revision on
    (event,) = watch(http, MAPS, resourceVersion=version, allowWatchBookmarks="true")
    assert event["type"] == "BOOKMARK"
    assert event["object"]["metadata"]["resourceVersion"] == str(store.revision)


def test_a_list_can_come_as_a_watch(http: httpx.Client) -> None:
    fill(http, 1)
    params = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    events = watch(http, MAPS, allowWatchBookmarks="true", **params)
    assert [event["type"] for event in events[:2]] == ["ADDED", "BOOKMARK"]
    annotations = events[1]["object"]["metadata"]["annotations"]
    assert annotations == {"k8s.io/initial-events-end": "true"}


def test_one_object_can_be_watched_by_its_name(http: httpx.Client) -> None:
    fill(http, 3)
    assert seen(watch(http, MAPS, fieldSelector="metadata.name=c01")) == [("ADDED", "c01")]


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("team=a", True),
        ("team==a,tier", True),
        ("team!=a", False),
        ("other!=a", True),
        ("team in (a, b)", True),
        ("team notin (a,b)", False),
        ("!team", False),
        ("!other", True),
        ("", True),
    ],
)
def test_label_selectors(selector: str, matches: bool) -> None:
    obj = {"metadata": {"labels": {"team": "a", "tier": "x"}}}
    assert selectors.labels(selector)(obj) is matches


def test_selectors_that_mean_nothing_are_refused() -> None:
    with pytest.raises(BadRequest):
        selectors.labels("team in a")
    with pytest.raises(BadRequest):
        selectors.labels("=x")
    with pytest.raises(BadRequest, match="field label not supported: spec.entrypoint"):
        selectors.fields(RAYJOBS, "spec.entrypoint=x")
    with pytest.raises(BadRequest):
        selectors.fields(CONFIGMAPS, "data.k=v")


def test_pods_are_found_by_where_they_run_and_how_they_are() -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"nodeName": "n"}, "status": {"phase": "Running"}}
    assert selectors.fields(POD_RESOURCE, "spec.nodeName=n,status.phase!=Failed")(pod)
    assert not selectors.fields(POD_RESOURCE, "spec.nodeName=")(pod)


def test_a_table_has_kuberays_columns(http: httpx.Client) -> None:
    http.post(JOBS, json=rayjob())
    table = http.get(JOBS, headers={"Accept": TABLE}).json()
    assert table["kind"] == "Table"
    assert [column["name"] for column in table["columnDefinitions"]] == [
        "Name",
        "job status",
        "deployment status",
        "ray cluster name",
        "start time",
        "end time",
        "age",
    ]
    assert table["rows"][0]["cells"][0] == "job"
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (3600, "60m"),
        (4 * 3600 + 60, "4h1m"),
        (9 * 3600, "9h"),
        (49 * 3600, "2d1h"),
        (30 * 86400, "30d"),
        (800 * 86400, "2y70d"),
    ],
)
def test_ages_read_as_kubectl_writes_them(seconds: int, text: str) -> None:
    assert human(timedelta(seconds=seconds)) == text
