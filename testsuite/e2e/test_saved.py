# SPDX-License-Identifier: Apache-2.0
"""goref save and goref open: a file answers as the core does, and has no values
that nobody asked for."""

import json
import os
import random
import re
import struct
import subprocess
from pathlib import Path

import pytest

import saved_file
from asking import SCANNER
from plain import told as scripted
from samples import DOCUMENTS, samples
from session import one_line, run_cli, run_gdb, run_goref
from targets import attach_reason, kernel_cores_reason, skip_if
from test_panic import core_of
from test_secrets import dense
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")

# These differ by themselves: times, and where the answer comes from.
PASSING = {
    "phases_us", "phases_ms", "target", "peak_private_bytes", "took_ms",
    "graph_phases_ms", "tool_version", "next", "seconds",
}  # fmt: skip

# Beside the sample of each verb. A file without values refuses `goroutine'.
QUESTIONS = (
    "histogram --by package --retained",
    "histogram --garbage",
    "histogram --garbage --by span-class",
    "histogram --by root",
    "histogram --by goroutine",
    "histogram --by field",
    "goroutines -t",
)


def lasting(document):
    """A document without what differs by itself."""
    if isinstance(document, dict):
        return {
            k: lasting(v) for k, v in document.items() if k not in PASSING
        }
    if isinstance(document, list):
        return [lasting(v) for v in document]
    return document


def answer(source, question):
    done = run_cli([*source, *question])
    assert done.returncode in (0, 3), (question, done.stderr)
    return lasting(json.loads(done.stdout))


def save(target, path, *options):
    core = ["core", target.exe, target.core]
    done = run_cli([*core, "save", *options, path])
    assert done.returncode == 0, done.stderr
    return core


def profile(source, kind, out):
    """Status, the last line of stderr if it failed, and the profile."""
    done = run_cli([*source, "profile", kind, "-o", out])
    if done.returncode:
        return done.returncode, done.stderr.splitlines()[-1], b""
    raw = subprocess.run(["zcat", out], check=True, capture_output=True)
    out.unlink()
    return 0, "", raw.stdout


@pytest.mark.parametrize("program", ["roots", "waits"])
@variants("default", newest=("stripped", "nodwarf", "external"))
def test_the_same_answers(farm, variant, program, tmp_path):
    """One gdb asks the core, and then the file."""
    file = tmp_path / "heap.goref"
    target = farm.target(program, variant)
    core = save(target, file)
    place = next(iter(target.truth.get("places", {}).values()), "0x10")
    asked = samples((n for n in DOCUMENTS if n != "goroutine"), place=place)
    words = [f"{q} --json" for q in (*map(" ".join, asked), *QUESTIONS)]
    run = run_goref(
        target,
        [f"goref {text}" for text in words]
        + [f"goref open {file} {text}" for text in words],
    )
    assert run.rc == 0, run.stderr
    for i, text in enumerate(words):
        told, expected = lasting(run.json(len(words) + i)), lasting(run.json(i))
        assert told == expected, text
    for kind in ("goroutine", "heap"):
        told = [
            profile(source, kind, tmp_path / "out.pb.gz")
            for source in (core, ["open", file])
        ]
        assert told[0] == told[1], kind
        # A stripped program does not say where the runtime keeps the heap's.
        lacks = kind == "heap" and variant.flavour == "stripped"
        assert told[0][0] == lacks, told


@pytest.mark.parametrize(
    "program", ["roots", "waits", "secrets", "rest", "generics", "pointers",
                "holders", "stacks", "reflected"]
)  # fmt: skip
@variants("default")
def test_no_question_reads_more(farm, variant, program, tmp_path):
    """Saving does not ask all questions. What the others read, the file has:
    saved again behind them, it has no word and no table more."""
    target = farm.target(program, variant)
    files = tmp_path / "heap.goref", tmp_path / "again.goref"
    done = subprocess.run(
        [SCANNER, "--save", files[0], "--unsaved", files[1],
         target.exe, target.core],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    frames = [saved_file.read(file.read_bytes())[1] for file in files]
    before, after = (saved_file.words(f) for f in frames)
    assert sum(mask.bit_count() for mask in before.values()) > 1000
    more = {
        hex(page): hex(mask & ~before.get(page, 0))
        for page, mask in after.items()
        if mask & ~before.get(page, 0)
    }
    assert not more, list(more.items())[:20]
    sizes = [
        [f.bytes for f in each if f.kind == saved_file.TABLES]
        for each in frames
    ]
    assert sizes[0] == sizes[1] and sizes[0]


def test_why_every_object(farm, tmp_path):
    """A chain to each object of the largest types."""
    file = tmp_path / "heap.goref"
    core = save(farm.target("roots", CENTRAL), file)
    listed = run_cli([*core, "objects", "-addresses"])
    found = re.findall(r"0x[0-9a-f]+", listed.stdout)
    for addr in random.Random(1).sample(found, min(8, len(found))):
        question = ["why", addr, "--json"]
        expected = answer(core, question)
        assert answer(["open", file], question) == expected


def test_merged_paths(farm, tmp_path):
    """Paths that differ by the keys of maps are one, which the keys of a core
    do not change."""
    file = tmp_path / "heap.goref"
    target = farm.target("holders", CENTRAL)
    core = save(target, file)
    question = ["why", "--type", "main.Leaf", "--json"]
    expected = answer(core, question)
    assert "[]" in {row["field"] for row in expected["branches"]}
    assert answer(["open", file], question) == expected
    for form in ("heapsnapshot", "jsonl", "dot"):
        made = []
        for source in (core, ["open", file]):
            out = tmp_path / "exported"
            done = run_cli([*source, "export", "--format", form, out])
            assert done.returncode == 0, done.stderr
            made.append(out.read_bytes())
        assert made[0] == made[1], form


def test_values_are_kept_when_asked_for(farm, tmp_path):
    target = farm.target("roots", CENTRAL)
    bare, whole = tmp_path / "bare.goref", tmp_path / "whole.goref"
    core = save(target, whole, "--values")
    save(target, bare)
    question = ["object", "--print", "os.Args"]
    expected = run_cli([*core, *question])
    assert expected.returncode == 0, expected.stderr
    assert run_cli(["open", whole, *question]).stdout == expected.stdout
    one_line(run_cli(["open", bare, *question]), 1, "without values")


def test_what_lies_outside_of_the_heap(farm, tmp_path):
    """Nobody has asked for these places before the file was written."""
    target = farm.target("secrets", CENTRAL)
    bare = tmp_path / "bare.goref"
    core = save(target, bare)
    for place in (0x10, target.truth["Mapped"], 0x7E0000000000, 2**47 + 5):
        told = [
            run_cli([*source, "why", hex(place)])
            for source in (core, ["open", bare])
        ]
        said = [(t.returncode, t.stdout, t.stderr) for t in told]
        assert said[0] == said[1]
        assert "unmapped" in said[0][1] or "outside the Go heap" in said[0][1]


def test_variables_are_kept_when_asked_for(farm, tmp_path):
    """All calls have them, also those that the compiler no longer keeps."""
    target = farm.target("shown", Variant(CENTRAL.release, "noopt"))
    whole, bare = tmp_path / "whole.goref", tmp_path / "bare.goref"
    core = save(target, whole, "--values")
    save(target, bare)
    question = ["goroutines", "-exec", "locals", "--json"]
    told = answer(core, question)
    assert answer(["open", whole], question) == told
    assert "argument" in json.dumps(told)
    one_line(run_cli(["open", bare, *question]), 1, "no variable values")


@variants("default", newest=("stripped", "nodwarf", "external"))
def test_no_values(farm, variant, tmp_path):
    """No place of a program gives a value away. The addresses of strings are
    in the file, their bytes are not."""
    target = farm.target("secrets", variant)
    bare = tmp_path / "bare.goref"
    core_words = save(target, bare)
    truth = target.truth
    secrets = {
        **{t: t.encode() for t in truth["Texts"]},
        **{n: n.to_bytes(8, "little") for n in truth["Words"]},
    }
    assert len(secrets) > 500
    memory = unpack(bare)
    begins = fours(memory)
    given_away = [
        k for k, v in secrets.items() if four(v) in begins and v in memory
    ]
    assert not given_away, given_away[:20]
    # Four bytes also occur by chance: of hundreds of numbers, a program's own
    # code and tables have one in some runs. Each place has several numbers.
    halves = {n: n.to_bytes(4, "little") for n in truth["Halves"]}
    own = Path(target.exe).read_bytes()
    found = [
        k for k, v in halves.items() if four(v) in begins and v not in own
    ]
    assert len(halves) > 300 and len(found) < 2, found[:20]
    # The test can see them: the core has them all. Some are looked for.
    core = dense(target.core.read_bytes())
    looked_for = list(secrets.values())[::20] + list(halves.values())[::20]
    assert all(value in core for value in looked_for)
    for question in (["scan"], ["goroutines", "-t"], ["waits"]):
        assert run_cli(["open", bare, *question]).returncode == 0
    done = run_cli(["open", bare, "panic"])
    assert done.returncode == 0, done.stderr
    # The first line has the value of the panic, if one was going on.
    told = run_cli([*core_words, "panic"]).stdout.splitlines()
    assert done.stdout.splitlines()[1:] == told[1:]
    for question in (
        ["goroutines", "--with", "label", "a"],
        ["goroutines", "--group", "label"],
        ["report", "--values", tmp_path / "page.html"],
    ):
        done = run_cli(["open", bare, *question])
        assert done.returncode == 1 and not done.stdout
        assert "without values" in done.stderr.splitlines()[-1]
    # A number whose word is in the file for the lock in it is not 0.
    # Only debug information has the names.
    places = ("main.Narrow.Before", "main.Narrow.mu", "main.Narrow")
    for place in places if variant.flavour == "default" else ():
        question = ["object", "--print", place]
        one_line(run_cli(["open", bare, *question]), 1, "without values")


def four(value):
    """The first four bytes of a value, as fours() has them."""
    return struct.unpack_from("<I", value)[0]


def fours(data):
    """All four bytes in a row, as numbers."""
    found = set()
    for shift in range(4):
        count = (len(data) - shift) // 4
        found.update(struct.unpack_from(f"<{count}I", data, shift))
    return found


def unpack(file):
    """All memory of a file, in the order of addresses, and what describes it:
    registers among it."""
    _, frames = saved_file.read(file.read_bytes())
    pages = saved_file.memory(frames)
    memory = b"".join(pages[page] for page in sorted(pages))
    assert len(memory) > 1 << 16
    return memory + bytes(frames[0].unpack())


def test_in_gdb(farm, tmp_path):
    """The program of gdb stays what other commands are about."""
    target, other = farm.target("roots", CENTRAL), farm.target("rest", CENTRAL)
    file = tmp_path / "heap.goref"
    save(target, file)
    done = run_gdb(
        [other.exe, other.core],
        ["goref scan", f"goref open {file} scan", "goref scan"],
    )
    text = done.stdout
    assert text.count(str(other.core)) == 2, text
    assert f"{file}: core {target.core}" in text
    one_line_of = run_gdb([], ["goref open /nowhere scan"])
    assert "goref: /nowhere: No such file" in one_line_of.stderr


def test_next_commands_in_gdb(farm, tmp_path):
    """They are about the file, and run as they are printed."""
    target = farm.target("roots", CENTRAL)
    file = tmp_path / "a heap.goref"
    save(target, file)
    asked = f"goref open '{file}'"
    told = run_gdb([], [f"{asked} overview --json"]).json(0)["next"]
    told = [command for command in told if "--out" not in command]
    assert told and all(command.startswith(asked) for command in told)
    done = run_gdb([], told)
    assert done.rc == 0 and len(done.parts) == len(told), done.stderr
    for part in done.parts:
        assert part.startswith(f"{file}: core {target.core}")


def test_from_scripts(farm, tmp_path):
    """Objects of a file and of its core; a script can tell a value that was not
    saved from other errors."""
    target = farm.target("roots", CENTRAL)
    file = tmp_path / "heap.goref"
    save(target, file)
    of_file, of_core, caught = scripted(
        """
        import goref, json, sys
        def described(heap):
            o = max(heap.objects(min_bytes=64),
                    key=lambda o: (o.retained_size, o.address))
            return [heap.is_valid(), o.type, o.address, o.retained_size,
                    len(list(o.referrers()))]
        file, core, exe = sys.argv[1:]
        heap = goref.open(file)
        try:
            caught = str(bytes(next(heap.objects(min_bytes=64)).value()))
        except goref.NoMemoryError as problem:
            caught = str(problem)
        print(json.dumps([described(heap), described(goref.core(core, exe)),
                          caught]))
        """,
        file, target.core, target.exe,
    )  # fmt: skip
    assert of_file == of_core and of_file[0]
    assert caught.startswith("goref: this file was saved without values")


def test_values_from_scripts(farm, tmp_path):
    """Values of a file with values, and those of gdb: what the core has."""
    target = farm.target("roots", CENTRAL)
    whole, bare = tmp_path / "whole.goref", tmp_path / "bare.goref"
    save(target, whole, "--values")
    save(target, bare)
    code = (
        "for o in list(heap.objects(type={!r}))[:20]: "
        "print('value', hex(o.address), str(o.value()).split(), "
        "str(o.value().gdb).split())"
    )
    types = [
        row["key"]
        for row in answer(["open", bare], ["histogram", "--json"])["rows"]
        if re.fullmatch(r"main\.\w+", row["key"])
    ]
    assert types
    asked = ["python " + code.format(name) for name in types]
    opened = f"python heap = goref.open({str(whole)!r})"
    done = run_gdb(
        [target.exe, target.core],
        ["python import goref; heap = goref.heap()", *asked, opened, *asked],
    )
    lines = [x for x in done.stdout.splitlines() if x.startswith("value 0x")]
    assert lines and lines[: len(lines) // 2] == lines[len(lines) // 2 :]


def test_values_without_types(farm, tmp_path):
    """gdb has no types of the program, or those of another one."""
    target, other = farm.target("roots", CENTRAL), farm.target("rest", CENTRAL)
    whole, bare = tmp_path / "whole.goref", tmp_path / "bare.goref"
    save(target, whole, "--values")
    save(target, bare)

    def value_of(heap):
        return (
            f"python heap = goref.{heap}; "
            "print(next(heap.objects(type='main.Leaf')).value().gdb)"
        )

    core = f"core({str(target.core)!r}, {str(target.exe)!r})"
    done = run_gdb(
        [],
        ["python import goref", value_of(f"open({str(whole)!r})"),
         value_of(core), f"file {other.exe}",
         value_of(f"open({str(whole)!r})"), f"file {target.exe}",
         value_of(f"open({str(bare)!r})")],
    )  # fmt: skip
    write = f"write `file {target.exe}' first"
    for said in (
        "goref: this file was saved without values",
        f"types of values: {write}, or use `goref open {whole} ",
        f"build id of the saved program: {write}",
        f"types of values: {write}, or use str()",
    ):
        assert said in done.stderr, done.stderr


@pytest.mark.parametrize(
    "how", ["wrapped", "struct", "again", "nil", "fault", "deadlock"]
)
def test_panic(farm, tmp_path, how):
    """Without values, all but these: the type, the signal, the goroutine, the
    deferred calls. Its text is nowhere in the file."""
    skip_if(kernel_cores_reason())
    target, printed = core_of(farm, CENTRAL, how)
    bare, whole = tmp_path / "bare.goref", tmp_path / "whole.goref"
    core = save(target, bare)
    save(target, whole, "--values")
    question = ["panic", "--json"]
    expected = answer(core, question)
    assert answer(["open", whole], question) == expected
    memory = unpack(bare)
    for value in expected["values"]:
        if value["type"]:
            text = value["value"].strip('"').encode()
            assert len(text) < 8 or text not in memory
            value["value"] = None
    expected["fatal_error"] = None
    assert answer(["open", bare], question) == expected
    said = run_cli(["open", bare, "panic"]).stdout
    assert "not in the file" in said or not expected["values"]
    assert printed


def test_modes(farm, tmp_path):
    """Values are for the owner of the file, like those of a core."""
    target = farm.target("roots", CENTRAL)
    bare, whole = tmp_path / "bare.goref", tmp_path / "whole.goref"
    before = os.umask(0o022)
    try:
        whole.touch(0o644)
        save(target, whole, "--values")
        save(target, bare)
    finally:
        os.umask(before)
    assert whole.stat().st_mode & 0o777 == 0o600
    assert bare.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("way", [[], ["--snapshot"], ["--values"]])
@pytest.mark.parametrize("flavour", ["default", "stripped"])
def test_process(farm, tmp_path, way, flavour):
    """A process goes on, and its file answers as it did."""
    skip_if(attach_reason())
    target = farm.target("waits", Variant(CENTRAL.release, flavour), "live")
    attach = ["attach", str(target.process.pid)]
    file = tmp_path / "heap.goref"
    done = run_cli([*attach, *way, "save", file])
    assert done.returncode == 0, done.stderr
    assert target.process.popen.poll() is None
    for question in (["waits", "--json"], ["histogram", "--json"]):
        expected = answer(attach, question)
        assert answer(["open", file], question) == expected, question


def test_other_files(farm, tmp_path):
    target = farm.target("roots", CENTRAL)
    nothing = tmp_path / "nothing"
    one_line(run_cli(["open", nothing]), 1, "No such file")
    nothing.write_bytes(b"")
    one_line(run_cli(["open", nothing]), 1, "is empty")
    nothing.write_bytes(b"text")
    one_line(run_cli(["open", nothing]), 1, "is not a file that `goref save'")
    one_line(run_cli(["open", target.exe]), 1, "is an executable, not a file")
    one_line(run_cli(["open", target.core]), 1, "is a core, not a file of",
             f"`goref core {target.core}'")  # fmt: skip
    packed = tmp_path / "heap.goref.zst"
    packed.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(60))
    one_line(run_cli(["open", packed]), 1, f"zstd -d {packed}")
    run = run_gdb(
        [], [f"goref open {target.core}", "python import goref",
             f"python goref.open({str(packed)!r})"]
    )  # fmt: skip
    assert "is a core, not a file of" in run.stderr
    assert f"zstd -d {packed}" in run.stderr
    core = ["core", target.exe, target.core]
    for words in (["save"], ["scan", "-o"], ["report"]):
        done = run_cli([*core, *words, "-"], cwd=tmp_path)
        one_line(done, 1, "cannot write to standard output")
    one_line(run_cli([*core, "save"]), 2, "no FILE")
    one_line(run_cli([*core, "save", tmp_path / "no/file"]), 1, "cannot")
    one_line(run_cli([*core, "save", target.core]), 1, "it is the core")


@pytest.mark.parametrize(
    "question",
    [["report"], ["export", "--format", "dot"], ["scan", "-o"],
     ["profile", "goroutine", "-o"]],
    ids=lambda words: words[0],
)  # fmt: skip
def test_the_file_is_not_replaced_by_its_answer(farm, tmp_path, question):
    file = tmp_path / "heap.goref"
    save(farm.target("roots", CENTRAL), file)
    before = file.read_bytes()
    done = run_cli(["open", file, *question, file])
    one_line(done, 1, "the saved file")
    assert file.read_bytes() == before


def test_memory_limit(farm, tmp_path):
    """A limit below what the tables need is one line, as of the core."""
    file = tmp_path / "heap.goref"
    save(farm.target("roots", CENTRAL), file)
    done = run_cli(["open", file, "scan", "--memory-limit", "1M"])
    one_line(done, 1, "--memory-limit")
    assert run_cli(["open", file, "scan"]).returncode == 0
