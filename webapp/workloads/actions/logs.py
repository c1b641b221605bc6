"""The driver log, as it comes and for good."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from webapp.live import hub
from webapp.workloads.models import Attempt, LogChunk
from webapp.workloads.models.log import DRIVER

# What Slipway keeps of one attempt's driver log. Above it the beginning stays: the first error matters most.
MAX_LOG_BYTES = 64 * 1024 * 1024
CHUNK_BYTES = 64 * 1024
RESTARTED = b"\n[slipway] Ray's head was replaced, and KubeRay started the job again. Its new output follows.\n\n"


def append_log(attempt_id: int, offset: int, data: bytes) -> int:
    """Store the bytes of the driver log that start at `offset`; returns how far the log is stored.

    Bytes that are stored already are skipped, so two writers and repeated reads do no harm. A gap is not stored: the
    caller reads again from the returned offset.
    """
    uid = Attempt.objects.values_list("workload__uid", flat=True).get(pk=attempt_id)
    try:
        with transaction.atomic():
            end = stored_size(attempt_id)
            fresh = data[end - offset :] if offset <= end else b""
            fresh = fresh[: max(0, MAX_LOG_BYTES - end)]
            LogChunk.objects.bulk_create(
                LogChunk(
                    attempt_id=attempt_id,
                    stream=DRIVER,
                    offset=end + at,
                    size=len(piece),
                    data=piece,
                )
                for at in range(0, len(fresh), CHUNK_BYTES)
                for piece in [fresh[at : at + CHUNK_BYTES]]
            )
            if fresh:
                hub.publish(hub.workload_topic(uid), "log")
            return end + len(fresh)
    except IntegrityError:
        # Another follower was quicker with the same bytes.
        return stored_size(attempt_id)


def begin_log(attempt_id: int, run: str) -> int:
    """Where in the stored log the output of this run of the job begins.

    KubeRay submits a job again when its head was replaced, and Ray's log then begins anew. What the first run said is
    kept, a line says that it was cut off, and the new run follows.
    """
    with transaction.atomic():
        attempt = Attempt.objects.select_for_update().get(pk=attempt_id)
        if attempt.log_run != run:
            size = stored_size(attempt_id)
            attempt.log_base = append_log(attempt_id, size, RESTARTED) if size else 0
            attempt.log_run = run
            attempt.save(update_fields=["log_run", "log_base"])
        return attempt.log_base


def stored_size(attempt_id: int) -> int:
    last = LogChunk.objects.filter(attempt_id=attempt_id, stream=DRIVER).order_by("-offset").first()
    return last.offset + last.size if last else 0
