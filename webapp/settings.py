"""Settings, all from the environment, so that one image serves every place.

A missing or malformed variable stops the start with its name and what it should hold. On a developer's machine the
launcher writes `var/slipway.env`; values there count only where the environment says nothing.
"""

from __future__ import annotations

from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
STATE_DIR = Path(env.str("SLIPWAY_STATE_DIR", default=str(BASE_DIR / "var"))).absolute()
env.read_env(STATE_DIR / "slipway.env", overwrite=False)


def required(name: str, meaning: str) -> str:
    value: str = env.str(name, default="")
    if not value:
        raise ImproperlyConfigured(f"{name} is not set. It holds {meaning}; see .env.example.")
    return value


DEBUG = env.bool("SLIPWAY_DEBUG", default=False)
SECRET_KEY = required("SLIPWAY_SECRET_KEY", "the key that signs sessions (50 random characters)")
# Comma-separated Fernet keys; the first encrypts, all decrypt, so that keys can be rotated.
ENCRYPTION_KEYS = required(
    "SLIPWAY_ENCRYPTION_KEYS", "Fernet keys for cluster credentials, newest first"
).split(",")
ALLOWED_HOSTS = env.list("SLIPWAY_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("SLIPWAY_CSRF_TRUSTED_ORIGINS", default=[])
HTTPS = env.bool("SLIPWAY_HTTPS", default=False)
BROKER_URL = required("SLIPWAY_BROKER_URL", "the address of Valkey or Redis, redis://host:port/0")
# Our name among all Slipways that share a cluster: the value of the label slipway.dev/instance.
INSTANCE = env.str("SLIPWAY_INSTANCE", default="slipway")
LOG_LEVEL = env.str("SLIPWAY_LOG_LEVEL", default="INFO")

INSTALLED_APPS = [
    "webapp.ui",
    "webapp.live",
    "webapp.audit",
    "webapp.accounts",
    "webapp.clusters",
    "webapp.classes",
    "webapp.workloads",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "axes",
    "csp",
    "django_htmx",
    "template_partials",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "webapp.urls"
ASGI_APPLICATION = "webapp.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {"default": env.db("SLIPWAY_DATABASE_URL", default=f"sqlite:///{STATE_DIR}/slipway.db")}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # Django's defaults let concurrent writers fail with "database is locked"; with these they queue.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
else:
    DATABASES["default"]["CONN_MAX_AGE"] = 60
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("MinimumLengthValidator", "CommonPasswordValidator", "NumericPasswordValidator")
]
LOGIN_URL = "accounts:sign_in"
LOGIN_REDIRECT_URL = "workloads:list"
LOGOUT_REDIRECT_URL = "accounts:sign_in"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = Path(env.str("SLIPWAY_STATIC_ROOT", default=str(STATE_DIR / "static")))
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

# An upload above this is refused while it is read; webapp/workloads/code.py refuses far smaller ones with a reason.
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024
FILE_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
FILE_UPLOAD_TEMP_DIR = None

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "webapp.ui.views.csrf_failure"
if HTTPS:
    SECURE_SSL_REDIRECT = True
    # Health checks come from inside the cluster, without TLS.
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    SECURE_HSTS_SECONDS = 31_536_000
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        "django_structlog": {"level": "WARNING"},
        "axes": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
    },
}
