# SPDX-License-Identifier: Apache-2.0
"""The logic of memleak (bcc) as a script of bpftrace: each allocation keeps its
size and stack by its address until it is freed. What is left at the end is
outstanding. The stacks are those of frame pointers.

memleak also sums the sizes up by stack while it runs, which is left out here:
the script is cheaper than memleak."""

import os
import re
import shutil
import subprocess
from collections import defaultdict
from typing import NamedTuple

# The expression for the size of each function, by its arguments.
SIZES = {
    "malloc": "arg0",
    "calloc": "arg0 * arg1",
    "realloc": "arg1",
    "posix_memalign": "arg2",
    "aligned_alloc": "arg1",
    "memalign": "arg1",
    "valloc": "arg0",
    "pvalloc": "arg0",
}
_ENTRY = """
uprobe:LIBRARY:NAME /pid == PID/ { @size[tid] = SIZE; BEFORE }
"""
_RETURN = """
uretprobe:LIBRARY:NAME /@size[tid]/ {
	if (BLOCK) { @bytes[BLOCK] = @size[tid]; @stack[BLOCK] = ustack; }
	delete(@size[tid]); AFTER
}
"""
_FREE = """
uprobe:LIBRARY:free /pid == PID/ { DROP }
END { clear(@size); clear(@out); }
"""
_DROP = "delete(@bytes[arg0]); delete(@stack[arg0]);"
# Without its cache of symbols, bpftrace 0.17 closes its map of stacks while it
# prints them.
_SETTINGS = {
    "BPFTRACE_MAP_KEYS_MAX": "200000",
    "BPFTRACE_CACHE_USER_SYMBOLS": "1",
}
_BYTES = re.compile(r"(?m)^@bytes\[(-?\d+)\]: (\d+)$")
_STACK = re.compile(r"(?m)^@stack\[(-?\d+)\]: *\n((?:[ \t]+\S.*\n)*)")
_FRAME = re.compile(r"\s+(.+?)(?:\+\d+)?")


class Outstanding(NamedTuple):
    address: int
    bytes: int
    stack: tuple  # names of functions, innermost first


def functions(library):
    """The functions of SIZES that a library has, each under one name."""
    done = subprocess.run(
        ["nm", "-D", "--defined-only", library],
        capture_output=True,
        text=True,
        check=True,
    )
    addresses = {
        words[2].partition("@")[0]: words[0]
        for line in done.stdout.splitlines()
        if len(words := line.split()) == 3
    }
    found = {addresses[name]: name for name in SIZES if name in addresses}
    return [*found.values()]


def script(pid, library):
    """The script for the allocator of a library. The probes of bpftrace 0.17
    are in all processes that have the file. The first one is attached last."""
    text = _FREE.replace("DROP", _DROP)
    for name in functions(library):
        size = SIZES[name]
        before, after, block = "", "", "retval"
        if name == "realloc":
            before = _DROP
        if name == "posix_memalign":
            before, after = "@out[tid] = arg0;", "delete(@out[tid]);"
            block = "*(uint64 *)@out[tid]"
        for part in (_ENTRY, _RETURN):
            part = part.replace("BEFORE", before).replace("AFTER", after)
            part = part.replace("SIZE", size).replace("BLOCK", block)
            text += part.replace("NAME", name)
    return text.replace("LIBRARY", str(library)).replace("PID", str(pid))


class Memleak:
    """bpftrace with the script beside a process."""

    def __init__(self, pid, library):
        self.popen = subprocess.Popen(
            ["env", "--default-signal=INT", "bpftrace", "-p", str(pid), "-e",
             script(pid, library)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **_SETTINGS},
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.kill()
        self.popen.communicate()

    def end(self):
        """End it. Returns what is outstanding."""
        self.popen.send_signal(2)
        out, said = self.popen.communicate()
        assert self.popen.returncode == 0, said
        stacks = defaultdict(tuple)
        for address, frames in _STACK.findall(out):
            stacks[address] = tuple(
                _FRAME.fullmatch(line)[1] for line in frames.splitlines()
            )
        return [
            Outstanding(int(address), int(size), stacks[address])
            for address, size in _BYTES.findall(out)
        ]


def reason():
    """Why there is no bpftrace here; "" if there is."""
    return "" if shutil.which("bpftrace") else "no bpftrace"
