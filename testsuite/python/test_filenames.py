# SPDX-License-Identifier: Apache-2.0
"""The names of files that gdb gives, in all its releases."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from goref import filenames

OPENED = {7: "/srv/an app", 71: "/srv/\u00fc"}
PID = 1234


@pytest.mark.parametrize(
    "given, name",
    [
        ("/proc/self/fd/7", "/srv/an app"),
        ("/proc/1234/fd/7", "/srv/an app"),  # gdb 16
        ("/proc/1234/fd/71", "/srv/\u00fc"),
        # Descriptors of others, and those that gdb did not get from us.
        ("/proc/123/fd/7", "/proc/123/fd/7"),
        ("/proc/12345/fd/7", "/proc/12345/fd/7"),
        ("/proc/1234/fd/8", "/proc/1234/fd/8"),
        ("/tmp/proc/self/fd/7", "/tmp/proc/self/fd/7"),
        ("/proc/self/fd/7/x", "/proc/self/fd/7/x"),
        ("/srv/app", "/srv/app"),
    ],
)
def test_own_name(given, name):
    assert filenames.own_name(given, OPENED, PID) == name


def test_text_with_own_names():
    text = "/proc/self/fd/7: bad; /proc/1234/fd/71, /proc/1234/fd/8"
    assert filenames.with_own_names(text, OPENED, PID) == (
        "/srv/an app: bad; /srv/\u00fc, /proc/1234/fd/8"
    )


def test_links_are_followed(tmp_path):
    app, folder = tmp_path / "real" / "an app", tmp_path / "folder"
    app.parent.mkdir()
    app.touch()
    folder.symlink_to(app.parent)
    (tmp_path / "link").symlink_to(folder / app.name)
    for name in (app, folder / app.name, tmp_path / "link"):
        assert filenames.real_name(str(name)) == str(app)
    with open(app, "rb") as file:
        alias = f"/proc/{os.getpid()}/fd/{file.fileno()}"
        assert filenames.real_name(alias) == str(app)


def test_executable_of_a_process(tmp_path):
    """What /proc/PID/exe leads to, as long as it is that."""
    app = tmp_path / "an app"
    app.write_bytes(Path("/bin/sleep").read_bytes())
    app.chmod(0o755)
    with subprocess.Popen([app, "1000"]) as process:
        try:
            link = f"/proc/{process.pid}/exe"
            assert filenames.real_name(link) == str(app)
            app.unlink()
            assert filenames.real_name(link) == link
            # The kernel's name of it is now that of another file.
            Path(os.readlink(link)).touch()
            assert filenames.real_name(link) == link
        finally:
            process.kill()


def test_name_of_no_file():
    assert filenames.real_name("/nowhere/app") == "/nowhere/app"
