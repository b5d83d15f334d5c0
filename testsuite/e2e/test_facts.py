# SPDX-License-Identifier: Apache-2.0
"""Without gdb, the native half reads of cores and files what gdb says of them,
and a scan of its list of modules has the answers of a scan in gdb."""

import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from session import environment, run_gdb, run_goref
from targets import (
    Target,
    kernel_core,
    kernel_cores_reason,
    skip_if,
    split_debug,
)
from test_libraries import LIBC, pipes, renamed
from toolchains import variants

SCRIPT = Path(__file__).parent / "facts_in_gdb.py"


@pytest.fixture(scope="module")
def goref():
    """The module _goref in this process, without gdb."""
    file = Path(environment()["GOREF_BUILD_DIR"]) / "_goref.abi3.so"
    loader = importlib.machinery.ExtensionFileLoader("_goref", str(file))
    spec = importlib.util.spec_from_loader("_goref", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def ask_gdb(target):
    run = run_goref(target, [f"source {SCRIPT}"])
    found = re.search("^FACTS(.*)$", run.stdout, re.M)
    assert found, run.stdout + run.stderr
    return json.loads(found[1])


def check_facts(facts, said):
    assert facts.exe_path == said["exe"]
    assert facts.pid == said["pid"]
    assert facts.random.hex() == said["random"]
    assert facts.signal == said["signal"]
    if said["siginfo"][0] == facts.signal:
        assert facts.signal_code == said["siginfo"][1]
        assert facts.sender_pid == said["siginfo"][2]
        assert facts.fault_addr == said["siginfo"][3]
    else:
        assert facts.signal_code is None
    assert facts.thread_ids[0] == said["threads"][0]
    assert sorted(facts.thread_ids) == sorted(said["threads"])


def scan_of(goref, modules, core):
    return goref.Scan(
        kind="core", read=None, modules=modules, threads=[], core=str(core)
    )


@pytest.mark.parametrize("kind", ["core", "gcore"])
@variants("default", newest=("pie", "external"))
def test_core(goref, farm, variant, kind):
    target = farm.target("rest", variant, kind)
    said = ask_gdb(target)
    facts = goref.core_facts(str(target.core))
    check_facts(facts, said)
    modules = goref.core_modules(str(target.core), str(target.exe)).modules
    scan = scan_of(goref, modules, target.core)
    # A thread of number 0 has not begun.
    for thread, goroutine in filter(lambda row: row[0], said["running"]):
        assert scan.goroutine_of_thread(thread) == goroutine, thread
    assert any(goroutine for _, goroutine in said["running"])
    assert scan.goroutine_of_thread(1 << 30) is None


@variants(newest=("default",))
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_signals(goref, farm, variant, number):
    """A signal that a process has sent has a sender."""
    skip_if(kernel_cores_reason())
    process = farm.process("rest", variant)
    core = kernel_core(process, lambda: process.popen.send_signal(number))
    target = Target("core", process.exe, process.truth, core=core)
    facts = goref.core_facts(str(core))
    check_facts(facts, ask_gdb(target))
    # With GOTRACEBACK=crash, the runtime ends the program by SIGABRT.
    assert facts.signal == signal.SIGABRT
    assert facts.signal_code <= 0 and facts.sender_pid


def name_of(path):
    return os.path.realpath(path)


@variants(newest=("cgo", "c-shared", "plugin", "external"))
def test_modules(goref, farm, variant):
    """In the order of gdb, with its debug files and addresses."""
    program = "cgo" if variant.flavour == "cgo" else "rest"
    target = farm.target(program, variant)
    said = ask_gdb(target)
    found = goref.core_modules(str(target.core), str(target.exe))
    modules = found.modules
    assert not found.special
    assert list(map(name_of, said["files"])) == [
        name_of(m.path) for m in modules
    ]
    for module in modules[1:]:
        assert module.debug_path == said["debug"].get(module.path)
        start = said["starts"][module.path]
        text = goref.elf_facts(module.path)
        assert module.bias in (
            start - text.text_addr,
            start - text.lowest_page,
        )
    loaded = set(map(name_of, goref.core_facts(str(target.core)).code_files))
    assert {name_of(m.path) for m in modules[1:]} <= loaded


@variants(newest=("cgo", "c-shared", "plugin", "plugin-stripped", "external"))
def test_answers(goref, farm, variant):
    """Those of a scan without gdb are those of a scan in gdb."""
    program = "cgo" if variant.flavour == "cgo" else "rest"
    target = farm.target(program, variant)
    run = run_goref(target, ["goref scan --json"], in_gdb=True)
    assert run.rc == 0, run.stderr
    modules = goref.core_modules(str(target.core), str(target.exe)).modules
    result = scan_of(goref, modules, target.core).walk(256, 1 << 20)
    wanted = run.json(0)
    reached = result.ledger().reached
    assert reached.objects == wanted["reached"]["objects"]
    assert reached.bytes == wanted["reached"]["bytes"]
    types = {(t.type, t.total.objects, t.total.bytes) for t in result.types()}
    for row in wanted["types"]:
        assert (row["type"], row["objects"], row["bytes"]) in types, row


@variants("external", releases=["go1.24"])
def test_special_files(goref, farm, variant, pipes, tmp_path):
    """A pipe with the name of a library is left out, and named."""
    target = farm.target("rest", variant)
    core = renamed(target.core, tmp_path / "core", LIBC.findall, pipes)
    found = goref.core_modules(str(core), str(target.exe))
    names = {str(path) for path in pipes.folder.iterdir()}
    assert names & {*found.special}
    assert not names & {module.path for module in found.modules}
    whole = goref.core_modules(str(target.core), str(target.exe))
    assert len(found.modules) == len(whole.modules) - 1


# ---------------------------------------------------------------- debug files


def debug_in_gdb(exe, folder):
    run = run_gdb(
        [],
        [
            f"set debug-file-directory {folder}",
            f"file -readnever {exe}",
            "python print(*(o.filename for o in gdb.objfiles() if o.owner))",
        ],
    )
    return run.parts[-1].strip() or None


@variants(newest=("default", "external"))
@pytest.mark.parametrize("is_right", [True, False])
def test_debug_link(goref, farm, variant, is_right, tmp_path):
    """A file by .gnu_debuglink: gdb takes the same, and not a damaged one."""
    target = farm.target("rest", variant)
    exe, debug = split_debug(target.exe, tmp_path / "bin", link=True)
    if not is_right:
        # Another program's: without the same build id and checksum.
        other = farm.target("cgo", variant._replace(flavour="cgo")).exe
        shutil.copy(other, debug)
    wanted = debug_in_gdb(exe, tmp_path / "debug")
    found = goref.debug_file(str(exe), str(tmp_path / "debug"))
    assert found == wanted == (str(debug) if is_right else None)


@variants(newest=("external",))
def test_debug_by_build_id(goref, farm, variant, tmp_path):
    target = farm.target("rest", variant)
    exe, debug = split_debug(target.exe, tmp_path / "bin", link=False)
    build_id = goref.elf_facts(str(exe)).gnu_build_id.hex()
    said = subprocess.run(
        ["readelf", "-nW", exe], capture_output=True, text=True
    ).stdout
    assert build_id and build_id in said
    place = tmp_path / "debug" / ".build-id" / build_id[:2]
    place.mkdir(parents=True)
    moved = place / f"{build_id[2:]}.debug"
    debug.rename(moved)
    folder = str(tmp_path / "debug")
    assert goref.debug_file(str(exe), folder) == str(moved)
    assert debug_in_gdb(exe, folder) == str(moved)
    assert goref.debug_file(str(target.exe), folder) is None


# --------------------------------------------------------------- cut-off cores


@variants("external", releases=["go1.24"])
def test_cut_cores(goref, farm, variant, tmp_path):
    """Wherever a core ends, its facts are right or absent."""
    target = farm.target("rest", variant)
    whole = goref.core_facts(str(target.core))
    size = target.core.stat().st_size
    core = tmp_path / "core"
    head = target.core.read_bytes()[: 1 << 20]
    for end in [0, 3, 50, 63, 64, *range(100, 70_000, 1777), size // 2]:
        core.write_bytes(head[:end])
        os.truncate(core, min(end, len(head)))
        try:
            facts = goref.core_facts(str(core))
        except goref.FormatError:
            assert end < 120
            continue
        assert facts.exe_path in (whole.exe_path, None)
        assert facts.pid in (whole.pid, 0)
        assert facts.thread_ids == whole.thread_ids[: len(facts.thread_ids)]
        goref.core_modules(str(core), str(target.exe))
