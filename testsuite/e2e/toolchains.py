# SPDX-License-Identifier: Apache-2.0
"""Go toolchains, and the test programs built with them, each once."""

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import time
from collections import namedtuple
from pathlib import Path

import pytest

TESTSUITE = Path(__file__).resolve().parent.parent
PROGRAMS = TESTSUITE / "programs"
BENCH = TESTSUITE.parent / "bench"  # its programs are built, too

# GOREF_RELEASES names others: all that fetch-go knows, before a release.
RELEASES = tuple(
    os.environ.get("GOREF_RELEASES", "go1.19,go1.24,go1.27").split(",")
)
FLAGS = {
    "default": [],
    "noopt": ["-gcflags=all=-N -l"],
    "pie": ["-buildmode=pie"],
    "nodwarf": ["-ldflags=-w"],
    "external": ["-ldflags=-linkmode=external"],
    "static": ["-ldflags=-linkmode=external -extldflags=-static"],
    "race": ["-race"],
    "stripped": ["-ldflags=-s -w"],
    "plain-dwarf": ["-ldflags=-compressdwarf=false"],
    "cgo": [],
    "cgo-pie": ["-buildmode=pie"],
    # Without -S, the debug information of C stays.
    "cgo-nodwarf": ["-ldflags=-w -extldflags=-Wl,-S"],
    "cgo-stripped": ["-ldflags=-s -w"],
    "arm64": [],
    # The C library is musl; its compiler is musl-gcc.
    "musl": ["-ldflags=-linkmode=external"],
    "musl-static": ["-ldflags=-linkmode=external -extldflags=-static"],
    # As a library `program.so`, which a host (HOSTS) loads and runs.
    "c-shared": ["-buildmode=c-shared"],
    "c-shared-stripped": ["-buildmode=c-shared", "-ldflags=-s -w"],
    "plugin": ["-buildmode=plugin"],
    "plugin-stripped": ["-buildmode=plugin", "-ldflags=-s -w"],
}
ENVIRONMENT = {
    flavour: {"CGO_ENABLED": "1"}
    for flavour in ("external", "static", "race", "cgo", "cgo-pie", "cgo-nodwarf",
                    "cgo-stripped", "c-shared", "c-shared-stripped", "plugin",
                    "plugin-stripped")
}  # fmt: skip
for flavour in "musl", "musl-static":
    ENVIRONMENT[flavour] = {"CGO_ENABLED": "1", "CC": "musl-gcc"}
ENVIRONMENT["arm64"] = {"GOARCH": "arm64"}
# Experiments of one release each, on or off against its default.
EXPERIMENTS = {
    "noallocheaders": "go1.22",
    "noswissmap": "go1.24",
    "greenteagc": "go1.25",
    "nogreenteagc": "go1.26",
    "nosizespecializedmalloc": "go1.27",
}
for experiment in EXPERIMENTS:
    FLAGS[experiment] = []
    ENVIRONMENT[experiment] = {"GOEXPERIMENT": experiment}
HOSTS = {
    flavour: flavour.removesuffix("-stripped")
    for flavour in FLAGS
    if flavour.startswith(("c-shared", "plugin"))
}

Variant = namedtuple("Variant", "release flavour")


def variant_id(variant):
    return f"{variant.release}-{variant.flavour}"


def variants(*flavours, releases=RELEASES, newest=()):
    """Rows for parametrize: releases x flavours, named like go1.24-noopt.
    newest: flavours of the newest release alone, unless GOREF_RELEASES asks
    for others."""
    rows = [Variant(r, f) for r in releases for f in flavours]
    asked = releases if "GOREF_RELEASES" in os.environ else releases[-1:]
    rows += [Variant(r, f) for r in asked for f in newest]
    return pytest.mark.parametrize("variant", rows, ids=variant_id)


def cache_dir():
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(home) / "goref-gdb" / "e2e"
    path.mkdir(parents=True, exist_ok=True)
    return path


def go_environment():
    """Nothing of the user's Go settings reaches a build."""
    keep = ("PATH", "HOME", "TMPDIR", "LANG", "SYSTEMROOT")
    env = {k: os.environ[k] for k in keep if k in os.environ}
    env.update(
        GOTOOLCHAIN="local",
        GO111MODULE="off",
        GOFLAGS="",
        CGO_ENABLED="0",
        GOENV="off",
        GOCACHE=str(cache_dir() / "go-build"),
        GOPATH=str(cache_dir() / "go-path"),
    )
    return env


def release_of(go):
    """go1.24 for a toolchain that says `go version go1.24.4 linux/amd64`."""
    done = subprocess.run(
        [go, "version"], capture_output=True, text=True, env=go_environment()
    )
    found = re.search(r"\bgo1\.\d+", done.stdout)
    return found.group(0) if found else None


@functools.lru_cache(maxsize=None)
def toolchains():
    """{release: path of go, or the reason why there is none}."""
    found = {}
    own = shutil.which("go", path="/usr/bin:" + os.environ.get("PATH", ""))
    if own and release_of(own) in RELEASES:
        found[release_of(own)] = Path(own)
    missing = [r for r in RELEASES if r not in found]
    done = subprocess.run(
        [TESTSUITE / "fetch-go", *(r[len("go") :] for r in missing)],
        capture_output=True,
        text=True,
    )
    for line in done.stdout.splitlines():
        release, _, rest = line.partition(" ")
        if rest.startswith("unavailable:"):
            found[release] = rest
        elif rest:
            found[release] = Path(rest)
    for release in RELEASES:
        found.setdefault(release, "unavailable: " + done.stderr[-200:])
    return found


def go_binary(release):
    """The go command of a release; skips the test where it cannot be had."""
    go = toolchains()[release]
    if isinstance(go, str):
        pytest.skip(f"{release} {go}")
    return go


@functools.lru_cache(maxsize=None)
def pprof_binary(release):
    """Go's own reader of profiles. Newer releases build it when it is first
    used, and `go tool pprof` looks each time whether it is to be built."""
    done = subprocess.run(
        [go_binary(release), "tool", "-n", "pprof"],
        env=go_environment(),
        capture_output=True,
        text=True,
    )
    if "no such tool" in done.stderr:
        pytest.skip("this toolchain has no pprof")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _sources(program, flavour):
    if not (PROGRAMS / program).exists():
        return sorted((BENCH / program).glob("*.go"))
    sources = sorted((PROGRAMS / "common").glob("*.go"))
    sources += sorted((PROGRAMS / program).glob("*.[cghs]*"))
    if flavour in HOSTS:
        sources.append(PROGRAMS / HOSTS[flavour] / "export.go")
    return sources


def _host(flavour):
    """The source of the program that loads a library of this flavour."""
    folder = PROGRAMS / HOSTS[flavour]
    return next(folder.glob("host.*"))


def _build_key(go, program, flavour):
    digest = hashlib.sha256()
    version = subprocess.run(
        [go, "version"], capture_output=True, env=go_environment()
    ).stdout
    settings = FLAGS[flavour], ENVIRONMENT.get(flavour)
    for part in (version, repr(settings).encode()):
        digest.update(part + b"\0")
    sources = _sources(program, flavour)
    if flavour in HOSTS:
        sources.append(_host(flavour))
    for source in sources:
        digest.update(source.name.encode() + b"\0")
        digest.update(source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _run(what, line, folder, flavour):
    done = subprocess.run(
        line,
        cwd=folder,
        env=go_environment() | ENVIRONMENT.get(flavour, {}),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.fail(f"build of {what} ({flavour}):\n{done.stderr}")


def _compile_host(go, flavour, exe):
    source = _host(flavour)
    if source.suffix == ".c":
        compiler = shutil.which("cc") or pytest.skip("no C compiler")
        line = [compiler, "-g", source, "-o", exe, "-ldl"]
    else:
        # Both must be of the same toolchain and flags.
        flags = [f for f in FLAGS[flavour] if "buildmode" not in f]
        line = [go, "build", *flags, "-o", exe, source]
    _run("the host", line, exe.parent, flavour)


def _compile(go, program, flavour, folder):
    source = folder / "src"
    source.mkdir(parents=True, exist_ok=True)
    for file in _sources(program, flavour):
        shutil.copy(file, source)
    out = folder / (f"{program}.so" if flavour in HOSTS else program)
    line = [go, "build", *FLAGS[flavour], "-o", str(out), "."]
    _run(program, line, source, flavour)
    if flavour in HOSTS:
        _compile_host(go, flavour, folder / program)


# Tests of another tree may use what they have built.
KEPT_S = 24 * 3600


@functools.lru_cache(maxsize=None)
def build(program, release, flavour="default"):
    """Path of the built program; kept between runs, by a hash of all that
    goes into it."""
    go = go_binary(release)
    name = f"{program}-{release}-{flavour}"
    folder = cache_dir() / f"{name}-{_build_key(go, program, flavour)}"
    with open(cache_dir() / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / program).exists():
            for old in cache_dir().glob(f"{name}-{'?' * 16}"):
                if time.time() - old.stat().st_mtime > KEPT_S:
                    shutil.rmtree(old)
            _compile(go, program, flavour, folder)
        os.utime(folder)
    return folder / program


@functools.lru_cache(maxsize=None)
def build_c(text):
    """Path of a small C program, for what is not a Go program."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler")
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    exe = cache_dir() / f"c-{key}"
    if not exe.exists():
        # Another process may make it, too, and start it.
        made = exe.with_name(f"{exe.name}.{os.getpid()}")
        subprocess.run(
            [compiler, "-g", "-x", "c", "-o", made, "-"],
            input=text,
            text=True,
            check=True,
        )
        made.replace(exe)
    return exe
