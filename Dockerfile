# One image for web, worker, scheduler and watcher; the command decides.
FROM python:3.11-slim-bookworm AS build
WORKDIR /app
COPY requirements/production.txt requirements/
RUN python -m venv /venv \
 && /venv/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements/production.txt
COPY slipway slipway
COPY webapp webapp
COPY workers workers
COPY templates templates
COPY static static
COPY examples examples
COPY manage.py .
# Collecting needs settings to be whole, not to be true.
RUN SLIPWAY_SECRET_KEY=build SLIPWAY_ENCRYPTION_KEYS=build SLIPWAY_BROKER_URL=redis://build:6379/0 \
    SLIPWAY_STATIC_ROOT=/app/collected /venv/bin/python manage.py collectstatic --noinput --verbosity 0

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 10001 --home-dir /nonexistent slipway
COPY --from=build /venv /venv
COPY --from=build /app /app
WORKDIR /app
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 SLIPWAY_STATIC_ROOT=/app/collected SLIPWAY_STATE_DIR=/tmp/slipway
USER slipway
EXPOSE 8000
CMD ["uvicorn", "webapp.asgi:application", "--lifespan", "off", "--timeout-graceful-shutdown", "3", "--host", "0.0.0.0", "--port", "8000"]
