# SPDX-License-Identifier: Apache-2.0
"""doc/fleet.md: its commands run, and its unit files are valid."""

import base64
import http.server
import json
import os
import re
import shlex
import shutil
import subprocess
import threading
import time

import pytest

from pprof import Profile
from session import GOREF, TOP, environment
from targets import attach_reason, skip_if
from toolchains import Variant

CENTRAL = Variant("go1.24", "default")
PAGE = (TOP / "doc" / "fleet.md").read_text()
PUSHED = "http://pyroscope:4040"


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.M | re.S)


def unit(ending):
    """Name and text of the unit file with that ending."""
    found = [b for b in blocks("ini") if b.split("\n")[0].endswith(ending)]
    (text,) = found
    return os.path.basename(text.split("\n")[0]), text


@pytest.fixture
def process(farm):
    skip_if(attach_reason())
    process = farm.process("grown", CENTRAL)
    process.rest()
    return process


@pytest.fixture
def shell(tmp_path, process):
    """shell(command): run it where each tool of others notes how it was
    called, and what finds the process finds ours."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "goref").symlink_to(GOREF)
    notes = tmp_path / "notes"
    for name in ("profilecli", "parca-push"):
        (tools / name).write_text(
            f'#!/bin/sh\nprintf "%s\\n" {name} "$@" >>{notes}\n'
        )
    for name in ("systemctl", "pgrep"):
        (tools / name).write_text(f"#!/bin/sh\necho {process.pid}\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)

    def run(command, **variables):
        path = f"{tools}:{os.environ['PATH']}"
        env = environment() | {"PATH": path, "PID": str(process.pid)}
        done = subprocess.run(
            ["/bin/sh", "-ec", command],
            cwd=tmp_path,
            env=env | variables,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return notes.read_text().splitlines() if notes.exists() else []

    return run


def check_profile(path, begin, tags):
    profile = Profile.load(path)
    assert profile.root("main.orders") == (1000, 64000)
    assert begin <= profile.time_nanos <= time.time_ns()
    for sample in profile.samples:
        assert tags.items() <= sample.labels.items()


def test_commands(shell, tmp_path):
    """Each command, one after the other."""
    begin = time.time_ns()
    take, *push = blocks("sh")
    assert shell(take) == []
    host = subprocess.run(["hostname"], capture_output=True, text=True)
    tags = {"service_name": "shop", "instance": host.stdout.strip()}
    check_profile(tmp_path / "refs.pb.gz", begin, tags)
    for command in push:
        name = shlex.split(command)[0]
        if name == "printf":
            continue
        words = shlex.split(command.replace("\\\n", ""))
        assert shell(command)[-len(words) :] == words
        assert words[-1] == "refs.pb.gz"


def test_curl(shell, tmp_path):
    """Pyroscope's HTTP API gets the profile."""
    if not shutil.which("curl"):
        pytest.skip("no curl")
    got = []

    class Store(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            size = int(self.headers["Content-Length"])
            got.append((self.path, self.headers, self.rfile.read(size)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    (command,) = (b for b in blocks("sh") if "curl" in b)
    (tmp_path / "refs.pb.gz").write_bytes(os.urandom(300000))
    with http.server.HTTPServer(("127.0.0.1", 0), Store) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            shell(command.replace(PUSHED, url), no_proxy="127.0.0.1")
        finally:
            server.shutdown()
            thread.join()
    ((path, headers, body),) = got
    assert path == "/push.v1.PusherService/Push"
    assert headers["Content-Type"] == "application/json"
    (series,) = json.loads(body)["series"]
    labels = {label["name"]: label["value"] for label in series["labels"]}
    assert labels == {"__name__": "references", "service_name": "shop"}
    (sample,) = series["samples"]
    sent = base64.b64decode(sample["rawProfile"])
    assert sent == (tmp_path / "refs.pb.gz").read_bytes()


def test_units_are_valid(tmp_path):
    """As far as systemd can tell; the tools of others are not here."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze")
    for ending in (".service", ".timer"):
        name, text = unit(ending)
        (tmp_path / name.replace("@", "@shop")).write_text(text)
    (tmp_path / "shop.service").write_text("[Service]\nExecStart=/bin/true\n")
    files = sorted(map(str, tmp_path.iterdir()))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *files],
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
        capture_output=True,
        text=True,
    )
    ours = [line for line in done.stderr.splitlines() if "goref" in line]
    assert done.returncode == 0 and not ours, done.stderr
    # A mistake would be found.
    (tmp_path / "goref-profile@shop.timer").write_text("[Timer]\nOnCal=1\n")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *files],
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
        capture_output=True,
        text=True,
    )
    assert "OnCal" in done.stderr


def test_service(shell, tmp_path):
    """Its commands, as systemd would run them."""
    begin = time.time_ns()
    _, text = unit(".service")
    commands = re.findall(r"^ExecStart=(.*)$", text, re.M)
    out = tmp_path / "refs.pb.gz"
    for command in commands:
        words = shlex.split(
            command.replace("$$", "$").replace("%i", "shop").replace("%l", "h")
        )
        assert words[:2] == ["/bin/sh", "-c"]
        noted = shell(words[2], OUT=str(out))
    check_profile(out, begin, {"service_name": "shop", "instance": "h"})
    assert noted[:2] == ["profilecli", "upload"] and noted[-1] == str(out)


def test_cron_job(shell, tmp_path):
    yaml = pytest.importorskip("yaml")
    (text,) = blocks("yaml")
    job = yaml.safe_load(text)
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "CronJob")
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["hostPID"] is True and pod["restartPolicy"] == "Never"
    (container,) = pod["containers"]
    assert container["command"] == ["/bin/sh", "-ec"]
    (script,) = container["args"]
    begin = time.time_ns()
    folder = str(tmp_path)
    noted = shell(script.replace("/tmp/", f"{folder}/"), NODE="node-7")
    tags = {"service_name": "shop", "node": "node-7"}
    check_profile(tmp_path / "refs.pb.gz", begin, tags)
    assert noted[0] == "parca-push"
    assert noted[-1] == f"{folder}/refs.pb.gz"
