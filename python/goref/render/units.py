# SPDX-License-Identifier: Apache-2.0
"""Numbers and names as a person reads them."""

from collections.abc import Callable
from typing import NamedTuple


def human_bytes(count: int) -> str:
    """Bytes in binary units: 1 MiB is 1024 * 1024 bytes."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1023.95:
            break
        value /= 1024
    else:
        unit = "TiB"
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


class Unit(NamedTuple):
    """The unit of sizes, as --weight chooses it.

    head: of a column of sizes. cell: a size in a column whose head names the
    unit. text: a size in a sentence."""

    name: str
    head: str
    cell: Callable[[int], str]
    text: Callable[[int], str]

    def column(self, what: str) -> str:
        """The head of a column of other sizes: what they are."""
        return what if self.name == "bytes" else f"{what} {self.name}"


def _words(count: int) -> str:
    return counted(count, "word")


BYTES = Unit("bytes", "size", human_bytes, human_bytes)
WORDS = Unit("words", "words", "{:,}".format, _words)


def unit_of(weight: str) -> Unit:
    return BYTES if weight == "bytes" else WORDS


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def percent(part: int, whole: int) -> str:
    if not whole:
        return "-"
    share = 100 * part / whole
    return f"{share:.1f} %" if share >= 0.05 or not part else "<0.1 %"


def seconds(us: int) -> str:
    return f"{us / 1e6:.2f} s" if us >= 1e6 else f"{us / 1e3:.0f} ms"


def printable(text: str) -> str:
    """Without what would break a line or move the cursor: a name of the
    target or of a file may hold anything."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii")
        for c in text
    )
