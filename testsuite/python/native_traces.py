# SPDX-License-Identifier: Apache-2.0
"""Parts of a trace of the mode native: records, and fakes of the scanner with
the fields that _goref.pyi declares."""

import struct
from types import SimpleNamespace
from typing import NamedTuple

from goref.trace import native_look, plan
from goref.trace.allocators import Allocators
from goref.trace.gathered import Gathered
from goref.trace.helper import Message
from goref.trace.labels import LabelSets
from goref.trace.look import Seen
from test_trace import Program, planned, take

S = 1_000_000_000
PACK = struct.Struct("<QQQQQQQIIII").pack
MALLOC, MMAP, FREE = 1, 8, 9


class Function(NamedTuple):
    """As _goref.AllocFunction."""

    name: str
    kind: str
    addr: int
    place: str = "emulated"
    object: str = "/lib/libc.so.6"
    is_walked: bool = True


class Sampler(NamedTuple):
    """As _goref.AllocSampler."""

    object: str
    addr: int


class Block(NamedTuple):
    """As _goref.GrowthBlock."""

    index: int
    state: str = "in_use"
    bytes: int = 72
    resident_bytes: int | None = 72
    block_bytes: int = 80
    is_held: bool | None = False
    holder: str | None = None
    type: str | None = None
    goroutine_id: int = 0


class Wait(NamedTuple):
    """As trace.waiting.Wait."""

    goroutine_id: int
    is_waiting: bool | None
    reason: str
    seconds: float | None = None
    function: str | None = None
    place: str | None = None
    c_function: str | None = None
    awaits: str | None = None
    is_woken: bool = False


GLIBC = (Function("malloc", "malloc", 0x1000), Function("free", "free", 0x2000))
JEMALLOC = tuple(
    f._replace(object="/opt/libjemalloc.so.2", is_walked=False, addr=f.addr * 9)
    for f in GLIBC
)


def packed(addr, size=64, at_s=1.0, *, weight=0, goid=0, labels=0, sweepgen=6,
           stack=1, window=1, kind=MALLOC, tid=77):  # fmt: skip
    """A record of the helper."""
    return PACK(addr, size, weight, round(at_s * S), goid, labels, sweepgen,
                stack, window, kind, tid)  # fmt: skip


PLACES = (
    "file 1 /lib/libleak.so",
    "place 1 0x20 0x120 1 leak_a",
    "place 2 0x30 0x130 1 leak_b",
    "place 3 0x10 0x10 1 main.f",
    "stack 1 0 2 1 3",
    "stack 2 0 2 2 3",
    "stack 3 0 2 1 3",
)


def gathered(*records, windows=("1 0 60000000000 100 0",), lines=()):
    """All that the helper has said."""
    found, program = Gathered(), Program()
    sets = LabelSets(program, lambda: 6)
    found.open(program, program, sets)
    take(found, [*PLACES, *(f"window {text}" for text in windows), *lines])
    labels = {struct.unpack_from("<Q", r, 40)[0] for r in records} - {0}
    data = b"".join(struct.pack("<QQ", at, 6) for at in labels)
    take(found, [f"ended {60 * S}"])
    found.take(Message("labels", str(len(labels)), data))
    found.take(Message("blocks", str(len(records)), b"".join(records)))
    return found


def outcome(records, rows=None, words=(), waits=None, functions=GLIBC,
            samplers=(), problem="", **more):  # fmt: skip
    """The outcome of a trace of a minute. rows: of the look; None: none."""
    found = None
    if rows is not None:
        found = native_look.NativeLook(rows, True, waits)
    return SimpleNamespace(
        plan=planned("1", "native", *words),
        gathered=gathered(*records, **more),
        look=Seen(found, problem),
        allocators=Allocators(tuple(functions), tuple(samplers)),
        span_ns=(0, 60 * S),
        ended="",
        seconds=60.0,
    )


assert "native" in plan.MODES
