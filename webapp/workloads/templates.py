"""Ready-made jobs that the form can be opened with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings


@dataclass(frozen=True)
class JobTemplate:
    """`initial` holds form fields; the script stands in a file of `examples/`."""

    slug: str
    title: str
    description: str
    example: str
    fields: Mapping[str, object]

    @property
    def initial(self) -> dict[str, object]:
        script = (Path(settings.BASE_DIR) / "examples" / self.example).read_text()
        return {**self.fields, "script": script}


JOB_TEMPLATES = (
    JobTemplate(
        slug="jax-spmd",
        title="JAX training on one slice",
        description="JaxTrainer trains a small network SPMD over four hosts and sixteen chips, in a minute or two.",
        example="jax_spmd.py",
        fields={
            "name": "jax-spmd",
            "generation": "v6e",
            "topology": "4x4",
            "provisioning": "on-demand",
            "slices": 1,
            "entrypoint": "python main.py",
            "max_run_seconds": 1800,
            "retries": 0,
        },
    ),
    JobTemplate(
        slug="slice-check",
        title="Look at a slice",
        description="Prints which hosts Ray sees, with their slice, worker and topology labels. Half a minute.",
        example="slice_check.py",
        fields={
            "name": "slice-check",
            "generation": "v6e",
            "topology": "2x4",
            "machine_type": "ct6e-standard-4t",
            "provisioning": "spot",
            "slices": 1,
            "entrypoint": "python main.py",
            "max_run_seconds": 600,
            "retries": 0,
        },
    ),
)


def template(slug: str) -> JobTemplate | None:
    return next((found for found in JOB_TEMPLATES if found.slug == slug), None)
