# SPDX-License-Identifier: Apache-2.0
"""Names of files: links, and what cannot be read."""

import os
import subprocess
import sys
from pathlib import Path


sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from goref import filenames

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
    """The target of /proc/PID/exe, as long as it is that."""
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
