"""A compute class as a form: its name and who may use it, and its rules in order."""

from __future__ import annotations

from typing import Any

from django import forms

from slipway.catalog import CATALOG
from slipway.compute_class import ClassRule, ComputeClassSpec, validate_class
from slipway.errors import FieldErrors
from slipway.request import Provisioning
from webapp.accounts.models import Team

MOVES = ("up", "down", "remove")


class ClassForm(forms.Form):
    name = forms.CharField(
        label="Name", max_length=100, help_text="a-z, 0-9 and -. It names the ComputeClass on GKE."
    )
    description = forms.CharField(label="Description", max_length=200, required=False)
    open_to_all = forms.BooleanField(label="Every team may use it", required=False, initial=True)
    teams = forms.ModelMultipleChoiceField(
        label="Or only these teams",
        queryset=Team.objects.all(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.widget.attrs["aria-describedby"] = f"{name}-notes"


class RuleForm(forms.Form):
    provisioning = forms.ChoiceField(
        label="Provisioning", choices=[(p.value, p.value) for p in Provisioning]
    )
    generation = forms.ChoiceField(
        label="Generation", choices=[(g.name, g.title) for g in CATALOG.generations.values()]
    )
    topology = forms.CharField(
        label="Topology", max_length=40, widget=forms.TextInput({"placeholder": "4x4"})
    )
    machine_type = forms.ChoiceField(
        label="Machine type",
        required=False,
        choices=[
            ("", "Fewest hosts"),
            *((m.name, m.name) for g in CATALOG.generations.values() for m in g.machines),
        ],
    )
    zones = forms.CharField(
        label="Zones",
        max_length=400,
        required=False,
        widget=forms.TextInput({"placeholder": "any, or us-east5-b"}),
    )
    reservation = forms.CharField(label="Reservation", max_length=80, required=False)
    max_run_seconds = forms.IntegerField(label="Flex-start lease, s", required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.widget.attrs["aria-describedby"] = f"{self.prefix}-{name}-notes"

    def rule(self) -> ClassRule:
        values = self.cleaned_data
        return ClassRule(
            provisioning=Provisioning(values["provisioning"]),
            generation=values["generation"],
            topology=values["topology"].strip(),
            machine_type=values["machine_type"] or None,
            zones=tuple(zone.strip() for zone in values["zones"].split(",") if zone.strip()),
            reservation=values["reservation"].strip() or None,
            max_run_seconds=values["max_run_seconds"],
        )


RuleFormSet = forms.formset_factory(RuleForm, extra=0, min_num=1, max_num=20, absolute_max=40)


class ClassEditor:
    """The form and its rules as one. `move` is the button that was pressed, such as `up-2`, "" for save."""

    def __init__(
        self, *, spec: ComputeClassSpec | None = None, initial: dict[str, Any] | None = None
    ) -> None:
        self.form = ClassForm(initial=initial)
        rules = [_initial(rule) for rule in spec.rules] if spec else [{}]
        self.rules = RuleFormSet(initial=rules, prefix="rules")
        self.rules.min_num = 0

    @classmethod
    def of(cls, data: Any) -> ClassEditor:
        editor = cls.__new__(cls)
        editor.form = ClassForm(data)
        editor.rules = RuleFormSet(data, prefix="rules")
        return editor

    def moved(self, move: str) -> ClassEditor:
        """The same content with one rule moved, removed or added; nothing is checked yet."""
        values = [
            {name: form[name].value() for name in form.fields} for form in self.rules.forms[:20]
        ]
        verb, _, place = move.partition("-")
        index = int(place) if place.isdecimal() and int(place) < len(values) else None
        if verb == "add" and len(values) < 20:
            values.append({})
        elif index is not None and verb == "remove" and len(values) > 1:
            values.pop(index)
        elif index is not None and verb in ("up", "down"):
            other = index + (1 if verb == "down" else -1)
            if 0 <= other < len(values):
                values[index], values[other] = values[other], values[index]
        editor = ClassEditor.__new__(ClassEditor)
        editor.form = ClassForm(
            initial={name: self.form[name].value() for name in self.form.fields}
        )
        editor.rules = RuleFormSet(initial=values, prefix="rules")
        editor.rules.min_num = 0
        return editor

    def spec(self) -> ComputeClassSpec | None:
        """The class that the form describes, or None with the errors on their fields."""
        if not (self.form.is_valid() & self.rules.is_valid()):
            return None
        spec = ComputeClassSpec(
            self.form.cleaned_data["name"].strip(), tuple(form.rule() for form in self.rules.forms)
        )
        try:
            validate_class(spec, CATALOG)
        except FieldErrors as exc:
            self.show(exc)
            return None
        return spec

    def show(self, exc: FieldErrors) -> None:
        for field, messages in exc.errors.items():
            form, name = self._place(field)
            for message in messages:
                form.add_error(name if name in form.fields else None, message)

    def _place(self, field: str) -> tuple[forms.Form, str]:
        if field.startswith("rules."):
            _, index, name = field.split(".", 2)
            return self.rules.forms[int(index)], name
        return self.form, field


def _initial(rule: ClassRule) -> dict[str, Any]:
    return {
        **rule.to_mapping(),
        "machine_type": rule.machine_type or "",
        "zones": ", ".join(rule.zones),
        "reservation": rule.reservation or "",
    }
