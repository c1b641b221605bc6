"""ConfigMap and Secret volumes: what a pod waits for, and the few that become files on this machine.

A pod is no container here: its files are the machine's. So only mounts below `/tmp/slipway-code/`, which
nothing else uses, are written; the others are waited for, as the kubelet would, and then left out.
"""

from __future__ import annotations

import base64
import os
import shutil
import stat
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from devcluster.errors import NotFound
from devcluster.pods.base import CannotStart
from devcluster.resources import CONFIGMAPS, SECRETS
from devcluster.store import Store

Object = dict[str, Any]

CODE_ROOT = Path("/tmp/slipway-code")  # noqa: S108 - agreed path of the manifests; checked below


def code_files(store: Store, pod: Object) -> list[tuple[Path, bytes]]:
    """Files to write before the pod starts. CannotStart (FailedMount) while a source is missing."""
    mounts = {
        mount["name"]: mount["mountPath"]
        for container in pod["spec"].get("containers", [])
        for mount in container.get("volumeMounts") or []
    }
    files: list[tuple[Path, bytes]] = []
    for volume in pod["spec"].get("volumes") or []:
        content = _content(store, pod["metadata"]["namespace"], volume)
        target = Path(mounts.get(volume["name"], "/"))
        if target.parent == CODE_ROOT and target.name not in ("", ".", ".."):
            files += [(target / key, data) for key, data in sorted(content.items())]
    return files


def left_out(pod: Object) -> list[str]:
    """Mount paths that this machine does not get, to be told."""
    return [
        mount["mountPath"]
        for container in pod["spec"].get("containers", [])
        for mount in container.get("volumeMounts") or []
        if Path(mount["mountPath"]).parent != CODE_ROOT
    ]


def _content(store: Store, namespace: str, volume: Object) -> dict[str, bytes]:
    for field, resource, name_field in (
        ("configMap", CONFIGMAPS, "name"),
        ("secret", SECRETS, "secretName"),
    ):
        source = volume.get(field)
        if source is None:
            continue
        name = source.get(name_field, "")
        try:
            found = store.get(resource, namespace, name)
        except NotFound as exc:
            if source.get("optional"):
                return {}
            text = (
                f'MountVolume.SetUp failed for volume "{volume["name"]}" : '
                f'{resource.singular} "{name}" not found'
            )
            raise CannotStart("FailedMount", text) from exc
        encoded = found.get("data" if resource is SECRETS else "binaryData") or {}
        content = {key: base64.b64decode(value) for key, value in encoded.items()}
        if resource is CONFIGMAPS:
            content |= {key: text.encode() for key, text in (found.get("data") or {}).items()}
        return content
    return {}


class CodeFiles:
    """Writes the files and removes a folder when the last pod that uses it has ended."""

    def __init__(self, root: Path = CODE_ROOT) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._users: dict[Path, set[str]] = {}

    def write(self, pod_uid: str, files: Sequence[tuple[Path, bytes]]) -> None:
        """CannotStart when the root belongs to somebody else: their files could become our job's code."""
        with self._lock:
            for path, data in files:
                self._own_folder(self._root)
                self._own_folder(path.parent)
                users = self._users.setdefault(path.parent, set())
                if not users or not path.exists():
                    partial = path.with_name(f".{path.name}.partial")
                    partial.write_bytes(data)
                    partial.chmod(0o600)
                    partial.replace(path)
            for path, _ in files:
                self._users[path.parent].add(pod_uid)

    def release(self, pod_uid: str) -> None:
        with self._lock:
            for folder, users in list(self._users.items()):
                users.discard(pod_uid)
                if not users:
                    del self._users[folder]
                    shutil.rmtree(folder, ignore_errors=True)

    def _own_folder(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        info = folder.lstat()
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid():
            text = f"{folder} is not a folder of this user. Remove it, then the pod starts."
            raise CannotStart("FailedMount", text)
        folder.chmod(0o700)


def remove_folders(folders: Iterable[Path]) -> None:
    """Remove folders that a former life wrote; never anything outside the code root."""
    for folder in folders:
        if folder.parent == CODE_ROOT and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)
