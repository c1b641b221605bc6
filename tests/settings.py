"""The product's settings with the values a test run needs; nothing is switched off."""

import atexit
import os
import shutil
import tempfile

if "SLIPWAY_STATE_DIR" not in os.environ:
    os.environ["SLIPWAY_STATE_DIR"] = tempfile.mkdtemp(prefix="slipway-tests-")
    atexit.register(shutil.rmtree, os.environ["SLIPWAY_STATE_DIR"], ignore_errors=True)
os.makedirs(os.path.join(os.environ["SLIPWAY_STATE_DIR"], "static"), exist_ok=True)
os.environ.setdefault("SLIPWAY_SECRET_KEY", "only-for-tests-" + "x" * 50)
os.environ.setdefault("SLIPWAY_ENCRYPTION_KEYS", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
os.environ.setdefault("SLIPWAY_BROKER_URL", "redis://127.0.0.1:1/0")
os.environ.setdefault("SLIPWAY_INSTANCE", "tests")

from webapp.settings import *  # noqa: E402, F403

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    # Names with hashes need collectstatic first; pages are the same without.
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
