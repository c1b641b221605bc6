"""`manage.py add_cluster`: register a cluster, or change one. Its kubeconfig is stored encrypted."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from webapp.clusters.models import Cluster


class Command(BaseCommand):
    help = (
        "Register a cluster with KubeRay by its kubeconfig. The watcher takes it up within seconds."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--title", required=True)
        parser.add_argument(
            "--kubeconfig",
            required=True,
            type=Path,
            help="the file; its content is stored encrypted",
        )
        parser.add_argument(
            "--context", default="", help="the context in it; the current one when left out"
        )
        parser.add_argument("--ray-image", default=None, help="what head and workers run")
        parser.add_argument("--ray-version", default=None, help="the Ray in that image")

    def handle(self, *args: Any, **options: Any) -> None:
        text = _readable(options["kubeconfig"], options["context"])
        cluster = Cluster.objects.filter(slug=options["slug"]).first() or Cluster(
            slug=options["slug"]
        )
        cluster.title = options["title"]
        cluster.kubeconfig_file, cluster.kubeconfig_context = "", options["context"]
        cluster.is_emulated = False
        cluster.ray_image = options["ray_image"] or cluster.ray_image
        cluster.ray_version = options["ray_version"] or cluster.ray_version
        cluster.set_kubeconfig(text)
        try:
            cluster.full_clean()
        except ValidationError as exc:
            raise CommandError("; ".join(exc.messages)) from exc
        cluster.save()
        self.stdout.write(f"Cluster {cluster.slug} is registered.")


def _readable(file: Path, context: str) -> str:
    try:
        text = file.read_text()
        content = YAML(typ="safe").load(text)
        contexts = [entry["name"] for entry in content["contexts"]]
    except (OSError, YAMLError, KeyError, TypeError, UnicodeDecodeError) as exc:
        raise CommandError(f"{file} is not a kubeconfig that can be read: {exc}") from exc
    if context and context not in contexts:
        raise CommandError(f"{file} has no context {context!r}. It has: {', '.join(contexts)}.")
    return text
