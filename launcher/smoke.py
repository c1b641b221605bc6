"""`make smoke`: sign in as a browser does, submit the example, and hold the result against what was promised."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from http.cookiejar import CookieJar
from typing import Any

from launcher.errors import Stop
from launcher.places import KUBECONFIG, PYTHON, ROOT, SIGN_INS, ports

END_S = 600
ENDS = ("succeeded", "failed", "stopped")


class Browser:
    """Cookies, forms and redirects, without JavaScript."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._open = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(CookieJar())
        ).open

    def get(self, path: str) -> tuple[str, str]:
        """The text, and the address that it came from in the end."""
        return self._read(urllib.request.Request(urllib.parse.urljoin(self._base, path)))

    def post(self, path: str, fields: dict[str, str]) -> tuple[str, str]:
        address = urllib.parse.urljoin(self._base, path)
        body = urllib.parse.urlencode(fields).encode()
        return self._read(urllib.request.Request(address, body, {"Referer": address}))

    def _read(self, request: urllib.request.Request) -> tuple[str, str]:
        try:
            with self._open(request, timeout=20) as answer:
                return answer.read().decode(), answer.geturl()
        except urllib.error.HTTPError as exc:
            page = exc.read().decode(errors="replace")
            told = " ".join(re.findall(r"<li>([^<]+)</li>", page))[:300]
            raise Stop(f"{request.full_url} answered {exc.code}. {told}") from exc
        except OSError as exc:
            raise Stop(
                f"{self._base} does not answer ({exc}). Is Slipway up? Start it: make up"
            ) from exc


class FormReader(HTMLParser):
    """The fields of the form whose action ends as asked, with the values that a browser would send."""

    def __init__(self, action: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._action = action
        self._inside = False
        self._area = self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        name = found.get("name") or ""
        if tag == "form":
            self._inside = (found.get("action") or "").endswith(self._action)
        elif not self._inside:
            return
        elif tag == "input" and name and found.get("type") not in ("file", "submit", "checkbox"):
            self.fields[name] = found.get("value") or ""
        elif tag == "textarea" and name:
            self._area, self.fields[name] = name, ""
        elif tag == "select":
            self._select = name
        elif (
            tag == "option"
            and self._select
            and ("selected" in found or self._select not in self.fields)
        ):
            self.fields[self._select] = found.get("value") or ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "form"
        self._area = "" if tag == "textarea" else self._area
        self._select = "" if tag == "select" else self._select

    def handle_data(self, data: str) -> None:
        if self._area:
            # HTML drops the line break that directly follows the tag.
            text = data.removeprefix("\n") if not self.fields[self._area] else data
            self.fields[self._area] += text


def run() -> int:
    browser = Browser(f"http://127.0.0.1:{ports()['web'].number}/")
    people = {row["username"]: row["password"] for row in _sign_ins()}
    with _told("sign in as dev"):
        form = _form(browser.get("/accounts/sign-in/")[0], "")
        browser.post("/accounts/sign-in/", form | {"username": "dev", "password": people["dev"]})
        page, address = browser.get("/t/research/new/?template=jax-spmd")
        _check("/new/" in address, f"the form was not reached, but {address}")
    with _told("submit the example"):
        fields = _form(page, "/submit/")
        _, address = browser.post("/t/research/submit/", fields)
        found = re.search(r"/w/([a-z2-7]{8})/$", address)
        if found is None:
            raise Stop(f"submitting led to {address}")
        uid = found[1]
    with _told(f"workload {uid} ends"):
        status, applied = _until_over(browser, uid)
        _check(
            status["state"] == "succeeded",
            f"it is {status['state']}: {status['reason']['sentence']}",
        )
    with _told("one slice of four hosts ran it"):
        hosts = [host for record in status["slices"] for host in record["hosts"]]
        _check(len(status["slices"]) == 1 and len(hosts) == 4, f"seen were {status['slices']}")
    with _told("its log shows 4 processes and 16 devices on 1 slice"):
        log = _log(browser, uid)
        _check(
            "4 processes, 16 devices, 1 slice" in log, f"its last lines are {log.splitlines()[-3:]}"
        )
    with _told("manage.py render equals the object that was applied"):
        _check(_render(fields, uid) == _bare(applied), "the two differ")
    return 0


def _until_over(browser: Browser, uid: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The last status, and the RayJob as the API server had it."""
    until = time.monotonic() + END_S
    seen, applied = "", None
    while time.monotonic() < until:
        status: dict[str, Any] = json.loads(browser.get(f"/w/{uid}/status.json")[0])
        if status["reason"]["sentence"] != seen:
            seen = status["reason"]["sentence"]
            print(f"\n      {status['state']}: {seen}", end="", flush=True)
        applied = applied or _object(status["object"])
        if status["state"] in ENDS:
            print("\n     ", end=" ")
            if applied is None:
                raise Stop("The RayJob was never seen on the API server.")
            return status, applied
        time.sleep(0.5)
    raise Stop(f"it is not over after {END_S} s: {seen}")


# The client is the product's own dependency; the launcher itself has none.
_READ_OBJECT = """
import json, sys
from kubernetes import client, config
config.load_kube_config(sys.argv[1])
api, (_, _, namespace, name) = client.CustomObjectsApi(), sys.argv
try:
    print(json.dumps(api.get_namespaced_custom_object("ray.io", "v1", namespace, "rayjobs", name)))
except client.ApiException:
    print("null")
"""
_RENDER = """
import json, sys
from ruamel.yaml import YAML
print(json.dumps(YAML(typ="safe").load(sys.stdin.read())))
"""


def _object(name: dict[str, str]) -> dict[str, Any] | None:
    text = _python(["-c", _READ_OBJECT, str(KUBECONFIG), name["namespace"], name["name"]])
    found: dict[str, Any] | None = json.loads(text)
    return found


def _render(fields: dict[str, str], uid: str) -> dict[str, Any]:
    """The same request as a file. JSON is YAML, so no library is needed to write it."""
    request = {
        "version": 1,
        "name": fields["name"],
        "team": "research",
        "kind": "job",
        "shape": {"generation": fields["generation"], "topology": fields["topology"]},
        "provisioning": fields["provisioning"],
        "slices": int(fields["slices"]),
        "entrypoint": fields["entrypoint"],
        "script": fields["script"],
        "max_run_seconds": int(fields["max_run_seconds"]),
        "retries": int(fields["retries"]),
    }
    text = _python(["manage.py", "render", "-", "--id", uid, "--owner", "dev"], json.dumps(request))
    rendered: dict[str, Any] = json.loads(_python(["-c", _RENDER], text))
    return rendered


def _bare(obj: dict[str, Any]) -> dict[str, Any]:
    """Without what the API server adds."""
    kept = ("name", "namespace", "labels", "annotations")
    metadata = {key: obj["metadata"][key] for key in kept}
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "metadata": metadata,
        "spec": obj["spec"],
    }


def _python(arguments: list[str], text: str = "") -> str:
    done = subprocess.run(
        [str(PYTHON), *arguments],
        cwd=ROOT,
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        raise Stop(f"{arguments[0]} failed: {done.stderr.strip()[-300:]}")
    return done.stdout


def _log(browser: Browser, uid: str) -> str:
    text, after = "", 0
    for _ in range(1000):
        part = json.loads(browser.get(f"/w/{uid}/log?after={after}")[0])
        text, after = text + part["text"], part["next"]
        if part["end"]:
            break
    return text


def _form(page: str, action: str) -> dict[str, str]:
    reader = FormReader(action)
    reader.feed(page)
    return reader.fields


def _sign_ins() -> list[dict[str, str]]:
    if not SIGN_INS.exists():
        raise Stop("There are no sign-ins in var/. Start Slipway first: make up")
    rows: list[dict[str, str]] = json.loads(SIGN_INS.read_text())
    return rows


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    began = time.monotonic()
    print(f"  {what} ...", end=" ", flush=True)
    try:
        yield
    except Stop:
        print(f"no, after {time.monotonic() - began:.1f} s", flush=True)
        raise
    print(f"yes, {time.monotonic() - began:.1f} s", flush=True)


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Stop(otherwise)
