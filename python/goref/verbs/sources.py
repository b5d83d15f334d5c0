# SPDX-License-Identifier: Apache-2.0
"""The kinds of targets on the command line."""

from ..options import MAX_PAUSE, SNAPSHOT, THREADS
from .verb import Source

CORE = Source(
    "core",
    "[EXE] CORE",
    "Read a core file (of the kernel, gcore or dlv dump)",
    """\
Without EXE, goref takes the executable that the core names. It also looks for
a file of that name beside the core and in the current folder. The build id
must be that of the program that ran.""",
    (),
    """\
Keep the exact executable that ran: a core leaves out what the executable
contains. goref refuses a file with another build id. Some cores have no build
id to compare, because gcore may leave out that page. Then goref takes only the
path that the core names, and prints a warning; you must give any other file
yourself.

Unpack a compressed core first; goref prints the command.

A core by gdb's gcore contains reserved address space as 1 GiB or more of zeros;
`fallocate -d CORE' makes the file sparse. For a kernel core, bit 0 of
/proc/PID/coredump_filter must be set (the default). In a truncated core, the
tables of the heap may be missing: they lie near the end of the file. Without
them, no object of the heap can be found.""",
    (
        ("core CORE", "an overview; the core names its executable"),
        ("core EXE CORE why 0xc000782240", "what holds this object"),
        ("core EXE CORE -o refs.pb", "scan, and write a profile"),
    ),
)

ATTACH = Source(
    "attach",
    "PID",
    "Read a running process, which stops only to be copied",
    """\
The process stands still only while goref copies memory. goref first says how
much it will copy and how long the process will stop. The process goes on even
if goref is killed.""",
    (MAX_PAUSE, THREADS, SNAPSHOT),
    """\
Ctrl-C ends goref and never reaches the process.

A stop, with or without --snapshot, wakes threads that wait in the kernel. The
kernel restarts most system calls. But a blocked write that has already written
some of its bytes returns early, and a few other calls fail with EINTR. Every
debugger has this effect. A hang in such a call may therefore end; goref's
answer shows it as it was. To ask more than one question about it, use `goref
attach PID save FILE', or take a core.

With --snapshot, one thread of the process makes a system call that forks the
process. goref injects the call by ptrace and writes nothing to memory. The
process stands still while the kernel copies its page tables: 20 to 60 ms for
each GB. Until goref has read the copy, each page that the process writes to
exists twice. Twice, for less than 0.1 ms (a few ms on a busy machine), that
thread's registers are not its own.

If goref is killed, the process goes on as before, and the helper process
goref-snapshot cleans up. If SIGKILL ends the helper itself, two ended processes
stay in the process's list of children until it ends. If the helper is killed in
those 0.1 ms, the system call of that thread returns early with a wrong result
(a process ID, 0 or an error), and signals stay blocked in the thread. goref
looks for a thread that waits in Go's runtime, which ignores the result. It
takes a thread in another call, such as a read, only after several tries.
goref refuses, and says why, if limits on processes or memory, or the state of
the threads, would make a snapshot unsafe. Memory that the process shares with
others is not copied.

Containers have a seccomp filter by default. goref suspends the filter in that
one thread while the process stands still; the thread's own calls do not escape
it. Suspending a filter needs root on the host; otherwise goref refuses. If the
helper is killed in those 0.1 ms, the filter sees a clone or waitid that the
process did not make. The filters of containers allow these calls; a stricter
filter may end the process.

Attach as root, as the same user, or with CAP_SYS_PTRACE (docker run
--cap-add=SYS_PTRACE) and, if the process has another user,
CAP_DAC_READ_SEARCH. You can attach to a process in a container from
outside.""",
    (
        ("attach PID", "an overview"),
        ("attach --snapshot --max-pause 100 PID scan -o refs.pb", "a profile"),
    ),
)

OPEN = Source(
    "open",
    "FILE",
    "Read a file that `save' has written",
    """\
The file answers all questions as the core or the process did when it was saved.
goref needs neither of these, nor the executable.

A file that was saved without --values has no values: a verb that prints values
says so in one line. Every build of goref reads the file if it knows the version
of its format.""",
    (),
    """\
In gdb, `goref open FILE VERB' asks the file one question. All other commands
still ask the program that gdb looks at. After `goref open FILE' alone, they ask
the file, until `goref close' returns to the program.""",
    (
        ("open FILE", "an overview"),
        ("open FILE why 0xc000782240", "what holds this object"),
    ),
)
