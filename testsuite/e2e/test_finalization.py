# SPDX-License-Identifier: Apache-2.0
"""Finalizers, cleanups and pools: the program says what it has queued, and of
which size it is; its sizes are size classes of the runtime."""

import json
import re
import subprocess

import pytest

from asking import SCANNER
from session import environment, run_cli
from toolchains import RELEASES, variants

HANDLES, RINGS, BUFFERS, LONGS = 500, 100, 200, 3
HANDLE_BYTES, DATA_BYTES = 16, 8192
WAITING = HANDLES - 1  # one runs
NEWER = tuple(r for r in RELEASES if r >= "go1.24")

# Programs whose cores other tests keep, with their arguments.
OTHERS = [
    ("cycle", []), ("deadlocks", ["inversion"]), ("hung", ["mutex", "1000"]),
    ("labelled", []), ("leaky", []), ("rest", []), ("shared", []),
    ("sockets", []), ("stacks", []), ("suspects", []), ("typed", []),
    ("values", []), ("waits", []),
]  # fmt: skip


def asked(target, verb="hung"):
    """The document of a verb, and its text."""
    core = ["core", target.exe, target.core, verb]
    done = run_cli([*core, "--json"])
    assert done.returncode == 0, done.stderr
    text = run_cli(core)
    assert text.returncode == 0, text.stderr
    return json.loads(done.stdout), text.stdout


def queued(farm, variant, what):
    """Ask a program whose finalizers wait for one that does not return: the
    document, the goroutine that runs them, and the target."""
    target = farm.target("finalizing", variant, args=[what])
    assert target.truth["entered"] == 1
    document, text = asked(target)
    found = document["finalization"]
    assert found["queued_finalizers"] == WAITING
    assert found["queued_cleanups"] == found["stuck"] == 0
    assert found["queue_bytes"] == WAITING * (HANDLE_BYTES + DATA_BYTES)
    assert found["queue_objects"] == 2 * WAITING
    [runner] = [r for r in found["runners"] if r["runs"] == "finalizers"]
    assert runner["called"]["function"].startswith("main.")
    assert document["cause_kind"] == "finalizers"
    assert f"{WAITING} finalizers " in document["cause"]
    assert f"goroutine {runner['id']} " in document["cause"]
    assert text.startswith(document["cause"])
    return document, runner, target


@variants("default", newest=("stripped", "noopt"))
def test_behind_a_mutex(farm, variant):
    document, runner, target = queued(farm, variant, "mutex")
    assert runner["doing"] == "blocked"
    [awaited] = runner["awaits"]
    assert awaited["kind"] == "mutex"
    assert [o["id"] for o in awaited["owners"] if o["likely"]] == [1]
    if variant.flavour != "stripped":
        assert "it waits for main.mutex (mutex, locked)" in document["cause"]
    assert "likely owner: goroutine 1" in document["cause"]
    document, text = asked(target, "overview")
    assert f"{WAITING} finalizers wait for" in text.splitlines()[0]
    assert document["finalization"]["queued_finalizers"] == WAITING


@variants(newest=["default"])
def test_behind_a_crowd(farm, variant):
    """Others wait for the same lock: that comes first."""
    target = farm.target("finalizing", variant, args=["crowd"])
    document, text = asked(target)
    assert document["cause_kind"] in ("owner", "waits")
    assert "21 goroutines wait for" in document["cause"]
    assert f"; {WAITING} finalizers wait for goroutine" in document["cause"]
    [runner] = [
        row
        for row in document["finalization"]["runners"]
        if row["doing"] == "blocked"
    ]
    assert [a["path"] for a in runner["awaits"]] == ["main.mutex"]
    assert runner["awaits"][0]["count"] == 21
    assert text.startswith(document["cause"])


@variants("default")
def test_behind_a_channel(farm, variant):
    document, runner, _target = queued(farm, variant, "channel")
    assert runner["doing"] == "blocked"
    assert [a["path"] for a in runner["awaits"]] == ["main.gate"]
    assert "it waits for main.gate (chan receive" in document["cause"]


@variants("cgo")
def test_behind_a_call_of_c(farm, variant):
    document, runner, _target = queued(farm, variant, "c")
    assert (runner["doing"], runner["awaits"]) == ("in C", [])
    assert "in C (C.close_handle), called in main." in document["cause"]


CONN_BYTES = 24 + DATA_BYTES


def of_both(row, name):
    """The bytes of Go, and those of C."""
    return row[f"{name}_bytes"], row[f"{name}_c_bytes"]


@variants("cgo")
def test_blocks_behind_the_queue(farm, variant):
    """Only the queue holds the C memory of the objects in it; what a variable
    has, too, is not its own."""
    target = farm.target("finalizing", variant, args=["c-blocks"])
    per_object = target.truth["c_bytes"]
    assert per_object >= 3000
    document, text = asked(target)
    found = document["finalization"]
    assert found["queued_finalizers"] == WAITING
    in_c = WAITING * per_object
    assert of_both(found, "queue") == (WAITING * CONN_BYTES, in_c)
    assert found["heap_c_bytes"] >= in_c + 2 * per_object
    assert found["heap_bytes"] > WAITING * CONN_BYTES
    # An object of Go and its data, and two blocks.
    assert found["queue_objects"] == 4 * WAITING
    size = f" of the live memory; Go {WAITING * CONN_BYTES / 2**20:.1f} MiB, "
    size += f"C {in_c / 2**20:.1f} MiB)"
    assert size in found["finding"] and size in text


@variants("cgo", releases=("go1.19", "go1.27"))
def test_blocks_behind_a_cycle(farm, variant):
    target = farm.target("finalizing", variant, args=["c-rings"])
    document, text = asked(target, "overview")
    found = document["finalization"]
    sizes = (2 * RINGS * CONN_BYTES, 2 * RINGS * target.truth["c_bytes"])
    assert of_both(found, "stuck") == sizes
    [group] = found["stuck_groups"]
    assert of_both(group, "retained") == sizes
    assert f"C {sizes[1] / 2**10:.1f} KiB)" in text


@variants("cgo", releases=("go1.24",))
def test_blocks_in_a_pool(farm, variant):
    target = farm.target("finalizing", variant, args=["c-pool"])
    document, text = asked(target, "overview")
    found = document["finalization"]
    [pool] = [p for p in found["pools"] if p["path"] == "main.conns"]
    in_c = BUFFERS * target.truth["c_bytes"]
    assert found["pool_c_bytes"] == pool["retained_c_bytes"] == in_c
    least = BUFFERS * CONN_BYTES
    assert least <= pool["retained_bytes"] <= found["pool_bytes"]
    assert "main.conns" in text and f"C {in_c / 2**10:.1f} KiB)" in text


@variants("default")
def test_slow_finalizer(farm, variant):
    """It is not said to hang."""
    document, runner, _target = queued(farm, variant, "slow")
    assert (runner["doing"], runner["awaits"]) == ("waiting", [])
    assert "are queued behind goroutine" in document["cause"]
    assert "wait for" not in document["cause"]


@variants("default", releases=NEWER)
def test_cleanups(farm, variant):
    """Go 1.24 runs them with the finalizers, later ones have goroutines of
    their own. A cleanup has its argument alone."""
    target = farm.target("finalizing", variant, args=["cleanups"])
    document, _text = asked(target)
    found = document["finalization"]
    assert found["queued_cleanups"] == WAITING
    assert found["queued_finalizers"] == 0
    assert found["queue_bytes"] >= WAITING * DATA_BYTES
    [runner] = [r for r in found["runners"] if r["doing"] != "idle"]
    is_own = variant.release != "go1.24"
    assert runner["runs"] == ("cleanups" if is_own else "finalizers")
    assert runner["doing"] == "blocked"
    assert f"{WAITING} cleanups wait for" in document["cause"]
    assert "main.mutex" in document["cause"]


@variants("default", newest=["stripped"])
def test_cycles(farm, variant):
    """A ring with a finalizer, and what hangs on it, is never freed; one that
    is alive is no cycle that matters."""
    target = farm.target("finalizing", variant, args=["cycle"])
    document, text = asked(target, "overview")
    found = document["finalization"]
    ring = 3 * (24 + 1024) + 8 + 512
    assert (found["stuck"], found["stuck_bytes"]) == (2 * RINGS, RINGS * ring)
    assert found["queued_finalizers"] == found["queue_bytes"] == 0
    assert sum(g["objects"] for g in found["stuck_groups"]) == 2 * RINGS
    assert {g["kind"] for g in found["stuck_groups"]} == {"finalizer"}
    assert text.startswith(f"{2 * RINGS} objects can never be freed")
    if variant.flavour == "default":
        assert {(g["type"], g["objects"]) for g in found["stuck_groups"]} == {
            ("main.Ring", RINGS), ("main.Tail", RINGS),
        }  # fmt: skip
    # A cycle does not hang.
    hung, _text = asked(target)
    assert hung["cause_kind"] == "idle"
    assert hung["finalization"]["stuck"] == 2 * RINGS


@variants("default", newest=["stripped"])
def test_object_that_points_to_itself(farm, variant):
    """The runtime says whose finalizers run: those of objects that it scans at
    once."""
    target = farm.target("finalizing", variant, args=["self"])
    done = subprocess.run(
        [target.exe, "self"], stdin=subprocess.DEVNULL, text=True,
        capture_output=True, check=True, timeout=600,
    )  # fmt: skip
    ran = json.loads(done.stdout.splitlines()[-1])
    assert ran == {"ran": RINGS, "ran_long": 0}
    found = asked(target)[0]["finalization"]
    assert found["stuck"] == LONGS
    assert found["stuck_bytes"] == found["stuck_groups"][0]["retained_bytes"]
    assert LONGS << 18 < found["stuck_bytes"] < (LONGS + 1) << 18


@variants("default", releases=NEWER)
def test_cleanup_that_needs_its_object(farm, variant):
    target = farm.target("finalizing", variant, args=["cleanup-cycle"])
    found = asked(target)[0]["finalization"]
    assert found["stuck"] == RINGS
    [group] = found["stuck_groups"]
    assert (group["kind"], group["objects"]) == ("cleanup", RINGS)
    assert group["retained_bytes"] == found["stuck_bytes"]
    assert found["stuck_bytes"] >= RINGS * (HANDLE_BYTES + DATA_BYTES)


@pytest.mark.parametrize("what", ["pool", "victim"])
@variants("default", newest=["stripped"])
def test_pools(farm, variant, what):
    """Also what a pool keeps until the next collection."""
    target = farm.target("finalizing", variant, args=[what])
    document, text = asked(target, "overview")
    found = document["finalization"]
    size = BUFFERS << 16
    assert size <= found["pool_bytes"] < 1.01 * size
    first = found["pools"][0]
    assert size <= first["retained_bytes"] <= found["pool_bytes"]
    if variant.flavour == "default":
        assert first["path"] == "main.pool"
        assert "only sync.Pools hold 12.5 MiB" in text
        assert "main.pool 12.5 MiB" in text
    # Other pools hold too little to be named.
    assert "fmt.ppFree" not in text
    # `hung' does not ask for what pools hold.
    assert asked(target)[0]["finalization"]["pool_bytes"] is None


@pytest.mark.parametrize("program,args", OTHERS, ids=lambda value: str(value))
@variants(newest=["default"])
def test_no_verdict_without_cause(farm, variant, program, args):
    target = farm.target(program, variant, args=args)
    document, text = asked(target)
    found = document["finalization"]
    assert "finalizer" not in document["cause"]
    assert "can never be freed" not in text or program == "cycle"
    assert found["queued_finalizers"] + found["queued_cleanups"] == 0
    assert found["heap_bytes"] > 0


def polls(target):
    """The number of polls of all questions about goroutines, which stands for
    their steps."""
    done = subprocess.run(
        [SCANNER, "--polls", "--hung", target.exe, target.core],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    [rows] = re.findall(r"^finalization\t(.*)$", done.stdout, flags=re.M)
    [found] = re.findall(r"^polls: (\d+)$", done.stderr, flags=re.M)
    return int(found), [int(number) for number in rows.split("\t")]


@pytest.mark.parametrize("what,row", [("mutex", 0), ("cycle", 2)])
@variants(newest=["default"])
def test_growth(farm, variant, what, row):
    """Eight times as many finalizers take not much more than eight times as
    many steps."""
    few, found = polls(farm.target("finalizing", variant, args=[what, "2500"]))
    assert found[row] >= 2499
    many, found = polls(
        farm.target("finalizing", variant, args=[what, "20000"])
    )
    assert found[row] >= 19999
    assert few < many < 10 * few, (few, many)


@variants(newest=["default"])
def test_page(farm, variant, tmp_path):
    for what, text in (
        ("mutex", f"{WAITING} finalizers wait for goroutine"),
        ("cycle", f"{2 * RINGS} objects can never be freed"),
    ):
        target = farm.target("finalizing", variant, args=[what])
        page = tmp_path / f"{what}.html"
        done = run_cli(["core", target.exe, target.core, "report", page])
        assert done.returncode == 0, done.stderr
        assert text in page.read_text()


@pytest.mark.parametrize("what", ["mutex", "cycle", "pool"])
@variants(newest=("default", "stripped"))
def test_saved_without_values(farm, variant, what, tmp_path):
    """A file answers as the core does."""
    target = farm.target("finalizing", variant, args=[what])
    file = tmp_path / "heap.goref"
    core = ["core", target.exe, target.core]
    assert run_cli([*core, "save", file]).returncode == 0
    for verb in ("hung", "overview"):
        done = run_cli(["open", file, verb, "--json"])
        assert done.returncode == 0, done.stderr
        saved = json.loads(done.stdout)["finalization"]
        assert saved == asked(target, verb)[0]["finalization"]


@variants(newest=["default"])
def test_process(farm, variant):
    target = farm.target("finalizing", variant, "live", args=["mutex"])
    done = run_cli(["attach", target.process.pid, "hung", "--json"])
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["finalization"]["queued_finalizers"] == WAITING
    assert document["cause_kind"] == "finalizers"


@variants(newest=["default"])
def test_roots_of_one_name(farm, variant):
    """All finalizers have one name, which is not suggested in its own place."""
    target = farm.target("finalizing", variant, args=["mutex"])
    name = "runtime.SetFinalizer.obj"
    done = run_cli(["core", target.exe, target.core, "why", name])
    assert done.returncode == 1
    found = re.search(
        rf'(\d+) roots are called "{name}": .* as (0x[0-9a-f]+)', done.stderr
    )
    assert int(found[1]) >= WAITING, done.stderr
    assert "did you mean" not in done.stderr
    words = ["why", found[2], "--all-roots"]
    done = run_cli(["core", target.exe, target.core, *words])
    assert done.returncode == 0 and name in done.stdout
