# SPDX-License-Identifier: Apache-2.0
"""Programs for arm64: built here, run by qemu, which writes a core of them.
goref reads it, and goref in a gdb that knows arm64."""

import json
import shutil
import signal
import subprocess

import pytest

from pprof import Profile
from session import run_cli, run_gdb
from targets import GDB, core_limit_reason, skip_if, start_undisturbed
from test_roots import STACKS, check_calls_by_reflection
from test_verify import addresses, complaints
from toolchains import Variant, build, variants
from waiting import works

QEMU = shutil.which("qemu-aarch64")
ALL = variants("arm64")
# qemu takes its time.
ONE = variants("arm64", releases=("go1.27",))
RUNNING = 2  # GOMAXPROCS, of start()


def ask(exe, core, *words):
    done = run_cli(["core", exe, core, *words])
    assert not done.stderr, done.stderr
    return done.stdout


class Look:
    """The answers about the core of one program."""

    def __init__(self, program, variant, ticks=0):
        """ticks: how long the program works before it ends; 0: until it
        rests."""
        self.process = start_undisturbed(
            QEMU, [build(program, variant.release, "arm64")]
        )
        self.truth = self.process.truth
        if ticks:
            works(self.process.pid, ticks)
        else:
            self.process.rest()
        exe = self.exe = build(program, variant.release, "arm64")
        core = self.core = self._take_core()
        out = self.process.folder / "refs.pb"
        self.verdict = json.loads(ask(exe, core, "verify", "--json"))
        self.objects = addresses(ask(exe, core, "objects", "--addresses"))
        self.ledger = json.loads(ask(exe, core, "scan", "--json", "-o", out))
        self.profile = Profile.load(out)

    def _take_core(self):
        """qemu 10 keeps SIGABRT for itself, and would be what the core is of.
        The runtime ends the program by SIGABRT at SIGQUIT, too."""
        self.process.popen.send_signal(signal.SIGQUIT)
        self.process.popen.wait(timeout=60)
        cores = list(self.process.folder.glob("qemu*.core"))
        assert cores, "qemu wrote no core"
        return cores[0]


@pytest.fixture
def look():
    """look(program, variant): a Look, whose folder goes away at the end."""
    if not QEMU:
        pytest.skip("no qemu-aarch64 (package qemu-user)")
    skip_if(core_limit_reason())
    made = []

    def take(*arguments, **options):
        made.append(Look(*arguments, **options))
        return made[-1]

    yield take
    for one in made:
        one.process.stop()


@ALL
def test_at_rest(look, variant):
    rest = look("rest", variant)
    assert rest.verdict["unexplained"] == 0
    assert rest.verdict["free_slot_pointers"] == 0
    missing = rest.verdict["allocated_objects"] - len(rest.objects)
    assert 0 <= missing <= 2
    for key in ("heap_alloc", "heap_objects"):
        assert rest.verdict[key]["read"] == rest.verdict[key]["rebuilt"], key
    heap = rest.truth["heap"]
    assert abs(rest.verdict["heap_objects"]["read"] - heap["objects"]) <= 8
    assert not any(rest.ledger["gaps"].values()), rest.ledger["gaps"]
    reached = rest.ledger["reached"]
    assert reached["masked_bytes"] <= 0.01 * reached["bytes"]


@ONE
def test_stacks_hold(look, variant):
    roots = look("roots", variant)
    assert roots.verdict["unexplained"] == 0
    for function in STACKS:
        name = "main." + function
        objects = roots.profile.prefix(name)[0]
        assert objects == roots.truth["held"][name]["objects"], name


@ALL
def test_calls_by_reflection(look, variant):
    calls = look("reflected", variant)
    assert calls.verdict["free_slot_pointers"] == 0
    check_calls_by_reflection(
        calls.truth["places"],
        {address for address, _ in calls.objects},
        calls.ledger["gaps"],
    )


@ONE
def test_generics(look, variant):
    generics = look("generics", variant)
    assert generics.ledger["gaps"]["unresolved_generics"] == 0
    for name, truth in generics.truth["held"].items():
        assert generics.profile.prefix(name)[0] == truth["objects"], name


@ONE
def test_under_load(look, variant):
    churn = look("churn", variant, ticks=100)
    reached = {address for address, _ in churn.objects}
    wrong = complaints(churn.verdict, churn.truth["places"], reached)
    assert not wrong, wrong
    # Many have not begun, or stand in a prologue that called morestack:
    # where they return to is in the link register that the runtime kept.
    # The two that run may stand anywhere.
    gaps = churn.verdict["gaps"]
    assert gaps["frames_not_unwound"] <= RUNNING, gaps


def knows_arm64(gdb):
    script = "python print('aarch64' in gdb.architecture_names())"
    done = subprocess.run(
        [gdb, "-nx", "-batch", "-ex", script], capture_output=True, text=True
    )
    return done.stdout == "True\n"


def test_overview_in_a_gdb_that_does_not_know_it(look):
    """It sees no thread and no signal: that says nothing of the program."""
    if knows_arm64(GDB):
        pytest.skip("this gdb knows arm64")
    rest = look("rest", Variant("go1.27", "arm64"))
    alone = [GDB, "-nx", "-batch", rest.exe, rest.core]
    if subprocess.run(alone, capture_output=True).returncode:
        pytest.skip("this gdb crashes on such a core")
    run = run_gdb([rest.exe, rest.core], ["goref overview --json"])
    assert run.json(0)["stopped_by"] is None


@ALL
def test_command_line(look, variant, tmp_path):
    rest = look("rest", variant)

    def ask(*words):
        done = run_cli(words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    source = ["core", rest.exe, rest.core]
    reached = json.loads(ask(*source, "overview", "--json"))["heap"]["reached"]
    assert reached.items() <= rest.ledger["reached"].items()
    assert "signal SIGQUIT" in ask(*source, "panic")
    saved = tmp_path / "rest.goref"
    ask(*source, "save", saved)
    rows = json.loads(ask(*source, "histogram", "--json"))["rows"]
    opened = json.loads(ask("open", saved, "histogram", "--json"))["rows"]
    assert rows and opened == rows
