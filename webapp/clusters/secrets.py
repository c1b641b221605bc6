"""Secrets at rest: Fernet, with key rotation (the first key encrypts, every key decrypts)."""

from __future__ import annotations

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def encrypt(text: str) -> str:
    return _fernet().encrypt(text.encode()).decode()


def decrypt(token: str) -> str:
    """Raises ImproperlyConfigured when no key of SLIPWAY_ENCRYPTION_KEYS fits."""
    try:
        return _fernet().decrypt(token.encode()).decode()
    except InvalidToken as exc:
        raise ImproperlyConfigured(
            "A stored secret cannot be read: its key is missing from SLIPWAY_ENCRYPTION_KEYS."
        ) from exc


def _fernet() -> MultiFernet:
    return MultiFernet([Fernet(key.strip()) for key in settings.ENCRYPTION_KEYS])
