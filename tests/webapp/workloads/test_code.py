"""What people upload is repacked or refused, never trusted."""

from __future__ import annotations

import io
import stat
import struct
import zipfile

import pytest

from slipway.errors import FieldErrors
from webapp.workloads import code


def a_zip(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def upload(data: bytes) -> code.Bundle:
    return code.bundle_from_upload(io.BytesIO(data), len(data))


def refusal(data: bytes) -> str:
    with pytest.raises(FieldErrors) as caught:
        upload(data)
    assert list(caught.value.errors) == ["upload"]
    return caught.value.errors["upload"][0]


def test_a_script_becomes_main_py_with_plain_line_ends() -> None:
    bundle = code.bundle_from_script("print(1)\r\nprint(2)\r\n")
    with zipfile.ZipFile(io.BytesIO(bundle.data)) as archive:
        assert archive.namelist() == ["main.py"]
        assert archive.read("main.py") == b"print(1)\nprint(2)\n"


def test_the_same_files_give_the_same_digest_in_any_order() -> None:
    one = upload(a_zip({"a.py": b"1", "b/c.py": b"2"}))
    two = upload(a_zip({"b/c.py": b"2", "a.py": b"1"}))
    assert one == two
    assert one.files == ("a.py", "b/c.py")


def test_a_large_upload_is_refused_by_its_size_alone() -> None:
    class Unread(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise AssertionError("a 50 MB upload must not be read")

    with pytest.raises(FieldErrors) as caught:
        code.bundle_from_upload(Unread(), 50 * 1024 * 1024)
    assert "51,200 KiB" in caught.value.errors["upload"][0]


def test_a_zip_bomb_is_refused_while_it_unpacks() -> None:
    assert "Unpacked" in refusal(a_zip({"bomb.bin": bytes(300 * 1024 * 1024)}))


def test_a_bomb_that_lies_about_its_size_is_refused() -> None:
    data = bytearray(a_zip({"bomb.bin": bytes(60 * 1024 * 1024)}))
    # The uncompressed size in the central directory, set to 10.
    at = data.rfind(b"PK\x01\x02") + 24
    data[at : at + 4] = struct.pack("<I", 10)
    assert refusal(bytes(data))


@pytest.mark.parametrize(
    "name",
    [
        "../evil.py",
        "/etc/cron.d/evil",
        "a/../../evil.py",
        "..\\evil.py",
        "C:\\evil.py",
        "..",
        "x\n.py",
    ],
)
def test_a_path_that_leaves_the_directory_is_refused(name: str) -> None:
    assert "outside the job's directory" in refusal(a_zip({name: b"x"}))


def test_a_symbolic_link_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    assert "symbolic link" in refusal(out.getvalue())


@pytest.mark.parametrize(
    "data",
    [b"", b"not a zip", a_zip({"a.py": b"x"})[:-10], a_zip({"a.py": b"xyz" * 500})[40:]],
    ids=["empty", "words", "cut", "beheaded"],
)
def test_what_is_not_a_zip_is_refused_in_words(data: bytes) -> None:
    assert refusal(data)


def test_an_empty_zip_and_too_many_files_are_refused() -> None:
    assert "no files" in refusal(a_zip({}))
    assert "2000 is the most" in refusal(a_zip({f"{n}.py": b"" for n in range(2001)}))


@pytest.mark.parametrize("script", ["a\x00b", "\ud800", "x" * (513 * 1024)])
def test_a_script_that_is_no_text_or_too_long_is_refused(script: str) -> None:
    with pytest.raises(FieldErrors) as caught:
        code.bundle_from_script(script)
    assert list(caught.value.errors) == ["script"]
