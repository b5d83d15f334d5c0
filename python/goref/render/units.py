# SPDX-License-Identifier: Apache-2.0
"""Numbers and names as a person reads them."""


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
