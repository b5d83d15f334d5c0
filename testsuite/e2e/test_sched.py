# SPDX-License-Identifier: Apache-2.0
"""goref hung --sched, by what the runtime prints of its scheduler itself
(GODEBUG=schedtrace)."""

import json
import re
import time

import pytest

from session import run_cli
from targets import (
    Target,
    attach_reason,
    gdb_core,
    kernel_core,
    kernel_cores_reason,
    skip_if,
    start,
)
from toolchains import RELEASES, Variant, build, variants

TRACE = {
    "GODEBUG": "schedtrace=100,scheddetail=1,asyncpreemptoff=1",
    "GOTRACEBACK": "crash",
}
STATES = {"0": "idle", "1": "running", "2": "in a system call", "3": "stopped"}
DEAD = ("6", "11")  # and _Gdeadextra, since Go 1.26
NEWEST = Variant(RELEASES[-1], "default")
SCREEN = 45  # lines


def fields(text):
    """{name: value} of `name=value name=value'."""
    return dict(re.findall(r"(\w+)=(\S*)", text))


class Traced:
    """The scheduler as the runtime prints it."""

    def __init__(self, block):
        self.head = fields(block[0] + " " + block[0].partition(":")[2])
        self.ps, self.ms, self.runnable = {}, {}, 0
        self.dead = set()
        for line in block[1:]:
            kind, number = re.match(r"  ([PMG])(\d+):", line).groups()
            if kind == "P":
                self.ps[int(number)] = fields(line)
            elif kind == "M":
                self.ms[int(number)] = fields(line)
            else:
                status = fields(line)["status"].partition("(")[0]
                self.runnable += status == "1"
                if status in DEAD:
                    self.dead.add(int(number))

    def seen(self):
        return (self.ps, self.ms, self.runnable)


def blocks(text):
    """Complete blocks, all but the last one."""
    starts = re.split(r"^(?=SCHED )", text, flags=re.M)[1:-1]
    return [Traced([x for x in b.splitlines() if x]) for b in starts]


@pytest.fixture
def settled(tmp_path):
    """settled(variant, what): a process, and what the runtime has printed of
    it at least three times without a difference."""
    processes = []

    def run(variant, what):
        exe = build("sched", variant.release, variant.flavour)
        file = tmp_path / "trace"
        with open(file, "wb") as errors:
            processes.append(start(exe, [what], TRACE, errors))
        end = time.monotonic() + 60
        while time.monotonic() < end:
            last = blocks(file.read_text())[-3:]
            if len(last) == 3 and last[0].seen() == last[1].seen() == (
                last[2].seen()
            ):
                return processes[-1], last[-1]
            time.sleep(0.05)
        return pytest.fail(f"it does not settle: {file.read_text()[-2000:]}")

    yield run
    for process in processes:
        process.stop()


def core_of(process):
    """A core by gdb. For one by the kernel, a signal ends the program, and the
    runtime stops its Ps before it lets the kernel write. The program, which
    loops, ends then."""
    skip_if(attach_reason())
    core = process.folder / "gcore"
    if not core.exists():
        gdb_core(process)
        process.popen.kill()
    return Target("core", process.exe, process.truth, core=core)


def asked(target, *words, status=0):
    place = ["core", target.exe, target.core]
    if not target.core:
        place = ["attach", target.process.pid]
    done = run_cli([*place, "hung", "--sched", *words])
    assert done.returncode == status, done.stderr
    return done.stdout


def first_line_of_hung(target):
    """Without --sched: the scheduler is what all hangs on."""
    done = run_cli(["core", target.exe, target.core, "hung"])
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[0]


def number(text):
    """A number that schedtrace prints; None: nil, or -1 in older releases."""
    return None if text in ("nil", "-1") else int(text)


def check_ps(scheduler, trace):
    assert {p["id"] for p in scheduler["ps"]} == set(trace.ps)
    for p in scheduler["ps"]:
        want = trace.ps[p["id"]]
        assert p["status"] == STATES[want["status"]]
        assert p["m"] == number(want["m"])
        assert p["queued"] - bool(p["next"]) == int(want["runqsize"])
        assert p["schedtick"] == int(want["schedtick"])
        assert p["syscalltick"] == int(want["syscalltick"])


def living(trace, text):
    """A goroutine, but not that of the thread for calls from C, which is not in
    use."""
    return None if number(text) in trace.dead else number(text)


def check_ms(scheduler, trace):
    assert {m["id"] for m in scheduler["ms"]} == set(trace.ms)
    for m in scheduler["ms"]:
        want = trace.ms[m["id"]]
        assert m["p"] == number(want["p"]), m
        assert m["goroutine_id"] == living(trace, want["curg"]), m
        assert m["locked_by"] == living(trace, want["lockedg"]), m
        assert m["spinning"] == (want["spinning"] == "true"), m
        for key in ("mallocing", "throwing"):
            assert m[key] == int(want[key]), (key, m)


def check(scheduler, trace):
    head = trace.head
    assert scheduler["known"]
    assert scheduler["gomaxprocs"] == int(head["gomaxprocs"])
    assert scheduler["idle_ps"] == int(head["idleprocs"])
    assert scheduler["idle_ms"] == int(head["idlethreads"])
    assert scheduler["global_queue"] == int(head["runqueue"])
    assert scheduler["runnable"] == trace.runnable
    assert scheduler["stop_wait"] == int(head["stopwait"])
    assert scheduler["stopping_world"] == (head["gcwaiting"] in ("1", "true"))
    check_ps(scheduler, trace)
    check_ms(scheduler, trace)


@variants("default", newest=("noopt",))
def test_no_p_is_free(settled, variant):
    """One P runs a loop; what waits overflows its queue into the global one."""
    process, trace = settled(variant, "full")
    target = core_of(process)
    document = json.loads(asked(target, "--json"))
    scheduler = document["scheduler"]
    check(scheduler, trace)
    truth = process.truth
    assert scheduler["runnable"] >= truth["queued"]
    (p,) = scheduler["ps"]
    assert p["goroutine_id"] == truth["main"]
    assert p["queued"] + scheduler["global_queue"] == scheduler["runnable"]
    assert re.match(r"no P is free, and 30\d goroutines are", document["cause"])
    (running,) = [m for m in scheduler["ms"] if m["state"] == "running"]
    assert running["function"] == "main.loop"
    (monitor,) = [
        m for m in scheduler["ms"] if m["state"] == "system monitor"
    ]
    assert monitor["start_function"] == "runtime.sysmon"
    text = asked(target)
    assert text.startswith(document["cause"] + "\n")
    assert first_line_of_hung(target) == document["cause"]
    assert "main.loop at main.go" in text
    assert len(text.splitlines()) <= SCREEN


@variants("default")
def test_world_does_not_stop(settled, variant):
    """A collection waits for a goroutine that has no place to stop at."""
    process, trace = settled(variant, "stopping")
    truth = process.truth
    target = core_of(process)
    document = json.loads(asked(target, "--json"))
    scheduler = document["scheduler"]
    check(scheduler, trace)
    assert scheduler["stopping_world"] and scheduler["stop_wait"] == 1
    (awaited,) = [p for p in scheduler["ps"] if p["awaited"]]
    (stopper,) = [p for p in scheduler["ps"] if p["stops_world"]]
    assert awaited["goroutine_id"] == truth["loop"]
    assert stopper["goroutine_id"] == truth["stopper"]
    assert document["cause"] == (
        f"goroutine {truth['stopper']} stops the world, which waits for "
        f"goroutine {truth['loop']}"
    )
    assert first_line_of_hung(target) == document["cause"]


@variants("default")
def test_threads_in_calls(settled, variant):
    """Threads in read(2), one that a goroutine has locked, and idle ones."""
    process, trace = settled(variant, "calls")
    truth = process.truth
    target = core_of(process)
    document = json.loads(asked(target, "--json"))
    scheduler = document["scheduler"]
    check(scheduler, trace)
    states = [m["state"] for m in scheduler["ms"]]
    assert states.count("idle") == scheduler["idle_ms"]
    assert states.count("idle, locked") == scheduler["idle_locked_ms"] == 1
    reading = [
        m for m in scheduler["ms"] if m["state"] == "in a system call"
    ]
    # The main goroutine reads its standard input.
    assert len(reading) == truth["calls"] + 1
    assert {m["syscall"]["name"] for m in reading} == {"read"}
    (locked,) = [m for m in scheduler["ms"] if m["locked_by"]]
    assert locked["locked_by"] == truth["locked"]
    assert document["cause"] == (
        "no goroutine runs or is runnable: 4 threads are in system calls or "
        "in C"
    )


@variants("cgo")
def test_all_threads_in_c(settled, variant):
    """Every goroutine of the user has a thread, which is in C."""
    process, trace = settled(variant, "inC")
    count = process.truth["calls"] + 1  # and the main goroutine
    target = core_of(process)
    document = json.loads(asked(target, "--json"))
    scheduler = document["scheduler"]
    check(scheduler, trace)
    in_c = [m for m in scheduler["ms"] if m["state"] == "in C"]
    assert len(in_c) == count
    assert len({m["thread_id"] for m in in_c}) == count
    assert {m["function"] for m in in_c} == {"main._Cfunc_sleep_forever"}
    assert document["cause"] == (
        f"no goroutine runs or is runnable: {count} threads are in system "
        "calls or in C"
    )
    assert asked(target).startswith(document["cause"] + "\n")


@variants(newest=("stripped",))
def test_stripped(settled, variant):
    """Ps and Ms are found without debug information; what is not is said."""
    process, trace = settled(variant, "full")
    scheduler = json.loads(asked(core_of(process), "--json"))["scheduler"]
    check_ps(scheduler, trace)
    check_ms(scheduler, trace)
    if not scheduler["known"]:
        text = asked(core_of(process))
        assert "runtime.sched is not known" in text


@variants(newest=("default",))
def test_ending(settled, variant):
    """A signal has ended the program: its world is frozen, not stuck."""
    skip_if(kernel_cores_reason())
    process, _trace = settled(variant, "full")
    core = kernel_core(process)
    target = Target("core", process.exe, process.truth, core=core)
    document = json.loads(asked(target, "--json"))
    assert document["scheduler"]["ending"]
    assert document["cause"].startswith("the program is ending")


def test_live(settled):
    """The process is copied and goes on."""
    skip_if(attach_reason())
    process, trace = settled(NEWEST, "full")
    target = Target("live", process.exe, process.truth, process=process)
    document = json.loads(asked(target, "--json"))
    check(document["scheduler"], trace)
    (p,) = document["scheduler"]["ps"]
    assert p["same_ns"] > 10**8  # it was so for three traces