# SPDX-License-Identifier: Apache-2.0
"""Go code in more than one file, or in a file beside the executable: a
library that a C program loads, plugins, split debug files, C's threads. The
programs are those of the other tests, and so is their truth."""

import shutil
import subprocess

import pytest

from session import run_goref
from targets import Target, kernel_core, kernel_cores_reason, skip_if
from targets import split_debug, start
from toolchains import HOSTS, build, variants

WARNING = "no debug information"


def prefix(target, variant):
    """The package that a program's `main` is in the tables: a plugin's has
    the path of its sources instead."""
    if HOSTS.get(variant.flavour) != "plugin":
        return "main."
    return f"_{target.exe.parent}/src."


def renamed(name, target, variant):
    return prefix(target, variant) + name.removeprefix("main.")


@pytest.fixture(params=["core", "live"])
def kind(request):
    return request.param


# ------------------------------------------------------ libraries, plugins


@variants("c-shared", "plugin", "external", "race")
def test_everything_is_reached(farm, variant, kind):
    target = farm.target("rest", variant, kind)
    run = run_goref(target, ["goref verify --json", "goref scan --json"])
    assert run.rc == 0, run.stderr
    verdict, ledger = run.json(0), run.json(1)
    missing = verdict["allocated_objects"] - verdict["reached_objects"]
    assert 0 <= missing <= 2
    assert verdict["unexplained"] == 0
    assert not any(ledger["gaps"].values()), ledger["gaps"]
    for key in ("heap_alloc", "heap_objects"):
        assert verdict[key]["read"] == verdict[key]["rebuilt"], key
    truth = target.truth["heap"]
    assert abs(verdict["heap_objects"]["read"] - truth["objects"]) <= 8
    assert ledger["reached"]["masked_bytes"] <= (
        0.01 * ledger["reached"]["bytes"]
    )
    types = {t["type"]: t["objects"] for t in ledger["types"]}
    assert types[prefix(target, variant) + "Event"] == 7000


@variants("c-shared", "plugin")
def test_values(scanned, variant):
    """The variables of a library hold what the program counted."""
    scan = scanned("values", variant)
    wrong = []
    for name, truth in scan.target.held.items():
        objects, size = scan.profile.root(renamed(name, scan.target, variant))
        if objects != truth["objects"]:
            wrong.append(f"{name}: {objects} objects, not {truth['objects']}")
        elif truth["bytes"] and size != truth["bytes"]:
            wrong.append(f"{name}: {size} bytes, not {truth['bytes']}")
    assert wrong == []
    assert scan.target.truth["faults"] == []


STACKS = [
    "holdReceive.", "holdSelect.", "holdMutex.", "holdSleep.",
    "holdSyscall.", "holdGroup.", "holdCond.", "holdArgument.",
    "holdDefer.", "holdDeferArgument.", "holdStackObject.",
    "holdRecursion.", "(*Walker).Run.",
]  # fmt: skip


@variants("c-shared", "plugin")
def test_stacks(scanned, variant):
    """Frames are named by the debug information of the file they are in."""
    scan = scanned("roots", variant)
    wrong = []
    for name in STACKS:
        wanted = scan.target.held["main." + name]["objects"]
        name = renamed(name, scan.target, variant)
        found = scan.profile.prefix(name)[0]
        if found != wanted:
            wrong.append(f"{name}: {found} objects, not {wanted}")
    assert wrong == []


@variants("c-shared-stripped", "plugin-stripped")
def test_stripped(farm, variant):
    target = farm.target("rest", variant)
    run = run_goref(target, ["goref verify --json"])
    assert run.rc == 0, run.stderr
    assert WARNING in run.stdout + run.stderr
    verdict = run.json(0)
    missing = verdict["allocated_objects"] - verdict["reached_objects"]
    assert 0 <= missing <= 2
    assert verdict["unexplained"] == 0
    truth = target.truth["heap"]
    assert abs(verdict["allocated_objects"] - truth["objects"]) <= 8


@variants("c-shared")
def test_why_in_a_library(farm, variant):
    target = farm.target("rest", variant)
    run = run_goref(target, ["goref why main.sessions --json"])
    assert run.rc == 0, run.stderr
    answer = run.json(0)
    assert answer["reachable"]
    assert answer["path"][0]["name"] == "main.sessions"


@variants("c-shared", releases=["go1.24"])
def test_two_runtimes(farm, variant):
    """One is looked at; that there is another is said."""
    other = build("shared", variant.release, variant.flavour)
    preload = {"LD_PRELOAD": str(other.with_suffix(".so"))}
    target = farm.target("rest", variant, args=("two",), env=preload)
    run = run_goref(
        target,
        ["goref scan --json", "nosharedlibrary", "sharedlibrary /rest.so",
         "goref scan --json"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    first, second = run.json(0), run.json(3)
    assert f"{target.exe}.so has a Go runtime of its own" in run.stderr
    for ledger, own in (first, "main.Event"), (second, "main.Leaf"):
        assert own not in {t["type"] for t in ledger["types"]}
    assert "main.Event" in {t["type"] for t in second["types"]}


@variants("c-shared", releases=["go1.24"])
def test_library_is_gone(variant, tmp_path):
    """Without the file there is nothing to go by; a warning says so."""
    skip_if(kernel_cores_reason())
    built = build("rest", variant.release, variant.flavour)
    exe = tmp_path / "rest"
    library = exe.with_suffix(".so")
    shutil.copy(built, exe)
    shutil.copy(built.with_suffix(".so"), library)
    process = start(exe)
    try:
        process.rest()
        core = kernel_core(process)
        library.unlink()
        target = Target("core", exe, process.truth, core=core)
        run = run_goref(target, ["goref scan"])
    finally:
        process.stop()
    assert run.rc == 1
    lines = run.error_lines()
    assert len(lines) == 1, lines
    assert "is not a Go program" in lines[0]
    assert "no Go library of it was found" in lines[0]


# ------------------------------------------------------- split debug files


def check_split(run, full):
    assert run.rc == 0, run.stderr
    assert WARNING not in run.stdout + run.stderr
    verdict, ledger = run.json(len(run.parts) - 2), run.json(len(run.parts) - 1)
    assert verdict["unexplained"] == 0
    for key in ("reached", "gaps", "roots", "types"):
        assert ledger[key] == full[key], key


@variants("default", "pie")
def test_debuglink(farm, variant, tmp_path):
    """Named by .gnu_debuglink, in the same folder."""
    target = farm.target("rest", variant)
    full = run_goref(target, ["goref scan --json"]).json(0)
    exe = split_debug(target.exe, tmp_path, link=True)[0]
    moved = Target("core", exe, target.truth, core=target.core)
    run = run_goref(moved, ["goref verify --json", "goref scan --json"])
    check_split(run, full)


@variants("c-shared", "plugin")
def test_debuglink_of_a_library(farm, variant, tmp_path):
    """The same for what the executable loads, below a root of gdb's."""
    target = farm.target("rest", variant)
    full = run_goref(target, ["goref scan --json"]).json(0)
    library = target.exe.with_suffix(".so")
    split_debug(library, tmp_path / str(library.parent)[1:], link=True)
    run = run_goref(
        target,
        [f"set sysroot {tmp_path}", "info sharedlibrary",
         "goref verify --json", "goref scan --json"],
    )  # fmt: skip
    assert f"{tmp_path}{library}" in run.parts[1]
    check_split(run, full)


@variants("external")
def test_build_id(farm, variant, tmp_path):
    """Found by build id below gdb's debug-file-directory."""
    target = farm.target("rest", variant)
    full = run_goref(target, ["goref scan --json"]).json(0)
    exe, debug = split_debug(target.exe, tmp_path, link=False)
    moved = Target("core", exe, target.truth, core=target.core)
    said = subprocess.run(
        ["readelf", "-n", target.exe], capture_output=True, text=True
    ).stdout
    lines = [line for line in said.splitlines() if "Build ID" in line]
    found = [line.split()[-1] for line in lines]
    if not found:
        pytest.skip("the linker made no build id")
    place = tmp_path / "debug" / ".build-id" / found[0][:2]
    place.mkdir(parents=True)
    debug.rename(place / f"{found[0][2:]}.debug")
    run = run_goref(
        moved,
        [f"set debug-file-directory {tmp_path / 'debug'}",
         f"file {moved.exe}", "goref verify --json", "goref scan --json"],
    )  # fmt: skip
    check_split(run, full)


# ---------------------------------------------------------- C's own threads


@variants("cgo")
def test_stacks_below_c(scanned, variant, kind):
    """Frames of Go on the other side of C hold objects."""
    scan = scanned("cgo", variant, kind)
    wrong = []
    for name, truth in scan.target.held.items():
        found = scan.profile.prefix(name)[0]
        if found != truth["objects"]:
            wrong.append(f"{name}: {found} objects, not {truth['objects']}")
    assert wrong == []
    assert not any(scan.ledger["gaps"].values()), scan.ledger["gaps"]
    heap, reached = scan.ledger["heap"], scan.ledger["reached"]
    assert 0 <= heap["allocated_objects"] - reached["objects"] <= 2


@variants("cgo")
def test_names_below_c(scanned, variant):
    """Local variables, in the frames of the functions that have them."""
    scan = scanned("cgo", variant)
    for place in ("holdInC", "holdInThread"):
        path = scan.whys[place]["path"]
        assert path[0]["name"] == f"main.{place}.leaves", path
    kinds = scan.profile.labels_of("main.holdInC.leaves", "goroutine_state")
    assert kinds == {"syscall"}
    kinds = scan.profile.labels_of(
        "main.holdInThread.leaves", "goroutine_state"
    )
    assert kinds == {"waiting"}
