# SPDX-License-Identifier: Apache-2.0
"""Run by gdb: where runtime.firstmoduledata is, and the offsets of the runtime's
fields, as goref-unwind takes them."""

import gdb

FIELDS = {
    "g_m": ("runtime.g", "m"),
    "g_stack_hi": ("runtime.g", "stack", "hi"),
    "g_sched_sp": ("runtime.g", "sched", "sp"),
    "g_sched_pc": ("runtime.g", "sched", "pc"),
    "g_sched_bp": ("runtime.g", "sched", "bp"),
    "m_g0": ("runtime.m", "g0"),
    "m_curg": ("runtime.m", "curg"),
}


def offset(name, *path):
    found, place = gdb.lookup_type(name), 0
    for part in path:
        field = next(f for f in found.fields() if f.name == part)
        place += field.bitpos // 8
        found = field.type
    return place


print(
    "FOUND",
    hex(int(gdb.parse_and_eval("&'runtime.firstmoduledata'"))),
    *(f"{name}={offset(*path)}" for name, path in FIELDS.items()),
)
