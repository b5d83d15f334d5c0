# SPDX-License-Identifier: Apache-2.0
"""goref why: what holds an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import args, evaluate, native, params, partial
from ..render.merged import MergedReport
from ..render.why import WhyReport, chain_ends, why_json
from ..session import running
from .base import (
    allocation_stack,
    answer,
    answer_report,
    has_color,
    why_limits,
)

if TYPE_CHECKING:
    from .._goref import (
        Holders,
        Info,
        ObjectInfo,
        Scan,
        Variable,
        Vertex,
        Why,
    )


def extent(_options: Any) -> str:
    """The runtime's samples tell who allocated the object."""
    return "sites"


def check(options: Any) -> None:
    if options.type:
        if options.words or options.paths is not None or options.all_roots:
            raise args.UsageError(
                "--type takes no expression, no --paths and no --all-roots"
            )
    elif not (options.words or getattr(options, "why", None)):
        raise args.UsageError("which address or expression?")


def run(options: Any) -> list[str]:
    """options.why: several expressions, of the command line without a verb.
    With --json their answers are one array."""
    if options.type:
        return _merged(options)
    expressions = getattr(options, "why", None)
    if not expressions:
        expressions = [" ".join(options.words)]
    found = []
    with running(options.memory_limit, options.timeout) as opened:
        for text in expressions:
            found.append(report(opened, text, options))
    if options.json:
        answer(why_json(found))
    else:
        for each in found:
            answer(each.text(has_color(options)))
    return [reason for each in found for reason in each.partial]


def report(scan: Scan, text: str, options: Any) -> WhyReport:
    """The answer about one expression."""
    asked, held, variable = _why(scan, text, options)
    holders, not_known = _holders(scan, held, options)
    vertices, freed, is_holder, root = {}, None, False, None
    block = None if held.is_object or variable else _block(scan, held.addr)
    if block:
        holders = _block_holders(scan, block, options)
    elif holders:
        vertices = _vertices(scan, held)
    elif variable:
        freed, is_holder = _freed(scan, evaluate.place(scan, text))
        if variable.held and not is_holder:
            freed = None  # a part of one has no size of its own
    elif not held.is_object:
        root = _root(scan, text)
    return WhyReport(
        tool_version=native.load().VERSION,
        partial=_lost(scan.info(), held, block),
        why=held,
        asked=asked,
        variable=variable,
        holders=holders,
        not_known=not_known,
        vertices=vertices,
        freed=freed,
        is_holder=is_holder,
        shows_paths=options.paths is not None,
        shows_roots=options.all_roots,
        exclude_weak=options.exclude_weak,
        block=block,
        root=root,
        stack=allocation_stack(scan, held.addr) if held.is_object else None,
    )


def _lost(info: Info, held: Why, block: ObjectInfo | None) -> list[str]:
    """Why the answer is partial."""
    if not block:
        return partial.reasons(info, held)
    return partial.reasons_of_block(info, block)


_MAX_BRANCHES = 2000


def _merged(options: Any) -> list[str]:
    """The paths to all objects of a type."""
    with running(options.memory_limit, options.timeout) as opened:
        merged = opened.merge_type(
            options.type, _MAX_BRANCHES, options.exclude_weak
        )
        found = MergedReport(
            tool_version=native.load().VERSION,
            partial=partial.reasons(opened.info(), opened.gaps()),
            merged=merged,
        )
    answer_report(found, options)
    return list(found.partial)


_MAX_PATHS = 1000
_MAX_ROOTS = 1000  # that are described one by one


def _holders(
    scan: Scan, held: Why, options: Any
) -> tuple[Holders | None, str]:
    """The holders that the object graph knows, or why it is not there: the
    chain alone takes less memory."""
    if not held.is_object or not held.is_reachable:
        return None, ""
    goref = native.load()
    paths = options.paths
    try:
        return (
            scan.holders(
                held.addr,
                0 if paths is None else min(paths or _MAX_PATHS, _MAX_PATHS),
                _MAX_ROOTS,
                options.all_roots,
                options.exclude_weak,
            ),
            "",
        )
    except (goref.MemoryLimitError, MemoryError) as problem:
        return None, params.no_memory(problem)


def _block(scan: Scan, addr: int) -> ObjectInfo | None:
    """The block of C at an address that is in no object of Go."""
    if not scan.native().heaps:
        return None
    info = scan.object_info(addr, 0, 0, False, False)
    return info if info.is_c else None


def _root(scan: Scan, text: str) -> Vertex | None:
    """The root of C that was asked for by its name."""
    words = text.split()
    if len(words) == 1 or not words[0].isalpha():
        return None  # all their names have several words
    number = scan.find(evaluate.place(scan, text))
    vertex = None if number is None else scan.vertex(number, True)
    return vertex if vertex and vertex.is_c else None


def _block_holders(scan: Scan, block: ObjectInfo, options: Any) -> Holders:
    """The paths to a block; one if none were asked for."""
    paths = options.paths
    return scan.holders(
        block.base_addr,
        1 if paths is None else min(paths or _MAX_PATHS, _MAX_PATHS),
        _MAX_ROOTS,
        options.all_roots,
        options.exclude_weak,
    )


def _vertices(scan: Scan, held: Why) -> dict[int, Vertex]:
    """The hops of the chain that are printed, by address."""
    found = {}
    for _, hop in chain_ends(held.hops):
        place = ("", hop.addr or 0, evaluate.NO_TYPE, False, 0)
        number = scan.find(place) if hop.addr else None
        if hop.addr and number is not None:
            found[hop.addr] = scan.vertex(number, True)
    return found


def _freed(
    scan: Scan, place: evaluate.Place
) -> tuple[tuple[int, int] | None, bool]:
    """The bytes that a variable alone keeps alive, and the part of them in C;
    None: there is no memory to know that. And whether it leads to objects."""
    try:
        number = scan.find(place)
        if number is None:
            return (0, 0), False
        vertex = scan.vertex(number, True)
        return (vertex.retained_bytes, vertex.retained_c_bytes), True
    except (native.load().MemoryLimitError, MemoryError):
        return None, False


_MAX_HELD = 20


def _why(
    scan: Scan, text: str, options: Any
) -> tuple[str | None, Why, Variable | None]:
    """The answer; the variable's name if it is about what that points to; the
    variable if that is no object: it is what the question is about, then."""
    limits = why_limits(options.attribution)
    place = evaluate.place(scan, text)
    name, address, type_, is_variable, value = place
    held = scan.why(value or address, *limits)
    is_address = text.lstrip().startswith("&")
    if (
        held.is_object
        or is_address
        or not is_variable
        or type_ == evaluate.NO_TYPE
        or (value and _block(scan, value))
    ):
        return name if value else None, held, None
    if value:
        held = scan.why(address, *limits)
    return None, held, scan.variable(place, _MAX_HELD)
