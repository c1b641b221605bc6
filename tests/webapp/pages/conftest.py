from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from webapp.accounts.models import User
from webapp.clusters.models import Cluster


@pytest.fixture
def browser(dev: User, cluster: Cluster) -> Client:
    client = Client()
    client.force_login(dev)
    return client


@pytest.fixture
def get(browser: Client) -> Callable[[str], str]:
    """The page that dev sees at this address."""
    return lambda address: browser.get(address).content.decode()
