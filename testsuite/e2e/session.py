# SPDX-License-Identifier: Apache-2.0
"""One run of goref, in gdb or without it, and what it printed."""

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import asking
from waiting import again

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
GDB_GOREF = TOP / "gdb-goref"
GOREF = TOP / "goref"
TIMEOUT = 180
MARK = "@@ goref test @@"


@functools.cache
def cache_home():
    """The user's own cache has no part in the tests."""
    folder = tempfile.mkdtemp(prefix="goref-cache-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def environment():
    env = dict(os.environ)
    env.setdefault("GOREF_BUILD_DIR", str(TOP / "build"))
    env["XDG_CACHE_HOME"] = cache_home()
    # Python in gdb compiles each module once for all tests, not at each start.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    env["PYTHONPYCACHEPREFIX"] = os.path.join(cache_home(), "python")
    env["LC_ALL"] = "C.UTF-8"
    env["TERM"] = "dumb"
    return env


def start_command(args=()):
    """The command that starts gdb with the extension."""
    build_dir = Path(environment()["GOREF_BUILD_DIR"])
    own = build_dir / "gdb-goref"
    return [str(own if own.exists() else GDB_GOREF), "-nx", *map(str, args)]


def gdb_bears(exe, core):
    """gdb 16 and 18 end with an internal error at some damaged cores, and do so
    without us, too."""
    words = [os.environ.get("GDB", "gdb"), "-nx", "-batch"]
    for setting in ("corefile no", "quit yes"):
        words += ["-iex", f"maint set internal-error {setting}"]
    done = subprocess.run(
        [*words, exe, core], stdin=subprocess.DEVNULL, capture_output=True
    )
    return done.returncode >= 0 and b"internal-error" not in done.stderr


class Run:
    """rc, stdout, stderr; parts: what each command printed."""

    def __init__(self, rc, stdout, stderr, count):
        self.rc = rc
        self.stdout = stdout
        self.stderr = stderr
        pieces = stdout.split(MARK + "\n")
        self.banner = pieces[0]
        self.parts = (pieces[1:] + [""] * count)[:count]

    def json(self, number=0):
        """The document that the command of that number printed."""
        text = self.parts[number]
        begin = text.find("{")
        assert begin >= 0, f"no JSON: {text!r}\nstderr: {self.stderr}"
        return json.JSONDecoder().raw_decode(text[begin:])[0]

    def error_lines(self):
        """The lines of the commands on stderr, without what gdb said while it
        opened the target and without its own warnings."""
        said = self.stderr.rpartition(MARK + "\n")[2]
        return [
            line
            for line in said.splitlines()
            if line.strip() and not line.strip().startswith("warning:")
        ]


def run_gdb(args, commands, timeout=TIMEOUT, env=None):
    """Run commands in batch mode; args come after gdb's own options."""
    line = start_command(["-batch", *args])
    line += ["-ex", f"python gdb.write({MARK!r} + chr(10), gdb.STDERR)"]
    for command in commands:
        line += ["-ex", f"echo {MARK}\\n", "-ex", command]
    done = subprocess.run(
        line,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env={**environment(), **(env or {})},
        timeout=timeout,
    )
    return Run(done.returncode, done.stdout, done.stderr, len(commands))


def run_goref(target, commands, in_gdb=False, **options):
    """Run commands on a target of targets.py, one after the other. Questions
    to goref are asked in plain Python, unless in_gdb: gdb runs what only gdb
    can."""
    questions = [command.removeprefix("goref ") for command in commands]
    is_plain = all(
        command.startswith("goref ")
        and not command.startswith(("goref open", "goref close"))
        for command in commands
    )
    if in_gdb or not is_plain:
        return run_gdb(target.gdb_args, commands, **options)
    where = [target.exe, target.core]
    if not target.core:
        where = ["pid", target.process.pid]
    words = [MARK, *where, *questions]
    done = run_answers([*map(str, words)], **options)
    return Run(done.returncode, done.stdout, done.stderr, len(commands))


def run_answers(words, timeout=TIMEOUT, env=None):
    """Run answers.py."""
    settings = {**environment(), **(env or {})}
    if not is_served(settings, words):
        text = (HERE / "answers.py").read_text()
        return run_python(text, words, timeout, env)
    done = asking.server().ask("answers", words, None, settings, timeout)
    return completed(["answers.py", *words], done)


def start_cli(args, cwd=None, timeout=TIMEOUT, env=None, command=GOREF):
    """Start the command line `goref`, for what is about its start."""
    return subprocess.run(
        [str(command), *map(str, args)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        cwd=cwd,
        env={**environment(), **(env or {})},
        timeout=timeout,
    )


def run_cli(args, cwd=None, timeout=TIMEOUT, env=None, command=GOREF):
    """The same without its start: a process that has loaded goref forks."""
    words = [str(command), *map(str, args)]
    settings = {**environment(), **(env or {})}

    def ask():
        if command != GOREF or not is_served(settings, words):
            return start_cli(args, cwd, timeout, env, command)
        done = asking.server().ask("goref", words[1:], cwd, settings, timeout)
        return completed(words, done)

    return again(ask, lambda done: done.stderr)


def is_served(settings, words):
    """May the server be asked? It has one pipe for its questions; and what it
    has loaded would count against a limit of memory."""
    is_main = threading.current_thread() is threading.main_thread()
    is_limited = any("--memory-limit" in word for word in words)
    return is_main and not is_limited and asking.server().can_ask(settings)


def completed(words, done):
    """The result of subprocess.run() for it, as text."""
    texts = (
        text.encode(errors="surrogateescape").decode(errors="replace")
        for text in (done.stdout, done.stderr)
    )
    lines = (text.replace("\r\n", "\n").replace("\r", "\n") for text in texts)
    return subprocess.CompletedProcess(words, done.returncode, *lines)


def python_path():
    """The folders of goref for a Python that has not installed it."""
    build = environment()["GOREF_BUILD_DIR"]
    return os.pathsep.join([f"{build}/python", str(TOP / "python"), build])


def run_python(text, args=(), timeout=TIMEOUT, env=None):
    """Run a script that imports goref in plain Python."""
    return subprocess.run(
        [sys.executable, "-c", text, *map(str, args)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env={**environment(), "PYTHONPATH": python_path(), **(env or {})},
        timeout=timeout,
    )


# Takes over what is left behind, and waits only for what it has started.
REAPER = """
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL,
               stderr=subprocess.DEVNULL)
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{pid}/stat") as file:
            stat = file.read()
    except OSError:
        continue
    if int(stat.rpartition(")")[2].split()[1]) == os.getpid():
        print(stat)
"""


def left_behind(command):
    """The /proc/PID/stat lines of the processes that a command leaves."""
    done = subprocess.run(
        [sys.executable, "-c", REAPER, *map(str, command)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=True,
    )
    return done.stdout


def one_line(done, status, *words):
    """It failed with one line that has these words."""
    assert done.returncode == status, (done.stdout, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("goref"), lines
    for word in words:
        assert word in lines[0], lines
