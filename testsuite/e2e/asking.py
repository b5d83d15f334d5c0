# SPDX-License-Identifier: Apache-2.0
"""Programs of the tests that run goref in plain Python: what has to be loaded
before it, and a server that forks for each question, which is ten times as
fast as a start."""

import atexit
import functools
import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import costs

HERE = Path(__file__).resolve().parent
SCANNER = HERE / "scanner.py"
SANITIZER_STATUS = 99  # the value that the script goref sets
CLOCKED = ("--polls", "--last-poll")  # options that count polls
# Variables that are read when a process starts begin so.
AT_START = ("ASAN_", "GLIBC_", "GOREF_", "LD_", "MALLOC_", "PYTHON", "UBSAN_")


def build_dir():
    return Path(
        os.environ.get("GOREF_BUILD_DIR", HERE.parent.parent / "build")
    )


# The questions that are asked in C: testsuite/goref-scan.c.
GOREF_SCAN = build_dir() / "goref-scan"


def sanitizers():
    """The libraries that a build with sanitizers must load first."""
    try:
        return (build_dir() / "loader" / "preload").read_text().split()
    except FileNotFoundError:
        return []


def preloaded(name):
    """The library of a C file beside this one, such as clock.c."""
    source = (HERE / name).read_text()
    key = hashlib.sha256(source.encode()).hexdigest()[:16]
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(home) / "goref-gdb" / f"{Path(name).stem}-{key}.so"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made = path.with_name(f"{path.name}.{os.getpid()}")
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O2", "-x", "c", "-o", made, "-"],
            input=source, text=True, check=True,
        )  # fmt: skip
        made.replace(path)
    return str(path)


def environment(words=()):
    """The environment that a program with these words needs."""
    wanted = sanitizers()
    if {*CLOCKED} & {*words}:
        wanted = [*wanted, preloaded("clock.c")]
    options = f"detect_leaks=0:exitcode={SANITIZER_STATUS}"
    return {
        "LD_PRELOAD": " ".join(wanted),
        "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", options),
        "UBSAN_OPTIONS": f"print_stacktrace=1:exitcode={SANITIZER_STATUS}",
        "PYTHONMALLOC": "malloc" if sanitizers() else "default",
    }


def start(argv):
    """Start the program again if it lacks something; argv: with its file."""
    wanted = environment(argv)
    if os.environ.get("LD_PRELOAD", "") != wanted["LD_PRELOAD"]:
        os.environ.update(wanted)
        os.execv(sys.executable, [sys.executable, "-B", *argv])


class Done(NamedTuple):
    """A run that has ended. returncode is negative for a signal, `hangs' for
    one that took more than its processor time."""

    returncode: int | str
    stdout: str
    stderr: str
    used: int
    """The largest number of bytes that it had in memory."""
    seconds: float
    """Seconds of processor time."""
    looks: int = 0
    """How often goref has looked for Ctrl-C, if that was counted."""


def at_start(env):
    return {name: env[name] for name in env if name.startswith(AT_START)}


def circumstances(cwd, env, timeout):
    """Where a process of ours would run."""
    masks = Path("/proc/self/status").read_text().partition("Umask:")[2]
    return {
        "cwd": os.path.abspath(cwd or "."),
        "umask": int(masks.split()[0], 8),
        "processors": sorted(os.sched_getaffinity(0)),
        "env": env,
        "timeout": timeout,
    }


class Server:
    """Runs `goref', answers.py and scanner.py, each run in a process of its
    own."""

    def __init__(self, env=None, clocked=False):
        """env: its whole environment. clocked: for runs that count polls."""
        words = CLOCKED if clocked else ()
        env = os.environ if env is None else env
        self._at_start = at_start(env)
        self._process = subprocess.Popen(
            [sys.executable, "-B", HERE / "forks.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**env, **environment(words)},
        )

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def _run(self, **question):
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        done = Done(**json.loads(self._process.stdout.readline()))
        costs.used(done.seconds)
        return done

    def can_ask(self, env):
        """Would a process with this environment start as the server has?"""
        return at_start(env) == self._at_start

    def ask(self, program, words, cwd, env, timeout):
        """Run `goref' or `answers' as subprocess.run() would."""
        done = self._run(
            program=program, words=words, **circumstances(cwd, env, timeout)
        )
        if done.returncode == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(words, timeout)
        return done

    def opened(self, exe, core, questions, max_seconds=60):
        """Run the command line with the words of each question about a core.
        Each is a process of its own, which finds that the core is open, as a
        second question of gdb does. All end as one that cannot open it."""
        whole = self._run(
            program="opened", words=[str(exe), str(core)],
            questions=questions, max_seconds=max_seconds,
        )  # fmt: skip
        if whole.returncode != 0 or not whole.stdout:
            return [whole] * len(questions)
        found = [Done(**told) for told in json.loads(whole.stdout)]
        costs.used(sum(done.seconds for done in found))
        return found

    def scanner(self, *words, max_seconds=60):
        """Run scanner.py."""
        return self._run(
            program="scanner", words=[*map(str, words)],
            max_seconds=max_seconds,
        )  # fmt: skip

    def goref(self, *words, max_seconds=60, interrupt_at=0):
        """Run the command line. interrupt_at: N lets Ctrl-C come when goref
        looks for it for the Nth time."""
        return self._run(
            program="goref", words=[*map(str, words)],
            max_seconds=max_seconds, interrupt_at=interrupt_at,
        )  # fmt: skip


@functools.cache
def server(clocked=False):
    """The server that all tests of this process share."""
    from session import environment as of_tests

    made = Server(of_tests(), clocked)
    atexit.register(made.close)
    return made


def run_scanner(*words, max_seconds=60):
    """Run scanner.py by the server of all tests."""
    clocked = bool({*CLOCKED} & {*words})
    return server(clocked).scanner(*words, max_seconds=max_seconds)


def run_goref(*words, **how):
    """The same for the command line; how: arguments of Server.goref()."""
    return server(False).goref(*words, **how)


def run_opened(*words, **how):
    """The same for Server.opened()."""
    return server(False).opened(*words, **how)


def run_by_steps(*words, interrupt_at=0):
    """Run the command line with a clock that each look at it moves by a second
    (clock.c): goref looks for Ctrl-C at each poll of the scanner. interrupt_at:
    the look at which Ctrl-C comes; 0: never."""
    return server(True).goref(*words, interrupt_at=interrupt_at)


def count_looks(*words):
    """How often the command line looks at that clock, but for one look more or
    less in later runs. The first one looks more often: it keeps the tables of
    symbols."""
    run_by_steps(*words)
    whole = run_by_steps(*words)
    assert whole.returncode == 0 and whole.stdout, whole.stderr
    return whole.looks


# For --timeout: seconds of the clock that moves by steps.
STEPS = [1 << bit for bit in range(20)]


def some_looks(looks, count):
    """So many numbers of looks, from the first to the last one."""
    return sorted({1 + (looks - 1) * i // (count - 1) for i in range(count)})
