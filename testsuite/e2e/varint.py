# SPDX-License-Identifier: Apache-2.0
"""Numbers as profiles, heap dumps and saved files store them (LEB128)."""


def read_varint(data, at):
    """Return (value, position behind it)."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("varint of more than ten bytes")


def varint(value):
    out = bytearray()
    while value >> 7:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
