"""`manage.py render REQUEST.yaml`: print what the form would preview, and apply nothing."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from slipway.errors import FieldErrors
from webapp.workloads import request_file
from webapp.workloads.preview import as_yaml


class Command(BaseCommand):
    help = (
        "Print the RayJob that the form would preview for a request file (docs/reference/request-file.md). "
        "Nothing is stored or applied. Errors go to stderr by field, with exit status 2."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("request", help="the request file, or - for standard input")
        parser.add_argument(
            "--id",
            default=None,
            help="render for this workload id, as in its page's address; without it the name holds a placeholder",
        )
        parser.add_argument("--owner", default=None, help="the user name written on the object")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            text = (
                sys.stdin.read()
                if options["request"] == "-"
                else Path(options["request"]).read_text(encoding="utf-8")
            )
        except (OSError, UnicodeDecodeError) as exc:
            raise CommandError(f"{options['request']} cannot be read: {exc}", returncode=2) from exc
        try:
            shown = request_file.render(text, uid=options["id"], owner=options["owner"])
        except FieldErrors as exc:
            for field, messages in exc.errors.items():
                for message in messages:
                    self.stderr.write(f"{field}: {message}")
            sys.exit(2)
        self.stdout.write(as_yaml(shown.manifest), ending="")
