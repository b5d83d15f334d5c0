# SPDX-License-Identifier: Apache-2.0
"""The frames of a saved file (scanner/saved/frames.h), to be changed and put
together again with right checksums. zstd packs and unpacks."""

import dataclasses
import struct
import subprocess

DESCRIPTION, MODULE, TABLES, PAGES, LAYOUT = 2, 3, 4, 5, 6
HEAD_BYTES = 56
VERSION, TABLES_VERSION = 2, 1
# Magic number, version, which goref wrote the file, checksum.
HEAD = struct.Struct("<8sQ32sQ")
HEADER = struct.Struct("<IIQQQ")  # kind, 0, bytes, packed bytes, checksum
# Of a block of tables (scanner/dwarf/store.c): magic, stamp, checksum.
STAMP_OFFSET, SEALED_OFFSET = 8, 24
MASK = (1 << 64) - 1
PRIME = 0x9E3779B97F4A7C15


@dataclasses.dataclass
class Frame:
    kind: int
    bytes: int
    packed: bytes

    def unpack(self):
        return bytearray(zstd("-d", self.packed)) if self.packed else b""


def zstd(option, data):
    done = subprocess.run(
        ["zstd", "-q", "-c", option], input=data, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def pack(kind, data):
    """A frame of these bytes; tables get their own checksum."""
    if kind == TABLES:
        seal_tables(data)
    return Frame(kind, len(data), zstd("-1", bytes(data)))


def seal_tables(block):
    total = (len(block) - SEALED_OFFSET) * PRIME & MASK
    words, rest = divmod(len(block) - SEALED_OFFSET, 8)
    for word in struct.unpack_from(f"<{words}Q", block, SEALED_OFFSET):
        total = (total ^ word) * PRIME & MASK
        total ^= total >> 32
    for byte in block[len(block) - rest :] if rest else b"":
        total = (total ^ byte) * PRIME & MASK
    struct.pack_into("<Q", block, STAMP_OFFSET + 8, total ^ total >> 32)


def mix(total, value):
    total = (total ^ value) * PRIME & MASK
    return total ^ total >> 29


def check(frame, number):
    total = mix(number + 1, frame.kind)
    total = mix(mix(mix(total, 0), frame.bytes), len(frame.packed))
    padded = frame.packed + bytes(8 - len(frame.packed) % 8)
    for word in struct.unpack(f"<{len(padded) // 8}Q", padded):
        total = mix(total, word)
    return total


def head(version, goref=b"0.1.0"):
    """The head of a file of that version."""
    total = mix(0, version)
    for word in struct.unpack("<4Q", goref.ljust(32, b"\0")):
        total = mix(total, word)
    return HEAD.pack(b"goref\x1a\r\n", version, goref, total)


def read(data):
    """The head of the file and its frames."""
    frames, at = [], HEAD_BYTES
    while at < len(data):
        kind, _, size, packed, stored = HEADER.unpack_from(data, at)
        at += HEADER.size
        frame = Frame(kind, size, data[at : at + packed])
        assert stored == check(frame, len(frames))
        frames.append(frame)
        at += packed
    return data[:HEAD_BYTES], frames


def write(head, frames):
    parts = [head]
    for number, frame in enumerate(frames):
        parts.append(
            HEADER.pack(frame.kind, 0, frame.bytes, len(frame.packed),
                        check(frame, number))
        )  # fmt: skip
        parts.append(frame.packed)
    return b"".join(parts)
