# SPDX-License-Identifier: Apache-2.0
"""goref objects: every reached object, in any order, through any pipe."""


import pytest

from session import (
    GOREF,
    TIMEOUT,
    environment,
    run_cli,
    run_gdb,
    run_goref,
)
from toolchains import variants


def listed(target, *options):
    """The lines, split: address, bytes, retained or None, type."""
    done = run_cli(["core", *target.gdb_args, "objects", *options])
    assert done.returncode == 0, done.stderr
    rows = []
    has_retained = "--retained" in options or "retained" in options
    for line in done.stdout.splitlines():
        words = line.split(" ", 3 if has_retained else 2)
        retained = int(words[2]) if has_retained else None
        rows.append((int(words[0], 16), int(words[1]), retained, words[-1]))
    return rows


@pytest.mark.parametrize("program", ["rest", "values"])
@variants(newest=("default", "stripped"))
def test_the_objects_are_those_of_the_walk(farm, variant, program):
    target = farm.target(program, variant)
    done = run_cli(["core", *target.gdb_args, "objects"])
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    run = run_goref(target, ["goref objects --addresses"])
    plain = run.parts[0].splitlines()
    assert len(lines) == len(plain)
    # "0xc000012000 64 main.Leaf" and "0xc000012000 64".
    assert all(a.startswith(f"{b} ") for a, b in zip(lines, plain))
    addresses = [int(line.partition(" ")[0], 16) for line in lines]
    assert addresses == sorted(addresses)


@variants(newest=("default",))
def test_orders(farm, variant):
    target = farm.target("rest", variant)
    by_address = listed(target, "--retained")
    assert all(retained >= bytes_ for _, bytes_, retained, _ in by_address)
    by_bytes = listed(target, "--sort", "bytes", "--retained")
    assert by_bytes == sorted(by_address, key=lambda row: (-row[1], row[0]))
    by_retained = listed(target, "--sort", "retained")
    assert by_retained == sorted(by_address, key=lambda row: (-row[2], row[0]))
    assert [row[:2] for row in listed(target)] == [
        row[:2] for row in by_address
    ]


@variants(newest=("default", "noopt"))
def test_selections(farm, variant):
    target = farm.target("suspects", variant, args=["slice"])
    count = target.truth["count"]
    rows = listed(target, "--type", r"^main\.Session$")
    assert len(rows) == count
    assert {row[3] for row in rows} == {"main.Session"}
    everything = listed(target)
    large = listed(target, "--min-bytes", "1k")
    assert large == [row for row in everything if row[1] >= 1024]
    assert listed(target, "--type", "no such type") == []
    done = run_cli(
        ["core", *target.gdb_args, "objects", "--type", "Session$",
         "--limit", "5"]
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert len(lines) == 5
    assert done.stderr.startswith("and ") and "more (" in done.stderr


@variants("default", releases=("go1.24",))
def test_files_and_pipes(farm, variant, tmp_path):
    target = farm.target("suspects", variant, args=["slice"])
    out = tmp_path / "objects"
    run = run_gdb(
        target.gdb_args,
        [
            f"goref objects --out {out}",
            "pipe goref objects | wc -l",
            "goref scan --json",
        ],
    )
    count = run.json(2)["reached"]["objects"]
    assert f"{count:,} objects" in run.parts[0]
    assert len(out.read_text().splitlines()) == count
    assert int(run.parts[1]) == count


@variants("default", releases=("go1.24",))
def test_a_screen(farm, variant):
    """On a terminal, a person gets a screen, and how much more there is."""
    pexpect = pytest.importorskip("pexpect")
    target = farm.target("suspects", variant, args=["slice"])
    line = ["core", *target.gdb_args, "objects"]
    child = pexpect.spawn(
        str(GOREF),
        [str(word) for word in line],
        env=environment(),
        encoding="utf-8",
        timeout=TIMEOUT,
    )
    child.expect(pexpect.EOF)
    text = child.before.splitlines()
    assert len([one for one in text if one.startswith("0x")]) == 40
    assert any("more (--limit 0 lists all)" in one for one in text)
