#!/bin/sh
# Build static/vendor (what pages load) and tests/browser/vendor (what the accessibility test loads) from the npm lock.
set -eu
cd "$(dirname "$0")"
npm ci --ignore-scripts --no-audit --no-fund
root=../..
mkdir -p "$root/static/vendor" "$root/tests/browser/vendor"
cp node_modules/htmx.org/dist/htmx.min.js "$root/static/vendor/htmx.min.js"
cp node_modules/htmx-ext-sse/dist/sse.min.js "$root/static/vendor/htmx-sse.min.js"
cp node_modules/axe-core/axe.min.js "$root/tests/browser/vendor/axe.min.js"
