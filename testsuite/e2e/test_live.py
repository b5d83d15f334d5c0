# SPDX-License-Identifier: Apache-2.0
"""Live processes: they are left as they were and go on afterwards."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from session import GOREF, environment, left_behind, run_cli, run_gdb
from session import run_goref
from session import start_command
from targets import attach_reason, skip_if
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")
BUSY = ("2000000",)


class Counter:
    """Reads the numbers of a counting process all the time."""

    def __init__(self, process):
        self.process = process
        self.last = -1
        self.stopping = False
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        while not self.stopping:
            try:
                self.last = int(self.process.read_line(timeout=1))
            except TimeoutError:
                continue
            except (EOFError, ValueError, OSError):
                return

    def goes_on(self, timeout=20):
        before, end = self.last, time.monotonic() + timeout
        while time.monotonic() < end:
            if self.last > before + 2:
                return True
            time.sleep(0.01)
        return False

    def stop(self):
        self.stopping = True
        self.thread.join(timeout=5)


@pytest.fixture
def counting(farm):
    """counting(variant, args): a process that counts, and its reader."""
    skip_if(attach_reason())
    readers = []

    def count(variant, args=("20000",)):
        process = farm.process("counter", variant, args)
        readers.append(Counter(process))
        assert readers[-1].goes_on()
        return process, readers[-1]

    yield count
    for reader in readers:
        reader.stop()


def tracer_of(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("TracerPid:"):
            return int(line.split()[1])
    return None


def chain(report):
    """Objects that main.chain holds."""
    return {r["name"]: r["objects"] for r in report["roots"]}["main.chain"]


def truth_of(process):
    return process.truth["held"]["main.chain"]["objects"]


def attach_cli(pid, *options):
    """What `goref attach --json` says."""
    done = run_cli(["attach", pid, "--json", *options])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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
    """What was scanned is dropped when the process runs."""
    process, counter = counting(CENTRAL)
    run = run_gdb(
        ["-p", process.pid],
        ["goref scan --json", "detach", "shell sleep 0.3",
         f"attach {process.pid}", "goref why main.chain --json"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    assert run.json(4)["reachable"]
    assert counter.goes_on()


@pytest.mark.parametrize("delay", [0, 0.01, 0.02, 0.04, 0.08, 0.16])
def test_killed_gdb_leaves_the_process_alone(counting, delay):
    """From the moment on that our command begins; what gdb does to attach
    is gdb's own."""
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
    time.sleep(delay)
    gdb.kill()
    gdb.wait()
    gdb.stdout.close()
    assert process.popen.poll() is None
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


def test_deleted_binary(farm, counting, tmp_path):
    """The process's own executable is used, and that is said."""
    from targets import start
    from toolchains import build

    exe = tmp_path / "counter"
    shutil.copy(build("counter", CENTRAL.release), exe)
    process = start(exe, ["20000"])
    try:
        exe.unlink()
        run = run_gdb(["-p", process.pid], ["goref scan --json"])
        assert run.rc == 0, run.stderr
        assert chain(run.json(0)) == truth_of(process)
        by_cli = attach_cli(process.pid)
        assert chain(by_cli) == truth_of(process)
        said = run.stdout + run.stderr
        assert "deleted" in said or f"/proc/{process.pid}/exe" in said
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
    from targets import start
    from toolchains import build

    if not shutil.which("unshare") or os.geteuid():
        pytest.skip("needs unshare and root")
    root = tmp_path / "root"
    (root / "app").mkdir(parents=True)
    shutil.copy(build("counter", CENTRAL.release), root / "app" / "counter")
    try:
        process = start(
            shutil.which("unshare"),
            ["--mount", "--pid", "--fork", "--kill-child", "--root",
             str(root), "/app/counter", "20000"],
        )  # fmt: skip
    except (EOFError, TimeoutError):
        pytest.skip("no new namespaces may be made here")
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        inner = int(children.read_text().split()[0])
        run = run_gdb(["-p", inner], ["goref scan --json"])
        assert run.rc == 0, run.stderr
        assert chain(run.json(0)) == truth_of(process)
        assert chain(attach_cli(inner)) == truth_of(process)
        assert tracer_of(inner) == 0
    finally:
        process.stop()


def test_gcore_and_live_see_the_same(farm):
    """The core was taken of that very process, at rest."""
    live = run_goref(
        farm.target("rest", CENTRAL, "live"), ["goref scan --json"]
    )
    core = run_goref(
        farm.target("rest", CENTRAL, "gcore"), ["goref scan --json"]
    )
    assert live.rc == 0 and core.rc == 0, live.stderr + core.stderr
    one, two = live.json(0), core.json(0)
    assert abs(one["reached"]["objects"] - two["reached"]["objects"]) <= 2
    assert one["roots"][0] == two["roots"][0]


# ------------------------------------------------------------- goref attach


@variants("default", "pie", "nodwarf")
def test_attach_copies_and_lets_go(counting, variant):
    """What was copied is one moment of the process, which went on."""
    process, counter = counting(variant, BUSY)
    done = run_cli(["attach", process.pid, "--json", "--why", "main.chain"])
    if variant.flavour != "nodwarf":
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["reachable"]
    done = run_cli(["attach", process.pid, "--json"])
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    if variant.flavour == "nodwarf":
        assert report["reached"]["objects"] >= truth_of(process)
    else:
        assert chain(report) == truth_of(process)
    assert re.search(r"about .* to copy, .*memory needed", done.stderr)
    assert re.search(r"stood still for .* and goes on", done.stderr)
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


def build_id_of(file):
    notes = subprocess.run(
        ["readelf", "-n", file], capture_output=True, text=True, check=True
    )
    return re.search(r"Build ID: ([0-9a-f]+)", notes.stdout)[1]


def test_no_debug_file_is_read_while_it_stands_still(counting, tmp_path):
    """libc's, if it is installed, is what gdb would take longest to read."""
    process, counter = counting(Variant("go1.24", "external"))
    maps = Path(f"/proc/{process.pid}/maps").read_text()
    libc = re.search(r"/\S*/libc\.so\S*", maps)[0]
    name = build_id_of(libc)
    debug = tmp_path / ".build-id" / name[:2] / f"{name[2:]}.debug"
    debug.parent.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", libc, debug], check=True)
    files = "python print(sum(bool(o.owner) for o in gdb.objfiles()))"
    for attach, count in (
        (f"attach {process.pid}", 1),
        (f"python from goref import cli; it = cli.stopped({process.pid}); "
         "it.__enter__()", 0),
    ):  # fmt: skip
        run = run_gdb(
            [], [f"set debug-file-directory {tmp_path}", attach, files]
        )
        assert run.rc == 0, run.stderr
        assert int(run.parts[2].split()[0]) == count, run.stdout
    assert counter.goes_on()


def test_attach_copies_the_same_by_two_threads(counting):
    process, counter = counting(CENTRAL, BUSY)
    chains = []
    for threads in ("1", "2"):
        done = run_cli(["attach", process.pid, "--json", "--threads", threads])
        assert done.returncode == 0, done.stderr
        chains.append(chain(json.loads(done.stdout)))
    assert chains == [truth_of(process)] * 2
    assert counter.goes_on()


def test_attach_refuses_a_bad_number_of_threads(counting):
    process, _ = counting(CENTRAL, BUSY)
    done = run_cli(["attach", process.pid, "--threads", "17"])
    assert done.returncode == 2, done.stdout
    assert done.stderr.count("\n") == 1
    assert "not a number of threads: 17 (1 to 16)" in done.stderr


def test_attach_refuses_a_long_pause(counting):
    process, counter = counting(CENTRAL, BUSY)
    done = run_cli(["attach", process.pid, "--max-pause", "1"])
    assert done.returncode == 1, done.stdout
    last = done.stderr.splitlines()[-1]
    assert "not attached" in last and "--max-pause 1" in last
    assert not done.stdout
    assert counter.goes_on()


def test_attach_gives_up_when_it_takes_too_long(counting):
    """The estimate was wrong: within a millisecond nothing can be copied."""
    process, counter = counting(CENTRAL, BUSY)
    script = (
        "python from goref import cli, live; "
        f"it = live.Look({process.pid}, lambda: cli.stopped({process.pid}), "
        "live._Deadline('off'), 1); it.copy()"
    )
    run = run_gdb([process.exe], [script, "info inferiors"])
    said = run.stderr + run.stdout
    assert "given up" in said and "--max-pause is 1;" in said
    assert f"process {process.pid}" not in run.parts[1]
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


@variants("stripped")
def test_attach_to_what_changes_while_it_is_searched(farm, variant):
    """Without debug information the heap and the scheduler are known by what
    must hold of them, and of a busy process it does not at all times."""
    skip_if(attach_reason())
    process = farm.process("churn", variant)
    for _ in range(5):
        report = attach_cli(process.pid)
        assert report["reached"]["objects"] > 1000
        assert tracer_of(process.pid) == 0


# The search of a process that runs fails once; then it stands still.
UNSETTLED = """python
import gdb
from goref import cli, live, native
real, stopped = native.load().Scan, []
def scan(**arguments):
    stopped.append(gdb.selected_inferior().pid)
    if len(stopped) == 1:
        raise native.load().UnsettledError("it has moved")
    return real(**arguments)
native.load().Scan = scan
live.look(PID, lambda: cli.stopped(PID), LIMIT, None, 1 << 20)
print("stopped", stopped)
"""


@pytest.mark.parametrize("limit", [None, 1])
def test_attach_searches_what_stands_still(counting, tmp_path, limit):
    process, counter = counting(CENTRAL, BUSY)
    script = tmp_path / "unsettled.gdb"
    text = UNSETTLED.replace("PID", str(process.pid))
    script.write_text(text.replace("LIMIT", str(limit)) + "end\n")
    run = run_gdb(
        [process.exe], [f"source {script}", "goref scan --json"]
    )
    assert "to find the runtime, it has to stand still" in run.stderr
    if limit:
        assert "not attached" in run.stderr and "--max-pause 1" in run.stderr
    else:
        assert f"stopped [0, {process.pid}]" in run.parts[0]
        assert run.stderr.count("and goes on") == 2
        assert chain(run.json(1)) == truth_of(process)
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


def test_attach_gives_up_a_search_that_takes_too_long(counting, tmp_path):
    process, counter = counting(CENTRAL, BUSY)
    script = tmp_path / "unsettled.gdb"
    text = UNSETTLED.replace("PID", str(process.pid)).replace("LIMIT", "2000")
    late = "__import__('time').sleep(2.1)\n    return real"
    script.write_text(text.replace("return real", late) + "end\n")
    run = run_gdb([process.exe], [f"source {script}"])
    assert "given up" in run.stderr and "it goes on" in run.stderr
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


def test_attach_refuses_for_want_of_memory(counting):
    process, counter = counting(CENTRAL, BUSY)
    done = run_cli(["attach", process.pid, "--memory-limit", "1M"])
    assert done.returncode == 1, done.stdout
    last = done.stderr.splitlines()[-1]
    assert "not enough memory" in last and "limit is 1.0 MB" in last
    assert counter.goes_on()


# What is said before is true of a smaller process.
GROWN = """python
from goref import cli, live
announce = live.Look.announce
def then_grow(self, max_nodes):
    announce(self, max_nodes)
    self.progress.memory_limit = 1 << 20
live.Look.announce = then_grow
live.look(PID, lambda: cli.stopped(PID), None, 1 << 30, 1 << 20)
"""


def test_attach_gives_up_for_want_of_memory(counting, tmp_path):
    process, counter = counting(CENTRAL, BUSY)
    script = tmp_path / "grown.gdb"
    script.write_text(GROWN.replace("PID", str(process.pid)) + "end\n")
    run = run_gdb([process.exe], [f"source {script}"])
    assert "not enough memory: more than" in run.stderr, run.stderr
    assert "the limit is 1.0 MB" in run.stderr
    assert run.stderr.count("and goes on") == 1
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


def test_attach_gives_nodes_for_memory(counting):
    """The tree has fewer nodes before the scan is refused."""
    process, counter = counting(CENTRAL, BUSY)
    done = run_cli(["attach", process.pid, "--memory-limit", "1M"])
    needed = re.search(r": ([\d.]+) MB are needed", done.stderr)[1]
    enough = f"{float(needed) + 2}M"
    done = run_cli(["attach", process.pid, "--memory-limit", enough, "--json"])
    assert done.returncode == 0, done.stderr
    assert "nodes in the tree" in done.stderr
    assert chain(json.loads(done.stdout)) == truth_of(process)


def settles(pid, timeout=20):
    """No thread of it is stopped, soon."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        stats = Path(f"/proc/{pid}/task").glob("*/stat")
        states = {s.read_text().rpartition(")")[2].split()[0] for s in stats}
        if not states & {"T", "t"}:
            return True
        time.sleep(0.02)
    return False


def start_attach(process):
    return subprocess.Popen(
        [GOREF, "attach", str(process.pid), "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )


def is_alive(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("seed", range(12))
def test_killed_goref_leaves_the_process_alone(counting, seed):
    """At any moment, that of gdb's attach, too."""
    process, counter = counting(CENTRAL, BUSY)
    goref = start_attach(process)
    end = time.monotonic() + 20
    while time.monotonic() < end and goref.poll() is None:
        if tracer_of(process.pid):
            break
    time.sleep(random.Random(seed).uniform(0, 0.03))
    goref.kill()
    goref.wait()
    assert process.popen.poll() is None
    assert settles(process.pid)
    assert tracer_of(process.pid) == 0
    assert counter.goes_on()


def text_of(path):
    """Of a file in /proc; empty if it is gone by now."""
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def copies_of(goref):
    """Forks of gdb's own process."""
    children = []
    for task in Path(f"/proc/{goref.pid}/task").iterdir():
        children += text_of(task / "children").split()
    command = text_of(f"/proc/{goref.pid}/cmdline")
    return [
        int(child)
        for child in children
        if text_of(f"/proc/{child}/cmdline") == command
    ]


def test_killed_while_gdb_tries_the_kernel(counting):
    """At its first attach gdb forks itself: such a copy is stopped when gdb
    is killed, and has open all that gdb had."""
    if not Path(f"/proc/self/task/{os.getpid()}/children").exists():
        pytest.skip("the kernel does not tell the children of a process")
    process, counter = counting(CENTRAL, BUSY)
    for _ in range(20):
        goref = start_attach(process)
        copies = []
        while not copies and goref.poll() is None:
            if tracer_of(process.pid):
                copies = copies_of(goref)
        goref.kill()
        goref.wait()
        if copies:
            break
    assert copies, "gdb has not tried"
    assert settles(process.pid)
    assert counter.goes_on()
    end = time.monotonic() + 20
    while time.monotonic() < end and any(map(is_alive, copies)):
        time.sleep(0.05)
    assert not any(map(is_alive, copies))


def test_leaves_no_process(counting):
    """Not even an ended one, to whoever is the parent of all."""
    process, _ = counting(CENTRAL)
    for _ in range(3):
        assert not left_behind([GOREF, "attach", str(process.pid)])


def test_stopped_process_stays_stopped(counting):
    """Somebody has stopped it: that is not ours to undo."""
    process, counter = counting(CENTRAL)
    process.popen.send_signal(signal.SIGSTOP)
    time.sleep(0.2)
    assert chain(attach_cli(process.pid)) == truth_of(process)
    assert not settles(process.pid, timeout=0.5)
    process.popen.send_signal(signal.SIGCONT)
    assert counter.goes_on()
