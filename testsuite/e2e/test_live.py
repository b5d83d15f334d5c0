# SPDX-License-Identifier: Apache-2.0
"""Live processes: they are left as they were and go on afterwards."""

import json
import os
import random
import shutil
import signal
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from counters import BUSY, CENTRAL, attach_cli, chain
from counters import TOO_SHORT, settles, tracer_of, truth_of
from hosts import run_host
from session import GOREF, environment, left_behind, run_cli, run_gdb
from session import run_goref, start_command
from toolchains import variants
from waiting import comes, faults_of, is_stopped, reaches, some_moment, stop


def is_frozen(folder):
    """Are all processes of a control group frozen, of whatever version?"""
    for name, word in ("freezer.state", "FROZEN"), ("cgroup.events", "frozen 1"):
        with suppress(FileNotFoundError):
            return word in (folder / name).read_text()
    return False


@pytest.fixture(params=["freezer.state", "cgroup.freeze"])
def frozen(request):
    """frozen(pid): a context in which its control group, of version 1 or 2,
    is frozen; gives the folder."""
    name = request.param
    words = {"freezer.state": ("FROZEN", "THAWED"), "cgroup.freeze": "10"}
    roots = {
        "freezer.state": ["/sys/fs/cgroup/freezer"],
        "cgroup.freeze": ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
    }

    # A file that a folder has only if it is one of control groups.
    mark = {
        "freezer.state": "cgroup.procs",
        "cgroup.freeze": "cgroup.controllers",
    }

    @contextmanager
    def freeze(pid):
        for root in map(Path, roots[name]):
            folder = root / f"goref-test-{os.getpid()}"
            if not (root / mark[name]).exists():
                continue
            with suppress(OSError):
                folder.mkdir()
            try:
                (folder / "cgroup.procs").write_text(str(pid))
                (folder / name).write_text(words[name][0])
            except OSError:
                continue
            try:
                assert comes(lambda: is_frozen(folder))
                yield folder
            finally:
                (folder / name).write_text(words[name][1])
                (root / "cgroup.procs").write_text(str(pid))
                folder.rmdir()
            return
        pytest.skip("no control group may be frozen here")

    return freeze


@variants("default", "pie")
def test_process_goes_on(counting, variant):
    process, counter = counting(variant)
    run = run_gdb(["-p", process.pid], ["goref scan --json"])
    assert run.rc == 0, run.stderr
    truth = process.truth["held"]["main.chain"]["objects"]
    roots = {r["name"]: r["objects"] for r in run.json(0)["roots"]}
    assert roots["main.chain"] == truth
    assert run.json(0)["target"]["kind"] == "native"
    assert run.json(0)["target"]["pid"] == process.pid
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


def test_process_goes_on_after_an_error(counting):
    process, counter = counting(CENTRAL)
    run = run_gdb(["-p", process.pid], ["goref scan --nonsense"])
    assert run.rc == 1
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


def test_stays_stopped_within_a_session(counting):
    """Between two commands the process does not move."""
    process, counter = counting(CENTRAL)
    run = run_gdb(
        ["-p", process.pid],
        ["goref scan --json", "shell sleep 0.5", "goref scan --json",
         "info threads"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    assert "(running)" not in run.parts[3]
    assert run.json(0)["reached"] == run.json(2)["reached"]
    assert counter.goes_on()


def test_scan_after_going_on_is_new(counting):
    """A scan is dropped when the process runs."""
    process, counter = counting(CENTRAL)
    run = run_gdb(
        ["-p", process.pid],
        ["goref scan --json", "detach", "shell sleep 0.3",
         f"attach {process.pid}", "goref why main.chain --json"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    assert run.json(4)["reachable"]
    assert counter.goes_on()


@pytest.mark.parametrize("faults", [0, 100, 300, 1000, 3000, 10000])
def test_killed_gdb_leaves_the_process_alone(counting, faults):
    """From the moment on that our command begins; what gdb does to attach
    is gdb's own. Moments are counted in page faults of gdb."""
    process, counter = counting(CENTRAL, BUSY)
    line = start_command(
        ["-batch", "-p", process.pid,
         "-ex", "python import os; os.write(1, b'begins')",
         "-ex", "goref scan --json"]
    )  # fmt: skip
    gdb = subprocess.Popen(
        line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )
    said = b""
    while b"begins" not in said:
        piece = os.read(gdb.stdout.fileno(), 4096)
        assert piece, said
        said += piece
    reaches(gdb.pid, faults_of(gdb.pid) + faults)
    gdb.kill()
    gdb.wait()
    gdb.stdout.close()
    assert process.popen.poll() is None
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


def test_deleted_binary(farm, counting, tmp_path):
    """The process's own executable is used; a note says so, once."""
    from targets import start
    from toolchains import build

    exe = tmp_path / "counter"
    shutil.copy(build("counter", CENTRAL.release), exe)
    process = start(exe, ["20000"])
    try:
        exe.unlink()
        run = run_gdb(["-p", process.pid], ["goref scan --json"])
        assert run.rc == 0, run.stderr
        by_cli = run_cli(["attach", process.pid, "scan", "--json"])
        for done in (json.loads(by_cli.stdout), run.json(0)):
            assert chain(done) == truth_of(process)
            assert done["target"]["exe"] == str(exe)
        note = f"{exe} was deleted or replaced since the process started: "
        for said in (by_cli.stderr, run.stderr):
            assert said.count(note) == 1
            assert f"using /proc/{process.pid}/exe" in said
    finally:
        process.stop()


def test_replaced_binary(farm, counting, tmp_path):
    """Another program has taken the file's place meanwhile."""
    from targets import start
    from toolchains import build

    exe = tmp_path / "counter"
    shutil.copy(build("counter", CENTRAL.release), exe)
    process = start(exe, ["20000"])
    try:
        exe.unlink()
        shutil.copy(build("shared", CENTRAL.release), exe)
        run = run_gdb(["-p", process.pid], ["goref scan --json"])
        assert run.rc == 0, run.stderr
        assert chain(run.json(0)) == truth_of(process)
        assert chain(attach_cli(process.pid)) == truth_of(process)
    finally:
        process.stop()


def test_another_mount_and_pid_namespace(farm, tmp_path):
    """As in a container: the file's name means nothing out here."""
    from targets import unshared
    from toolchains import build

    counter = build("counter", CENTRAL.release)
    with unshared(counter, ["20000"], tmp_path / "root") as (process, inner):
        run = run_gdb(["-p", inner], ["goref scan --json"])
        assert run.rc == 0, run.stderr
        assert chain(run.json(0)) == truth_of(process)
        assert chain(attach_cli(inner)) == truth_of(process)
        assert tracer_of(inner) == 0


def test_gcore_and_live_see_the_same(farm):
    """The core was taken of that very process, at rest."""
    live = run_goref(
        farm.target("rest", CENTRAL, "live"),
        ["goref scan --json"],
        in_gdb=True,
    )
    core = run_goref(
        farm.target("rest", CENTRAL, "gcore"), ["goref scan --json"]
    )
    assert live.rc == 0 and core.rc == 0, live.stderr + core.stderr
    one, two = live.json(0), core.json(0)
    assert abs(one["reached"]["objects"] - two["reached"]["objects"]) <= 2
    assert one["roots"][0] == two["roots"][0]


# ---------------------------------------------------------- ends and stops


def start_attach(process):
    return subprocess.Popen(
        [GOREF, "attach", str(process.pid), "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )


@pytest.mark.parametrize("seed", range(12))
def test_killed_goref_leaves_the_process_alone(counting, seed):
    """At any moment of the stop."""
    process, counter = counting(CENTRAL, BUSY)
    goref = start_attach(process)
    assert comes(lambda: tracer_of(process.pid) or goref.poll() is not None)
    some_moment(lambda: tracer_of(process.pid), random.Random(seed))
    goref.kill()
    goref.wait()
    assert process.popen.poll() is None
    assert settles(process.pid)
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


def test_leaves_no_process(counting):
    """Not even an ended one, to whoever is the parent of all."""
    process, _ = counting(CENTRAL)
    for _ in range(3):
        assert not left_behind([GOREF, "attach", str(process.pid)])


def stays_stopped(pid):
    """Once goref has ended, only its own signal holds it."""
    return tracer_of(pid) == 0 and comes(lambda: is_stopped(pid))


def test_stopped_process_stays_stopped(counting):
    """Somebody has stopped it: that is not ours to undo, nor to deny."""
    process, counter = counting(CENTRAL)
    stop(process.pid)
    done = run_cli(["attach", process.pid, "--json"])
    assert done.returncode == 0, done.stderr
    assert chain(json.loads(done.stdout)) == truth_of(process)
    assert "stays stopped" in done.stderr
    assert "goes on" not in done.stderr
    assert "which stops it" not in done.stderr
    assert stays_stopped(process.pid)
    process.popen.send_signal(signal.SIGCONT)
    assert counter.goes_on()


def test_stopped_process_that_is_given_up_stays_stopped(counting):
    process, counter = counting(CENTRAL, BUSY)
    stop(process.pid)
    status, _, said = run_host(process.pid, TOO_SHORT)
    assert status == 1
    assert "given up" in said and "stays stopped" in said
    assert "goes on" not in said
    assert stays_stopped(process.pid)
    process.popen.send_signal(signal.SIGCONT)
    assert counter.goes_on()


@pytest.mark.parametrize("way", [[], ["--snapshot"]], ids=["copy", "snapshot"])
def test_frozen_process_is_refused(counting, frozen, way):
    """No tracer can stop it."""
    process, counter = counting(CENTRAL)
    with frozen(process.pid) as folder:
        done = run_cli(["attach", process.pid, *way])
        assert done.returncode == 1, done.stderr
        assert done.stderr.count("\n") == 1
        assert f"frozen by its control group {folder}" in done.stderr
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()
