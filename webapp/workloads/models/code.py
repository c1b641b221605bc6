from __future__ import annotations

from django.db import models


class CodeBundle(models.Model):
    """A developer's code as a zip, stored once by its digest."""

    sha256 = models.CharField(max_length=64, unique=True)
    data = models.BinaryField()
    files = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.sha256[:12]
