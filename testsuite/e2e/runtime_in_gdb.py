# SPDX-License-Identifier: Apache-2.0
"""Sourced by gdb (test_waste_naive_runtime.py): reads the Go runtime's own
records from a core with gdb's debug information, and prints them as JSON behind
the word RUNTIME. Addresses are those of the target."""

import functools
import json
import re
import struct

import gdb

MAX_FRAMES = 500
WAITING = 4  # runtime._Gwaiting
PREEMPT = 1 << 63  # a g.stackguard0 above asks to preempt


def variable(name):
    return gdb.parse_and_eval(f"'runtime.{name}'")


def has(value, name):
    fields = value.type.strip_typedefs().fields()
    return name in [each.name for each in fields]


def number(value):
    """An integer or a pointer, also one that is atomic."""
    value_type = value.type.strip_typedefs()
    while value_type.code == gdb.TYPE_CODE_STRUCT:
        names = [field.name for field in value_type.fields()]
        value = value["value" if "value" in names else "u"]
        value_type = value.type.strip_typedefs()
    return int(value)


def field(value, path):
    """The first of the fields, separated by bars, that there is."""
    for name in path.split("|"):
        if has(value, name):
            return value[name]
    return None


def elements(go_slice):
    array = go_slice["array"]
    return [array[i] for i in range(int(go_slice["len"]))]


def word(address):
    memory = gdb.selected_inferior().read_memory(address, 8)
    return struct.unpack("<Q", memory)[0]


@functools.cache
def function(pc):
    """The name of the function that has an instruction."""
    said = gdb.execute(f"info symbol {pc:#x}", to_string=True)
    return re.split(r" \+ \d+ in section | in section ", said.strip())[0]


def func(value):
    """A field that is a func: gdb takes it for the code itself."""
    return word(int(value.address))


def called(closure):
    """The function of a func value."""
    return function(word(closure)) if closure else None


def constant(name):
    try:
        return int(gdb.parse_and_eval(f"'runtime.{name}'"))
    except gdb.error:
        return None


# ------------------------------------------------------------------ goroutines


def frames(g):
    """The functions on the stack of a goroutine that waits, the innermost
    first, by the chain of frame pointers."""
    low, high = int(g["stack"]["lo"]), int(g["stack"]["hi"])
    names, base = [], int(g["sched"]["bp"])
    while low <= base < high - 16 and len(names) < MAX_FRAMES:
        # The return address may be behind the function's last instruction.
        names.append(function(word(base + 8) - 1))
        base = word(base)
    return names


def reasons():
    texts = variable("waitReasonStrings")
    first, last = texts.type.range()
    return [
        texts[i]["str"].string(length=int(texts[i]["len"]))
        if int(texts[i]["len"])
        else ""
        for i in range(first, last + 1)
    ]


def goroutines():
    texts = reasons()
    for g in elements(variable("allgs")):
        g = g.dereference()
        status = number(g["atomicstatus"])
        guard = int(g["stackguard0"])
        yield {
            "address": int(g.address),
            "status": status,
            "low": int(g["stack"]["lo"]),
            "high": int(g["stack"]["hi"]),
            "pointer": int(g["sched"]["sp"]),
            "guard": guard if guard < PREEMPT else None,
            "start": function(int(g["startpc"])),
            "reason": texts[int(g["waitreason"])],
            "frames": frames(g) if status == WAITING else [],
        }


# ---------------------------------------------------------------------- timers


def timers_of(p):
    """The array of the timers of a P, and their addresses."""
    timers = p["timers"]
    if has(timers, "heap"):
        heap = timers["heap"]
        return heap["array"], [each["timer"] for each in elements(heap)]
    return timers["array"], elements(timers)


def timers():
    """status: None if there is none; else what it is called."""
    names = ("Waiting", "Deleted", "ModifiedEarlier", "ModifiedLater")
    states = {constant(f"timer{name}"): name for name in names}
    for p in elements(variable("allp")):
        array, found = timers_of(p)
        for timer in map(gdb.Value.dereference, found):
            moved = field(timer, "nextwhen")
            status = field(timer, "status")
            if status is not None:
                status = states.get(number(status), "other")
            calls = called(func(timer["f"]))
            argument = int(timer["arg"]["data"])
            is_func = calls == "time.goFunc"
            yield {
                "array": int(array),
                "address": int(timer.address),
                "when": int(timer["when"]),
                "nextwhen": None if moved is None else int(moved),
                "status": status,
                "calls": calls,
                "argument": argument,
                "function": called(argument) if is_func else None,
                "closure": func(timer["f"]),
            }


def moment():
    """When the last collection ended, by the clock of timers."""
    return number(variable("memstats")["last_gc_nanotime"])


# ------------------------------------------------------------------ finalizers


def cleanup_words(value):
    """The pointers of a cleanup: a closure, or a record of three words."""
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
        return [int(value)]
    return [int(value["fn"]), int(value["arg"]), func(value["call"])]


def specials():
    kinds = {
        constant("_KindSpecialFinalizer"): ("finalizer", "specialfinalizer"),
        constant("_KindSpecialCleanup"): ("cleanup", "specialCleanup"),
        constant("_KindSpecialWeakHandle"): ("weak", "specialWeakHandle"),
    }
    kinds.pop(None, None)
    types = {}
    for kind, (_, name) in kinds.items():
        types[kind] = gdb.lookup_type(f"runtime.{name}").pointer()
    for span in elements(variable("mheap_")["allspans"]):
        special = span["specials"]
        while int(special):
            kind = int(special["kind"])
            if kind in kinds:
                record = special.cast(types[kind]).dereference()
                yield {
                    "kind": kinds[kind][0],
                    "owner": int(span["startAddr"]) + int(special["offset"]),
                    "holds": held_by(record, kinds[kind][0]),
                }
            special = special["next"]


def held_by(record, kind):
    if kind == "finalizer":
        return [int(record["fn"])]
    if kind == "weak":
        return [int(record["handle"])]
    return cleanup_words(field(record, "cleanup|fn"))


def queued():
    """The entries of the queues. One without an argument is a cleanup."""
    block = variable("allfin")
    while int(block):
        for i in range(int(block["cnt"])):
            fin = block["fin"][i]
            held = [int(fin["fn"]), int(fin["arg"])]
            kind = "finalizer" if held[1] else "cleanup"
            yield {"kind": kind, "holds": held}
        block = block["alllink"]
    try:
        first = number(variable("gcCleanups")["all"])
    except gdb.error:
        return  # cleanups are in the other queue, or there are none
    block_type = gdb.lookup_type("runtime.cleanupBlock").pointer()
    block = gdb.Value(first).cast(block_type)
    while int(block):
        header = block["cleanupBlockHeader"]
        for i in range(int(header["n"])):
            held = cleanup_words(block["cleanups"][i])
            if any(held):
                yield {"kind": "cleanup", "holds": held}
        block = header["alllink"]


def has_records():
    """A cleanup in a queue is a record, which is cleared before it runs."""
    try:
        gdb.lookup_type("runtime.cleanupFn")
    except gdb.error:
        return False
    return True


def collector():
    controller = variable("gcController")
    return {
        "percent": number(controller["gcPercent"]),
        "limit": number(controller["memoryLimit"]),
        "goal": number(controller["gcPercentHeapGoal"]),
    }


gdb.execute("set language c")
gdb.execute("set print demangle off")
facts = {
    "goroutines": list(goroutines()),
    "timers": list(timers()),
    "moment": moment(),
    "specials": list(specials()),
    "queued": list(queued()),
    "collector": collector(),
    "has_records": has_records(),
}
print("RUNTIME" + json.dumps(facts))
