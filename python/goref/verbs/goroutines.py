# SPDX-License-Identifier: Apache-2.0
"""Questions on goroutines: where they are, and what they wait for."""

from ..options import (
    BASELINE,
    BYTES,
    CHAN,
    COMMON,
    DEPTH_CALLS,
    EXEC,
    FAIL_ABOVE_BLOCKED,
    FAIL_ON_DEADLOCK,
    FAIL_ON_LEAKS,
    FORMAT_WAITS,
    GROUP,
    IGNORE,
    IGNORE_FILE,
    LIMIT_GOROUTINES,
    LIMIT_WAITS,
    LOCATION,
    SCHED,
    SHOW_DEPTH,
    SHOW_ELEMENTS,
    SHOW_STRING,
    STACK,
    SYSTEM,
    TOP_LEAKS,
    WITH,
    WITHOUT,
    WRITE_BASELINE,
)
from .verb import Verb

GOROUTINES = Verb(
    "goroutines",
    "List goroutines, what they do and where",
    """\
Prints one line for each goroutine, as Delve does: its number, the innermost
call that is the user's own, and in brackets its wait reason or state. With
--group, goroutines are counted by what they have in common. Only --chan,
--bytes, --group waiting-on, --exec locals and --exec wait read the heap.""",
    (
        WITH,
        WITHOUT,
        CHAN,
        GROUP,
        BYTES,
        LOCATION,
        STACK,
        EXEC,
        DEPTH_CALLS,
        SYSTEM,
        LIMIT_GOROUTINES,
        *COMMON,
    ),
    examples=(
        ("core EXE CORE goroutines --group userloc", "where are they?"),
        (
            "core EXE CORE goroutines --with waiting 'chan receive' -t",
            "the calls of those that receive",
        ),
    ),
)

GOROUTINE = Verb(
    "goroutine",
    "Print the calls and the variables of one goroutine",
    """\
Prints the state of a goroutine, who created it, and its calls, the innermost
first, with those that the compiler inlined. `locals' adds the arguments and
local variables of each call that is not the runtime's own; `frame N' prints
those of any one call. `wait' says what the goroutine waits for: the channel,
each case of a select, the lock and what holds it in memory, both ends of a
socket, the system call or the end of a sleep. Values are printed as Delve
prints them; a value that is no longer there is `(optimized out)'. gdb's
selected thread and frame stay as they are.""",
    (DEPTH_CALLS, SHOW_STRING, SHOW_ELEMENTS, SHOW_DEPTH, *COMMON),
    "ID [bt|locals|frame N|wait]",
    examples=(
        ("core EXE CORE goroutine 17", "what goroutine 17 does"),
        ("core EXE CORE goroutine 17 frame 2", "the variables of call 2"),
        ("core EXE CORE goroutine 17 wait", "what it waits for"),
    ),
    sample="1 locals",
)

PANIC = Verb(
    "panic",
    "Say what ended the program",
    """\
Prints the values of the panics, the oldest first, or the text of the fatal
error; the signal, its address and, for a fault in C, the C function; the
goroutine with its calls; and the deferred calls that have not run. Errors
appear as their texts, because the runtime calls their Error method before it
ends the program. If nothing has ended the program, goref prints the goroutine
that panics and whose deferred calls are still running.

The heap is not walked.""",
    (DEPTH_CALLS, SHOW_STRING, SHOW_ELEMENTS, SHOW_DEPTH, *COMMON),
    examples=(("core EXE CORE panic", "why is there a core?"),),
)

LEAKS = Verb(
    "leaks",
    "Find goroutines that nobody can wake any more",
    """\
Prints the goroutines that have leaked, in groups: how many, what they wait for
and where, who created them, and what they keep alive. A goroutine has leaked
if it waits for a channel, in a select, or for a lock, a WaitGroup or a Cond of
package sync, and nothing that can still run can reach what it waits for. This
is the rule of Go's own goroutineleak profile (Go 1.26 and later). goref applies
it to every release, after the fact.""",
    (
        TOP_LEAKS,
        IGNORE,
        IGNORE_FILE,
        BASELINE,
        WRITE_BASELINE,
        FAIL_ON_LEAKS,
        FAIL_ABOVE_BLOCKED,
        *COMMON,
    ),
    details="""\
A goroutine that waits for something in a package variable never counts as
leaked. Groups may share objects, so the total may be more than the sum of the
groups. For --fail-on-leaks, a goroutine is no leak if it is unproven: goref
does not know what it waits for, or a pointer to that may be in memory that the
core lacks.""",
    examples=(
        ("core EXE CORE leaks", "which goroutines have leaked?"),
        (
            "attach PID leaks --fail-on-leaks --baseline FILE",
            "status 4 if one has leaked that FILE does not know, for scripts",
        ),
    ),
)

WAITS = Verb(
    "waits",
    "Show who waits for what, and who could wake them",
    """\
Prints deadlocks, then goroutines by the lock, channel, wait group or condition
that they wait for, with its owner. With ID, prints what this goroutine waits
for and what it owns. An owner is proven by the runtime or by the machine code;
all others are likely, each with its evidence. A deadlock is a cycle: each
goroutine waits for a lock that the next one owns, or for a channel, condition
or wait group that no goroutine outside the cycle can use. It is proven if all
its owners are proven or all its goroutines have leaked; otherwise, it is
likely.""",
    (LIMIT_WAITS, FORMAT_WAITS, FAIL_ON_DEADLOCK, *COMMON),
    "[ID]",
    examples=(("core EXE CORE waits", "why do they wait, and for whom?"),),
)

HUNG = Verb(
    "hung",
    "Say why a service hangs, on one screen",
    """\
The first line is the likely cause. Prints goroutines that wait for each other,
who keeps most others waiting, the largest pile-up, threads in system calls and
in C, goroutines by state and place, leaks with what they retain, and commands
that look closer.""",
    (SCHED, FAIL_ON_DEADLOCK, FAIL_ON_LEAKS, *COMMON),
    details="""\
With --sched, the first line says whether a P is free, whether something is
runnable, and which goroutine keeps the world from being stopped. Each P has a
row with its state, the goroutine that it runs, and the length of its run queue.
Each M has a row with its thread, its state, and the system call that it is in.

A core that a signal has made has a frozen world: the first line then says that
the program is ending, which is no hang.""",
    examples=(
        (
            "attach PID hung",
            "copy the process, let it go on, say why it hangs",
        ),
        (
            "core EXE CORE hung --fail-on-deadlock",
            "status 4 if a deadlock is proven, for scripts",
        ),
        ("core EXE CORE hung --sched", "is a P free, and what runs?"),
    ),
)
