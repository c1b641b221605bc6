from __future__ import annotations

from django.db import models

from webapp.workloads.models.attempt import Attempt

DRIVER = "driver"


class LogChunk(models.Model):
    """A piece of a log as it came: bytes `offset` to `offset + size` of one stream."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="log_chunks")
    stream = models.CharField(max_length=40, default=DRIVER)
    offset = models.PositiveBigIntegerField()
    size = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        ordering = ["offset"]
        constraints = [
            # Two followers (an old one dying, a new one starting) must not write the same bytes twice.
            models.UniqueConstraint(fields=["attempt", "stream", "offset"], name="bytes_once"),
        ]

    def __str__(self) -> str:
        return f"{self.attempt} {self.stream}@{self.offset}"
