"""What watchers saw, folded into the attempt. Writes observation columns only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import transaction
from django.utils import timezone

from slipway.lifecycle import State
from slipway.observe import SeenCluster, SeenEvent, SeenJob, SeenPod
from webapp.live import hub
from webapp.workloads.actions.fold import refold
from webapp.workloads.actions.timeline import note, note_event
from webapp.workloads.models import Attempt, Slice, TimelineEntry


def record(
    attempt_id: int,
    *,
    job: SeenJob | None = None,
    job_gone: bool = False,
    cluster: SeenCluster | None = None,
    pods: Sequence[SeenPod] = (),
    pods_gone: Iterable[str] = (),
    events: Sequence[SeenEvent] = (),
) -> None:
    """Add what was seen of one attempt. Seeing the same again changes nothing; a closed attempt only gets events."""
    with transaction.atomic():
        attempt = _locked(attempt_id)
        if attempt is None:
            return
        told = [note_event(attempt, event) for event in events]
        if attempt.ended_at is None:
            before = dict(attempt.seen)
            _merge(attempt, job, job_gone, cluster, pods, set(pods_gone))
            if attempt.seen != before:
                attempt.seen_at = timezone.now()
                attempt.save(update_fields=["seen", "seen_at"])
                _tell_ray_status(attempt, before, job)
                if pods or attempt.seen.get("pods") != before.get("pods"):
                    _draw_slices(attempt)
                refold(attempt)
                hub.publish(hub.workload_topic(attempt.workload.uid), "status")
        if any(told):
            hub.publish(hub.workload_topic(attempt.workload.uid), "timeline")


def _locked(attempt_id: int) -> Attempt | None:
    return (
        Attempt.objects.select_for_update(of=("self",))
        .select_related("workload__team")
        .filter(pk=attempt_id)
        .first()
    )


def _merge(
    attempt: Attempt,
    job: SeenJob | None,
    job_gone: bool,
    cluster: SeenCluster | None,
    pods: Sequence[SeenPod],
    pods_gone: set[str],
) -> None:
    seen = dict(attempt.seen)
    if job is not None:
        seen["job"] = job.to_mapping()
        seen["job_gone"] = False
        if not attempt.object_uid and job.uid:
            attempt.object_uid = job.uid
            attempt.save(update_fields=["object_uid"])
    if job_gone:
        seen["job_gone"] = True
    if cluster is not None:
        seen["cluster"] = cluster.to_mapping()
    if pods or pods_gone:
        kept = {name: pod for name, pod in seen.get("pods", {}).items() if name not in pods_gone}
        kept.update({pod.name: pod.to_mapping() for pod in pods})
        seen["pods"] = kept
    attempt.seen = seen


def _tell_ray_status(attempt: Attempt, before: dict[str, object], job: SeenJob | None) -> None:
    was = before.get("job")
    old = was.get("job_status") if isinstance(was, dict) else None
    if job is None or not job.job_status or job.job_status == old:
        return
    note(
        attempt,
        f"ray:{job.job_status}",
        f"Job{job.job_status.capitalize()}",
        job.message.splitlines()[0] if job.message else f"Ray says the job is {job.job_status}.",
        source=TimelineEntry.Source.RAY,
        is_warning=job.job_status == "FAILED",
    )


def _draw_slices(attempt: Attempt) -> None:
    """One record per slice, one entry per host. A host that was seen once is never forgotten."""
    pods = _newest_per_host(attempt)
    is_ending = attempt.state in (State.STOPPING.value, State.FINISHING.value)
    for index in range(attempt.slices):
        record, _ = Slice.objects.get_or_create(attempt=attempt, index=index)
        known = {host["index"]: host for host in record.hosts}
        hosts = [
            _host(
                pods.get((index, host)),
                known.get(host, {"index": host, "phase": "Missing"}),
                is_ending,
            )
            for host in range(attempt.hosts_per_slice)
        ]
        if hosts != record.hosts:
            record.hosts = hosts
            record.hosts_ready = sum(1 for host in hosts if host.get("ready"))
            record.save()
            hub.publish(hub.workload_topic(attempt.workload.uid), "slices")


def _newest_per_host(attempt: Attempt) -> dict[tuple[int, int], SeenPod]:
    """KubeRay replaces a lost slice while its old pods still end, so two pods can claim one place."""
    found: dict[tuple[int, int], SeenPod] = {}
    for mapping in attempt.seen.get("pods", {}).values():
        pod = SeenPod.from_mapping(mapping)
        if pod.is_head or pod.slice_index is None or pod.host_index is None:
            continue
        place = (pod.slice_index, pod.host_index)
        other = found.get(place)
        if other is None or (not pod.deleting, pod.created) > (not other.deleting, other.created):
            found[place] = pod
    return found


def _host(pod: SeenPod | None, known: dict[str, object], is_ending: bool) -> dict[str, object]:
    if pod is None:
        phase = known["phase"]
        if phase not in ("Missing", "Released"):
            phase = "Released" if is_ending else "Gone"
        return {**known, "phase": phase, "ready": False}
    return {
        "index": pod.host_index,
        "pod": pod.name,
        "node": pod.node,
        "ip": pod.ip,
        "phase": "Ending" if pod.deleting else pod.phase,
        "ready": pod.is_up,
        "was_ready": pod.is_up or bool(known.get("was_ready")),
        "reason": pod.reason,
        "message": pod.short_message,
    }
