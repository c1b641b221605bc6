"""The Kubernetes clusters that workloads run on."""

from __future__ import annotations

from django.db import models

from webapp.accounts.subject import Subject
from webapp.clusters import secrets


class Cluster(models.Model):
    """One cluster with KubeRay. Credentials are a kubeconfig: a file that workers can read, or encrypted here."""

    slug = models.SlugField(max_length=40, unique=True)
    title = models.CharField(max_length=80)
    kubeconfig_file = models.CharField(max_length=400, blank=True)
    kubeconfig_encrypted = models.TextField(blank=True)
    # Which context of it is Slipway's; "" for the current one.
    kubeconfig_context = models.CharField(max_length=100, blank=True)
    ray_image = models.CharField(max_length=200, default="rayproject/ray:2.60.0-py311")
    ray_version = models.CharField(max_length=20, default="2.60.0")
    is_emulated = models.BooleanField(default=False)
    # Written by the watcher only.
    seen_at = models.DateTimeField(null=True, blank=True)
    trouble = models.CharField(max_length=400, blank=True)
    trouble_since = models.DateTimeField(null=True, blank=True)
    # Which watcher has this cluster, and until when.
    watcher = models.CharField(max_length=80, blank=True)
    watcher_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["title"]
        constraints = [
            # A cluster without credentials would fail at the first launch instead of here.
            models.CheckConstraint(
                condition=~(models.Q(kubeconfig_file="") & models.Q(kubeconfig_encrypted="")),
                name="cluster_has_credentials",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    def set_kubeconfig(self, text: str) -> None:
        self.kubeconfig_encrypted = secrets.encrypt(text)

    def kubeconfig(self) -> str:
        """The stored kubeconfig text, or "" when it is a file."""
        return secrets.decrypt(self.kubeconfig_encrypted) if self.kubeconfig_encrypted else ""

    def access_subject(self) -> Subject:
        return Subject(team_ids=frozenset(), everyone_may_view=True)
