# SPDX-License-Identifier: Apache-2.0
"""goref waits: owners and deadlocks, by what the program says it does. One
process has all cases of a kind, so that each has the others as decoys."""

import json
import re

import pytest

from session import run_cli, run_goref
from targets import attach_reason, skip_if
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")
MUTEXES = (
    "deferred", "between", "deep", "loop", "helper", "closure", "branch",
    "package", "packagedefer", "embedded", "element", "generic", "writer",
)  # fmt: skip
EXACT = ("behindreaders", "once")
CYCLES = (
    "two", "three", "five", "twice", "upgrade", "upgrades", "global",
    "transfer", "channels", "mixed", "results", "vault", "lockchannel",
    "senders", "stuckreaders",
)  # fmt: skip
ALIKE = (
    "slowio", "network", "sleeper", "timer", "ticker", "livecase", "workers",
    "reader", "group", "condition", "deadline", "chain", "computes",
    "afterfunc",
)  # fmt: skip
KINDS = {"owners": MUTEXES + EXACT, "cycles": CYCLES, "alike": ALIKE}
FLAVOURS = [
    *variants("default").args[1],
    Variant("go1.24", "noopt"),
    Variant("go1.24", "stripped"),
]
anyhow = pytest.mark.parametrize(
    "variant", FLAVOURS, ids=lambda v: f"{v.release}-{v.flavour}"
)


def ask(target, *words):
    done = run_cli(["core", target.exe, target.core, *words])
    assert done.returncode in (0, 4), done.stderr
    return done


def waits(target, *words):
    return json.loads(ask(target, "waits", *words, "--json").stdout)


def groups_at(found, addr):
    """The groups of a lock; that of a Once lies behind its first word."""
    places = {hex(addr), hex(addr + 4)}
    return [g for g in found["waits"] if g["primitive"] in places]


def check_owners(found, target):
    assert len(target.truth["locks"]) == len(KINDS["owners"])
    for lock in target.truth["locks"]:
        groups = groups_at(found, int(lock["addr"], 16))
        assert groups, lock
        for group in groups:
            if group["kind"] == "write lock":  # behind readers
                assert group["owners"][0]["likely"]
                continue
            first = group["owners"][0]
            assert (first["id"], first["likely"]) == (lock["owner"], True)
            assert first["certain"] or not lock["exact"], group
            assert not any(o["certain"] for o in group["owners"][1:])
    assert found["deadlocks"] == []


@anyhow
def test_owners(farm, variant):
    """The true owner comes first; what is certain is true, and what the runtime
    tells is certain."""
    target = farm.target("deadlocks", variant, args=KINDS["owners"])
    check_owners(waits(target), target)


CLAIMS = (
    "byhand", "released", "woken", "inhelper", "nested", "letgo", "continues",
    "onebranch", "ondemand", "tried", "cases",
)  # fmt: skip


@anyhow
def test_no_false_owner(farm, variant):
    """A goroutine is no owner if it has unlocked the lock by hand, in a branch,
    in a wait for a condition or in a call, if it has not locked it on its way,
    or if it is about to lock it. There is no deadlock."""
    target = farm.target("deadlocks", variant, args=CLAIMS)
    found = waits(target, "--fail-on-deadlock")
    owners = {int(k["addr"], 16): k["owner"] for k in target.truth["locks"]}
    seen = set()
    for group in found["waits"]:
        likely = {o["id"] for o in group["owners"] if o["likely"]}
        assert likely <= {owners.get(int(group["primitive"], 16))}, group
        seen |= likely
    assert found["deadlocks"] == []
    assert seen == set(owners.values())


UNPROVEN = (
    "afterwards", "hooked", "guarded", "twodefers", "ownlocker", "letdeep",
    "bymethod",
)  # fmt: skip


@pytest.mark.parametrize("mode", UNPROVEN)
@anyhow
def test_no_false_proof(farm, variant, mode):
    """A deferred Unlock has run, or may not unlock, or is about another lock; a
    call unlocks for its caller. Nobody is proven but the true owner, and the
    status is 0."""
    target = farm.target("deadlocks", variant, args=[mode])
    found = waits(target, "--fail-on-deadlock")
    owners = {int(k["addr"], 16): k["owner"] for k in target.truth["locks"]}
    for group in found["waits"]:
        certain = {o["id"] for o in group["owners"] if o["certain"]}
        assert certain <= {owners.get(int(group["primitive"], 16))}, group
    assert not any(deadlock["certain"] for deadlock in found["deadlocks"])
    assert ask(target, "hung", "--fail-on-deadlock").returncode == 0


def test_weak_pointer(farm):
    """The mark does not follow it, but the program does: that is no proof."""
    target = farm.target("deadlocks", CENTRAL, args=["weak"])
    found = waits(target, "--fail-on-deadlock")
    assert found["waits"]
    assert not any(deadlock["certain"] for deadlock in found["deadlocks"])


@anyhow
def test_locked_on_one_way(farm, variant):
    """The place does not tell whether the lock was taken: the goroutine may be
    the owner, but is not a likely one."""
    target = farm.target("deadlocks", variant, args=["ondemand"])
    (lock,) = target.truth["locks"]
    (group,) = groups_at(waits(target), int(lock["addr"], 16))
    first, *others = group["owners"]
    assert (first["id"], first["likely"]) == (lock["owner"], True)
    way = r"may have locked it at line \d+, on one way to line \d+ of main\."
    assert len([o for o in others if re.match(way, o["evidence"])]) == 2


@anyhow
def test_named_locks(farm, variant):
    """Without a deferred call that will unlock it, nothing proves an owner: a
    call may have let go of it, and another goroutine may unlock it."""
    target = farm.target("deadlocks", variant, args=["package", "branch"])
    found = waits(target)
    assert len(target.truth["locks"]) == 2
    for lock in target.truth["locks"]:
        (group,) = groups_at(found, int(lock["addr"], 16))
        first = group["owners"][0]
        assert (first["id"], first["likely"]) == (lock["owner"], True)
        assert not first["certain"]


@anyhow
def test_locked_in_a_call(farm, variant):
    """A helper that has locked for its caller, and has not returned."""
    target = farm.target("deadlocks", variant, args=["past"])
    (lock,) = target.truth["locks"]
    (group,) = groups_at(waits(target), int(lock["addr"], 16))
    first = group["owners"][0]
    assert (first["id"], first["likely"]) == (lock["owner"], True)


@variants("default")
def test_holders_of_semaphores(farm, variant):
    """Who has sent to a channel without values, and will receive: in a variable,
    in a field, by a deferred call, in a package variable."""
    target = farm.target("deadlocks", variant, args=["slots"])
    holders = {}
    for lock in target.truth["locks"]:
        holders.setdefault(int(lock["addr"], 16), set()).add(lock["owner"])
    groups = waits(target)["waits"]
    assert len(groups) == len(holders) == 4
    for group in groups:
        likely = {o["id"] for o in group["owners"] if o["likely"]}
        assert likely == holders[int(group["primitive"], 16)], group
        assert not any(o["certain"] for o in group["owners"])
    assert "one of 2 likely holders: goroutine" in ask(target, "waits").stdout
    assert waits(target)["deadlocks"] == []


@variants("default")
def test_holders_of_a_pool(farm, variant):
    """Who has received a value and will send it back by a deferred call; not
    the workers of a queue."""
    target = farm.target("deadlocks", variant, args=["pooled"])
    (addr,) = {int(lock["addr"], 16) for lock in target.truth["locks"]}
    holders = {lock["owner"] for lock in target.truth["locks"]}
    assert len(holders) == 3
    for group in waits(target)["waits"]:
        likely = {
            o["id"] for o in group["owners"] if o["likely"] and not o["certain"]
        }
        is_pool = int(group["primitive"], 16) == addr
        assert likely == (holders if is_pool else set()), group


@variants("default")
def test_queues_are_no_semaphores(farm, variant):
    """Those that work on what was sent hold nothing."""
    target = farm.target("deadlocks", variant, args=["jobs"])
    for group in waits(target)["waits"]:
        assert not any(
            o["likely"] and not o["certain"] for o in group["owners"]
        ), group


@anyhow
def test_captured_by_a_deferred_call(farm, variant):
    """It has pointers to two locks, and unlocks one: neither is proven."""
    target = farm.target("deadlocks", variant, args=["captured"])
    found = waits(target)
    for lock in target.truth["locks"]:
        (group,) = groups_at(found, int(lock["addr"], 16))
        certain = {o["id"] for o in group["owners"] if o["certain"]}
        assert certain <= {lock["owner"]}, group
        likely = {o["id"] for o in group["owners"] if o["likely"]}
        assert lock["owner"] in likely, group


@variants("default")
def test_readers_that_wait(farm, variant):
    """Those behind a writer do not hold the lock."""
    target = farm.target("deadlocks", variant, args=["stuckreaders"])
    ((writer,),) = target.truth["deadlocks"]
    run = run_goref(target, [f"goref goroutine {writer} wait"])
    assert "to write; 1 reader holds it" in run.parts[0], run.parts[0]


@anyhow
def test_busy_group(farm, variant):
    """Workers that reach a WaitGroup by their job: nothing is missing."""
    target = farm.target("deadlocks", variant, args=["busygroup"])
    for verb in ("waits", "hung"):
        assert "missing" not in ask(target, verb).stdout


@anyhow
def test_lost_unlock(farm, variant):
    target = farm.target("deadlocks", variant, args=["lost"])
    (lock,) = target.truth["locks"]
    (group,) = groups_at(waits(target), int(lock["addr"], 16))
    assert group["owners"] == [] and group["reaching"] == 0
    assert group["verdict"] == (
        "no goroutine that can still run reaches it: it stays locked"
    )
    assert sorted(group["waiters"]) == sorted(target.truth["blocked"])


def check_cycles(found, target):
    cycles, blocked = found["deadlocks"], target.truth["blocked"]
    assert sorted(sorted(d["ids"]) for d in cycles) == sorted(
        sorted(ids) for ids in target.truth["deadlocks"]
    )
    assert sum(deadlock["behind"] for deadlock in cycles) == len(blocked)
    members = [i for deadlock in cycles for i in deadlock["ids"]]
    listed = [i for group in found["waits"] for i in group["waiters"]]
    assert sorted(listed) == sorted([*blocked, *members])


@anyhow
def test_cycles(farm, variant):
    """Each cycle, and behind it whoever waits there; nobody is left out."""
    target = farm.target("deadlocks", variant, args=KINDS["cycles"])
    check_cycles(waits(target), target)


@pytest.mark.parametrize("kind", KINDS)
@variants(newest=["default"])
def test_live(farm, variant, kind):
    """The same of a process, which goes on."""
    skip_if(attach_reason())
    target = farm.target("deadlocks", variant, "live", args=KINDS[kind])
    done = run_cli(["attach", target.process.pid, "waits", "--json"])
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if kind == "owners":
        check_owners(found, target)
    elif kind == "cycles":
        check_cycles(found, target)
    else:
        assert found["waits"] and found["deadlocks"] == []
    assert target.process.popen.poll() is None
    target.process.stop()  # it computes


@anyhow
def test_look_alikes(farm, variant):
    target = farm.target("deadlocks", variant, args=KINDS["alike"])
    done = ask(target, "waits", "--fail-on-deadlock")
    assert done.returncode == 0
    assert done.stdout.startswith("no deadlock found; ")


def test_names(farm):
    """Package variables, what they point to, and the rest are counted."""
    modes = ["package", "forgotten", "fullqueue", "miscount", "deferred"]
    target = farm.target("deadlocks", CENTRAL, args=modes)
    paths = {group["path"] for group in waits(target)["waits"]}
    assert {
        "main.mutex", "main.theUsers.mu", "main.theQueue.items",
        "main.theBatch.group",
    } <= paths  # fmt: skip
    assert any(re.fullmatch(r"\(\*main.store\)\(0x\w+\).mu", p) for p in paths)


@variants("default")
def test_names_in_a_map(farm, variant):
    """The path is the one that Go has; the object has its own type, and not that
    of its first field, to which the waiting calls point."""
    target = farm.target("deadlocks", variant, args=["vault"])
    found = {(g["path"], g["type"]) for g in waits(target)["waits"]}
    assert found == {
        ("main.vault.cells[1].mu", "main.cell"),
        ("main.vault.cells[2].mu", "main.cell"),
    }


NAMED = {
    "map": (["vault"], 2),
    "small": (["small"], 4),
    "cycles": (KINDS["cycles"], 4),
}


@pytest.mark.parametrize("modes, least", NAMED.values(), ids=NAMED)
@variants("default")
def test_one_name(farm, variant, modes, least):
    """`goroutine ID wait` and `waits` call what a variable leads to the same,
    though the waiting call's own pointer is nearer. What nobody but package sync
    leads to has no name."""
    target = farm.target("deadlocks", variant, args=modes)
    groups = waits(target)["waits"]
    run = run_goref(
        target,
        [f"goref goroutine {g['waiters'][0]} wait --json" for g in groups],
    )
    assert run.rc == 0, run.stderr
    named = 0
    for i, group in enumerate(groups):
        wait = run.json(i)["waits"][0]
        if not group["path"].startswith("("):
            assert wait["primitive"] == group["primitive"]
            assert wait["path"] == group["path"]
            named += 1
        assert not (wait["path"] or "").startswith(
            ("sync.", "internal/sync.", "runtime.")
        )
        if group["type"] in ("main.tally", "main.gauge", "main.cell"):
            assert wait["holder_type"] == group["type"]
    assert named >= least


def names_of(run, groups):
    """By address, what `waits` and `goroutine ID wait` call the locks."""
    found = {}
    for i, group in enumerate(groups):
        wait = run.json(i)["waits"][0]
        assert wait["primitive"] == group["primitive"]
        found.setdefault(group["primitive"], []).append(
            (group["path"], wait["path"], wait["part_of"])
        )
    return found


@variants("default", "noopt")
def test_names_by_variables(farm, variant):
    """Both verbs know what the program calls its locks. `wait` also names the
    lock in a RWMutex or a Once."""
    target = farm.target("deadlocks", variant, args=["names"])
    groups = [w for w in waits(target)["waits"] if w["primitive"]]
    asked = [f"goref goroutine {g['waiters'][0]} wait --json" for g in groups]
    run = run_goref(target, asked)
    assert run.rc == 0, run.stderr
    found = names_of(run, groups)
    assert len(target.truth["names"]) == 15
    for lock in target.truth["names"]:
        address = int(lock["addr"], 16)
        rows = found.get(hex(address)) or found[hex(address + 4)]
        for path, long, part_of in rows:
            assert path in lock["names"]
            inner = {"sync.RWMutex": ".w", "sync.Once": ".m"}.get(part_of, "")
            assert long == path + inner


def test_one_goroutine(farm):
    """A goroutine's waits, and the locks that it owns; a cycle has both."""
    target = farm.target("deadlocks", CENTRAL, args=KINDS["cycles"])
    first, second = next(d for d in target.truth["deadlocks"] if len(d) == 2)
    found = waits(target, str(first))
    (deadlock,) = found["deadlocks"]
    assert sorted(deadlock["ids"]) == sorted((first, second))
    assert {g["primitive"] for g in found["waits"]} == {
        p["primitive"] for p in deadlock["primitives"]
    }
    done = run_cli(["core", target.exe, target.core, "waits", "999999"])
    assert done.returncode == 1
    assert "there is no goroutine 999999" in done.stderr


def test_text(farm):
    """Who waits for whom, with the calls of both."""
    target = farm.target("deadlocks", CENTRAL, args=KINDS["cycles"])
    done = ask(target, "waits", "--fail-on-deadlock")
    assert done.returncode == 4
    assert done.stdout.startswith(f"{len(CYCLES) - 2} deadlocks of ")
    waits = r"goroutine \d+ waits for .*(\n {8}.*)?\n {6}main\."
    assert re.search(waits, done.stdout)
    assert "main.(*account).take at cycles.go:" in done.stdout


def test_dot(farm):
    """The same in every run; red is who waits for each other."""
    target = farm.target("deadlocks", CENTRAL, args=KINDS["cycles"])
    text = ask(target, "waits", "--format", "dot").stdout
    assert text == ask(target, "waits", "--format", "dot").stdout
    red = {int(n) for n in re.findall(r"g(\d+) \[.*color=red\]", text)}
    assert red == {i for ids in target.truth["deadlocks"] for i in ids}
    assert re.search(r"p[0-9a-f]+_mutex -> g\d+ \[style=dashed\];", text)


@variants("default")
def test_small_objects(farm, variant):
    """A lock that is the first field of a small object is called by the
    object's type, though the waiters' pointers to the lock are nearer. Of
    several values in one block, each has the name of its own pointer."""
    target = farm.target("deadlocks", variant, args=["small"])
    found = {w["primitive"]: w for w in waits(target)["waits"]}
    groups = [found[lock["addr"]] for lock in target.truth["locks"]]
    for number, name in enumerate(("one", "two")):
        tally, gauge, flag = groups[3 * number : 3 * number + 3]
        assert tally["type"] == "main.tally"
        assert re.fullmatch(
            rf'main\.theTallies.*\["{name}"\]\.mu', tally["path"]
        )
        assert gauge["type"] == "main.gauge"
        assert gauge["path"] == f"main.theGauges[{number}].mu"
        assert flag["path"] == f"main.theFlags[{number}]"
