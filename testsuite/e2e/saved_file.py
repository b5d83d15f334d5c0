# SPDX-License-Identifier: Apache-2.0
"""The frames of a saved file (savedfile/frames.h), to be changed and put
together again with right checksums. zstd packs and unpacks."""

import dataclasses
import struct
import subprocess
import tempfile

END, DESCRIPTION, MODULE, TABLES, PAGES, LAYOUT = 1, 2, 3, 4, 5, 6
HEAD_BYTES = 56
PAGE_WORDS = 512  # of a page of memory
VERSION, TABLES_VERSION = 4, 1
# Magic number, version, which goref wrote the file, checksum.
HEAD = struct.Struct("<8sQ32sQ")
HEADER = struct.Struct("<IIQQQ")  # kind, 0, bytes, packed bytes, checksum
# A block of tables (scanner/dwarf/store.c) has magic, stamp, checksum.
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
    """Run zstd on the data. It reads a file: subprocess.run() would write into a
    pipe in very small pieces."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        done = subprocess.run(
            ["zstd", "-q", "-c", option], stdin=file, capture_output=True
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


def words(frames):
    """{address of a page: a mask of the words that the file has of it}"""
    found = {}
    for frame in frames:
        if frame.kind == PAGES:
            heads, masks, *_ = _parse_pages(bytes(frame.unpack()))
            address = 0
            for i, mask in enumerate(masks):
                address += heads[2 * i] * 8 * PAGE_WORDS
                found[address] = mask
    return found


def memory(frames):
    """{address: bytes} of the pages of a file: what pages.c packs."""
    found = {}
    for frame in frames:
        if frame.kind == PAGES:
            pages = _parse_pages(bytes(frame.unpack()))
            found.update(_unpack_words(*pages))
    return found


def without(frames, is_lost):
    """The frames of a file without the words at some addresses."""
    return [
        pack(PAGES, _without(bytes(frame.unpack()), is_lost))
        if frame.kind == PAGES
        else frame
        for frame in frames
    ]


def _without(data, is_lost):
    heads, masks, filled, differences = _parse_pages(data)
    contents = _unpack_words(heads, masks, filled, differences)
    kept, present, codes, latest = [], [], [], 0
    for (address, content), mask in zip(contents.items(), masks):
        words = struct.unpack(f"<{PAGE_WORDS}Q", content)
        left = [i for i in _ones(mask) if not is_lost(address + 8 * i)]
        bits = sum(1 << i for i in left)
        kept.append(bits.to_bytes(PAGE_WORDS // 8, "little"))
        present += [words[i] != 0 for i in left]
        for word in filter(None, (words[i] for i in left)):
            step, latest = word - latest & MASK, word
            codes.append(step << 1 & MASK ^ -(step >> 63) & MASK)
    bits = sum(1 << i for i, is_filled in enumerate(present) if is_filled)
    planes = struct.pack(f"<{len(codes)}Q", *codes)
    # All words are one column.
    rows = (struct.pack("<QQ", step, 1 << 32) for step in heads[::2])
    parts = [struct.pack("<4Q", len(masks), len(present), len(codes), 0), *rows]
    parts += [bytes(-(-len(masks) // 8)), *kept]
    parts += [bits.to_bytes(-(-len(present) // 8), "little")]
    parts += [planes[plane::8] for plane in range(8)]
    return bytearray(b"".join(parts))


def _parse_pages(data):
    """Each word is the difference to the one before in its column, which is a
    word of a record of `stride` words; the differences are stored by bytes."""
    npages, npresent, nnonzero, nfull = struct.unpack_from("<4Q", data)
    at = 32
    heads = struct.unpack_from(f"<{2 * npages}Q", data, at)
    at += 16 * npages
    full = int.from_bytes(data[at : at + (npages + 7) // 8], "little")
    at += (npages + 7) // 8
    masks = []
    for i in range(npages):
        if full >> i & 1:
            masks.append((1 << PAGE_WORDS) - 1)
        else:
            masks.append(
                int.from_bytes(data[at : at + PAGE_WORDS // 8], "little")
            )
            at += PAGE_WORDS // 8
    filled = data[at : at + (npresent + 7) // 8]
    at += (npresent + 7) // 8
    # The lowest bytes of all differences come first.
    planes = bytearray(8 * nnonzero)
    for plane in range(8):
        planes[plane::8] = data[at : at + nnonzero]
        at += nnonzero
    assert at == len(data) and nfull == bin(full).count("1")
    return heads, masks, filled, struct.unpack(f"<{nnonzero}Q", planes)


def _ones(number):
    """The places of the bits that are set."""
    bits = f"{number:b}"[::-1]
    return [at for at, bit in enumerate(bits) if bit == "1"]


def _unpack_words(heads, masks, filled, differences):
    found, latest, address = {}, {}, 0
    place, left = 0, iter(differences)
    is_filled = f"{int.from_bytes(filled, 'little'):0{8 * len(filled)}b}"[::-1]
    for i, mask in enumerate(masks):
        address += heads[2 * i] * 8 * PAGE_WORDS
        stride, column = heads[2 * i + 1] >> 32, heads[2 * i + 1] & 0xFFFFFFFF
        words = [0] * PAGE_WORDS
        ones = _ones(mask)
        for bit, word in zip(is_filled[place : place + PAGE_WORDS], ones):
            if bit == "1":
                code = next(left)
                step = code >> 1 ^ -(code & 1)
                key = (column + word) % stride
                latest[key] = words[word] = latest.get(key, 0) + step & MASK
        place += len(ones)
        found[address] = struct.pack(f"<{PAGE_WORDS}Q", *words)
    return found
