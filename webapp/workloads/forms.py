"""The new-job form: fields in, a WorkloadRequest and its preview out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from slipway.catalog import CATALOG
from slipway.errors import FieldErrors
from slipway.naming import is_workload_uid, new_workload_uid
from slipway.request import Provisioning, WorkloadRequest
from webapp.accounts.models import Team, User
from webapp.classes.models import ComputeClass
from webapp.workloads import code
from webapp.workloads.actions.intent import default_cluster, usable_class
from webapp.workloads.preview import Preview, preview

PROVISIONING_LABELS = {
    Provisioning.SPOT: "Spot",
    Provisioning.FLEX_START: "Flex-start",
    Provisioning.ON_DEMAND: "On-demand",
    Provisioning.RESERVATION: "Reservation",
}


class WorkloadForm(forms.Form):
    """`preview_for` and `clean` read the same fields, so that the plan beside the form is the one that is submitted."""

    uid = forms.CharField(widget=forms.HiddenInput)
    name = forms.CharField(label="Name", max_length=400, widget=forms.TextInput({"maxlength": 63}))
    compute_class = forms.ChoiceField(label="Compute class", required=False)
    generation = forms.ChoiceField(label="Generation", required=False)
    topology = forms.CharField(
        label="Topology",
        required=False,
        max_length=40,
        help_text="The slice's shape in chips, such as 4x4 or 2x2x4.",
        widget=forms.TextInput({"list": "topologies", "autocomplete": "off"}),
    )
    machine_type = forms.ChoiceField(
        label="Machine type",
        required=False,
        help_text="Only where two machine types form the same topology; it decides the number of hosts.",
    )
    provisioning = forms.ChoiceField(
        label="Provisioning",
        required=False,
        help_text="Spot is cheapest and may be taken away; flex-start waits for capacity.",
    )
    reservation = forms.CharField(label="Reservation", required=False, max_length=80)
    slices = forms.IntegerField(label="Slices", initial=1)
    entrypoint = forms.CharField(
        label="Command",
        max_length=5000,
        initial="python main.py",
        help_text="Runs on the head node, in the directory of your code.",
    )
    script = forms.CharField(
        label="Script",
        required=False,
        strip=False,
        help_text="Becomes main.py.",
        widget=forms.Textarea({"rows": 14, "spellcheck": "false", "class": "code"}),
    )
    upload = forms.FileField(
        label="Or a zip",
        required=False,
        allow_empty_file=True,
        help_text="At most 900 KiB; data belongs in a bucket.",
    )
    pip = forms.CharField(
        label="Python packages",
        required=False,
        help_text="One requirement a line.",
        widget=forms.Textarea({"rows": 3, "spellcheck": "false", "class": "code"}),
    )
    env = forms.CharField(
        label="Environment variables",
        required=False,
        help_text="NAME=value, one a line. They are stored and shown as they are: no secrets.",
        widget=forms.Textarea({"rows": 3, "spellcheck": "false", "class": "code"}),
    )
    max_run_seconds = forms.IntegerField(
        label="Longest run, in seconds",
        initial=3600,
        help_text="After this the job is ended and its slice given back.",
    )
    retries = forms.IntegerField(
        label="Retries", initial=0, help_text="New attempts after a failure or a lost host."
    )

    preview: Preview | None = None
    bundle: code.Bundle | None = None

    def __init__(
        self,
        data: Any = None,
        files: Any = None,
        *,
        team: Team,
        user: User,
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        first = {"uid": new_workload_uid(os.urandom), **(initial or {})}
        super().__init__(data, files, initial=first)
        self._team = team
        self._user = user
        classes = ComputeClass.objects.usable_by(team)
        self._choices(
            "compute_class",
            [("", "None: choose a shape below")],
            [(c.name, c.name) for c in classes],
        )
        self._choices(
            "generation",
            [("", "Choose")],
            [(generation.name, generation.title) for generation in CATALOG.generations.values()],
        )
        self._choices(
            "machine_type",
            [("", "Fewest hosts")],
            [(m.name, m.name) for g in CATALOG.generations.values() for m in g.machines],
        )
        self._choices(
            "provisioning",
            [("", "Choose")],
            [(p.value, PROVISIONING_LABELS[p]) for p in Provisioning],
        )
        for name, field in self.fields.items():
            field.widget.attrs["aria-describedby"] = f"{name}-notes"

    def topologies(self) -> list[str]:
        """Suggestions for the topology field: of the chosen generation, else of all."""
        chosen = self["generation"].value()
        names = [chosen] if chosen in CATALOG.generations else list(CATALOG.generations)
        found = (str(shape.topology) for name in names for shape in CATALOG.shapes(name)[:16])
        return list(dict.fromkeys(found))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors and not set(self.errors) <= {"upload"}:
            return cleaned
        try:
            self.bundle = self._bundle(cleaned)
            request = self._request(cleaned)
            chosen = usable_class(self._team, request)
            self.preview = preview(
                request=request,
                team=self._team,
                owner=self._user.username,
                cluster=default_cluster(),
                class_spec=chosen.as_spec() if chosen else None,
                uid=cleaned["uid"],
            )
        except FieldErrors as exc:
            self._show(exc)
        return cleaned

    def clean_uid(self) -> str:
        uid: str = self.cleaned_data["uid"]
        if not is_workload_uid(uid):
            raise forms.ValidationError("This draft has no valid id. Open the form again.")
        return uid

    def _bundle(self, cleaned: Mapping[str, Any]) -> code.Bundle | None:
        upload: UploadedFile[bytes] | None = cleaned.get("upload")
        if upload and cleaned["script"].strip():
            raise FieldErrors(
                {"upload": ("Give a script or a zip, not both. Empty one of the two.",)}
            )
        if upload is not None:
            return code.bundle_from_upload(upload, upload.size or 0)
        return code.bundle_from_script(cleaned["script"]) if cleaned["script"].strip() else None

    def _request(self, cleaned: Mapping[str, Any]) -> WorkloadRequest:
        has_class = bool(cleaned["compute_class"])
        provisioning = cleaned["provisioning"]
        return WorkloadRequest(
            name=cleaned["name"],
            team=self._team.slug,
            kind="job",
            compute_class=cleaned["compute_class"] or None,
            # A class says all of this by itself; what was chosen before is left aside.
            generation=None if has_class else cleaned["generation"] or None,
            topology=None if has_class else cleaned["topology"] or None,
            machine_type=None if has_class else cleaned["machine_type"] or None,
            provisioning=None if has_class or not provisioning else Provisioning(provisioning),
            reservation=None if has_class else cleaned["reservation"] or None,
            slices=cleaned["slices"],
            entrypoint=cleaned["entrypoint"],
            code=self.bundle.ref() if self.bundle else None,
            pip=tuple(line.strip() for line in cleaned["pip"].splitlines() if line.strip()),
            env=_environment(cleaned["env"]),
            max_run_seconds=cleaned["max_run_seconds"],
            retries=cleaned["retries"],
        )

    def _show(self, exc: FieldErrors) -> None:
        for field, messages in exc.errors.items():
            for message in messages:
                self.add_error(field if field in self.fields else None, message)

    def _choices(
        self, name: str, first: list[tuple[str, str]], rest: list[tuple[str, str]]
    ) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = first + rest


def initial_from(request: WorkloadRequest, script: str) -> dict[str, Any]:
    """The form's fields for a request that was made before, to clone it."""
    return {
        "name": request.name,
        "compute_class": request.compute_class or "",
        "generation": request.generation or "",
        "topology": request.topology or "",
        "machine_type": request.machine_type or "",
        "provisioning": request.provisioning.value if request.provisioning else "",
        "reservation": request.reservation or "",
        "slices": request.slices,
        "entrypoint": request.entrypoint,
        "script": script,
        "pip": "\n".join(request.pip),
        "env": "\n".join(f"{name}={value}" for name, value in request.env),
        "max_run_seconds": request.max_run_seconds,
        "retries": request.retries,
    }


def _environment(text: str) -> tuple[tuple[str, str], ...]:
    """Raises FieldErrors on `env` for a line without `=`."""
    pairs = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise FieldErrors({"env": (f"Line {number} has no =. Write NAME=value.",)})
        pairs.append((name.strip(), value))
    return tuple(pairs)
