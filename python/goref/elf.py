# SPDX-License-Identifier: Apache-2.0
"""Facts about an ELF file that goref needs before it is scanned. Never imports
gdb."""

import os
import shlex
import stat
from typing import Any

Note = tuple[bytes, int, bytes]
"""Name, kind, content."""

# The command that unpacks beside the packed file if its name has that ending,
# the ending, and the command that writes elsewhere.
_PACKED = {
    "gzip": ("gunzip -k", ".gz", "gunzip -c"),
    "zstd": ("zstd -d", ".zst", "zstd -dc"),
    "xz": ("xz -dk", ".xz", "xz -dc"),
    "lz4": ("lz4 -dm", ".lz4", "lz4 -dc"),
    "bzip2": ("bunzip2 -k", ".bz2", "bunzip2 -c"),
}


def _facts(path: str) -> Any:
    """The facts that the native half reads from a file (ElfFacts). None: the
    file cannot be opened, or is not a regular file."""
    from . import native  # only needed here

    goref = native.load()
    try:
        return goref.elf_facts(path)
    except (goref.FileError, goref.FormatError, ValueError):
        return None


def how_piped(path: str) -> str | None:
    """The error message for a pipe; None for any other file. Opening a pipe
    may block for ever."""
    try:
        is_pipe = stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return None
    return f"{path} is a pipe: write it into a file first" if is_pipe else None


def how_packed(path: str) -> str | None:
    """The error message for a compressed file; None for any other (elf.c)."""
    facts = _facts(path)
    if facts is None or facts.compression is None:
        return None
    form = facts.compression
    beside, ending, elsewhere = _PACKED[form]
    file_name = shlex.quote(path)
    if path.endswith(ending) and len(os.path.basename(path)) > len(ending):
        command = f"{beside} {file_name}"
    else:
        command = f"{elsewhere} {file_name} >{file_name}.unpacked"
    return f"{path} is compressed with {form}: unpack it first: {command}"


def is_elf(path: str) -> bool:
    facts = _facts(path)
    return facts is not None and facts.kind is not None


def is_core(path: str) -> bool:
    facts = _facts(path)
    return facts is not None and facts.kind == "core"


def shown(path: str) -> str:
    """A name from an untrusted source, made safe to print in one line."""
    text = path.encode("utf-8", "surrogateescape")
    name = text.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else "?" for c in name)


def _is_empty(path: str) -> bool:
    """Is it an empty file that can be read?"""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False
    is_folder = stat.S_ISDIR(found.st_mode)
    return not found.st_size and not is_folder and os.access(path, os.R_OK)


def how_cut(path: str) -> str | None:
    """The error message for an empty file, or for a core that ends before its
    headers and notes do; None for any other file."""
    if how_piped(path):
        return None
    if _is_empty(path):
        return f"{path} is empty"
    facts = _facts(path)
    if facts is None or facts.missing_part is None:
        return None
    return (
        f"{path} is truncated or damaged: {facts.needed_bytes:,} bytes are "
        f"needed for its {facts.missing_part} alone, and it has "
        f"{facts.file_bytes:,}"
    )


def ids_of(facts: Any) -> frozenset[Note]:
    """The build ids of GNU and of Go in ElfFacts or CoreFacts."""
    ids = [
        (b"GNU", 3, facts.gnu_build_id),
        (b"Go", 4, facts.go_build_id),
    ]
    return frozenset(note for note in ids if note[2])


def identity(path: str) -> frozenset[Note]:
    """GNU's and Go's build ids of a file; empty if there is none."""
    facts = _facts(path)
    return frozenset() if facts is None else ids_of(facts)


def has_build_id(path: str, text: str) -> bool:
    """Has a file this build id, as Info.build_id writes it: GNU's in hex, or
    Go's own?"""
    known = {
        note[2].hex() if note[0] == b"GNU" else note[2].decode("latin-1")
        for note in identity(path)
    }
    return bool(text) and text in known


def entry_point(path: str) -> int | None:
    """e_entry of a file, or None."""
    facts = _facts(path)
    return None if facts is None else facts.entry


def load_bias(path: str, start: int, end: int) -> int | None:
    """The distance of a library from its own addresses. gdb gives a half-open
    range: that of .text until gdb 17, later that of the whole library."""
    facts = _facts(path)
    if facts is None or facts.text_addr is None:
        return None
    if end - start == facts.text_bytes:
        return start - int(facts.text_addr)
    if facts.lowest_page is None:
        return None
    return start - int(facts.lowest_page)
