"""What the domain refuses.

SlipwayError
  FieldErrors    a request or class is wrong, by form field
  CatalogError   our own data files contradict themselves: a bug, found at import
"""

from __future__ import annotations

from collections.abc import Mapping


class SlipwayError(Exception):
    pass


class CatalogError(SlipwayError):
    pass


class FieldErrors(SlipwayError):
    """`errors` maps a form field to its messages; each says what is wrong and what to do."""

    def __init__(self, errors: Mapping[str, tuple[str, ...]]) -> None:
        self.errors = dict(errors)
        super().__init__(
            "; ".join(f"{field}: {' '.join(text)}" for field, text in self.errors.items())
        )


class Complaints:
    """Collects messages by field, so that a person sees everything that is wrong at once."""

    def __init__(self) -> None:
        self._errors: dict[str, tuple[str, ...]] = {}

    def add(self, field: str, message: str) -> None:
        self._errors[field] = (*self._errors.get(field, ()), message)

    def merge(self, other: FieldErrors, prefix: str = "") -> None:
        for field, messages in other.errors.items():
            for message in messages:
                self.add(prefix + field, message)

    def __contains__(self, field: str) -> bool:
        return field in self._errors

    def raise_if_any(self) -> None:
        if self._errors:
            raise FieldErrors(self._errors)
