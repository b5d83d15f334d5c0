# SPDX-License-Identifier: Apache-2.0
"""The stacks that the helper has seen: their code addresses, and the calls that
these stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

_UNFINISHED = 1  # a flag of the helper: the start of the stack was not reached

# (function, file, line, is_inlined) of each call at a code address, innermost
# first; none: it is not Go code.
Namer = Callable[
    [Sequence[int]], Sequence[Sequence[tuple[str, str | None, int, bool]]]
]


class Frame(NamedTuple):
    """A call. file is "" and line 0 where they are not known."""

    function: str
    file: str = ""
    line: int = 0


class Place(NamedTuple):
    """A code address. module: the file that has the code, or ""; function: of
    its symbols, or ""."""

    pc: int
    offset: int
    module: str
    function: str


class Stack(NamedTuple):
    """Calls, the innermost first."""

    frames: tuple[Frame, ...]
    is_finished: bool


UNSEEN = Stack((), False)


class Stacks:
    """All stacks of a trace, by the helper's numbers."""

    def __init__(self) -> None:
        self._files: dict[int, str] = {}
        self._places: dict[int, Place] = {}
        self._frames: dict[int, tuple[Frame, ...]] = {}
        self._stacks: dict[int, tuple[bool, tuple[int, ...]]] = {}

    def __len__(self) -> int:
        return len(self._stacks)

    def add_file(self, rest: str) -> None:
        """The words behind `file`."""
        number, _, path = rest.partition(" ")
        self._files[int(number)] = path

    def add_place(self, rest: str) -> None:
        """The words behind `place`."""
        number, pc, offset, file, *name = rest.split(" ", 4)
        module = self._files.get(int(file), "")
        function = name[0] if name else ""
        place = Place(int(pc, 0), int(offset, 0), module, function)
        self._places[int(number)] = place

    def add_stack(self, rest: str) -> None:
        """The words behind `stack`."""
        number, flags, _count, *places = rest.split(" ")
        is_finished = not int(flags) & _UNFINISHED
        self._stacks[int(number)] = is_finished, tuple(map(int, places))

    def name_new(self, name: Namer) -> None:
        """Name the Go calls of all addresses that are new. The names of a
        library that is loaded now may be gone later."""
        if len(self._places) == len(self._frames):
            return
        new = [number for number in self._places if number not in self._frames]
        pcs = [self._places[number].pc for number in new]
        for number, calls in zip(new, name(pcs), strict=True):
            self._frames[number] = _frames(self._places[number], calls)

    def __getitem__(self, number: int) -> Stack:
        """A stack; UNSEEN if there is none of this number."""
        if number not in self._stacks:
            return UNSEEN
        is_finished, places = self._stacks[number]
        frames = [f for place in places for f in self._frames.get(place, ())]
        return Stack(tuple(frames), is_finished)

    def count_unfinished(self, numbers: Iterable[int]) -> int:
        return sum(not self[number].is_finished for number in numbers)


def _frames(
    place: Place, calls: Iterable[tuple[str, str | None, int, bool]]
) -> tuple[Frame, ...]:
    """The calls at an address: those of Go, else that of C."""
    found = tuple(
        Frame(function, file or "", line) for function, file, line, _ in calls
    )
    return found or (_c_frame(place),)


def _c_frame(place: Place) -> Frame:
    """A function of C by its symbol, or by its place in its file."""
    if place.function:
        return Frame(place.function, place.module)
    if place.module:
        name = place.module.rpartition("/")[2]
        return Frame(f"{name}+{place.offset:#x}", place.module)
    return Frame(f"{place.pc:#x}")
