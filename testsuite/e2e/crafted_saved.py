# SPDX-License-Identifier: Apache-2.0
"""Crafted saved files: a real one, with more rows than it has bytes for, or
with tables that take long. Random damage does not find what these do.

A kind changes the frames of a file that was saved without values. The file is
large enough to pay for what it unpacks to, unless the kind says so."""

import struct

import crafted_tables
import saved_file
import saved_parts
from crafted_tables import MOST
from saved_file import LAYOUT, MODULE, PAGES, TABLES
from saved_parts import signed, text
from varint import varint


def _described(frames, name, rows, count, end=0):
    """These rows are in a list of the description, too."""
    description = saved_parts.Description(frames[0].unpack())
    description.add(name, rows, count, end)
    return [description.frame(), *frames[1:]]


def _many(row, most=MOST - (1 << 20)):
    count = most // len(row)
    return row * count, count


# ----------------------------------------------------------- the description


def _ranges(frames, name, *rest):
    """As many ranges of a byte each as there can be, a byte apart."""
    rows, count = _many(signed(1) + varint(1) + b"".join(rest))
    return _described(frames, name, rows, count, 2 * count)


def memory(frames):
    return _ranges(frames, "memory")


def segments(frames):
    return _ranges(frames, "segments", varint(0) * 2, text(None))


def segments_named(frames):
    """Each has a name of its own."""
    return _ranges(frames, "segments", varint(0) * 2, text(b"n"))


def files(frames):
    return _ranges(frames, "files", varint(0) * 2, text(b"/n"))


def threads(frames):
    row = b"".join(varint(0) for _ in saved_parts.THREAD)
    return _described(frames, "threads", *_many(row))


def modules(frames):
    row = text(b"") + varint(0) * 3
    return _described(frames, "modules", *_many(row))


def mappings(frames):
    """In front of those of the resident ranges, whose numbers are wrong."""
    return _ranges(frames, "mappings", varint(0) * 2, text(None))


def resident(frames):
    """Pages of one mapping that has all of them."""
    description = saved_parts.Description(frames[0].unpack())
    row = signed(1) + varint(1) + varint(0) * 2
    rows, count = _many(row)
    description.replace(
        "mappings",
        signed(0) + varint(4 * count) + varint(0) * 2 + text(None), 1,
    )  # fmt: skip
    description.replace("resident", rows, count)
    return [description.frame(), *frames[1:]]


def paths(frames):
    """Files with names of a megabyte."""
    row = signed(1) + varint(1) + varint(0) * 2 + text(b"n" * 1_000_000)
    rows, count = _many(row)
    return _described(frames, "files", rows, count, 2 * count)


def rows_that_lack(frames):
    """More rows than the description has bytes."""
    description = saved_parts.Description(frames[0].unpack())
    description.lists["memory"][0] = 1 << 40
    return [description.frame(), *frames[1:]]


def sizes(frames):
    """A module whose tables have half of the address space."""
    row = text(b"/n") + varint(0) * 2 + varint(1 << 62)
    return _described(frames, "modules", row, 1)


def image_sizes(frames):
    row = text(b"/n") + varint(0) + varint(1 << 62) + varint(0)
    return _described(frames, "modules", row, 1)


# ------------------------------------------------------------------- frames


def segments_and_threads(frames):
    """Each register of a thread may lead to one of the segments."""
    description = saved_parts.Description(frames[0].unpack())
    count = 500_000
    row = signed(1) + varint(1) + varint(0) * 2 + text(None)
    description.add("segments", row * count, count, 2 * count)
    row = b"".join(varint(0) for _ in saved_parts.THREAD)
    description.add("threads", row * 1000, 1000)
    return [description.frame(), *frames[1:]]


def _packed(kind, data):
    return saved_file.Frame(kind, len(data), saved_file.zstd("-3", data))


def _sized(frames, column, count):
    """One more module, with so many bytes of an image or of tables."""
    size = MOST * count
    numbers = (size, 0) if column == "image" else (0, size)
    row = text(b"/n") + varint(0) + b"".join(map(varint, numbers))
    return _described(frames, "modules", row, 1)


def table_frames(frames, count=30):
    """30 frames of 64 MB each."""
    frame = _packed(TABLES, bytes(MOST))
    frames = _sized(frames, "tables", count)
    at = max(i for i, f in enumerate(frames) if f.kind == TABLES) + 1
    return [*frames[:at], *[frame] * count, *frames[at:]]


def module_frames(frames, count=30):
    frame = _packed(MODULE, bytes(MOST))
    frames = _sized(frames, "image", count)
    at = max(i for i, f in enumerate(frames) if f.kind == MODULE) + 1
    return [*frames[:at], *[frame] * count, *frames[at:]]


def unknown_frame(frames):
    return [frames[0], _packed(99, bytes(MOST)), *frames[1:]]


def long_end(frames):
    return [*frames[:-1], _packed(saved_file.END, bytes(MOST))]


def long_layout(frames):
    return [frames[0], _packed(LAYOUT, b"# \n" * (MOST // 3)), *frames[1:]]


def many_frames(frames):
    """Frames of a byte each, which some module asks for. With a page for each,
    they are more than what a scan may take."""
    count = 1 << 16
    row = text(b"/n") + varint(0) + varint(count) + varint(0)
    frames = _described(frames, "modules", row, 1)
    frame = _packed(MODULE, b"x")
    at = max(i for i, f in enumerate(frames) if f.kind == MODULE) + 1
    return [*frames[:at], *[frame] * count, *frames[at:]]


# -------------------------------------------------------------------- pages


def _batch(pages, step=1, first=0, is_full=True):
    """Pages of zeros; `step` pages lie between two of them. `first` is the
    number of the first one."""
    present = 0 if not is_full else pages * 512
    parts = [struct.pack("<4Q", pages, present, 0, pages if is_full else 0)]
    parts += [
        struct.pack("<QQ", step if i else first, 1 << 32)
        for i in range(pages)
    ]  # fmt: skip
    flags = (pages + 7) // 8
    parts.append((b"\xff" if is_full else b"\0") * flags)
    if not is_full:
        parts.append(bytes(pages * 64))
    parts.append(bytes(present // 8))
    return b"".join(parts)


def _with_memory(frames, start, size):
    """Only this memory, and pages in it."""
    description = saved_parts.Description(frames[0].unpack())
    description.replace("memory", signed(start) + varint(size), 1)
    rest = [f for f in frames[1:] if f.kind not in (PAGES, saved_file.END)]
    return [description.frame(), *rest]


def page_frames(frames, count=400):
    """Frames of 1,024 pages of zeros, which are there."""
    made = _with_memory(frames, 1 << 20, count * 1024 * 4096)
    made += [
        _packed(PAGES, _batch(1024, first=256 + i * 1024))
        for i in range(count)
    ]  # fmt: skip
    return [*made, frames[-1]]


def _pages_apart(frames, count, step):
    made = _with_memory(frames, 1 << 20, count * 1024 * step * 4096)
    made += [
        _packed(PAGES, _batch(1024, step, 256 + i * 1024 * step))
        for i in range(count)
    ]  # fmt: skip
    return [*made, frames[-1]]


def pages_apart(frames):
    """Each page lies in another stretch of the set of words."""
    return _pages_apart(frames, 32, (64 << 20) // 4096)


def pages_64_apart(frames):
    """Each page needs another page of the set's bits."""
    return _pages_apart(frames, 400, 64)


def bytes_apart(frames, pages=200):
    """Each byte of a page is a range of its own."""
    description = saved_parts.Description(frames[0].unpack())
    rows = signed(1 << 20) + varint(1)
    rows += (signed(1) + varint(1)) * (pages * 2048 - 1)
    description.replace("memory", rows, pages * 2048)
    rest = [f for f in frames[1:] if f.kind not in (PAGES, saved_file.END)]
    made = [description.frame(), *rest]
    made.append(_packed(PAGES, _batch(pages, first=256)))
    return [*made, frames[-1]]


# ------------------------------------------------------------ files of modules


def _imaged(frames, change):
    """The file of the first module, changed by `change`."""
    at = next(i for i, f in enumerate(frames) if f.kind == MODULE)
    image = frames[at].unpack()
    before = varint(len(image))
    change(image)
    description = saved_parts.Description(frames[0].unpack())
    count, rows = description.lists["modules"]
    tables = varint(sum(f.bytes for f in frames if f.kind == TABLES))
    assert count == 1 and rows.endswith(before + tables)
    kept = rows[: -len(before + tables)]
    rows = kept + varint(len(image)) + tables
    description.replace("modules", rows, 1)
    return [
        description.frame(), *frames[1:at], _packed(MODULE, bytes(image)),
        *frames[at + 1 :],
    ]  # fmt: skip


def program_headers(frames):
    """A million of them."""

    def change(image):
        (table,) = struct.unpack_from("<Q", image, 0x20)
        header = image[table : table + 56]
        struct.pack_into("<Q", image, 0x20, len(image))
        image += header * 1_000_000
        # The number of headers is in the first section.
        struct.pack_into("<H", image, 0x38, 0xFFFF)
        (sections,) = struct.unpack_from("<Q", image, 0x28)
        struct.pack_into("<I", image, sections + 44, 1_000_000)

    return _imaged(frames, change)


def section_headers(frames):
    def change(image):
        (table,) = struct.unpack_from("<Q", image, 0x28)
        (count,) = struct.unpack_from("<H", image, 0x3C)
        headers = bytes(image[table : table + count * 64])
        struct.pack_into("<Q", image, 0x28, len(image))
        image += headers + headers[-64:] * 60_000
        struct.pack_into("<H", image, 0x3C, count + 60_000)

    return _imaged(frames, change)


def symbols(frames):
    """The table of symbols has a million rows, and one name."""

    def change(image):
        (table,) = struct.unpack_from("<Q", image, 0x28)
        (count,) = struct.unpack_from("<H", image, 0x3C)
        for i in range(count):
            at = table + i * 64
            if struct.unpack_from("<I", image, at + 4)[0] == 2:
                offset, size = struct.unpack_from("<QQ", image, at + 24)
                rows = image[offset : offset + size]
                struct.pack_into(
                    "<QQ", image, at + 24, len(image), size + 24_000_000
                )
                image += rows + rows[-24:] * 1_000_000

    return _imaged(frames, change)


def notes(frames):
    """A segment of notes that are empty."""

    def change(image):
        (table,) = struct.unpack_from("<Q", image, 0x20)
        (count,) = struct.unpack_from("<H", image, 0x38)
        for i in range(count):
            at = table + i * 56
            if struct.unpack_from("<I", image, at)[0] == 4:
                struct.pack_into("<Q", image, at + 8, len(image))
                struct.pack_into("<Q", image, at + 32, 30 << 20)
        image += bytes(30 << 20)

    return _imaged(frames, change)


# ---------------------------------------------------------------- small files


def small(frames):
    """Nothing pays for the ranges."""
    return [memory(frames)[0], frames[-1]]


def small_segments(frames):
    return [segments(frames)[0], frames[-1]]


def small_modules(frames):
    return [modules(frames)[0], frames[-1]]


def small_tables(frames):
    return [frames[0], *[_packed(TABLES, bytes(MOST))] * 30, frames[-1]]


def small_pages(frames):
    """There is room for pages; they are counted one by one."""
    made = page_frames(frames)
    return [f for f in made if f.kind not in (TABLES, MODULE)]


def no_bounds(frames):
    """All sizes that the target is said to have are as large as can be."""
    description = saved_parts.Description(frames[0].unpack())
    head = description.heads["segments"]
    tail = 0
    for _ in range(4):
        # Each number ends in a byte below 0x80.
        tail += 1
        while head[-tail - 1] >= 0x80:
            tail += 1
    most = varint((1 << 63) - 1)
    description.heads["segments"] = head[:-tail] + most * 2 + varint(0) * 2
    return [description.frame(), *frames[1:]]


# The reason for which each is refused within 128 MB; none if it is answered.
ALL = {
    **dict.fromkeys(
        (many_frames, program_headers, section_headers, symbols, notes,
         no_bounds),
        "",
    ),
    **dict.fromkeys(
        (memory, segments, segments_named, files, threads, mappings, resident,
         paths, long_layout, page_frames, pages_apart, pages_64_apart,
         bytes_apart, small_pages),
        "not enough memory: more than",
    ),
    **dict.fromkeys(
        (modules, rows_that_lack, sizes, image_sizes, table_frames,
         module_frames, unknown_frame, long_end, small, small_segments,
         small_modules, small_tables),
        "is damaged (",
    ),
    **crafted_tables.ALL,
}  # fmt: skip
UNPAID = (small, small_segments, small_modules, small_tables)


def make(kind, whole):
    """The file with this craft."""
    head, frames = saved_file.read(whole)
    return saved_file.write(head, kind(frames))
