# SPDX-License-Identifier: Apache-2.0
"""No block is called leaked for sure while memory that may hold it is missing:
a core lacks it, or the process has not touched it itself."""

import json
import os
import re

import pytest

import mutate
import mutate_native
import natives
from natives import CENTRAL
from session import run_cli
from targets import attach_reason, skip_if

PARTIAL = 3
MAPPED = {"dontdump": "16.0 KiB", "file": "16.0 KiB", "large": "1.0 GiB"}


def hidden(farm, how, kind="core"):
    return farm.target("native_hidden", CENTRAL, kind, [how])


def asked(words):
    words = [*words, "native", "leaks", "--fail-on-leaks", "--json"]
    done = run_cli(words)
    return done.returncode, json.loads(done.stdout)


def check_partial(words, how):
    status, document = asked(words)
    assert status == PARTIAL and not document["complete"]
    (reason,) = document["partial"]
    size = re.escape(MAPPED[how])
    assert re.fullmatch(f"{size} of memory that may hold .* missing", reason)


def check_held(target, words):
    """Its block is reached, and the answer is complete."""
    status, document = asked(words)
    assert document["complete"] and document["partial"] == []
    assert status == (4 if document["leaked_blocks"] else 0)
    assert target.truth["held"] in natives.reached(target)


@pytest.mark.parametrize("how", ["dontdump", "file"])
def test_core_lacks_memory(farm, how):
    target = hidden(farm, how)
    assert target.truth["held"] not in natives.reached(target)
    check_partial(natives.where(target), how)


IS_LEAKED = """
print(json.dumps(heap.object(int(sys.argv[4])).is_leaked))
"""


def test_one_block_while_memory_is_missing(farm):
    """Scripts do not call it leaked, either."""
    target = hidden(farm, "dontdump")
    block = target.truth["held"]
    words = natives.where(target)
    assert natives.told(natives.OPEN + IS_LEAKED, *words, str(block)) is None
    assert natives.asked(target, "object", f"{block:#x}", status=PARTIAL)[
        "leaked"
    ] is None
    for verb in ["native"], ["histogram", "--by", "holder"]:
        text = run_cli([*words, *verb]).stdout
        assert "C blocks without a known holder" in text
        assert "nothing holds" not in text


@pytest.mark.parametrize("how", ["dontdump", "file"])
def test_saved_core_lacks_memory(farm, how, tmp_path):
    """A saved file gives the same reason, with values and without."""
    for values in [], ["--values"]:
        path = tmp_path / f"saved{len(values)}"
        words = [*natives.where(hidden(farm, how)), "save", *values, path]
        done = run_cli(words)
        assert done.returncode == 0, done.stderr
        check_partial(["open", path], how)


def test_healthy_core(farm):
    target = hidden(farm, "private")
    check_held(target, natives.where(target))


@pytest.mark.parametrize("how", ["private", "dontdump", "file", "child", "behind"])
@pytest.mark.parametrize("is_snapshot", [False, True])
def test_process(farm, how, is_snapshot, tmp_path):
    """All memory is read, also what only a child has written."""
    skip_if(attach_reason())
    target = hidden(farm, how, "live")
    if is_snapshot:
        target = natives.snapshot_of(target)
    check_held(target, natives.where(target))
    path = tmp_path / "saved"
    done = run_cli([*natives.where(target), "save", path])
    assert done.returncode == 0, done.stderr
    status, document = asked(["open", path])
    assert document["complete"] and document["partial"] == []


def test_large_shared_memory(farm, tmp_path):
    """It is not copied, which would take long, and so it is missing."""
    skip_if(attach_reason())
    target = hidden(farm, "large", "live")
    check_partial(natives.where(target), "large")
    path = tmp_path / "saved"
    done = run_cli([*natives.where(target), "save", path])
    assert done.returncode == 0, done.stderr
    check_partial(["open", path], "large")


@pytest.fixture
def damaged(farm, tmp_path):
    """A core to be damaged: the target, its path and a mutate.Core."""
    target = hidden(farm, "private")
    path = tmp_path / "core"
    mutate.restore(target.core, path)
    core = mutate.Core(path)
    yield ["core", target.exe, path], core
    core.close()


def text(words):
    done = run_cli([*words, "native", "leaks", "--fail-on-leaks"])
    assert done.returncode == PARTIAL, (done.stdout, done.stderr)
    return done.stdout.splitlines()


def test_no_arena_is_checked(damaged):
    """No block is known, and so none is said to be held."""
    words, core = damaged
    arenas = mutate_native.ring(core, mutate_native.find_main(core))
    for arena in arenas:
        core.put(arena + mutate_native.SYSTEM, 12345)
    lines = text(words)
    assert lines[0] == "no block could be checked: no arena is whole"
    assert re.fullmatch(
        r"PARTIAL: \d+ arenas? (is|are) damaged or in the middle of a change, "
        r"and all blocks in (it|them) count as held: leaks may be missing",
        lines[1],
    )


def test_no_allocator_is_found(damaged):
    """A script that asks for leaks is not told that there are none."""
    words, core = damaged
    main = mutate_native.find_main(core)
    core.clear(main, mutate_native.STATE)
    lines = text(words)
    assert lines[0].startswith("no C allocator that goref knows (glibc, ")
    assert lines[1:] == [
        "PARTIAL: the blocks of C are not known: there may be leaks"
    ]
    status, document = asked(words)
    assert status == PARTIAL and not document["complete"]
    assert run_cli([*words, "native"]).stdout.splitlines() == lines[:1]


def test_allocator_in_the_missing_part(damaged):
    """A truncated core may end before the data of libc: that is no sign of
    another allocator."""
    words, core = damaged
    os.truncate(words[-1], core.offset(mutate_native.find_main(core)))
    lines = text(words)
    assert lines[0] == (
        "no C allocator was found: its data (that of libc) may lie in the "
        "missing part of the core"
    )
    assert lines[1].startswith("PARTIAL: the core file is truncated, ")
    assert run_cli([*words, "native"]).stdout.splitlines()[0] == lines[0]
    assert run_cli([*words, "verify"]).stdout.splitlines()[-1] == lines[0]
