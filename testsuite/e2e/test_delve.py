# SPDX-License-Identifier: Apache-2.0
"""The list of goroutines against Delve's on the same core: numbers, states,
threads, places, labels, filters and groups."""

import re

import pytest

from delves import delve, run_delve
from session import run_goref
from toolchains import variants

_KEYS = {"User": None, "Runtime": "current", "Go": "go", "Start": "start"}
_OPTIONS = {"-u": "User", "-r": "Runtime", "-g": "Go", "-s": "Start"}
_CONDITIONS = (
    "userloc main.",
    "userloc main.inner",
    "userloc main.tellAndWait",
    "userloc nowhere",
    "curloc runtime.gopark",
    "goloc main.startAll",
    "startloc main.",
    "label tenant",
    "label tenant=acme",
    "label tenant=acm",
    "running",
    "user",
)
_GROUPS = ("userloc", "curloc", "goloc", "startloc", "label tenant")


def delve_parts(target, folder, commands):
    """The output of each command."""
    marked = []
    for i, command in enumerate(commands):
        marked += [command, f"print {i + 1}0{i + 1}0{i + 1}"]
    done = run_delve(target, folder, marked)
    parts, rest = [], done.stdout
    for i in range(len(commands)):
        part, mark, rest = rest.partition(f"{i + 1}0{i + 1}0{i + 1}\n")
        if not mark:
            refused = re.search(r"Version of Delve.*", done.stderr)
            assert refused, done.stdout + done.stderr
            pytest.skip(f"Delve {delve()[0]}: {refused.group(0)}")
        parts.append(part)
    return parts


def delve_rows(text):
    """{number: (place, thread, reason)}, places with their title."""
    rows = {}
    for number, title, place, thread, reason in re.findall(
        r"^\s*\*? *Goroutine (\d+) - (\w+): (.*? \(0x\w+\))"
        r"(?: \(thread (\d+)\))?(?: \[(.*)\])?$",
        text,
        re.M,
    ):
        rows[int(number)] = (title, place, int(thread or 0), reason)
    return rows


def delve_groups(text):
    """{key: count}"""
    return {
        key: int(count)
        for key, count in re.findall(
            r"^(\S.*)\n(?:\t.*\n)*\tTotal: (\d+)$", text, re.M
        )
    }


def asked(target, words):
    """JSON of `goref goroutines' with each of these options."""
    run = run_goref(target, [f"goref goroutines --json {w}" for w in words])
    assert run.rc == 0, run.stderr
    return [run.json(i) for i in range(len(words))]


def place(row, key):
    at = row[key] if key else row
    name = f"{at['function'] or '?'} ({at['pc']})"
    return f"{at['file'] or '?'}:{at['line']} {name}"


def ids(document):
    return {row["id"] for row in document["goroutines"]}


@pytest.fixture(scope="module")
def known(farm):
    """Says which Delve knows the target."""

    def make(program, variant):
        target = farm.target(program, variant)
        print(f"Delve {delve()[0]} and goref on {program}, {variant}")
        return target

    return make


def as_delve_has_it(row, frames, at):
    """A place on the stack with the words of Delve, which takes the function
    that is called and the line that is innermost, inlined or not. Where a
    goroutine blocks in a call, it takes the line behind, we that of the call,
    as runtime.Stack does."""
    calls = [f for f in frames if f["pc"] == at["pc"]]
    called = next(f for f in calls if not f["inlined"])
    place = f"{calls[0]['file']}:{calls[0]['line']}"
    if calls[0] is frames[0]:
        place = re.sub(r"\d+$", "N", place)
    return f"{place} {called['function']} ({at['pc']})"


def is_users_by_delve(function):
    """Delve's rule (proc.G.UserCurrent). Package sync is the user's, and so
    are the exported functions of runtime; neither is for goref."""
    return "." in function and not re.match(
        r"runtime\.[^A-Z]|runtime/internal|internal/|iter\.", function
    )


def users_by_delve(frames):
    """The call that Delve takes for the user's place."""
    own = (
        f
        for f in frames
        if not f["inlined"] and is_users_by_delve(f["function"])
    )
    return next(own, frames[0])


def placed_in_sync(target, folder):
    """Goroutines that wait in package sync, by Delve."""
    (text,) = delve_parts(target, folder, ["goroutines -u"])
    rows = delve_rows(text).items()
    return {n for n, (_, at, *_) in rows if re.search(r"\d sync\.", at)}


def has_inlined_start(row, frames):
    """Is the goroutine's function inlined into a wrapper? Delve names what the
    wrapper's code calls first."""
    pcs = [
        f["pc"] for f in frames if f["function"] == row["start"]["function"]
    ]
    return any(f["inlined"] and f["pc"] in pcs for f in frames)


def lines_of_blocked(text, frames):
    pc = frames[0]["pc"]
    return re.sub(rf":\d+ (\S+ \({pc}\))$", r":N \1", text)


@pytest.mark.parametrize("program", ["stacks", "labelled"])
@variants(newest=("default", "noopt"))
def test_places(known, program, variant, tmp_path):
    """Goroutines that no thread runs: Delve takes the thread's own place,
    with the runtime's calls on its own stack, and a wait reason that is an old
    one."""
    target = known(program, variant)
    texts = delve_parts(
        target, tmp_path, [f"goroutines {o}" for o in _OPTIONS]
    )
    words = ["--system", "--system --exec bt --depth 0"]
    found, stacks = asked(target, words)
    rows = {row["id"]: row for row in found["goroutines"]}
    frames = {row["id"]: row["frames"] for row in stacks["goroutines"]}
    seen = skipped = 0
    for text, title in zip(texts, _OPTIONS.values()):
        wanted = delve_rows(text)
        assert set(wanted) == set(rows) and len(rows) > 12
        for number, (has, at, thread, reason) in wanted.items():
            row, key = rows[number], _KEYS[title]
            assert has == title and (row["thread_id"] or 0) == thread
            if key == "start" and has_inlined_start(row, frames[number]):
                pass
            elif key in ("go", "start"):
                assert place(row, key) == at, number
            elif not thread:
                calls = frames[number]
                own = row[key] if key else users_by_delve(calls)
                assert as_delve_has_it(
                    row, calls, own
                ) == lines_of_blocked(at, calls)
                skipped += not key and own["pc"] != row["pc"]
                assert key or own["pc"] == row["pc"] or " sync." in at
            if row["state"] == "waiting":
                assert row["wait_reason"] == reason
                seen += 1
    assert seen > 40 and bool(skipped) == (program == "stacks")


@pytest.mark.parametrize("program", ["stacks", "labelled"])
@variants(newest=("noopt",))
def test_filters(known, program, variant, tmp_path):
    target = known(program, variant)
    words = [f"-{w} {c}" for c in _CONDITIONS for w in ("with", "without")]
    words.append("-with user -with curloc gopark -without userloc main.go")
    texts = delve_parts(target, tmp_path, [f"goroutines {w}" for w in words])
    found = asked(target, [f"--system {w}" for w in words])
    in_sync = placed_in_sync(target, tmp_path)
    for word, text, document in zip(words, texts, found):
        differ = in_sync if "userloc" in word else set()
        assert set(delve_rows(text)) - differ == ids(document) - differ, word


def named(key):
    """A group without what Delve has words of its own for."""
    key = re.sub("^no label (.*)", r"\1=", key)
    return re.sub(r":\d+ in (runtime.gopark|syscall.Syscall)$", r" \1", key)


@pytest.mark.parametrize("program", ["stacks", "labelled"])
@variants(newest=("noopt",))
def test_groups(known, program, variant, tmp_path):
    target = known(program, variant)
    words = [f"-without running -group {g}" for g in _GROUPS]
    texts = delve_parts(target, tmp_path, [f"goroutines {w}" for w in words])
    found = asked(target, [f"--system {w}" for w in words])
    in_sync = placed_in_sync(target, tmp_path)
    for group, text, document in zip(_GROUPS, texts, found):
        differ = in_sync if group == "userloc" else set()
        counts = {
            named(g["key"]): len(set(g["ids"]) - differ)
            for g in document["groups"]
        }
        wanted = {
            named(k): n
            for k, n in delve_groups(text).items()
            if not (differ and " in sync." in k)
        }
        assert wanted == {k: n for k, n in counts.items() if n}, group


@variants(newest=("default",))
def test_labels(known, variant, tmp_path):
    target = known("labelled", variant)
    (text,) = delve_parts(target, tmp_path, ["goroutines -l"])
    (found,) = asked(target, ["--system"])
    wanted, number, seen = {}, None, 0
    for line in text.splitlines():
        row = re.match(r"\s*\*? *Goroutine (\d+) -", line)
        if row:
            number = int(row[1])
            wanted[number] = ""
        elif line.startswith("\tLabels: "):
            wanted[number] = line.removeprefix("\tLabels: ")
    for row in found["goroutines"]:
        is_cut = any(len(v) > 64 for v in row["labels"].values())
        if not is_cut and "..." not in wanted[row["id"]]:
            seen += bool(row["labels"])
            pairs = sorted(row["labels"].items())
            text = ", ".join(f'"{k}":"{v}"' for k, v in pairs)
            assert wanted[row["id"]].replace("\\", "") == text
    assert len(wanted) == len(found["goroutines"]) and seen >= 7
