"""A developer's code as one small, safe, reproducible zip.

The zip travels to the cluster as a ConfigMap, so that a cluster which cannot reach Slipway still gets it; that sets the
limit. The same files give the same bytes, and so the same digest, whenever and wherever they are packed.
"""

from __future__ import annotations

import hashlib
import io
import posixpath
import stat
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO

from slipway.errors import FieldErrors
from slipway.request import CodeRef

# A ConfigMap holds 1 MiB; etcd's limit of 1.5 MiB on the base64 form is the other wall.
MAX_ZIP_BYTES = 900 * 1024
MAX_UNPACKED_BYTES = 20 * 1024 * 1024
MAX_FILES = 2000
SCRIPT_NAME = "main.py"
MAX_SCRIPT_BYTES = 512 * 1024
# Zip's earliest date: real dates would make the digest depend on the moment of packing.
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Bundle:
    sha256: str
    data: bytes
    files: tuple[str, ...]

    def ref(self) -> CodeRef:
        return CodeRef(sha256=self.sha256, size_bytes=len(self.data), files=self.files)


def bundle_from_script(text: str) -> Bundle:
    """The script as `main.py`. Line ends become \\n, as a browser's form sends \\r\\n.

    Raises FieldErrors on `script`.
    """
    text = text.replace("\r\n", "\n")
    if "\x00" in text:
        raise _refuse("script", "The script contains a NUL character. Paste it as plain text.")
    try:
        data = text.encode()
    except UnicodeEncodeError as exc:
        message = "The script contains half a character (a lone surrogate). Paste it as UTF-8 text."
        raise _refuse("script", message) from exc
    if len(data) > MAX_SCRIPT_BYTES:
        message = f"The script has {_kib(len(data))}; {_kib(MAX_SCRIPT_BYTES)} is the most. Upload a zip instead."
        raise _refuse("script", message)
    return _pack([(SCRIPT_NAME, data)], "script")


def bundle_from_upload(file: IO[bytes], size: int) -> Bundle:
    """Repack an uploaded zip, keeping regular files only.

    Raises FieldErrors on `upload` for what is too large, not a zip, or would write outside its directory.
    """
    if size > MAX_ZIP_BYTES:
        message = (
            f"The zip has {_kib(size)}; {_kib(MAX_ZIP_BYTES)} is the most, since code travels to the cluster in a "
            "ConfigMap. Leave data and weights out, and read them from a bucket in the job."
        )
        raise _refuse("upload", message)
    try:
        with zipfile.ZipFile(io.BytesIO(file.read(MAX_ZIP_BYTES + 1))) as archive:
            return _pack(_safe_members(archive), "upload")
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        EOFError,
        OSError,
        ValueError,
    ) as exc:
        message = (
            "This is not a zip that can be read (broken, encrypted, or of another format). "
            "Pack it again with `zip -r`."
        )
        raise _refuse("upload", message) from exc


def _safe_members(archive: zipfile.ZipFile) -> list[tuple[str, bytes]]:
    members = [info for info in archive.infolist() if not info.is_dir()]
    if not members:
        raise _refuse("upload", "The zip holds no files.")
    if len(members) > MAX_FILES:
        raise _refuse("upload", f"The zip holds {len(members)} files; {MAX_FILES} is the most.")
    left = MAX_UNPACKED_BYTES
    files: dict[str, bytes] = {}
    for info in members:
        name = _safe_name(info)
        if name in files:
            raise _refuse("upload", f"The zip holds {name!r} twice. Remove one.")
        # The header's size can lie, so what is really unpacked is counted, and never more than one byte too many.
        with archive.open(info) as member:
            data = member.read(left + 1)
        if len(data) > left:
            message = f"Unpacked, the zip has more than {_kib(MAX_UNPACKED_BYTES)}. Leave data and weights out."
            raise _refuse("upload", message)
        left -= len(data)
        files[name] = data
    return sorted(files.items())


def _safe_name(info: zipfile.ZipInfo) -> str:
    name = info.filename.replace("\\", "/")
    if stat.S_ISLNK(info.external_attr >> 16):
        raise _refuse(
            "upload", f"{_shown(name)} is a symbolic link. Put the file itself into the zip."
        )
    clean = posixpath.normpath(name)
    outside = clean.startswith(("/", "../")) or clean == ".." or ":" in clean.split("/")[0]
    if outside or "\x00" in info.orig_filename or not clean.isprintable():
        message = f"{_shown(name)} would be written outside the job's directory, or has an unprintable name. Rename it."
        raise _refuse("upload", message)
    return clean


def _pack(files: Iterable[tuple[str, bytes]], field: str) -> Bundle:
    out = io.BytesIO()
    names = []
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files:
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
            names.append(name)
    packed = out.getvalue()
    if len(packed) > MAX_ZIP_BYTES:
        raise _refuse(
            field, f"Packed, the code has {_kib(len(packed))}; {_kib(MAX_ZIP_BYTES)} is the most."
        )
    return Bundle(hashlib.sha256(packed).hexdigest(), packed, tuple(names))


def _refuse(field: str, message: str) -> FieldErrors:
    return FieldErrors({field: (message,)})


def _kib(size: int) -> str:
    return f"{size / 1024:,.0f} KiB"


def _shown(name: str) -> str:
    return repr(name if len(name) <= 80 else name[:77] + "...")


def script_of(data: bytes) -> str:
    """The text of a bundle that is one pasted script, "" for an uploaded zip of several files."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if archive.namelist() != [SCRIPT_NAME]:
            return ""
        return archive.read(SCRIPT_NAME).decode("utf-8", errors="replace")
