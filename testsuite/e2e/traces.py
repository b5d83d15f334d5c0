# SPDX-License-Identifier: Apache-2.0
"""A program that grows by known amounts (testsuite/programs/traced), and `goref
trace` beside it."""

import functools
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from session import GOREF, environment
from targets import start
from toolchains import build, build_c, cache_dir

SOURCE = (
    Path(__file__).resolve().parent.parent
    / "programs" / "traced" / "library" / "grow.c"
)  # fmt: skip
FLAGS = {
    "framed": ["-fno-omit-frame-pointer"],
    "plain": ["-fomit-frame-pointer"],
}
MIB = 1 << 20
PAGE = 4096


@functools.cache
def library(name, source=SOURCE):
    """The path of a library, built with or without frame pointers."""
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    flags = ["-shared", "-fPIC", "-O2", "-g", f"-DPREFIX={name}_", *FLAGS[name]]
    headers = sorted(source.parent.parent.glob("*.h"))
    texts = b"".join(path.read_bytes() for path in [source, *headers])
    key = hashlib.sha256(texts + repr(flags).encode())
    path = cache_dir() / f"{name}-{key.hexdigest()[:16]}.so"
    if not path.exists():
        made = path.with_name(f"{path.name}.{os.getpid()}")
        subprocess.run([compiler, *flags, "-o", made, source], check=True)
        made.replace(path)
    return path


class Growing:
    """The program, which grows when it is told to."""

    def __init__(self, variant):
        exe = build("traced", variant.release, variant.flavour)
        words = [f"{name}={library(name)}" for name in FLAGS]
        self.process = start(exe, words)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stop()

    @property
    def pid(self):
        return self.process.pid

    def grow(self, way, size):
        """Let it grow, and wait until it has."""
        self.process.popen.stdin.write(f"{way} {size}\n".encode())
        self.process.popen.stdin.flush()
        assert int(self.process.read_line()) == size

    def rss(self):
        """The sum of /proc/PID/smaps."""
        with open(f"/proc/{self.pid}/smaps") as file:
            return sum(
                int(line.split()[1]) * 1024
                for line in file
                if line.startswith("Rss:")
            )


class Mapping:
    """A program that maps memory and uses a part of it, when it is told to
    (testsuite/programs/untouched)."""

    def __init__(self, variant):
        exe = build("untouched", variant.release, variant.flavour)
        self.process = start(exe, [])
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stop()

    def take(self, way, size, used):
        self.process.popen.stdin.write(f"{way} {size} {used}\n".encode())
        self.process.popen.stdin.flush()
        assert int(self.process.read_line()) == size


class Trace:
    """goref trace, as a process that prints JSON lines. before: a command that
    starts it."""

    def __init__(
        self, *words, before=(), env=None, stdin=subprocess.DEVNULL
    ):
        self.popen = subprocess.Popen(
            ["env", "--default-signal=INT", *before, GOREF, "trace", "--json",
             *map(str, words)],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**environment(), **(env or {})},
        )  # fmt: skip
        self.intervals = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.kill()
        self.popen.communicate()

    def interval(self):
        """The next interval that ends."""
        line = self.popen.stdout.readline()
        assert line, self.popen.communicate()[1]
        self.intervals.append(json.loads(line))
        return self.intervals[-1]

    def end(self, number=None):
        """End it by a signal, or wait for its end. Returns the last line."""
        if number is not None:
            self.popen.send_signal(number)
        # communicate() would miss what interval() has read ahead.
        out = self.popen.stdout.read()
        _, self.said = self.popen.communicate()
        lines = [json.loads(line) for line in out.splitlines()]
        assert lines, self.said
        self.intervals += lines[:-1]
        return lines[-1]


@functools.cache
def reason():
    """Why this machine permits no trace; "" if it does."""
    exe = build_c("#include <unistd.h>\nint main(void) { pause(); }\n")
    with subprocess.Popen([exe]) as target:
        helper = Path(environment()["GOREF_BUILD_DIR"]) / "goref-trace"
        if not helper.exists():
            target.kill()
            return "built with --disable-trace"
        done = subprocess.run(
            [helper, str(target.pid)], input="mode rss\nstart\nend\n",
            capture_output=True, text=True,
        )  # fmt: skip
        target.kill()
    for line in done.stdout.splitlines():
        if line.startswith("refused "):
            return line
    return "" if "ready\n" in done.stdout else "goref-trace does not start"


def skip_unless_traced():
    if reason():
        pytest.skip(reason())
