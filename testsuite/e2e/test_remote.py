# SPDX-License-Identifier: Apache-2.0
"""Through gdb's remote protocol, gdbserver at the other end: the same answers
as from the process itself."""

import re
import shutil
import subprocess

import pytest

from session import run_gdb, run_goref
from targets import attach_reason, skip_if
from toolchains import variants

QUIET = ["set sysroot /", "set remotetimeout 60"]


@pytest.fixture
def served():
    """served(process): the address of a gdbserver that holds it."""
    if not shutil.which("gdbserver"):
        pytest.skip("no gdbserver")
    skip_if(attach_reason())
    servers = []

    def serve(process):
        server = subprocess.Popen(
            ["gdbserver", "--once", "--attach", "127.0.0.1:0",
             str(process.pid)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        servers.append(server)
        for line in server.stderr:
            port = re.search(r"Listening on port (\d+)", line)
            if port:
                return f"127.0.0.1:{port[1]}"
        raise EOFError("gdbserver ended")

    yield serve
    for server in servers:
        if server.poll() is None:
            server.kill()
        server.wait()
        server.stderr.close()


@variants(newest=("default", "pie", "c-shared"))
def test_as_native(farm, served, variant, tmp_path):
    native = farm.target("rest", variant, "live")
    questions = ["goref scan --json", "goref why main.sessions",
                 "goref verify --json"]  # fmt: skip
    near = run_goref(native, questions, in_gdb=True)
    assert near.rc == 0, near.stderr
    address = served(native.process)
    far = run_gdb(
        [str(native.exe)],
        [*QUIET, f"target remote {address}", *questions, "disconnect"],
    )
    assert far.rc == 0, far.stderr
    one, two = near.json(0), far.json(len(QUIET) + 1)
    for part in ("heap", "reached", "gaps"):
        assert one[part] == two[part]
    told = native.truth["heap"]["objects"]
    assert abs(two["heap"]["allocated_objects"] - told) <= 8
    # Between the two the runtime does its own things.
    ours = [
        [r for r in look["roots"] if r["kind"] != "runtime"]
        for look in (one, two)
    ]
    assert ours[0] == ours[1] != []
    assert far.parts[len(QUIET) + 2] == near.parts[1]
    verified = far.json(len(QUIET) + 3)
    assert verified["reached_objects"] == verified["allocated_objects"]
    assert not verified["differences"]
