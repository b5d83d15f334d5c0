# SPDX-License-Identifier: Apache-2.0
"""The targets of the tests: processes of the test programs, and cores
taken of them by the kernel or by gdb."""

import json
import os
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import costs
import kept_cores
from toolchains import build
from waiting import LONGEST_S, comes, states_of, works

START_TIMEOUT = 90
TRUTH_TRIES = 3
SETTLE_S = 5
LAST_WORDS = 1000
GDB = os.environ.get("GDB", "gdb")


def _unlimited_core():
    limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))


@dataclass
class Process:
    """A running test program that has told its truth and waits."""

    exe: Path
    popen: subprocess.Popen
    folder: Path
    truth: dict = field(default_factory=dict)
    unread: bytes = b""  # has been read behind the last line
    errors: object = None  # a file with its standard error

    @property
    def pid(self):
        return self.popen.pid

    def read_line(self, timeout=START_TIMEOUT):
        """One line of its output."""
        end = time.monotonic() + timeout
        fd = self.popen.stdout.fileno()
        while b"\n" not in self.unread:
            left = end - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                raise TimeoutError(
                    f"no line within {timeout} s: {self.unread[:80]!r}"
                )
            piece = os.read(fd, 1 << 16)
            if not piece:
                raise EOFError(self.ending())
            self.unread += piece
        line, _, self.unread = self.unread.partition(b"\n")
        return line.decode()

    def ending(self):
        """How it ended, once its output has, and its last words."""
        said = f"the program ended: exit {self.popen.wait()}"
        if self.errors:
            self.errors.seek(0)
            said += f": {self.errors.read()[-LAST_WORDS:]!r}"
        return said

    def rest(self):
        """Wait until every thread sleeps, if they soon do."""
        comes(lambda: states_of(self.pid) == {"S"}, SETTLE_S)

    def stop(self):
        """End it and remove its folder; also when stopped by a tracer."""
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.wait()
        for pipe in (self.popen.stdin, self.popen.stdout):
            pipe.close()
        if self.errors:
            self.errors.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def start(exe, args=(), env=None, errors=None, keep_errors=False):
    """Start a program in a folder of its own, where its temporary files go too,
    and read its truth. errors: a file for its standard error. keep_errors:
    ending() tells what stands there. Go copies the settings to its heap: no text
    of 12 bytes ends with a digit, because its last four would be a number that
    may be an address of malloc's heap (0x323d5343 in GOMAXPROCS=2)."""
    folder = Path(tempfile.mkdtemp(prefix="goref-e2e-"))
    kept = tempfile.TemporaryFile() if keep_errors else None
    settings = {
        "PATH": os.environ.get("PATH", ""),
        "TMPDIR": str(folder),
        "GOTRACEBACK": "crash",
        "GOMAXPROCS": "02",
        **(env or {}),
    }
    popen = subprocess.Popen(
        [exe, *args],
        cwd=folder,
        env=settings,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors or kept or subprocess.DEVNULL,
        preexec_fn=_unlimited_core,
    )
    process = Process(Path(exe), popen, folder, errors=kept)
    try:
        process.truth = json.loads(process.read_line())
    except (TimeoutError, EOFError, ValueError):
        process.stop()
        raise
    return process


@contextmanager
def unshared(program, args=(), root=None):
    """A program in a pid namespace of its own, as in a container: gives the
    process `unshare', which has its truth, and its number out here. root: a
    folder that becomes its root, with the program as /app/service."""
    unshare = shutil.which("unshare")
    if not unshare or os.geteuid():
        pytest.skip("needs unshare and root")
    options = ["--pid", "--fork", "--kill-child"]
    if root:
        (root / "app").mkdir(parents=True)
        shutil.copy(program, root / "app/service")
        program = "/app/service"
        options += ["--mount", "--root", str(root)]
    try:
        process = start(unshare, [*options, program, *args])
    except EOFError:
        pytest.skip("no new namespaces may be made here")
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        yield process, int(children.read_text().split()[0])
    finally:
        process.stop()


def start_undisturbed(exe, args=(), env=None, keep_errors=False):
    """Start a program until what it measured is what its author counted. The
    runtime keeps one type assertion in a thousand in a cache on the heap
    (runtime.typeAssert, runtime.interfaceSwitch): what was measured then is
    an object more than what is held, and no truth. A program that is wrong
    about itself stays so."""
    for _ in range(TRUTH_TRIES - 1):
        process = start(exe, args, env, keep_errors=keep_errors)
        truth = process.truth
        if not (isinstance(truth, dict) and truth.get("faults")):
            return process
        process.stop()
    return start(exe, args, env, keep_errors=keep_errors)


@dataclass
class Target:
    """One thing to ask about."""

    kind: str
    exe: Path
    truth: dict
    core: Path = None
    process: Process = None

    @property
    def gdb_args(self):
        if self.core:
            return [str(self.exe), str(self.core)]
        return ["-p", str(self.process.pid)]

    @property
    def folder(self):
        """Where the files are that the program has left."""
        return self.core.parent if self.core else self.process.folder

    @property
    def held(self):
        return self.truth["held"]

    @property
    def places(self):
        return self.truth["places"]


def kernel_cores_reason():
    """Why the kernel gives us no core in the current folder, or None."""
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern.startswith("|") or "/" in pattern or not pattern:
        return f"core_pattern is `{pattern}`: the kernel's cores go elsewhere"
    return core_limit_reason()


def core_limit_reason():
    """Why no program may write a core of itself, or None."""
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        return "the hard limit forbids core files"
    return None


def skip_if(reason):
    """Skip the test that runs, if there is a reason to."""
    if reason:
        pytest.skip(reason)


def attach_reason():
    """Why this user may not attach to a process, or None."""
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if scope.exists() and scope.read_text().strip() != "0" and os.geteuid():
        return f"yama/ptrace_scope is {scope.read_text().strip()}"
    return None


def kernel_core(process, end=None):
    """Let the kernel write the core of a process, which ends by that: of a
    signal, or as end() makes it."""
    if end:
        end()
    else:
        process.popen.send_signal(signal.SIGABRT)
    try:
        process.popen.wait(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        process.popen.kill()
        raise
    cores = list(process.folder.glob("core*"))
    if not cores:
        pytest.fail("the kernel wrote no core (is a limit of size set?)")
    return cores[0]


def delve_core(process):
    """Have Delve write a core by its `dump`; the process goes on."""
    dlv = shutil.which("dlv")
    if not dlv:
        pytest.skip("no dlv: apt-get install delve")
    core = process.folder / "delve"
    done = subprocess.run(
        [dlv, "attach", str(process.pid), "--check-go-version=false",
         "--allow-non-terminal-interactive", "--init", "/dev/stdin"],
        input=f"dump {core}\ndetach\nexit\n",
        env={**os.environ, "HOME": str(process.folder)},
        capture_output=True,
        text=True,
        timeout=120,
    )  # fmt: skip
    assert core.exists(), done.stdout + done.stderr
    return core


def gdb_core(process, stays=False):
    """Have the stock gdb write a core; the process goes on. gdb writes reserved
    memory as zeros, 1.2 GB of them. stays: longer than one test. The disk gets
    the zeros back then, which takes half as long as the core."""
    core = process.folder / "gcore"
    done = subprocess.run(
        [GDB, "-nx", "-batch", "-iex", "set auto-load python-scripts off",
         "-iex", "set debuginfod enabled off", "-p", str(process.pid),
         "-ex", f"gcore {core}"],
        capture_output=True,
        text=True,
    )
    if not core.exists():
        pytest.fail(f"gcore wrote no core: {done.stderr[-300:]}")
    if stays:
        subprocess.run(["fallocate", "-d", core], check=False)
    return core


def split_debug(file, folder, link):
    """A stripped copy of a file in the folder and its debug file, which the
    copy's .gnu_debuglink names."""
    folder.mkdir(parents=True, exist_ok=True)
    copy, debug = folder / file.name, folder / f"{file.name}.debug"
    for line in (
        ["--only-keep-debug", file, debug],
        ["--strip-all", file, copy],
        [f"--add-gnu-debuglink={debug.name}", copy.name] if link else [],
    ):
        if line:
            subprocess.run(["objcopy", *line], cwd=folder, check=True)
    return copy, debug


class Farm:
    """Makes targets, each once, and clears them away at the end."""

    def __init__(self):
        self._targets = {}
        self._processes = []
        self._kept = kept_cores.Kept()

    def process(
        self, program, variant, args=(), env=None, keep_errors=False
    ):
        """A new process, of which the farm takes care."""
        exe = build(program, variant.release, variant.flavour)
        with costs.making("process"):
            process = start_undisturbed(exe, args, env, keep_errors)
        self._processes.append(process)
        return process

    def target(
        self, program, variant, kind="core", args=(), env=None, fresh=False
    ):
        """kind: core (of the kernel), gcore, or live. A core may be that of an
        earlier run; fresh: a new process ends for it."""
        key = self._key(program, variant, kind, args, env, fresh)
        if key not in self._targets:
            make = {"core": self._core, "gcore": self._gcore,
                    "live": self._live}[kind]  # fmt: skip
            self._targets[key] = make(program, variant, args, env, fresh)
        return self._targets[key]

    @staticmethod
    def _key(program, variant, kind, args, env, fresh=False):
        settings = tuple(sorted((env or {}).items()))
        return program, variant, kind, tuple(args), settings, fresh

    def _core(self, program, variant, args, env, fresh):
        skip_if(kernel_cores_reason())
        exe = build(program, variant.release, variant.flavour)

        def make():
            process = self.process(program, variant, args, env)
            self._settle(process, program)
            with costs.making("core"):
                core = kernel_core(process)
            return core, process.truth, process.folder

        if fresh:
            core, truth, _ = make()
        else:
            key = kept_cores.key(exe, args, env, "kernel")
            core, truth = self._kept.find(key, make)
        return Target("core", exe, truth, core=core)

    def _gcore(self, program, variant, args, env, fresh):
        """A core of the live target, if there is one; else of a process that no
        test looks at. Where the kernel has no page of zeros, gdb makes it hold
        all that it has reserved, 1.2 GB."""
        what = program, variant, "live", args, env
        exe = build(program, variant.release, variant.flavour)

        def make():
            live = self._live(program, variant, args, env, fresh)
            with costs.making("gcore"):
                core = gdb_core(live.process, stays=True)
            folder = live.process.folder / "kept"
            folder.mkdir()
            for file in live.folder.iterdir():
                if file.is_file() and file != core:
                    shutil.copy(file, folder)
            return shutil.move(core, folder / "core"), live.truth, folder

        if fresh or self._key(*what) in self._targets:
            live = self.target(*what, fresh)
            with costs.making("gcore"):
                core = gdb_core(live.process, stays=True)
                truth = live.truth
        else:
            gdb = kept_cores.state(shutil.which(GDB))
            key = kept_cores.key(exe, args, env, gdb)
            core, truth = self._kept.find(key, make)
        return Target("gcore", exe, truth, core=core)

    def _live(self, program, variant, args, env, _fresh):
        skip_if(attach_reason())
        process = self.process(program, variant, args, env)
        self._settle(process, program)
        return Target("live", process.exe, process.truth, process=process)

    @staticmethod
    def _settle(process, program):
        if program == "busy":
            # It goes on from what it has told to its loops.
            works(process.pid, 5)
        else:
            process.rest()

    def forget(self, program):
        """Clear away what was made of a program: cores are large."""
        for key in [k for k in self._targets if k[0] == program]:
            del self._targets[key]
        mine = [p for p in self._processes if p.exe.name == program]
        for process in mine:
            process.stop()
            self._processes.remove(process)

    def close(self):
        for process in self._processes:
            process.stop()
        self._processes.clear()
        self._targets.clear()
        self._kept.close()
