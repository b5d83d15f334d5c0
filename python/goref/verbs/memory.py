# SPDX-License-Identifier: Apache-2.0
"""Questions on the program's own profiles, and on resident memory."""

from ..options import COMMON, LABEL, NOW, OUT, TEXT_STACKS, TIME
from .verb import Verb

PROFILE = Verb(
    "profile",
    "Write Go's own profiles, read from memory",
    """\
Writes a profile that `go tool pprof' opens, as the program would write it:

heap, allocs: what the program's heap profile has, with Go's own four values.
block, mutex: waits for locks and channels, if the program samples them.
goroutine: how many goroutines have which stack. A second value, stack_space,
is the memory of their stacks. --text prints all goroutines as a panic does.
goroutineleak: the same for goroutines that nobody can wake any more, as the
runtime itself finds them in Go 1.27, for every release. See leaks.""",
    (OUT, NOW, TEXT_STACKS, LABEL, TIME, *COMMON),
    "PROFILE",
    """\
The heap profile is that of the last collection, like the program's own: samples
since then are not in it. With --now, the objects in use are the sampled ones
that exist at this moment, garbage that is not yet swept included, and the
allocations are all of them so far.

Sampled values are scaled as runtime/pprof scales them. heap, allocs, block and
mutex need the executable's symbols. `goref attach' copies the samples and
nothing else, except for --now.

Inlined calls are part of the stacks. The profiles of goroutines leave out the
runtime's own goroutines and the wrappers that the compiler makes. Their stacks
have all calls, however deep they are. Only goroutineleak and --now read the
heap.""",
    (
        ("core EXE CORE profile heap -o heap.pb.gz", "for go tool pprof"),
        ("core EXE CORE profile goroutine --text", "the stacks as text"),
        (
            "attach PID profile goroutine --text -o stacks.txt",
            "of a process that answers no HTTP",
        ),
    ),
    sample="goroutine --out {file}",
)

RSS = Verb(
    "rss",
    "Say where the resident memory is, page by page",
    """\
Puts every resident page into one class, and the classes add up: live objects,
garbage, free slots and free pages of the Go heap, goroutine stacks, the
runtime's own structures by kind, thread stacks, executable and libraries, other
files, the C heap, shared memory, and what is unknown. Also prints the settings
of the collector, what the next collection would free, what the scavenger could
give back to the system, and what is allocated and was never touched.

Of a process, the classes add up to its Rss (residency: exact). A core of the
kernel has the anonymous pages (anonymous); their sum is an upper bound. Other
cores do not tell which pages were resident (unknown): the classes are then what
the core has, and pages of zeros are counted apart, because the process may
never have touched them.""",
    COMMON,
    details="""\
The kernel says which pages are resident (/proc/PID/smaps and pagemap), and
goref asks it before it reads anything else. Pages of zeros that the process has
only read do not count. Before Linux 6.7, they cannot be told from others; if
there are any, residency is anonymous.

A free page that the runtime has given back is resident again only if something
has touched it, such as a huge page. It is then in a class of its own. The
scavenger could give back the other free pages, except those in the caches of
the Ps. If pages are in swap, goref does not know what was never touched.

The C heap is that of glibc: the area that grows by brk, and arenas and large
blocks with mappings of their own, which are known by their headers. goref
searches for such blocks until 32 MB of resident memory had no header; blocks
beyond that are unknown. Anonymous memory that nothing explains is unknown: what
the program or a library maps itself. Without debug information, so are parts of
the Go runtime's own memory.

In --json, `rss_bytes' is null unless residency is exact, and `anonymous_bytes'
if it is unknown.""",
    examples=(
        ("attach PID rss", "where is the rest of the memory?"),
        ("core EXE CORE rss --json", "the same of a core, for scripts"),
    ),
)
