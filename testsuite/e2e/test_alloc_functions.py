# SPDX-License-Identifier: Apache-2.0
"""The functions of C's allocators in a process that runs, and where a probe of
each is. The truth is what nm tells of the files, gdb of the instructions, and a
program of its own functions."""

import collections
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import natives
from targets import GDB
from test_growth import EMULATED, Running
from toolchains import RELEASES, Variant

RELEASE = RELEASES[-1]
OF_C = "malloc calloc realloc free cfree posix_memalign aligned_alloc memalign"
OF_C += " valloc pvalloc reallocarray"
ALLOCATORS = {
    "libjemalloc.so.2": "mallocx rallocx dallocx sdallocx",
    "libtcmalloc.so.4": "tc_malloc_skip_new_handler",
    "libmimalloc.so.2": "mi_zalloc mi_new mi_free_size mi_malloc_aligned "
    "mi_recalloc mi_posix_memalign mi_cfree reallocf",
}
# push, jump, call and so on, as gdb names what the kernel emulates.
MNEMONICS = re.compile(r"push|j[a-z]+|call|nop$")

Symbol = collections.namedtuple("Symbol", "name start size")

NO_SAMPLER = (
    natives.PROBE
    + r"""
void *sampled(void)
{
	PROBE("otel_memory", "allocate");
	PROBE("otel_memory", "free");
	PROBE("memory", "alloc");
	return 0;
}
"""
)
POOL = r"""
#define _GNU_SOURCE
#include <stddef.h>

static char room[4096];

static void *choose(void)
{
	return room;
}

void *pool_malloc(size_t bytes) { return room + bytes; }
void *pool_memalign(size_t to, size_t bytes) { return room + to + bytes; }
void pool_free(void *block) { *(char *)block = 0; }
/* The program's start chooses it. */
void *pool_calloc(size_t count, size_t bytes)
	__attribute__((ifunc("choose")));
/* There is none that frees. */
void *lone_malloc(size_t bytes) { return room + bytes; }
/* For this family there is none, either. */
void *malloc(size_t bytes) __attribute__((alias("pool_malloc")));
/* So there is no malloc that these belong to. */
void *_Znwm(size_t bytes) { return room + bytes; }
void _ZdlPv(void *block) { *(char *)block = 0; }
"""


class Traced(Running):
    """A process that loads libraries on request."""

    def load(self, path, how="open"):
        self.process.popen.stdin.write(f"{how} {path}\n".encode())
        self.process.popen.stdin.flush()
        assert self.process.read_line() == '"loaded"'

    def functions(self, **asked):
        answer = self.scan.alloc_functions(**asked)
        assert answer.left_out == answer.unreadable_objects == 0
        starts = [f.addr for f in answer.functions]
        assert starts == sorted(set(starts))
        return answer.functions

    def base(self, path):
        """Where the first byte of a file is mapped."""
        lines = Path(f"/proc/{self.process.pid}/maps").read_text().splitlines()
        return next(
            int(line.split("-")[0], 16)
            for line in lines
            if line.endswith(f" {path}") and line.split()[2] == "00000000"
        )


VERSIONS = r"""
#include <stddef.h>

static char room[4096];

void *old(size_t bytes) { return room + bytes; }
void *later(size_t bytes) { return room + 2 * bytes; }
void pool_free(void *block) { *(char *)block = 0; }
__asm__(".symver old, pool_malloc@POOL_1");
__asm__(".symver later, pool_malloc@@POOL_2");
"""
LIMIT = 256


@pytest.fixture
def traced(farm):
    def run(flavour="cgo", preload=None):
        env = {"LD_PRELOAD": preload} if preload else None
        variant = Variant(RELEASE, flavour)
        process = farm.process("allocators", variant, env=env)
        process.rest()
        return Traced(process)

    yield run
    farm.forget("allocators")


@pytest.fixture
def library(traced, tmp_path):
    """Compile a library, and load it into a new process."""

    def load(text, name="made.so"):
        path = tmp_path / name
        shutil.copy(natives.compiled("allocators", text), path)
        one = traced()
        one.load(path)
        return one, path

    return load


def symbols_of(path):
    """{name: Symbol} of the functions that a library defines."""
    nm = shutil.which("nm") or pytest.skip("no nm")
    lines = subprocess.run(
        [nm, "-D", "-S", "--defined-only", path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    found = {}
    for line in lines:
        fields = line.split()
        if len(fields) == 4 and fields[2] in "TW":
            name = fields[3].partition("@")[0]
            start, size = (int(n, 16) for n in fields[:2])
            found[name] = Symbol(name, start, size)
    return found


def instructions(path, offsets):
    """The mnemonics at some addresses of a file."""
    words = [w for at in offsets for w in ("-ex", f"x/i {at:#x}")]
    done = subprocess.run(
        [GDB, "-nx", "-batch", "-iex", "set auto-load python-scripts off",
         "-iex", "set debuginfod enabled off", *words, str(path)],
        capture_output=True,
        text=True,
    )  # fmt: skip
    lines = [x for x in done.stdout.splitlines() if x.startswith("   0x")]
    assert len(lines) == len(offsets), done.stdout + done.stderr
    return [line.split(":\t")[1].split()[0] for line in lines]


def check_places(one, path, functions, symbols):
    """A probe is in its function, at its entry or at an instruction that the
    kernel emulates."""
    base = one.base(path)
    offsets = [f.addr - base for f in functions]
    names = instructions(path, offsets)
    for f, at, name in zip(functions, offsets, names):
        start, size = symbols[f.name][1:]
        assert start <= at < start + size
        is_emulated = one.read(f.addr, 1)[0] in EMULATED | {0x41, 0x0F, 0x90}
        assert (f.place == "emulated") == bool(MNEMONICS.match(name)), f
        assert f.place == "entry" or is_emulated, f
        assert f.place == "emulated" or at == start
    assert any(f.place == "emulated" for f in functions)


def check_names(functions, symbols, names):
    """Each function with one of these names is there once."""
    starts = {symbols[name].start for name in names}
    assert starts == {symbols[f.name].start for f in functions}
    assert len(starts) == len(functions)


def of_object(functions, path):
    return [f for f in functions if f.object == str(path)]


def libc_of(functions):
    [path] = {f.object for f in functions if "/libc.so" in f.object}
    return path


def test_glibc(traced):
    one = traced()
    functions = one.functions()
    path = libc_of(functions)
    assert of_object(functions, path) == list(functions)
    symbols = symbols_of(path)
    names = [name for name in OF_C.split() if name in symbols]
    assert len(names) > 8
    check_names(functions, symbols, names)
    check_places(one, path, functions, symbols)
    assert all(f.is_walked for f in functions)
    kinds = {f.name: f.kind for f in functions}
    assert kinds["malloc"] == kinds["valloc"] == kinds["pvalloc"] == "malloc"
    assert kinds["free"] == "free"
    assert kinds["calloc"] == "calloc"
    assert kinds["posix_memalign"] == "posix_memalign"
    assert kinds["reallocarray"] == "reallocarray"


@pytest.mark.parametrize("name", ALLOCATORS)
def test_other_allocators(traced, name):
    """They are preloaded. The one of libc is still there, and the operators of
    libstdc++ call malloc."""
    one = traced(preload=f"{name} libstdc++.so.6")
    functions = one.functions()
    assert of_object(functions, libc_of(functions))
    paths = {f.object for f in functions} - {libc_of(functions)}
    if not paths:
        pytest.skip(f"no {name}")
    [path] = paths
    assert Path(path).name.startswith(name)
    symbols = symbols_of(path)
    own = of_object(functions, path)
    operators = [n for n in symbols if re.match("_Zn[wa]m|_Zd[la]Pv", n)]
    assert len(operators) > 15
    wanted = [*OF_C.split(), *ALLOCATORS[name].split(), *operators]
    found = {symbols[f.name].start for f in own}
    wanted = [name for name in wanted if name in symbols]
    assert not [name for name in wanted if symbols[name].start not in found]
    assert not any(f.is_walked for f in own)
    # No function of another kind is there, and none is there twice.
    starts = [symbols[f.name].start for f in own]
    assert len(set(starts)) == len(starts)
    no_names = re.compile(r"size$|stats|_good_|usable|[ns]allocx|xallocx|heap")
    assert not [f.name for f in own if no_names.search(f.name)]
    check_places(one, path, own, symbols)
    assert {f.kind for f in own if f.name in operators} <= {"new", "free"}


def test_a_function_of_several_names(traced):
    """tcmalloc's free is operator delete, too."""
    one = traced(preload="libtcmalloc.so.4")
    own = [f for f in one.functions() if "tcmalloc" in f.object]
    if not own:
        pytest.skip("no tcmalloc")
    symbols = symbols_of(own[0].object)
    assert symbols["free"].start == symbols["_ZdlPv"].start
    names = {f.name for f in own}
    assert {"free", "malloc"} <= names
    assert not {"tc_free", "_ZdlPv", "_ZdaPv", "tc_malloc"} & names


def test_library_for_debugging_glibc(traced):
    one = traced(preload="libc_malloc_debug.so.0")
    functions = one.functions()
    assert len({f.object for f in functions}) == 2
    assert all(f.is_walked for f in functions)


def test_mappings(traced):
    one = traced(preload="libstdc++.so.6")
    functions = one.functions(with_mappings=True)
    path = libc_of(functions)
    mine = [f for f in functions if f.kind in ("mmap", "munmap")]
    symbols = symbols_of(path)
    check_names(mine, symbols, ["mmap", "munmap"])
    check_places(one, path, mine, symbols)
    assert {f.object for f in mine} == {path}
    assert not any(f.is_walked for f in mine)
    assert set(functions) - set(mine) == set(one.functions())


def test_one_object(traced):
    one = traced(preload="libjemalloc.so.2")
    functions = one.functions()
    path = libc_of(functions)
    of_libc = tuple(of_object(functions, path))
    assert one.functions(object=path) == of_libc
    assert one.functions(object=Path(path).name) == of_libc
    for nothing in "libc", "c.so.6", "/libc.so.6", str(one.process.exe):
        assert one.functions(object=nothing) == ()


def test_prefix_in_the_executable(traced):
    """Its functions are local to it, and their names are in .symtab only."""
    one = traced()
    exe = str(one.process.exe)
    assert not of_object(one.functions(), exe)
    assert not of_object(one.functions(prefix="own"), exe)
    functions = of_object(one.functions(prefix="own_"), exe)
    assert {f.name: f.kind for f in functions} == {
        "own_malloc": "malloc",
        "own_calloc": "calloc",
        "own_free": "free",
    }
    for f in functions:
        entry = one.process.truth[f.kind]
        assert entry <= f.addr < entry + 64
        assert f.place == "emulated" or f.addr == entry
        assert not f.is_walked
    others = [f for f in one.functions(prefix="own_") if f.object != exe]
    assert tuple(others) == one.functions()


def test_stripped_executable(traced):
    one = traced("cgo-stripped")
    assert one.functions(prefix="own_") == one.functions()


def test_static_executable(traced):
    """It has the C library, too."""
    one = traced("static")
    exe = str(one.process.exe)
    functions = one.functions(prefix="own_", with_mappings=True)
    assert {f.object for f in functions} == {exe}
    by_name = {f.name: f for f in functions}
    assert {"malloc", "free", "own_malloc", "mmap", "munmap"} <= set(by_name)
    assert by_name["malloc"].is_walked
    assert not by_name["own_malloc"].is_walked


def test_what_is_no_allocator(library):
    """Functions that only have such names, and one that the program's start
    chooses."""
    one, path = library(POOL)
    assert not of_object(one.functions(), path)
    assert not of_object(one.functions(prefix="lone_"), path)
    functions = of_object(one.functions(prefix="pool_"), path)
    assert {f.name for f in functions} == {
        "pool_malloc",
        "pool_memalign",
        "pool_free",
    }
    assert {f.kind for f in functions} == {"malloc", "aligned", "free"}


def test_versions_of_a_function(traced, tmp_path):
    """Programs that were linked to the old one call it."""
    path = tmp_path / "versions.so"
    script = tmp_path / "script"
    script.write_text("POOL_1 { pool_free; }; POOL_2 { } POOL_1;\n")
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    subprocess.run(
        [compiler, "-shared", "-fPIC", f"-Wl,--version-script={script}",
         "-x", "c", "-o", path, "-"],
        input=VERSIONS,
        text=True,
        check=True,
    )  # fmt: skip
    one = traced()
    one.load(path)
    functions = of_object(one.functions(prefix="pool_"), path)
    names = sorted(f.name for f in functions)
    assert names == ["pool_free", "pool_malloc", "pool_malloc"]


def test_limit_of_functions(library, tmp_path):
    one, path = library(POOL)
    for i in range(LIMIT // 3):
        another = tmp_path / f"{i}.so"
        shutil.copy(path, another)
        one.load(another)
    own = len(one.functions())
    answer = one.scan.alloc_functions(prefix="pool_")
    assert len(answer.functions) == LIMIT
    assert answer.left_out == own + 3 * (LIMIT // 3 + 1) - LIMIT


@pytest.mark.parametrize("what", ["there", "removed", "replaced"])
def test_file_of_a_library(library, what):
    """The file that is mapped counts, not the one that has its name now."""
    one, path = library(POOL)
    if what != "there":
        path.unlink()
    if what == "replaced":
        shutil.copy(natives.compiled("allocators", natives.SAMPLER), path)
    answer = one.scan.alloc_functions(prefix="pool_")
    functions = of_object(answer.functions, path)
    assert len(functions) == 3
    assert answer.samplers == ()
    assert answer.unreadable_objects == 0
    if what == "there":
        check_places(one, path, functions, symbols_of(path))


def test_library_that_is_loaded_twice(library):
    """The probe of a file is at all places where it is mapped."""
    one, path = library(POOL)
    before = one.functions(prefix="pool_")
    one.load(path, "apart")
    with open(f"/proc/{one.process.pid}/maps") as maps:
        assert sum("r-xp" in line and str(path) in line for line in maps) == 2
    after = one.functions(prefix="pool_")
    assert len(of_object(after, path)) == 3
    assert len(after) == len(before)


def test_samplers(library):
    one, path = library(natives.SAMPLER)
    [sampler] = one.scan.alloc_functions().samplers
    assert sampler.object == str(path)
    lines = Path(f"/proc/{one.process.pid}/maps").read_text().splitlines()
    fields = [line.split() for line in lines if line.endswith(f" {path}")]
    [code] = [f[0] for f in fields if "x" in f[1]]
    start, end = (int(n, 16) for n in code.split("-"))
    assert start <= sampler.addr < end
    assert one.scan.alloc_functions(object=path.name).samplers == (sampler,)
    assert one.scan.alloc_functions(object="libc.so.6").samplers == ()


def test_other_static_probes(library):
    one, path = library(NO_SAMPLER)
    notes = subprocess.run(
        ["readelf", "-n", path], capture_output=True, text=True
    ).stdout
    assert notes.count("otel_memory") == 2
    assert one.scan.alloc_functions().samplers == ()


def test_removed_sampler(library):
    one, path = library(natives.SAMPLER)
    os.unlink(path)
    [sampler] = one.scan.alloc_functions().samplers
    assert sampler.object == str(path)
