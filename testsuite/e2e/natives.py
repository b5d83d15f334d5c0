# SPDX-License-Identifier: Apache-2.0
"""C memory as goref sees it: the documents of its verbs, and the blocks of the
object graph. All that the tests need of goref's own names is in this file."""

import functools
import hashlib
import json
import os
import shutil
import subprocess
from dataclasses import replace

import pytest

from plain import told
from session import run_cli
from toolchains import Variant, cache_dir

CENTRAL = Variant("go1.24", "cgo")
SNAPSHOT = "snapshot"
# Blocks that a program does not know: libc's of each thread, of open files and
# of libraries. A plain walk of the heaps counts 12 with twelve threads.
OTHER_BLOCKS = 32
OTHER_BYTES = 16 << 10
# A static probe without arguments, as sys/sdt.h writes it.
PROBE = r"""
#define PROBE(provider, name) \
	__asm__ volatile("990: nop\n" \
		".pushsection .note.stapsdt,\"\",\"note\"\n" \
		".balign 4\n" \
		".4byte 992f-991f, 994f-993f, 3\n" \
		"991: .asciz \"stapsdt\"\n" \
		"992: .balign 4\n" \
		"993: .8byte 990b, 0, 0\n" \
		".asciz \"" provider "\"\n.asciz \"" name "\"\n.asciz \"\"\n" \
		"994: .balign 4\n" \
		".popsection\n")
"""
SAMPLER = (
    PROBE
    + r"""
void *sampled(void)
{
	PROBE("libc", "setjmp");
	PROBE("otel_memory", "alloc");
	PROBE("otel_memory", "free");
	return 0;
}
"""
)


def where(target):
    """The words that open a target on the command line."""
    if target.core:
        return ["core", target.exe, target.core]
    snapshot = ["--snapshot"] if target.kind == SNAPSHOT else []
    return ["attach", *snapshot, target.process.pid]


def snapshot_of(target):
    """The same process, of which a fork is read."""
    return replace(target, kind=SNAPSHOT)


def asked(target, *words, status=0):
    """The document that a verb prints."""
    done = run_cli([*where(target), *words, "--json"])
    assert done.returncode == status, (done.stdout[-500:], done.stderr)
    return json.loads(done.stdout)


def opened(saved, *words):
    """The document that a verb prints of a saved file."""
    done = run_cli(["open", saved, *words, "--json"])
    assert done.returncode == 0, (done.stdout[-500:], done.stderr)
    return json.loads(done.stdout)


def native(target, status=0):
    return asked(target, "native", status=status)


def leaks(target, status=0):
    """The document of `native leaks`, whose groups add up."""
    document = asked(target, "native", "leaks", status=status)
    groups = document["groups"]
    blocks = sum(group["blocks"] for group in groups)
    bytes_ = sum(group["bytes"] for group in groups)
    # The list of groups may be cut off.
    assert blocks <= document["leaked_blocks"]
    assert bytes_ <= document["leaked_bytes"]
    return document


# Python that opens the heap of a target; the arguments are those of where().
OPEN = """
import json, sys, goref

def opened():
    how, *words = sys.argv[1:4]
    if how == "core":
        exe, core = words
        return goref.core(core, exe)
    return goref.attach(int(words[-1]), snapshot=len(words) > 1)

def is_c(thing):
    return getattr(thing, "kind", None) == "c"

heap = opened()
"""


def scripted(target, code):
    """The answer of a script that has the heap of the target."""
    return told(OPEN + code, *where(target))


BLOCKS = """
heaps = heap._scan().native().heaps
states = [
    [of.name, of.refusal, [arena.reason for arena in of.arenas]]
    for of in heaps
]
rows = [
    [block.address, block.size] for block in heap.objects() if is_c(block)
]
print(json.dumps([states, rows]))
"""


def reached(target):
    """{address: bytes} of the C blocks that something holds. Why there may be
    none can be read in the output of a failed test."""
    states, rows = scripted(target, BLOCKS)
    print("allocators:", states)
    found = dict(rows)
    assert len(found) == len(rows)
    return found


def slots(target, folder):
    """{address: bytes of the slot} of the objects: what an object retains is
    counted in slots, of which a header may be a part."""
    file = folder / "objects.jsonl"
    words = [*where(target), "export", "--format", "jsonl", file]
    done = run_cli(words)
    assert done.returncode == 0, done.stderr
    rows = map(json.loads, file.read_text().splitlines())
    return {int(row["address"], 16): row["slot_bytes"] for row in rows}


def retained(target, addresses):
    """{address: (bytes of Go, bytes of C)} that each keeps alive."""
    found = {}
    words = [f"{address:#x}" for address in addresses]
    for i in range(0, len(words), 50):
        document = asked(
            target, "dominators", *words[i : i + 50], "--depth", "0"
        )
        rows = document["asked"]
        assert len(rows) == len(words[i : i + 50])
        for word, row in zip(words[i : i + 50], rows):
            sizes = row["retained_bytes"], row["retained_c_bytes"]
            found[int(word, 16)] = sizes
    return found


@functools.cache
def compiled(name, text):
    """The path of a shared library."""
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    path = cache_dir() / f"{name}-{key}.so"
    if not path.exists():
        made = path.with_name(f"{path.name}.{os.getpid()}")
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-x", "c", "-o", made, "-"],
            input=text,
            text=True,
            check=True,
        )
        made.replace(path)
    return path


def library():
    """A shared library with the variable `held_by_library'."""
    return compiled("library", "void *held_by_library;\n")
