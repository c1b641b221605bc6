"""The request as signed-in pages get it."""

from __future__ import annotations

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from webapp.accounts.models import User


class PageRequest(HttpRequest):
    """Behind LoginRequiredMiddleware there is always a person, and HtmxMiddleware adds `htmx`."""

    user: User
    htmx: HtmxDetails
