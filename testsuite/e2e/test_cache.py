# SPDX-License-Identifier: Apache-2.0
"""The cache of tables of debug information: the same answers with it."""

import shutil

import pytest

from session import run_goref
from targets import Target
from toolchains import variants


def answers(target, folder, out, commands=()):
    """The output of a scan and a `why`, without times and memory, and the
    profile."""
    place = next(iter(target.places.values()))
    run = run_goref(
        target,
        [*commands, f"goref scan --json --out {out}", f"goref why {place}"],
        env={"XDG_CACHE_HOME": str(folder)},
    )
    assert run.rc == 0, run.stderr
    ledger = run.json(len(commands))
    for name in ("phases_ms", "peak_private_bytes"):
        ledger.pop(name)
    return ledger, run.parts[-1], out.read_bytes()


def files(folder):
    return sorted((folder / "goref-gdb" / "symbols").glob("*"))


@variants(newest=("default", "noopt"))
def test_same_answers(farm, variant, tmp_path):
    target = farm.target("values", variant, "core", (), None)
    out = tmp_path / "refs.pb"
    off = answers(target, tmp_path, out, ["set goref cache off"])
    assert not files(tmp_path)
    cold = answers(target, tmp_path, out)
    [file] = files(tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    written = file.stat().st_ino
    cached = answers(target, tmp_path, out)
    # Nothing new was learnt: the file was not written again.
    assert [f.stat().st_ino for f in files(tmp_path)] == [written]
    assert off == cold == cached


@variants(newest=("default",))
def test_question_on_goroutines(farm, variant, tmp_path):
    """A question that needs no heap leaves its tables to the next one."""
    target = farm.target("values", variant, "core", (), None)
    first, second = (
        run_goref(
            target,
            ["goref goroutines"],
            env={"XDG_CACHE_HOME": str(tmp_path)},
        )
        for _ in range(2)
    )
    [file] = files(tmp_path)
    assert file.stat().st_size > 0
    assert first.parts == second.parts
    # A scan uses them, and adds what it has learnt.
    out = tmp_path / "refs.pb"
    added = answers(target, tmp_path, out)
    assert added == answers(target, tmp_path / "fresh", out)


@variants(newest=("default",))
def test_damaged_file(farm, variant, tmp_path):
    target = farm.target("values", variant, "core", (), None)
    out = tmp_path / "refs.pb"
    good = answers(target, tmp_path, out)
    [file] = files(tmp_path)
    data = file.read_bytes()
    for damaged in (
        data[: len(data) // 2],
        data[:4000] + b"\xff" * 64 + data[4064:],
        b"",
        b"something else\n" * 1000,
    ):
        file.write_bytes(damaged)
        assert answers(target, tmp_path, out) == good
        assert file.read_bytes()[:8] == data[:8]
        assert file.stat().st_size == len(data)


@variants(newest=("plain-dwarf",))
def test_another_file_of_that_build(farm, variant, tmp_path):
    """Build id, size and time can be those of another executable. Its types
    are not taken for those of this one."""
    target = farm.target("values", variant, "core", (), None)
    other = tmp_path / "other"
    data = target.exe.read_bytes()
    assert b"main.Node\0" in data
    other.write_bytes(data.replace(b"main.Node\0", b"main.Evil\0"))
    shutil.copystat(target.exe, other)
    foreign = Target("core", other, target.truth, core=target.core)
    out = tmp_path / "refs.pb"
    right = answers(target, tmp_path, out, ["set goref cache off"])
    run_goref(foreign, ["goref scan"], env={"XDG_CACHE_HOME": str(tmp_path)})
    assert files(tmp_path)
    assert answers(target, tmp_path, out) == right


@variants(newest=("default",))
@pytest.mark.parametrize("home", ["a file", "/proc/nowhere", ""])
def test_no_folder(farm, variant, tmp_path, home):
    target = farm.target("values", variant, "core", (), None)
    out = tmp_path / "refs.pb"
    if home == "a file":
        home = tmp_path / "file"
        home.write_text("")
    run = run_goref(
        target,
        [f"goref scan --json --out {out}"],
        env={"XDG_CACHE_HOME": str(home), "HOME": str(home)},
    )
    assert run.rc == 0, run.stderr
    assert not run.error_lines()
    assert run.json(0)["reached"]["objects"] > 0


@variants(newest=("default",))
def test_folder_of_others(farm, variant, tmp_path):
    """Where others can write, nothing is read or written; a warning says so."""
    target = farm.target("values", variant, "core", (), None)
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    aim = tmp_path / "aim"
    aim.mkdir()
    (shared / "goref-gdb").symlink_to(aim)
    run = run_goref(
        target,
        ["goref scan --json", "goref scan", "info goref"],
        env={"XDG_CACHE_HOME": str(shared)},
    )
    assert run.rc == 0, run.stderr
    said = (
        f"warning: debug information is not cached: {shared} can be written "
        "by other users (`chmod go-w')"
    )
    assert run.stderr.count(said) == 1
    assert run.json(0)["complete"]
    assert said in run.parts[2]
    assert not list(aim.iterdir())
