"""Whose an object is: what a model tells the access check about itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Subject:
    """`team_ids` empty means that no team owns it; `owner_id` is who made it, where that matters."""

    team_ids: frozenset[int]
    owner_id: int | None = None
    everyone_may_view: bool = False
