# SPDX-License-Identifier: Apache-2.0
"""Memory that a command needs, and the limit of it."""

import json
import re

import pytest

from session import one_line, run_cli, run_goref
from toolchains import Variant

CENTRAL = Variant("go1.24", "default")


@pytest.fixture(scope="module")
def core(farm):
    return farm.target("values", CENTRAL, env={"LIST_NODES": "1000000"})


def test_core_needs_memory(core):
    done = run_cli(["core", core.exe, core.core, "--memory-limit", "10M"])
    one_line(done, 1, "not enough memory", "the limit is 10.0 MiB")


def test_needed_memory_is_more_than_the_limit(core):
    """Also where only the smallest tree does not fit in. What the symbols
    take is measured, which differs by a little."""

    def needed(limit):
        done = run_cli(["core", core.exe, core.core, "--memory-limit", limit])
        one_line(done, 1, "not enough memory", "the limit is", "--memory-lim")
        return float(re.search(r"([\d.]+) MiB are needed", done.stderr)[1])

    limit = needed("1M") - 1.2
    assert needed(f"{limit:.1f}M") > limit


def test_memory_limit_below_a_byte(core):
    done = run_cli(["core", core.exe, core.core, "--memory-limit", "0.5"])
    one_line(done, 2, "less than a byte")


def test_memory_limit_while_opening(core):
    """It is opened all the same, if that takes not much more, so that what
    is needed can be told."""
    done = run_cli(["core", core.exe, core.core, "--memory-limit", "1k"])
    one_line(done, 1, "are needed", "the limit is 1.0 KiB", "--memory-limit")


def test_needed_memory_is_no_fixed_sum(farm):
    """A small heap of a small program needs little, and is scanned with what
    was told to be needed."""
    small = farm.target("generics", CENTRAL)
    words = ["core", small.exe, small.core, "--memory-limit"]
    done = run_cli([*words, "1M"])
    needed = float(re.search(r"([\d.]+) MiB are needed", done.stderr)[1])
    assert needed < 20, done.stderr
    done = run_cli([*words, f"{needed + 1.2:.1f}M"])
    assert done.returncode == 0, done.stderr


def test_memory_is_said_before(core):
    run = run_goref(
        core,
        ["python import goref.commands.base as b; b.MENTIONED_BYTES = 0",
         "goref scan --json"],
    )  # fmt: skip
    assert re.search(r"^up to .* of memory needed, .* free", run.stderr, re.M)
    assert run.json(1)["complete"]


def test_memory_is_counted(core, farm):
    """The walk alone has a byte for each object, its state (mark/marking.h). It
    is counted behind long answers of the same server, too."""
    target = farm.target("counter", CENTRAL, args=("1900000",))
    for it in (target, core):
        run_cli(["core", it.exe, it.core, "objects", "--addresses"])
    done = run_cli(["core", target.exe, target.core, "scan", "--json"])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["peak_private_bytes"] > 1_900_000


_LESS = """
import goref.progress as p, goref.session as s
def look(self, step="", done=0, total=0, look=p.Progress.__call__):
    if done and step == "walking the heap":
        s.current.scan.set_memory_limit(1)
        self.filler = b"x" * (1 << 20)
    look(self, step, done, total)
p.Progress.__call__ = look
"""


def test_memory_limit_in_the_walk(farm, tmp_path):
    """All that was found until then is shown, and the end has its reason."""
    target = farm.target("counter", CENTRAL, args=("3000000",))
    hook = tmp_path / "hook.py"
    hook.write_text(_LESS)
    run = run_goref(target, [f"source {hook}", "goref scan --json"])
    assert run.rc == 0, run.stderr
    told = run.json(1)
    assert not told["complete"]
    assert told["partial"] == [
        "the memory limit of 1 B is reached "
        "(--memory-limit, or `set goref memory-limit')"
    ]
    assert 0 < told["reached"]["objects"]
