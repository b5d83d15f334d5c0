# SPDX-License-Identifier: Apache-2.0
"""Damaged cores: an answer or one line of error, in little time and memory, with
Ctrl-C, too; and gdb goes on. GOREF_MUTATIONS=1000 for the long run, with a build
with sanitizers in GOREF_BUILD_DIR, too."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Callable, NamedTuple

import pytest

import mutate
import mutate_rss
import mutate_samples
import mutate_waits
from asking import run_goref
from samples import DOCUMENTS, samples
from session import GOREF, environment, gdb_bears, run_gdb
from targets import Target, kernel_core, kernel_cores_reason, skip_if
from test_owners import KINDS
from toolchains import RELEASES, Variant, variants
from waiting import LONGEST_S, comes, faults_of, states_of

CENTRAL = Variant("go1.24", "default")
IN_GDB = [
    f"goref {' '.join(words)} --json"
    for words in samples(DOCUMENTS, place="0x10")
]

# Words of a traceback, of gdb's own failures, of a sanitizer.
BAD_WORDS = ("Traceback", "Python Exception", "internal-error", "Fatal signal",
             "Recursive internal", "Sanitizer")  # fmt: skip

# ------------------------------------------------------------------- targets

ENDINGS = ("nested", "goroutine", "nil", "maps")
LOCKS = (*KINDS["owners"], *KINDS["cycles"], "lost")


def with_code(process):
    """A core that has the program's code: by itself, the kernel leaves out what
    a file has."""
    skip_if(kernel_cores_reason())
    process.rest()
    Path(f"/proc/{process.pid}/coredump_filter").write_text("0x3f")
    core = kernel_core(process)
    return Target("core", process.exe, process.truth, core=core)


def locked(farm, variant):
    return with_code(farm.process("deadlocks", variant, LOCKS))


def panicked(farm, variant):
    """Each release ends in another way."""
    skip_if(kernel_cores_reason())
    how = ENDINGS[RELEASES.index(variant.release) % len(ENDINGS)]
    process = farm.process("panics", variant, (how,))
    core = kernel_core(process, process.popen.stdin.close)
    return Target("core", process.exe, process.truth, core=core)


def of(program, *args):
    return lambda farm, variant: farm.target(program, variant, args=args)


# ------------------------------------------------------------------- checks


def check_everything(answers, _target, count):
    """The damage is real, and not such that nothing is left to look at."""
    outcomes = {}
    for answer in answers:
        verb = answer.question.text.split()[0]
        outcomes.setdefault(verb, set()).add(answer.done.returncode)
    for verb in ("scan", "suspects", "dominators", "histogram"):
        assert {0, 3} & outcomes[verb]
        assert count < 20 or 1 in outcomes[verb]


LISTING = "goroutines -group stack --json"


def check_waits(answers, target, _count):
    """Goroutines know nothing of these records: all of them are listed."""
    listed = run_goref("core", target.exe, target.core, *LISTING.split())
    whole = json.loads(listed.stdout)["total"]
    # These two have goroutines damaged in the place of sudogs.
    is_whole = target.exe.name not in ("panics", "sockets")
    for answer in answers:
        is_listing = answer.question == mutate.Question(LISTING)
        is_elsewhere = answer.kind in ("trees", "queues", "locks")
        if is_whole and is_elsewhere and is_listing and not answer.error:
            assert answer.document["total"] == whole, answer


def check_samples(answers, _target, count):
    """A few changes may all miss what is read, or all hit it."""
    found = set()
    for answer in answers:
        if answer.kind in SAMPLES.records:
            found.add(answer.document.get("complete"))
    assert found and (count < 50 or {True, False} <= found), found


def check_rss(answers, _target, count):
    """Nearly all damage is in what only rss reads, and leaves an answer, whose
    classes add up."""
    with_document = [answer.document for answer in answers if not answer.error]
    for document in with_document:
        total = sum(c["bytes"] for c in document["classes"])
        assert total == document["total_bytes"]
    assert len(with_document) > count / 2


# -------------------------------------------------------------------- rows


class Damage(NamedTuple):
    """A way of damage. programs: they share the cores. records: kinds of damage
    to records, not to the file: there is an answer then, not a refusal, but for
    one with these words."""

    way_of: Callable
    ncores: int  # in a usual run, of all releases
    nquestions: int
    programs: dict[str, Callable]
    check: Callable
    records: tuple[str, ...] = ()
    refusal: str | None = None


EVERYTHING = Damage(
    mutate.way_of, 18, len(mutate.COMMANDS) + 1, {"rest": of("rest")},
    check_everything,
)  # fmt: skip
WAITS = Damage(
    mutate_waits.way_of, 30, len(mutate_waits.QUESTIONS) + 4,
    {"locks": locked, "waits": of("waits"), "leaks": of("leaks", "leaked"),
     "panics": panicked, "sockets": of("sockets")},
    check_waits,
    ("states", "sudogs", "trees", "queues", "locks", "endings", "frames",
     "code", "copies"),
    "is not the program of core",
)  # fmt: skip
SAMPLES = Damage(
    mutate_samples.way_of, 24, len(mutate_samples.QUESTIONS) + 3,
    {"sampled": of("sampled", "65536"), "sites": of("sites", "1")},
    check_samples, ("lists", "headers", "calls", "specials", "settings"),
)  # fmt: skip
RSS = Damage(
    mutate_rss.way_of, 30, 1, {"resident": of("resident")}, check_rss
)
ROWS = {
    program: damage
    for damage in (EVERYTHING, WAITS, SAMPLES, RSS)
    for program in damage.programs
}


def number(damage):
    """The number of cores of each program and release."""
    count = int(os.environ.get("GOREF_MUTATIONS", damage.ncores))
    return -(-count // len(RELEASES) // len(damage.programs))


def sound(answers, damage, nanswers):
    """The answers, of which each is one, and there are so many."""
    number = 0
    for number, answer in enumerate(answers, 1):
        assert not mutate.is_bad(answer), answer
        may_end = any(word in answer.question.text for word in mutate.ENDS)
        if answer.kind in damage.records and not may_end:
            refusal = damage.refusal or "no such words"
            assert answer.error in (None, "goref: interrupted") or (
                refusal in answer.error
            ), answer
        yield answer
    assert number == nanswers


@pytest.mark.parametrize("program", ROWS)
@variants("default")
def test_damaged_cores(farm, variant, program, tmp_path):
    damage = ROWS[program]
    count = number(damage)
    part = list(damage.programs).index(program) * len(RELEASES)
    first = (part + RELEASES.index(variant.release)) * count
    target = damage.programs[program](farm, variant)
    way = damage.way_of(target.exe, target.core)
    answers = mutate.run(way, target, tmp_path, first, count)
    answers = sound(answers, damage, count * damage.nquestions)
    damage.check(answers, target, count)


@variants("default")
def test_in_gdb(farm, variant, tmp_path):
    """gdb itself opens or refuses what is damaged, and goes on."""
    target = farm.target("rest", variant)
    way = mutate.way_of(target.exe, target.core)
    damaged = tmp_path / "damaged"
    for seed in range(-(-number(EVERYTHING) // 3)):
        mutate.copy_sparse(target.core, damaged)
        way.damage(damaged, way.points, seed)
        if not gdb_bears(target.exe, damaged):
            continue
        run = run_gdb([target.exe, damaged], [*IN_GDB, "echo alive\\n"])
        assert "alive" in run.parts[-1], (seed, run.stderr)
        for word in BAD_WORDS:
            assert word not in run.stderr, (seed, run.stderr[-2000:])
        lines = [x for x in run.error_lines() if x.startswith("goref")]
        assert len(lines) <= len(IN_GDB), (seed, lines)


@pytest.fixture
def copied(farm, tmp_path):
    """A target whose core is a copy that may be changed."""
    target = farm.target("rest", CENTRAL)
    core = tmp_path / "core"
    mutate.copy_sparse(target.core, core)
    return target, core


def test_names_that_are_no_text(copied):
    """gdb lists sections of the kernel's shared object by their names, and
    hands Python nothing that is not UTF-8."""
    target, path = copied
    core = mutate.Core(path)
    at = core.data.find(b".eh_frame_hdr\0")
    if at < 0:
        core.close()
        pytest.skip("the core has no vdso")
    core.data[at + 1] = 0xE7
    core.close()
    run = run_gdb([target.exe, path], ["goref scan --json"])
    assert run.rc == 0, run.stderr
    assert run.json()["reached"]["objects"] > 0


def test_core_shrinks_between_commands(copied):
    """The scan is kept, the memory below it is gone."""
    target, core = copied
    keep = "import goref.ingdb.target as t; same = t.identify()"
    commands = (
        ["goref scan --top 1", f"python {keep}; t.identify = lambda: same"]
        + [f"shell truncate -s 20000 {core}"]
        + ["goref why main.users", "goref verify", "goref scan main.users"]
        + ["echo alive\\n"]
    )
    run = run_gdb([target.exe, core], commands)
    assert run.rc == 0
    assert "alive" in run.parts[-1]
    lines = run.error_lines()
    assert len(lines) == 3, run.stderr
    for line in lines:
        assert line == f"goref: {core} changed while it was being read"


def test_large_core_shrinks(farm, tmp_path):
    """Threads read a large core, each at its own place: the answer is the
    program's, or one line. Moments are counted in page faults."""
    target = farm.target("counter", CENTRAL, args=("2000000",))
    core = tmp_path / "core"
    words = [GOREF, "core", target.exe, core, "scan", "--json"]

    def ask(moment):
        """Cut the core after so many page faults, or at the end: the faults
        that were seen, and how it went."""
        shutil.copyfile(target.core, core)
        goref = subprocess.Popen(
            list(map(str, words)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        comes(lambda: faults_of(goref.pid) >= moment
              or states_of(goref.pid) == {"Z"})  # fmt: skip
        faults = faults_of(goref.pid)
        os.truncate(core, 20000)
        out, err = goref.communicate(timeout=LONGEST_S)
        return faults, goref.returncode, out, err

    faults, status, out, err = ask(10**9)
    assert status == 0, err
    roots = {r["name"]: r["objects"] for r in json.loads(out)["roots"]}
    assert roots["main.chain"] == target.truth["held"]["main.chain"]["objects"]
    changed = 0
    for i in range(10):
        _, status, out, err = ask(i * faults // 10)
        assert status in (0, 1, 3), err
        assert not any(word in err for word in BAD_WORDS), err
        if status == 1:
            assert len(err.splitlines()) == 1 and not out, err
            changed += "changed while it was being read" in err
    assert changed


def test_executable_shrinks(farm, tmp_path):
    """A rebuild over the same file."""
    target = farm.target("rest", CENTRAL)
    exe = tmp_path / "exe"
    shutil.copy(target.exe, exe)
    keep = "import goref.ingdb.target as t; same = t.identify()"
    run = run_gdb(
        [exe, target.core],
        ["goref scan --top 1", f"python {keep}; t.identify = lambda: same",
         f"shell truncate -s 4096 {exe}", "goref why $pc", "goref verify",
         "echo alive\\n"],
    )  # fmt: skip
    assert "alive" in run.parts[-1], run.stderr
    for line in run.error_lines():
        assert line == f"goref: {exe} changed while it was being read"
