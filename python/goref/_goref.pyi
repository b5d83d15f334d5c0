# SPDX-License-Identifier: Apache-2.0
"""The native half of goref: types and documentation.

Nothing here knows gdb. Everything runs on the thread that calls. Ctrl-C
(Python's signal check) raises KeyboardInterrupt from any long call and leaves
the scan as it was.

Rows are named tuples of plain values. They are complete when they arrive, and
valid without the scan that they came from. A long sequence of rows (Rows) keeps
its scan alive. Sizes are in bytes, times in microseconds, and addresses are
those of the target.

The build makes the tables of rows of this file (build-aux/make-rows.py). The
comment behind a class of rows names the C struct that becomes the row. A field
is the member with its name and is converted by its type: 0 or "" is None if the
field may be None. A tuple is an array, and the member with "n" before its name
is the count. A comment behind a field says what is different:

    # name.path         the field is this member
    # ids[count]        the field is this array with this count
    # texts[]           the field is this array, which ends with NULL
    # if has_stats      the field is None if this member is 0
    # gr_py_site_rows() this function makes the field from the whole struct

In the comment behind a class, {name} or {NAME} is the name of each field; the
fields are all of that struct or array.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeVar, final, overload

from . import errors

VERSION: str
"""The version of goref-gdb."""

MAX_SAMPLES: int
"""The samples of a profile unless the user asks for another number."""

_Row = TypeVar("_Row", covariant=True)

@final
class Rows(Sequence[_Row]):
    """The rows of an answer that may be long. Each row is made when it is asked
    for. The sequence keeps the answer and its scan alive."""

    def __len__(self, /) -> int: ...
    @overload
    def __getitem__(self, key: int, /) -> _Row: ...
    @overload
    def __getitem__(self, key: slice, /) -> tuple[_Row, ...]: ...

class Error(errors.Error):
    """The scanner cannot do what was asked; str() is one line for a person.

    MemoryError and KeyboardInterrupt are raised as what they are."""

class FaultError(Error):
    """Memory of the target is not there."""

class FileError(Error):
    """A file of this machine cannot be read or written."""

class FormatError(Error):
    """A file is not what it should be."""

class ArchitectureError(Error):
    """The target runs on a processor that goref does not know."""

class NotGoError(Error):
    """The target is no Go program."""

class NoDwarfError(Error):
    """The executable has no debug information, and none was found."""

class LayoutError(Error):
    """The Go runtime lacks a field that the scan needs."""

class NoMemoryError(Error):
    """Memory that a saved file has left out: values."""

class UnsettledError(Error):
    """The memory of a running process changed too fast to be read."""

class MismatchError(Error):
    """The executable is not the one that the core came from."""

class ArgumentError(Error):
    """An argument makes no sense."""

class NotFoundError(Error):
    """A name does not exist in the target."""

class LimitError(Error):
    """There is more than the scanner can number."""

class ProcessError(Error):
    """A process cannot be stopped. str() says why, without the number of the
    process: "there is no such process", "process 12 (gdb) already traces
    it"."""

class MemoryLimitError(Error):
    """The scan would take more memory than it may."""

_Registers = Sequence[int]
"""rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip (DWARF's order), fs_base."""

_Module = (
    tuple[str, str | None, int | None]
    | tuple[str, str | None, int | None, str]
)
_Threads = Sequence[tuple[int, _Registers]] | Process

_Labels = Sequence[tuple[str, str]]
"""Keys and values that all samples of a profile get."""

_Attribution = Literal["nearest", "first"]
_RootKind = Literal[
    "global",
    "local",
    "stack",
    "register",
    "defer",
    "finalizer",
    "cleanup",
    "timer",
    "tiny",
    "runtime",
    "address",
]
_TargetKind = Literal["core", "native", "snapshot", "remote", "saved"]

_Addr = int
"""An address of the target. repr() shows it in hexadecimal."""

_Known = int
"""A number that is None if it has the value for "unknown" in C: UINT64_MAX, or
INT64_MIN."""

_Number = int
"""A number that is None if it is below zero in C."""

_Path = str
"""The name of a file, as os.fsdecode() makes it."""

_Text = str
"""A text that may be empty; NULL in C is None."""

_TypeId = int
"""The number of a type; UINT32_MAX in C is None."""

# ----------------------------------------------------------- rows: files

class ElfFacts(NamedTuple):  # gr_elf_facts
    """Facts about a file, from the file itself. Unknown facts are None, or
    0."""

    file_bytes: int
    compression: _Text | None
    """gzip, zstd, xz, lz4 or bzip2."""
    kind: Literal["executable", "shared object", "core", "other"] | None
    """executable: an executable at a fixed address; shared object: a library,
    or an executable at any address. None: the file is not ELF."""
    machine: _Text | None
    """The processor: x86-64, AArch64, ... None: goref has no name for it."""
    missing_part: _Text | None
    """The part of a core's start that lies past the end of the file: ELF
    header, program headers, or notes. None: the start is whole, or the file
    is no core."""
    needed_bytes: int
    """The end of the missing part."""
    entry: int | None  # if has_header
    """e_entry. None: the file has no 64-bit little-endian header, and the
    fields that follow are unknown, too."""
    lowest_page: _Known | None
    """The page of the segment with the lowest address."""
    text_addr: _Known | None
    """The address of the first section .text in the file."""
    text_bytes: int
    gnu_build_id: bytes  # id.gnu[id.gnu_bytes]
    go_build_id: bytes  # id.go[id.go_bytes]

class CoreFacts(NamedTuple):  # gr_core_facts
    """Facts about the program of a core, from the core."""

    exe_path: _Path | None
    """The executable as the kernel knew it, without " (deleted)". Bytes that
    are not printable are question marks. None: the core does not name it."""
    gnu_build_id: bytes  # id.gnu[id.gnu_bytes]
    """The build id of the executable, from memory; empty if the core lacks
    it."""
    go_build_id: bytes  # id.go[id.go_bytes]
    pid: int
    """0: unknown."""
    random: bytes  # random[random_bytes]
    """The 16 random bytes that the kernel gave the program when it began;
    fewer if the core lacks some. They guard stacks: only a digest may be shown
    or written."""
    signal: int | None
    """The number of the signal that ended the program. In a core of a running
    process, it may be a signal of the debugger that wrote it, or None."""
    signal_code: int | None  # siginfo.code if siginfo.number
    """si_code of that signal: 0 or less if a process has sent it. None:
    unknown."""
    sender_pid: int | None  # siginfo.sender_pid if siginfo.number
    """The process that has sent the signal, if si_code says that one has."""
    fault_addr: int | None  # siginfo.fault_addr if siginfo.number
    """The address of the fault, if si_code is that of a fault."""
    code_files: tuple[_Path, ...]
    """The other mapped files with code, by address: libraries, the loader."""
    thread_ids: tuple[int, ...]  # thread_ids[nthreads]
    """Threads in the order of the core. The first one got the signal."""

class Module(NamedTuple):  # gr_core_module
    """A file that Scan() takes as one of its modules."""

    path: _Path
    debug_path: _Path | None
    bias: _Known | None

class CoreModules(NamedTuple):  # gr_core_modules
    """The files that a scan of a core needs."""

    modules: tuple[Module, ...]  # data[count]
    """The executable, then those libraries of the loader's list, in its order,
    that are regular files here. The scan checks whether a library is the one
    that was loaded."""
    special: tuple[_Path, ...]
    """Libraries that are left out because they are not regular files here."""

# ------------------------------------------------------------- rows: a walk

class Total(NamedTuple):  # gr_total
    """Objects and the bytes of their slots."""

    objects: int
    bytes: int

class Gaps(NamedTuple):  # gr_gaps.count[GR_GAP_{NAME}]
    """Things that could not be read or made no sense, by cause."""

    unreadable_pages: int
    """Pages of 4 KiB that the scan wanted and that are missing."""
    bad_spans: int
    """Spans whose descriptor or bitmaps make no sense or are missing."""
    free_slot_pointers: int
    """Precise pointers into a free slot of a span in use."""
    conservative_free_slots: int
    """The same for words that may be no pointers; expected."""
    unknown_types: int
    """Runtime types that could not be read."""
    unresolved_generics: int
    """Generic types whose instance is not known."""
    frames_not_unwound: int
    """Stacks whose unwinding stopped before the outermost frame."""
    goroutines_skipped: int
    """Goroutines whose stack or state could not be read."""
    conservative_frames: int
    """Frames whose words were all taken for pointers, as the collector
    would do."""
    spans_mid_sweep: int
    """Spans that the sweeper was working on."""
    broken_lists: int
    """Lists of the runtime that were cut off: they loop or do not end."""
    broken_containers: int
    """Maps, channels and the like whose header makes no sense."""
    unknown_locations: int
    """Locations of variables in DWARF that cannot be followed."""
    threads_not_stopped: int
    """Threads that did not stop: their registers are not known."""

class Phases(NamedTuple):  # gr_ledger.phases_us[GR_PHASE_{name}]
    """The microseconds of each phase of a scan, in their order."""

    symbols: int
    estimate: int
    """The first reading of a process that still runs."""
    heap: int
    capture: int
    goroutines: int
    roots: int
    typed: int
    mask: int
    result: int
    """The work after a walk: sums, and names for the cache."""
    output: int

class Ledger(NamedTuple):  # gr_ledger
    """The totals of a walk: allocated, reached, and how reached."""

    allocated: Total
    reached: Total
    """The sum of the next four."""
    typed: Total
    """The type is known from the referrer, by DWARF."""
    runtime_type: Total
    """The type is the runtime's record beside the pointer: interfaces."""
    header: Total
    """The type is in the object's own header."""
    masked: Total
    """Reached by pointer masks only."""
    unreached: Total
    """allocated - reached"""
    folded: Total
    """Reached, and counted on an ancestor's node: the tree was full."""
    gaps: Gaps
    phases_us: Phases  # gr_py_phases_of()
    peak_private_bytes: int
    is_partial: bool
    """The walk ended early: the totals are lower bounds."""
    end_reason: _Text | None
    """The limit that ended it; None: Ctrl-C or the progress callback did."""

class RootTotal(NamedTuple):  # gr_root_total
    """A root, and everything that is billed to it."""

    name: str
    kind: _RootKind
    type: str | None
    """The type of a variable."""
    goroutine_state: _Text | None
    """The state, such as "waiting", for roots on a stack."""
    goroutine_id: int | None
    """Set for roots on a stack, with per_goroutine."""
    file: _Text | None
    """The file that declares the variable."""
    line: int
    total: Total

class TypeTotal(NamedTuple):  # gr_type_total
    """The reached objects of one type."""

    type: str
    total: Total

class ProfileStats(NamedTuple):  # gr_profile_stats
    """The contents of a profile."""

    samples: int
    folded: int
    """Paths that were folded into their parents."""
    total: Total

class Sampling(NamedTuple):  # gr_result_sampling
    """The samples of allocations that a result is made of."""

    rate: int
    """Bytes for each sample; 0: sampling is off."""
    objects: int
    """The number of samples; objects and bytes are estimated from them."""
    is_disabled: bool
    """The linker has left sampling out."""
    is_cut: bool
    """The runtime's records are damaged: some are missing."""

# --------------------------------------------------- rows: target and places

class GoroutineCount(NamedTuple):  # gr_goroutine_count
    """Goroutines in one state that wait for the same reason."""

    state: str
    """Such as "waiting"."""
    wait_reason: str | None
    """Such as "chan receive"."""
    is_system: bool
    """The goroutines are the runtime's own."""
    goroutines: int

class Info(NamedTuple):  # gr_scan_info
    """The opened target."""

    go_version: str
    """Such as "go1.24.4"."""
    gc_phase: str
    """"off", "mark" or "mark termination"."""
    last_gc_ns: int | None  # if has_last_gc
    """When the collector's last cycle ended, on the program's own clock; 0: none
    has. None: not known."""
    pointer_scheme: str
    """The form of the runtime's pointer maps, such as "malloc headers"."""
    exe_path: str
    core_path: str | None
    pid: int | None
    """Set for a process of this machine and for its snapshot."""
    kind: _TargetKind
    saved_path: str | None
    """The file of a saved target."""
    origin: str | None
    """The source of the saved target: "core /tmp/core"."""
    stop: str | None
    """The reason why a saved target stopped, as Scan.save() took it."""
    identity: str | None
    """The process that a saved target was, as Scan.save() took it."""
    saved_s: int
    """When it was saved, in seconds since 1970; else 0."""
    has_values: bool
    """The saved file has all memory."""
    build_id: str | None
    """The build id of the executable."""
    main_module: str | None
    """The path of the main module, if the build information has it."""
    main_path: str | None
    """The import path of the main package, from the same source."""
    dependencies: tuple[str, ...]  # dependencies[]
    """The paths of the modules that it depends on, at most 500."""
    missing_bytes: int
    """Bytes that a truncated core lacks."""
    broken_list: _Text | None
    """The name of the first list that Gaps.broken_lists counts."""
    bad_headers: int
    """Program headers of a core that are lost or make no sense."""
    late_threads: int
    """Threads of a process that did not stop; all others stood still."""
    warnings: tuple[str, ...]  # warnings[]
    """One line each."""
    goroutines: int
    goroutine_counts: tuple[GoroutineCount, ...]
    """The same by state and wait reason, most first."""
    types: int
    """Types known by name."""

class LateThread(NamedTuple):  # gr_process_late
    """A thread that did not stop in time; all others stand still."""

    tid: int
    state: str
    """The letter of /proc/PID/stat: "D" waits in the kernel."""
    has_place: bool
    """Its stack pointer and its system call are known. Its other registers
    are not."""

class Stop(NamedTuple):  # gr_process_stop
    """The outcome of a stop of a process."""

    threads: int
    """The number of threads that stand still."""
    late: tuple[LateThread, ...]
    """The other threads. If there are any, answers are partial."""
    was_stopped: bool
    """A signal such as SIGSTOP had stopped the process before."""
    stop_us: int
    """From the first request to stop until all stood still."""

class Estimate(NamedTuple):  # gr_estimate
    """The cost of a scan; for a core, only that of the tables."""

    copy_bytes: int
    """Memory of the process to copy."""
    table_bytes: int
    """Memory of a walk without its nodes."""
    node_bytes: int
    """Memory of each node of the tree."""
    max_nodes: int
    """More nodes are never needed."""
    graph_bytes: int
    """Memory to make the object graph, beside the tables."""
    read_us: int
    """Time to find out what to copy; the process stands still for it."""
    copy_us: int
    """Time to copy; the process stands still for it."""
    is_rough: bool
    """An upper bound: the heap could not be read while the process ran."""

class Place(NamedTuple):  # gr_place
    """A place in the memory of the target."""

    name: str
    addr: _Addr
    type: int
    """The number of the type at addr; 0xffffffff: not known."""
    is_variable: bool
    """A variable: what it holds is meant."""
    value: _Addr
    """The address that a variable holds; 0: none."""

class Held(NamedTuple):  # gr_held
    """A pointer in a variable, to an object of the heap or a block of C."""

    name: str
    """An expression: the variable, and the way to the pointer."""
    type: str
    """The type of the field or element, such as "*main.T"."""
    addr: _Addr
    """The address that it points to."""
    base_addr: _Addr
    bytes: int
    """The bytes of the object."""
    is_c: bool
    """It is a block of C."""

class Variable(NamedTuple):  # gr_variable
    """A variable, or a part of one, and what its words and those of static
    memory behind it point to."""

    name: str
    type: str
    addr: _Addr
    bytes: int
    held: tuple[Held, ...]
    nothers: int
    """Pointers beyond those in held."""
    is_cut: bool
    """There are words that were not looked at."""

# ------------------------------------------------------ rows: why and verify

class Location(NamedTuple):  # gr_source_place
    """A place in the source."""

    pc: _Addr
    function: str | None
    file: str | None
    line: int

class Label(NamedTuple):  # gr_label
    """A label that runtime/pprof gave to a goroutine."""

    key: str
    value: str

class Goroutine(NamedTuple):  # gr_goroutine_info
    """A goroutine and its places."""

    id: int
    state: str
    """"waiting", "running" ..."""
    wait_reason: str | None
    """"chan receive" ..."""
    is_system: bool
    """The runtime's own."""
    thread_id: int | None
    """The thread that runs it."""
    m_id: _Number | None
    """The runtime's number of that thread: m.id."""
    locked_thread_id: int | None
    """The thread that it is locked to."""
    creator_id: int | None
    """The goroutine that created it; None before Go 1.21."""
    waited_ns: int | None
    """It has waited for at least so long; None: no collection has seen it
    wait."""
    current: Location
    """The innermost call."""
    user: Location
    """The innermost call that is the user's: neither the runtime's, nor
    package sync's, nor that of an internal package."""
    go: Location
    """The go statement."""
    start: Location
    """The goroutine's function."""
    stack_bytes: int
    """In use."""
    stack_size: int
    """Bytes of its stack, used or not."""
    exclusive_bytes: int
    """The bytes that it alone keeps alive; if asked for, and without
    groups."""
    exclusive_c_bytes: int
    """The part of them in blocks of C."""
    labels: tuple[Label, ...] | None  # if not has_unsaved_labels
    """By key. None: it may have labels, and a file without values lacks
    them."""

class StackFrame(NamedTuple):  # gr_stack_frame
    """A call of a stack."""

    function: str | None
    file: str | None
    line: int
    off_bytes: int
    """The offset of the pc in the function that is not inlined."""
    is_inlined: bool

class GoroutineStack(NamedTuple):  # gr_goroutine_stack
    """A goroutine of a profile."""

    goroutine: Goroutine
    sample: int
    """Index in GoroutineProfile.samples."""
    stack_space: int
    """Bytes that are allocated for its stack."""
    is_cut: bool
    """Outer calls are missing: the stack is very deep or damaged."""

class GoroutineSample(NamedTuple):  # gr_py_sample
    """Goroutines that have all calls and labels in common."""

    goroutines: int
    stack_space: int
    """The sum for all of them."""
    frames: tuple[StackFrame, ...]  # gr_py_sample_frames()
    """The innermost first."""

class GoroutineProfile(NamedTuple):  # gr_goroutine_profile
    """The answer of Scan.goroutine_profile()."""

    rows: tuple[GoroutineStack, ...]
    """By id."""
    samples: tuple[GoroutineSample, ...]  # gr_py_profile_samples()
    """In the order of the rows."""
    unproven: int
    """The other goroutines that may have leaked, in a profile of leaked
    ones."""
    gaps: Gaps
    """The gaps of the heap, if it was read."""

class PanicValue(NamedTuple):  # gr_panic_value
    """The value of a panic."""

    text: _Text | None
    """The value as text. The runtime replaces errors, and values with a String
    method, by their texts. None: a file without values does not have it."""
    type: str | None
    is_recovered: bool
    is_repanicked: bool
    """The next panic has the same value."""

class Panic(NamedTuple):  # gr_panic
    """The end of the program."""

    kind: str | None
    """panic; fatal error; signal; panicking: deferred calls still run. None:
    nothing has ended it."""
    goroutine: Goroutine | None  # if has_goroutine
    thread_id: int | None
    fatal_text: str | None
    values: tuple[PanicValue, ...]
    """The oldest first."""
    signal: int
    """The signal that is the cause. 0: none."""
    signal_code: int
    signal_addr: int | None  # if has_signal_addr
    """The address of a fault."""
    signal_pc: _Addr | None
    signal_function: str | None
    """The function of C that has signal_pc. None: it is in Go code, or no symbol
    has it."""
    signal_file: str | None
    """The path of the file that has the C code."""
    deferred: tuple[Location, ...]
    """Functions that have not run, the next first."""

class BucketProfile(NamedTuple):  # gr_bucket_profile
    """The answer of Scan.bucket_profile()."""

    samples: int  # samples.size
    totals: tuple[int, int, int, int]  # gr_py_profile_totals()
    """The sums of the values: objects and bytes allocated, objects and bytes
    in use; or contentions, their delay, 0 and 0."""
    period: int
    """The mean number of bytes between samples of memory."""
    is_cut: bool
    """The list of buckets is damaged: some are missing."""
    is_before_gc: bool
    """No cycle of the collector has ended."""
    is_disabled: bool
    """The linker has left out the profiling of memory."""
    is_off: bool
    """Nothing is sampled at this moment."""
    is_estimated: bool
    """The values are estimated from samples."""
    is_in_ticks: bool
    """The delays are in ticks of the clock, whose length is not known."""

class GoroutineGroup(NamedTuple):  # gr_goroutine_group
    """Goroutines that have something in common."""

    key: str
    """"FILE:LINE in FUNCTION", a state, or all calls with "; " between; for
    "wait" a state and a place; for "waiting-on" what they wait for, named by a
    variable, or by the type and the field that have it."""
    at: Location
    """For "wait": the innermost call that is the user's."""
    goroutines: int
    first: int
    """The first of its rows in GoroutineList.rows."""
    nrows: int
    stack_size: int
    exclusive_bytes: int
    """The bytes that only they keep alive; if asked for."""
    exclusive_c_bytes: int
    """The part of them in blocks of C."""
    nawaited: int  # awaited.count
    """For "waiting-on": how many different things they wait for."""
    awaited: tuple[int, ...]  # gr_py_awaited_addrs()
    """The addresses of the first of these."""

class GoroutineList(NamedTuple):  # gr_goroutine_list
    """The answer of Scan.goroutines()."""

    total: int
    """Goroutines that the filters let through."""
    stack_size: int
    exclusive_bytes: int
    """The sum of those of the groups, or of the goroutines; if asked for."""
    exclusive_c_bytes: int
    """The part of them in blocks of C."""
    shared_bytes: int
    """The bytes that several of them keep alive, and nothing else."""
    shared_c_bytes: int
    """The part of them in blocks of C."""
    knows_c: bool
    """Blocks of C were read, and are counted. An extent that has them is needed
    for a process."""
    rows: Rows[Goroutine]
    """By id; of each group its rows together."""
    groups: Rows[GoroutineGroup]
    """The largest first."""

class CallVariable(NamedTuple):  # gr_call_variable
    """An argument or a local variable of a call."""

    name: str
    type: str
    value: str
    """As Delve prints it, or "(optimized out)"."""
    is_argument: bool
    line: int
    """The line of its declaration; 0: not known."""

class Call(NamedTuple):  # gr_backtrace_call
    """A call of a backtrace."""

    at: Location
    is_inlined: bool
    sp: _Addr
    fp: _Addr
    """The physical frame is [sp, fp)."""
    is_conservative: bool
    """Nothing is known of what lives in the frame."""
    variables: tuple[CallVariable, ...]
    """Arguments first; empty unless asked for."""

class Backtrace(NamedTuple):  # gr_backtrace
    """The calls of one goroutine."""

    goroutine: Goroutine
    calls: tuple[Call, ...]
    """Innermost first."""
    is_cut: bool
    """Outer calls are missing: the stack is very deep or damaged."""

class Wait(NamedTuple):  # gr_wait_info
    """A thing that a goroutine waits for: each case of a select is one."""

    kind: str
    """"channel send", "select receive", "Mutex", "RWMutex write", "sleep",
    "network", "system call", "signal" ..."""
    primitive: _Addr | None
    """Address of the lock or the channel."""
    type: str | None  # name.type
    """"sync.Mutex", "chan main.Job"."""
    path: str | None  # name.path
    """From a package variable or another root: "main.store.mu"."""
    holder_type: str | None  # name.holder_type
    """Type of the object or variable that has the lock: "main.Store"."""
    field: str | None  # name.field
    """The field of the holder: ".mu"."""
    part_of: str | None  # name.part_of
    """The type that uses the lock: "sync.RWMutex", "sync.Once"."""
    count: int  # type: ignore[assignment]
    """Elements in the channel."""
    capacity: int
    is_closed: bool
    value: str | None
    """The value that is sent."""
    due_ns: int | None
    """When a sleep or the timer of a channel ends, in nanoseconds from the
    start of the program."""
    holders: int
    """The number that are not done for a WaitGroup; for a RWMutex, the readers
    that a writer waits for."""
    waiters: int
    """Goroutines that wait for the same thing."""
    is_woken: bool
    """It came, and the goroutine is about to run."""
    number: int | None  # if has_number
    """The number of the system call."""
    is_in_c: bool
    """It called C."""
    descriptor: int | None  # network.descriptor if network.is_known
    """The number of a socket, pipe or terminal, if the wait is for the
    poller."""
    action: str | None  # network.action
    """"read", "write", "accept", "connect"."""
    network: str | None  # network.network
    """"tcp", "udp", "unix"; None: no socket."""
    local: str | None  # network.local
    """"127.0.0.1:80", or a path."""
    remote: str | None  # network.remote
    has_unsaved_addresses: bool  # network.has_unsaved
    """The socket has addresses, but the file was saved without values."""
    awaited_id: int | None
    """The goroutine that a coroutine waits for."""
    is_callee: bool
    """The coroutine began with this goroutine."""

class GoroutineWait(NamedTuple):  # gr_goroutine_wait
    """The things that a goroutine waits for."""

    goroutine: Goroutine
    waits: tuple[Wait, ...]
    """Empty: it does not wait."""
    is_in_bubble: bool
    """It is in a bubble of testing/synctest."""
    bubble_id: int | None

class WaitOwner(NamedTuple):  # gr_wait_owner
    """A goroutine that owns what others wait for, or may."""

    id: int
    is_certain: bool
    """It is proven: by the runtime, by the machine code, or by the object
    graph."""
    is_likely: bool
    """It is certain, or there is more evidence than a pointer."""
    evidence: str
    """A sentence without a subject."""
    state: str
    wait_reason: str | None
    user: Location
    """Where it is."""

class Awaited(NamedTuple):  # gr_wait_group
    """A thing that goroutines wait for."""

    kind: str
    """"mutex", "read lock", "write lock", "wait group", "condition",
    "chan send", "chan receive", "select", "nil chan", "empty select"."""
    addr: _Addr | None
    path: str | None
    """"main.store.mu"."""
    type: str | None
    """The type of the object that it lies in."""
    state: str | None
    """"locked", "counter 1", "full, 10 of 10"."""
    verdict: str | None
    """A sentence for the case that nobody is a likely owner."""
    waiters: int
    senders: int
    """The waiters that would send to it in a select."""
    waited_ns: int | None
    """One of them has waited for at least so long."""
    ids: tuple[int, ...]
    """The ids of the first waiters."""
    user: Location
    """Where the first one waits."""
    owners: tuple[WaitOwner, ...]
    """The likeliest first."""
    reaching: int
    """Goroutines that have a pointer to it."""
    likely: int
    """The part of these that something speaks for."""

class Deadlock(NamedTuple):  # gr_deadlock
    """Goroutines that wait for each other."""

    ids: tuple[int, ...]
    awaits: tuple[int, ...]  # awaits[nids]
    """By goroutine: the index of what it waits for in primitives."""
    owners: tuple[int, ...]  # owner_ids[nids]
    """By goroutine: the member that alone owns that or could use it; 0: several
    could."""
    primitives: tuple[Awaited, ...]
    """Without waiters and owners."""
    is_certain: bool
    """It is proven that none of them goes on."""
    behind: int
    """Others that wait for what they hold, or for one that does."""

class WaitBlocker(NamedTuple):  # gr_wait_blocker
    """A goroutine that keeps others waiting, and waits for no owner itself, or
    is in a cycle with it."""

    owner: WaitOwner
    primitive: Awaited
    """The thing that it owns; if there are several, the one that most wait
    for. It has no waiters and no owners here."""
    behind: int
    """Goroutines that wait for it, or for one that does."""
    depth: int
    """The length of the longest chain that leads to it."""
    is_in_cycle: bool

class Waits(NamedTuple):  # gr_wait_report
    """The answer of Scan.waits()."""

    goroutines: int
    """Goroutines that wait for something of a group."""
    total: int
    """Groups, those left out included."""
    groups: Rows[Awaited]
    """Most waiters first."""
    deadlocks: tuple[Deadlock, ...]
    """Those that most wait for first."""
    blockers: tuple[WaitBlocker, ...]
    """Those that most wait for first."""

class Vertex(NamedTuple):  # gr_vertex_info
    """A vertex of the object graph: an object, a root, a goroutine, a group of
    roots, or the program as a whole."""

    vertex: int
    """Its number, while the graph is kept."""
    kind: str
    """"object", "goroutine", "group", "top"; for a root its kind: "global",
    "local" ..."""
    name: str
    """The type of an object; the variable of a root; "goroutine 7
    (main.serve)" for a goroutine."""
    type: str | None
    """The type of an object or a variable."""
    addr: _Addr | None
    """The address of an object or a variable."""
    bytes: int
    """The size of an object's memory; else 0."""
    is_c: bool
    """It is a block of C, or what holds one in C code."""
    is_leaked: bool
    """It is a block of C that was not reached."""
    retained_bytes: int
    """The bytes that only this vertex keeps alive, itself included; 0 if it is
    leaked."""
    retained_c_bytes: int
    """The part of them in blocks of C."""
    goroutine_id: int | None
    """The id of a goroutine, also for its roots."""

class GraphPhases(NamedTuple):  # gr_graph_phases.{name}
    """The microseconds that it took to make the object graph. Zeros if there
    is none yet."""

    masks_us: int
    edges_us: int
    nearest_us: int
    reverse_us: int
    dominators_us: int

class NamedLink(NamedTuple):  # gr_named_link
    """A pointer from one vertex to another."""

    name: str
    """The field or element of an object: ".next", "[3].key"; for a root the
    text that follows its name. Empty if the variable itself is the pointer."""
    addr: _Addr | None
    """The address of the word; None for a register."""
    off_bytes: int
    """The offset of the word in the object or variable."""

class FieldInfo(NamedTuple):  # gr_field_info
    """A field of a struct."""

    name: str
    offset: int
    """In bytes."""
    type: int
    """The number of its type."""
    is_embedded: bool
    """The field is embedded: its own fields are promoted."""

class TypeInfo(NamedTuple):  # gr_type_info
    """A type of the program."""

    name: str
    kind: str
    """"bool", "int", "uint", "float", "complex", "string", "slice", "array",
    "struct", "pointer", "map", "chan", "func", "interface", "unsafe pointer";
    "unknown" for types of C and for damaged types."""
    size: int
    """In bytes."""
    elem: _TypeId | None
    """The number of the type of the elements of an array, a slice, a channel
    or a map, or of the target of a pointer."""
    key: _TypeId | None
    """The number of the type of the keys of a map."""
    length: int
    """The length of an array; else 0."""
    has_itab: bool
    """The type is an interface with methods."""
    fields: tuple[FieldInfo, ...]

class DynamicType(NamedTuple):  # gr_dynamic_type
    """The type of the value in an interface."""

    type: _TypeId | None
    """None: unknown."""
    is_direct: bool
    """The data word is the value itself, not a pointer to it."""

class ValuePlace(NamedTuple):  # gr_value_place
    """Where the value of an object or of a root lies."""

    form: str
    """"value": a value of the type; "array": `length` values of the type;
    "text": `length` bytes of a string; "header": the header to which a map or
    channel of this type points; "target": the target of a pointer to the type;
    "piece": a part of a map, a channel or a closure; "unknown": the type is
    not known."""
    type: _TypeId | None
    """The number of the type."""
    addr: _Addr | None
    """None: the value was in registers or in pieces."""
    length: int
    """The number of values or bytes, for "array" and "text"; else 0."""
    content: bytes | None  # bytes[nbytes]
    """The bytes of a value that was in registers or in pieces."""

class LocalValue(NamedTuple):  # gr_local_value
    """An argument or a local variable of a call."""

    call: int
    """0: the innermost."""
    name: str
    type: _TypeId | None
    """The number of the type; None: not known."""
    state: str
    """"there"; "optimized out"; "unreadable": the variable was moved to the
    heap, and the pointer to it cannot be read."""
    addr: _Addr | None
    """None: the value was in registers or in pieces, or is missing."""
    content: bytes | None  # bytes[nbytes]
    """The bytes of a value that was in registers or in pieces."""
    is_argument: bool
    line: int
    """The line of its declaration; 0: unknown."""

class GraphSize(NamedTuple):  # gr_graph_size
    """Numbers of vertices: objects are below `objects`, roots behind them and
    below `roots_end`."""

    objects: int
    roots_end: int
    vertices: int

class Dominator(NamedTuple):  # gr_dominator
    """A row of the dominator tree: a vertex, or children of one row that are
    merged: objects of one type, roots of one name, goroutines with the same
    first function."""

    name: str
    kind: str
    """As of Vertex."""
    type: str | None
    """The type of objects or a variable."""
    addr: _Addr | None
    """The address of a single object or variable."""
    goroutine_id: int | None
    """The id of a single goroutine or that of its root."""
    depth: int
    """0: the first row."""
    vertices: int
    """How many are merged in it."""
    objects: int
    """The same if they are objects; else 0."""
    bytes: int
    """The bytes of these objects themselves."""
    retained_bytes: int
    """The bytes that they keep alive, themselves and C memory included."""
    retained_c_bytes: int
    """The part of it in blocks of C."""
    cut: int
    """Rows directly below that are left out."""
    cut_bytes: int
    """The bytes that these keep alive, C memory included."""
    cut_c_bytes: int
    """The part of them in blocks of C."""

class Dominators(NamedTuple):  # gr_dominators
    """The vertices that keep most alive."""

    reached_bytes: int
    """With C memory."""
    reached_c_bytes: int
    rows: tuple[Dominator, ...]
    """Parents before children, most retained bytes first. The first row is
    the program, or everything that was asked for; there is none if that keeps
    nothing alive. A row's own bytes, the retained bytes of the rows directly
    below it and its cut_bytes add up to its retained bytes."""
    asked: tuple[Dominator, ...]
    """The vertices that were asked for, one by one."""
    together: Total
    """The objects that all of these keep alive together."""
    together_c_bytes: int
    """The part of them in blocks of C."""
    gaps: Gaps
    """The gaps of the target and of the walk."""

class SuspectHop(NamedTuple):  # gr_suspect_hop
    """A reference of the path to an accumulation point."""

    vertex: Vertex
    step: str | None
    """The field or element that leads to it: ".next", "[3]"."""

class SuspectContent(NamedTuple):  # gr_suspect_content
    """Objects of one type that accumulate."""

    type: str
    objects: int
    bytes: int
    """With what each of them keeps alive alone, C memory included."""
    c_bytes: int
    """The part of it in blocks of C."""

class Suspect(NamedTuple):  # gr_suspect_info
    """A holder, or many alike, that keep much of the heap alive."""

    kind: str
    """"holder"; or many alike: "objects", "goroutines", "roots"."""
    name: str
    objects: int
    """How many alike; 1 for a holder."""
    retained_bytes: int
    """With C memory."""
    retained_c_bytes: int
    """The part of it in blocks of C."""
    resident_bytes: _Known | None
    """The part of them that is resident; None: not known."""
    accumulation_point: str
    """As text: "map[string]*main.T in main.cache"."""
    at: Vertex
    """The same as a vertex."""
    is_chain: bool
    """A list: each element holds the rest."""
    holder: Vertex
    """The one that retains most, if there are many alike."""
    created_by: str | None
    """The function that started the goroutines."""
    hops: tuple[SuspectHop, ...]
    """From a root to the accumulation point, both included."""
    hops_left_out: int
    """The hops that are left out in the middle of a very long path."""
    contents: tuple[SuspectContent, ...]
    """The objects that accumulate, most bytes first."""

class RssClass(NamedTuple):  # gr_rss_row
    """A class of resident memory."""

    name: str
    text: str
    bytes: int

class Collector(NamedTuple):  # gr_collector
    """The garbage collector's settings; None: not known."""

    gogc: _Known | None
    """Percent; -1: off."""
    memory_limit: _Known | None
    """Bytes; 2**63 - 1: none."""
    goal_bytes: _Known | None
    """The heap at which the next cycle ends, by GOGC alone."""

class Rss(NamedTuple):  # gr_rss
    """Where the resident memory is: the classes add up to total_bytes."""

    residency: str
    """"exact", "anonymous" or "unknown"."""
    classes: tuple[RssClass, ...]  # rows[GR_NRSS_CLASSES]
    total_bytes: int
    """The bytes of the resident pages; if residency is not exact, those of the
    pages that the core has."""
    anonymous_bytes: int
    """The part of them in pages that belong to no file."""
    allocated_bytes: int
    """Slots of the Go heap in use, resident or not."""
    garbage_bytes: int
    """Those of them that are not reached."""
    returnable_bytes: _Known | None
    """Resident free pages that the scavenger could give back; None: not
    known."""
    untouched_bytes: _Known | None
    """The part of allocated_bytes in pages that were never touched; None: not
    known."""
    collector: Collector
    gaps: Gaps

class TraceOffset(NamedTuple):  # gr_trace_offset
    """The place of a field of runtime.g or runtime.m."""

    name: str
    """As of goref-trace's line `offset`: g_m, m_curg, ..."""
    bytes: int

class TraceModule(NamedTuple):  # gr_trace_module
    """The text of a Go module and its tables, by address at run time."""

    text: _Addr
    etext: _Addr
    pclntable_addr: _Addr
    pclntable_bytes: int
    pctab_addr: _Addr
    pctab_bytes: int
    ftab_addr: _Addr
    ftab_count: int
    """Entries of 8 bytes; the last one ends the others."""
    text_start: _Addr
    """The entries of ftab are relative to it."""

class TraceProbe(NamedTuple):  # gr_trace_probe
    """Where a probe sees the allocations that the runtime samples."""

    addr: _Addr
    place: Literal["past_check", "at_check", "entry"]
    """Behind the check of the stack; at its jump, to which a call comes twice if
    the stack grows; or at the entry, where the kernel needs longer."""
    pointer_register: int
    """The register that has the object, and that of its size, by DWARF's
    numbers."""
    size_register: int

class TraceFacts(NamedTuple):  # gr_trace_facts
    """The facts about a program that goref-trace needs."""

    offsets: tuple[TraceOffset, ...]
    sweepgen_addr: int
    """The place of runtime.mheap_.sweepgen. A collection changes it before what
    it has found is freed."""
    tls_g: _Known | None
    """From a thread's fs_base to the word that has its g; None: not known."""
    modules: tuple[TraceModule, ...]
    probe: TraceProbe | None  # if has_probe
    profiling: Literal["on", "off", "removed", "unknown"]
    """Does the runtime sample allocations? "removed": the linker has switched
    that off."""
    profile_rate: _Known | None
    """Bytes a sample (MemProfileRate); None: not known."""

class AllocFunction(NamedTuple):  # gr_alloc_function
    """A function of an allocator of C or C++, in a process that runs."""

    name: str
    """The one of its names that is preferred."""
    kind: Literal[
        "malloc",
        "calloc",
        "realloc",
        "reallocarray",
        "aligned",
        "posix_memalign",
        "new",
        "free",
        "mmap",
        "munmap",
    ]
    """The function of C that has its arguments in the same places. "aligned" is
    aligned_alloc(), "new" is malloc() that may throw."""
    addr: _Addr
    """The instruction to probe: a call comes there once, and it has its
    arguments there. The return address is at the top of the stack, unless the
    kind is "free" or "munmap"."""
    place: Literal["emulated", "entry"]
    """"entry": the kernel needs longer, because it does not emulate the
    instruction."""
    object: _Path
    is_walked: bool
    """The heap is glibc's: the walk of it tells which blocks are free. mmap()
    has no heap."""

class AllocSampler(NamedTuple):  # gr_alloc_sampler
    """An object with the static probe otel_memory:alloc."""

    object: _Path
    addr: _Addr
    """In an executable mapping of the object."""

class AllocFunctions(NamedTuple):  # gr_alloc_functions
    """The answer of Scan.alloc_functions()."""

    functions: tuple[AllocFunction, ...]
    """By their addresses."""
    samplers: tuple[AllocSampler, ...]
    left_out: int
    """Functions and samplers beyond a limit."""
    unreadable_objects: int
    """Files that the process executes and that cannot be read."""

class TraceCall(NamedTuple):  # gr_logical_frame
    """A Go call at a pc of a process that runs."""

    function: str
    file: str | None
    line: int
    """0: not known."""
    is_inlined: bool

class GrowthTick(NamedTuple):  # gr_growth_tick
    """The resident memory of a process at one moment."""

    classes: tuple[RssClass, ...]  # rows[nrows]
    """Those that have pages. Names are as of Rss, but all spans in use are
    "go_heap"."""
    total_bytes: int
    """The sum of the classes: the pages that were found."""
    rss_bytes: int
    """The same as smaps counts it, which is read a moment before. It differs
    if the process changes meanwhile."""
    residency: Literal["exact", "anonymous"]
    new_bytes: int  # flow.new_bytes
    """Pages that are resident now, and were not at the last tick, or have been
    replaced."""
    gone_bytes: int  # flow.gone_bytes
    unattributed_bytes: int  # flow.unattributed_bytes
    """The part of new_bytes for which no event tells a stack."""
    tracked_bytes: int
    """Pages that are new since the first tick, and resident."""
    untouched_bytes: int
    """Memory that was mapped since the first tick, can be written to, and was
    not touched."""
    untouched_left_out_bytes: int
    """Such memory in small ranges that were left out, being too many."""
    mapped_left_out_bytes: int
    """Memory that was mapped in small ranges, of which each one's pages count
    as those of no mapping, as there were too many."""
    has_left_out_stacks: bool
    """Threads had too many stacks: some have the class of other memory."""
    lost_events: int
    """Events for which there was no room, since the first tick."""
    has_spans: bool
    """False: the heap changed too fast to read its spans. All of its arenas
    are "go_heap" then."""
    bad_spans: int
    """Spans that were left out, because they were changing."""
    cost_us: int

class GrowthStack(NamedTuple):  # gr_growth_stack
    """Pages of one class that one stack has made resident, or mapped."""

    stack: int
    """The id of the stack in the events; 0: none is known."""
    class_name: str  # class
    class_text: str
    """The same in words."""
    bytes: int

class GrowthMapping(NamedTuple):  # gr_mapping_class
    """A mapping that has resident pages, and the class of most of them."""

    start: _Addr
    end: _Addr
    class_name: str  # class
    """As of Rss, but "go_heap", "go_runtime" and "c_heap" are each one
    class."""
    class_text: str
    """The same in words."""

class GrowthGroup(NamedTuple):  # gr_growth_group
    """Memory in the pages of a growth that has all of this in common."""

    stack: int
    """The id of the stack that touched the pages; 0: none is known."""
    class_name: str  # class
    """As of GrowthTick."""
    rss_class: str
    """The class of Rss, which tells live objects from garbage, and blocks of C
    by what holds them."""
    class_text: str
    """The same in words."""
    type: _Text | None
    """The type of objects and of blocks; None: not known."""
    site: _Text | None
    """The innermost call that has allocated it, if the runtime has sampled
    that."""
    holder: _Text | None
    """The variable, goroutines or group at the start of the nearest path to an
    object or a block, or to a pointer into a mapping; the goroutines of a
    stack; the variable that has the pages of data, or `bss of libfoo.so`;
    "nobody"; or None."""
    bytes: int

class GrowthPages(NamedTuple):  # gr_growth_pages
    """The answer of Scan.growth_pages(). The bytes of all groups, those that
    are left out and those that are gone add up to the pages."""

    groups: Rows[GrowthGroup]
    """The most bytes first."""
    all_groups: int
    rest_bytes: int
    """Those of groups that are left out."""
    gone_bytes: int
    """Pages that are not resident any more."""
    coarse_bytes: int
    """Those that came when there were too many groups: they have neither type
    nor holder."""
    untouched_bytes: _Known | None
    """At least so much of the slots of the Go heap in use, also of those from
    before, lies in pages that were never touched; None: not known."""
    gaps: Gaps

class GrowthSample(NamedTuple):  # gr_growth_sample
    """An object that the runtime has sampled, and has not freed since."""

    address: _Addr
    """As the runtime had it: where the object begins."""
    type: _Text | None
    """None: not known."""
    holder: _Text | None
    """The variable, goroutines or group at the start of the nearest path to it;
    None: not known, or it is not reached."""
    is_reached: bool
    """False: garbage that the runtime has not freed yet."""
    bytes: int
    """Those of its slot. Tiny objects share one."""

class GrowthSamples(NamedTuple):  # gr_growth_samples
    """The answer of Scan.growth_samples()."""

    rows: Rows[GrowthSample]  # rows[nrows]
    """In the order of the addresses. Those of objects that are gone have none,
    nor has an address that comes again."""
    is_known: bool
    """False: the executable does not tell which objects are sampled. There are
    no rows then, and that says nothing of what has survived."""
    gaps: Gaps

class GrowthBlock(NamedTuple):  # gr_growth_block
    """Memory of C that was recorded when it was allocated, and is not freed as
    far as can be proven."""

    index: int
    """The record's."""
    state: Literal["in_use", "mapped", "unknown"]
    """"in_use": a block of a checked arena begins at the address, or holds it
    where its arena aligns inside of blocks (mimalloc), and has room for the
    bytes. "mapped": all of it is mapped, from the start of a page on, and is
    neither an allocator's nor Go's nor a file's that the program runs.
    "unknown": no walk tells."""
    bytes: int
    """Those from the address on that the program may use; else those of the
    record."""
    resident_bytes: _Known | None
    """The part of these in memory; None: not known."""
    block_bytes: int
    """Those of the block as its allocator counts them, as in Native.sizes;
    0: the state is not "in_use"."""
    is_held: bool | None  # if is_held_known
    """A path leads to the block, or a pointer into what is mapped; False: it
    is proven that none does, as for Scan.native_leaks(), which it never is of
    what is mapped; None: not known."""
    holder: _Text | None
    """The variable, goroutines or group at the start of the nearest path, as of
    GrowthGroup; "nobody" if is_held is False; None: not known."""
    type: _Text | None
    """None: not known."""
    goroutine_id: int
    """The goroutine at which that path begins: that of a frame, of the stack
    or the registers of a call of C; or the one that is to run a finalizer or a
    cleanup that is queued. 0: none, or not known."""

class GrowthBlocks(NamedTuple):  # gr_growth_blocks
    """The answer of Scan.growth_blocks()."""

    rows: Rows[GrowthBlock]  # rows[nrows]
    """In the order of the records. Those of blocks that are freed for certain
    have none: no block in use begins at the address, or it is too small, or
    nothing is mapped there."""
    is_known: bool
    """False: the target does not tell what is mapped. There are no rows then,
    and that says nothing of what is freed."""
    gaps: Gaps

class NativeSize(NamedTuple):  # gr_native_size
    """Blocks of C of one size."""

    bytes: int
    """Those of each block, its header included."""
    blocks: int

class NativeArena(NamedTuple):  # gr_native_arena
    """An arena of a C allocator, or the sums of several. in_use_bytes,
    free_bytes and other_bytes add up to mapped_bytes; headers are included."""

    addr: _Addr | None
    """None for blocks that are mapped one by one, and for sums."""
    kind: str | None
    """"main", "thread" and so on; "mmap": its blocks are mapped one by one;
    None for sums."""
    is_checked: bool
    """The counters of the allocator agree with what was found."""
    reason: str | None
    """Why they do not, as the rest of a sentence."""
    bytes_counter: str | None
    """The name of a counter of the allocator."""
    blocks_counter: str | None
    counted_bytes: _Known | None
    """The value of the counter."""
    counted_blocks: _Known | None
    found_bytes: int
    """The same as goref found it."""
    found_blocks: int
    in_use_blocks: int
    in_use_bytes: int
    free_blocks: int
    free_bytes: int
    cached_bytes: int
    """The part of free_bytes in caches of threads and in fast bins."""
    top_bytes: int
    """The part of free_bytes at the end of the arena."""
    trimmable_bytes: int
    """The resident memory that the allocator would give back on request;
    with glibc, by malloc_trim(3)."""
    largest_free_bytes: int
    """The largest free block, the end of the arena left out."""
    other_bytes: int
    """Structures of the allocator, and memory of others in its range."""
    mapped_bytes: int
    resident_bytes: _Known | None
    free_resident_bytes: _Known | None
    """The resident part of free_bytes."""

class NativeHeap(NamedTuple):  # gr_native_heap
    """A C allocator of the program."""

    name: str
    """"glibc"."""
    version: str
    """"" if it is not known."""
    is_checked: bool
    """All of its arenas are."""
    refusal: str | None
    """Why it cannot be read, as the rest of a sentence that begins with its
    name and version; it has no arenas then."""
    arenas: tuple[NativeArena, ...]  # arenas[narenas]
    sum: NativeArena

class Native(NamedTuple):  # gr_native_report
    """The memory of the C allocators."""

    is_expected: bool
    """The program has libraries of C, so that it may have C memory; or its
    files are not known."""
    is_known: bool
    """False: the target does not tell what is mapped."""
    heaps: tuple[NativeHeap, ...]  # heaps[nheaps]
    sizes: tuple[NativeSize, ...]  # sizes[nsizes]
    """Blocks in use, most bytes first."""
    gaps: Gaps

class NativeLeak(NamedTuple):  # gr_native_leak
    """Leaked blocks of C of one size, and of one type or content."""

    blocks: int
    bytes: int
    """Those of all of them."""
    size: int
    """The bytes of each, its header included."""
    heads: int
    """Those that no other leaked block leads to."""
    type: str
    """The type of the blocks, or ""."""
    content: str
    """The variable that a word of a block leads to, by its symbol; "" if no
    word tells."""
    library: str
    """The file of the symbol, or ""."""
    example: _Addr
    """The address of a block."""
    vertex: int
    """That of the example."""
    beside: str
    """The type of Go, or the root, whose blocks lie beside at least half of
    these, or ""."""
    beside_blocks: int
    """Those with a block of it beside them."""

class NativeLeaks(NamedTuple):  # gr_native_leaks
    """Blocks of C that nothing holds."""

    is_known: bool
    """False: no allocator was found, or the target does not tell what is
    mapped."""
    leaked_blocks: int
    leaked_bytes: int
    in_use_blocks: int
    """All blocks of arenas that are checked."""
    in_use_bytes: int
    unchecked_arenas: int
    """Their blocks count as held."""
    missing_bytes: int
    """Memory that may hold pointers to blocks, and is not at hand."""
    groups: tuple[NativeLeak, ...]  # groups[ngroups]
    """Most bytes first."""
    gaps: Gaps

class KeptByCGroup(NamedTuple):  # gr_kept_by_c_group
    """References of one kind that are kept for C, to Go objects of one
    type."""

    by: str
    """"cgo.Handle" or "runtime.Pinner"."""
    type: str
    """That of the handle's value, or of the pinned object."""
    references: int
    """Handles, or pins."""
    objects: int
    """The Go objects that these lead to, each once."""
    bytes: int
    """Those of the objects themselves."""
    retained_bytes: int
    """Go and C: what only the references of the group hold.
    The table and the Pinners themselves are not counted."""
    retained_c_bytes: int
    """The part in blocks of C."""
    example: _Addr | None
    """The address of one of the objects."""

class KeptByC(NamedTuple):  # gr_kept_by_c
    """The Go objects that cgo.Handle and runtime.Pinner keep alive for C."""

    is_known: bool
    """False: the program uses cgo.Handle, but nothing tells where its table is,
    or how it is read. What is pinned is known in any case."""
    references: int
    objects: int
    """Each once, whatever the groups."""
    bytes: int
    retained_bytes: int
    """Go and C: what only these references hold."""
    retained_c_bytes: int
    all_groups: int
    groups: tuple[KeptByCGroup, ...]  # groups[ngroups]
    """Most retained bytes first; 1000 at most."""
    gaps: Gaps

class Suspects(NamedTuple):  # gr_suspect_report
    """The suspects of a heap. They do not overlap."""

    reached_bytes: int
    """With C memory."""
    reached_c_bytes: int
    """The part of it in blocks of C."""
    min_bytes: int
    """The least that a suspect retains here."""
    runtime_bytes: int
    """The bytes that only the runtime keeps alive; it is no suspect."""
    runtime_c_bytes: int
    """The part of them in blocks of C."""
    residency: str
    """"exact"; "anonymous": resident bytes are upper bounds; "unknown"."""
    suspects: tuple[Suspect, ...]  # suspects[count]
    """Most bytes first."""
    largest_name: str | None
    """The holder that retains most, suspect or not."""
    largest_bytes: int
    """With C memory."""
    largest_c_bytes: int
    """The part of it in blocks of C."""
    gaps: Gaps

class WasteRow(NamedTuple):  # gr_waste_row
    """Memory that could be saved by one change."""

    check: str
    bytes: int
    """Those of slots that would be saved if this were the only change. 0: the
    advice saves nothing by itself, or the number is not known."""
    count: int
    """Objects, maps, goroutines ... that waste them."""
    type: str | None
    """The struct, variable, function or package to change; None: the finding is
    about the whole program."""
    field: str | None
    """The field in it: ".name", ".cache[]"."""
    example: _Addr | None
    """The address of one of them."""
    advice: str
    """A sentence that says what to do."""

class WasteAsked(NamedTuple):  # gr_waste_asked
    """The fate of a check."""

    check: str
    why_not: str | None
    """None: it was answered."""
    needs_values: bool

class Waste(NamedTuple):  # gr_waste
    """Memory that could be saved without changing what the program does."""

    rows: tuple[WasteRow, ...]
    """Most bytes first, then by check."""
    total_bytes: int
    """The sum of the rows; what two of them would both save counts once."""
    heap_bytes: int
    """Slots of the objects that are reached."""
    heap_objects: int
    stack_bytes: int
    """Stacks of all goroutines, which are no part of heap_bytes."""
    small_rows: int
    """Rows below min_share."""
    small_bytes: int
    """The sum of their bytes."""
    broken_views: int
    """Slices and strings whose lengths make no sense; they count as the whole
    array."""
    crowded_arrays: int
    """Objects with too many separate views; they count as fully used."""
    asked: tuple[WasteAsked, ...]
    """The checks that were asked for, in their order."""
    gaps: Gaps

class CardLink(NamedTuple):  # gr_card_link
    """A reference from or to the object of a card."""

    vertex: Vertex
    """The object or root at the other end."""
    name: str | None
    """The field or element with the pointer: ".next", "[3]"."""

class Card(NamedTuple):  # gr_card
    """An object, and what a page shows of it."""

    vertex: Vertex
    resident_bytes: _Known | None
    """The part of it that is resident; None: not known."""
    fields: tuple[CardLink, ...]
    """The first references to the objects that retain most."""
    references: int
    """All of them."""
    hops: tuple[SuspectHop, ...]
    """From a root to the object, both included."""
    hops_left_out: int
    """The hops that are left out in the middle of a long path."""
    holders: tuple[CardLink, ...]
    """Those that refer to it and retain most."""
    referrers: int
    """All of them, without garbage."""

class CardGroup(NamedTuple):  # gr_card_group
    """The largest objects of a type or of a suspect."""

    cards: tuple[int, ...]
    """Indexes of Cards.cards, most retained bytes first."""

class Cards(NamedTuple):  # gr_cards
    """The largest objects of types and suspects."""

    cards: tuple[Card, ...]
    types: tuple[CardGroup, ...]
    """In the order of the question."""
    suspects: tuple[CardGroup, ...]
    """In the order of Scan.suspects()."""
    gaps: Gaps

class TypeHolder(NamedTuple):  # gr_type_holder
    """The objects of a type that roots of one name and kind hold."""

    name: str
    kind: str
    objects: int
    bytes: int

class TypeHolding(NamedTuple):  # gr_type_holding
    """Who holds the objects of one type: the rows and the rest add up."""

    type: str
    objects: int
    bytes: int
    holders: tuple[TypeHolder, ...]
    """Most bytes first."""
    left_out: int
    """Holders behind these."""
    left_out_objects: int
    left_out_bytes: int

class TypeHolders(NamedTuple):  # gr_type_holders
    """Who holds the objects of types."""

    types: tuple[TypeHolding, ...]
    """In the order of the question."""
    gaps: Gaps

class LeakGroup(NamedTuple):  # gr_leak_group
    """Goroutines that wait for the same reason, in the same line, and that the
    same go statement has created."""

    verdict: str
    """ "leaked"; "unknown wait" or "missing memory": unproven."""
    goroutines: int
    at: Location
    """The innermost call that is the user's."""
    start: Location
    """The goroutines' function."""
    go: Location
    """The go statement."""
    wait_reason: str | None
    awaited: str | None
    """"channel", "Mutex" ...; None: nothing, or it is not known."""
    element_type: str | None
    """The type of a channel's elements, by the first goroutine."""
    nawaited: int
    """Different channels, locks ..."""
    retained_bytes: int
    """The bytes that a mark without the goroutines' stacks, g's and sudogs
    loses."""
    retained_c_bytes: int
    """The part of them in blocks of C."""
    retained_objects: int
    stack_bytes: int
    """The bytes of their stacks, which are no objects."""
    first: int
    """Their ids are Leaks.ids[first : first + nids]."""
    nids: int

class LeakIgnored(NamedTuple):  # gr_leak_ignored
    """The goroutines that a pattern has left out of everything but
    Leaks.goroutines and Leaks.blocked."""

    blocked: int
    """Goroutines that wait for a channel, in a select, or for package sync."""
    leaked: int
    """The part of these that have leaked."""

class BlockedPlace(NamedTuple):  # gr_blocked_place
    """Blocked goroutines that wait for the same reason in the same line."""

    at: Location
    """The innermost call that is the user's."""
    wait_reason: str | None
    goroutines: int
    leaked: int
    """The part of these that have leaked."""

class Leaks(NamedTuple):  # gr_leak_report
    """Goroutines that can never wake."""

    goroutines: int
    """Without the runtime's own."""
    blocked: int
    """Those that wait for a channel, in a select, or for package sync."""
    leaked: int
    unproven: int
    knows_c: bool
    """Blocks of C were read, and are counted. An extent that has them is needed
    for a process."""
    retained_bytes: int
    """The bytes that all leaked goroutines keep alive together."""
    retained_c_bytes: int
    """The part of them in blocks of C."""
    retained_objects: int
    stack_bytes: int
    groups: tuple[LeakGroup, ...]
    """Those that leaked first, most retained bytes first."""
    ids: tuple[int, ...]
    ignored: tuple[LeakIgnored, ...]
    """By pattern."""
    places: tuple[BlockedPlace, ...]
    """Where goroutines are blocked that are not ignored, most first."""
    gaps: Gaps

class StuckGroup(NamedTuple):  # gr_stuck_group
    """Objects of one type with finalizers, or with cleanups, that can never
    run: what these need keeps the object alive, and nothing else does."""

    kind: str
    """"finalizer" or "cleanup"."""
    type: str
    objects: int
    retained_bytes: int
    """The bytes that only the group's own finalizers or cleanups hold."""
    retained_c_bytes: int
    """The part of them in blocks of C."""
    retained_objects: int
    example: _Addr
    """The address of one of the objects."""

class FinalizerRunner(NamedTuple):  # gr_finalizer_runner
    """A goroutine of the runtime that runs finalizers or cleanups."""

    runs: str
    """"finalizers" or "cleanups"; until Go 1.24, it runs both."""
    doing: str
    """"idle", "running", "waiting" (it sleeps, or waits for the network or the
    runtime), "in a system call", "in C", "blocked" (it waits for a channel or
    for package sync)."""
    goroutine: Goroutine
    call: Location
    """The call that the runtime has made: the finalizer or the cleanup."""
    awaits: tuple[Awaited, ...]
    """If it is blocked: what it waits for, with the owners."""

class Pool(NamedTuple):  # gr_pool
    """A sync.Pool."""

    addr: _Addr
    path: str | None
    """"main.buffers"; None: it lies in no package variable."""
    retained_bytes: int
    """The bytes that only this pool holds: its tables, and what is in it."""
    retained_c_bytes: int
    """The part of them in blocks of C."""

class Finalization(NamedTuple):  # gr_finalization
    """The answer of Scan.finalization()."""

    queued_finalizers: int
    """Finalizers that are to run: their objects are garbage. One that runs now
    is not among them."""
    queued_cleanups: int
    knows_c: bool
    """Blocks of C were read, and are counted. An extent that has them is needed
    for a process."""
    queue_bytes: int  # finalizers.queue_bytes
    """The bytes that only queued finalizers and cleanups hold, one that the
    runtime has not taken off the queue while it runs included."""
    queue_c_bytes: int  # finalizers.queue_c_bytes
    """The part of them in blocks of C."""
    queue_objects: int  # finalizers.queue_objects
    heap_bytes: int  # finalizers.heap_bytes
    """The bytes of all objects that are reached, blocks of C included."""
    heap_c_bytes: int  # finalizers.heap_c_bytes
    """The part of them in blocks of C."""
    runners: tuple[FinalizerRunner, ...]
    """Those that are blocked first; none: none was ever needed."""
    stuck: int  # finalizers.stuck
    """Objects whose finalizers or cleanups can never run."""
    stuck_bytes: int  # finalizers.stuck_bytes
    """The bytes that would be garbage without these."""
    stuck_c_bytes: int  # finalizers.stuck_c_bytes
    """The part of them in blocks of C."""
    stuck_groups: tuple[StuckGroup, ...]  # finalizers.groups[finalizers.ngroups]
    """Most bytes first."""
    has_pools: bool  # pools.is_known
    """The pools were asked for, and the layout of a sync.Pool is known."""
    pools: int  # pools.pools
    """Pools that are in use."""
    pool_bytes: int  # pools.retained_bytes
    """The bytes that only pools hold, all together."""
    pool_c_bytes: int  # pools.retained_c_bytes
    """The part of them in blocks of C."""
    pool_rows: tuple[Pool, ...]  # pools.rows[pools.nrows]
    """Most bytes first."""
    gaps: Gaps

class SchedulerP(NamedTuple):  # gr_scheduler_p
    """A P of the scheduler."""

    id: int
    status: str
    """idle, running, in a system call, stopped, dead, or ?"""
    m_id: _Number | None
    running: int | None
    """The goroutine that its M runs."""
    next_id: int | None
    """The goroutine that is to run next."""
    queued: int
    """Runnable goroutines in its queue, the next one included."""
    schedtick: int
    syscalltick: int
    same_ns: int | None
    """It has run the same goroutine for at least so long."""
    mark_worker: str | None
    """dedicated, fractional or idle, if it runs a worker of the collector."""
    is_asked: bool
    """The runtime has asked it to preempt what it runs."""
    stops_world: bool
    """Its M stops the world, or has stopped it."""
    is_awaited: bool
    """The world cannot stop before it does."""

class SchedulerM(NamedTuple):  # gr_scheduler_m
    """An M of the scheduler: a thread."""

    id: _Number | None
    thread_id: int | None
    state: str
    """running, idle, spinning, in a system call, in C ..."""
    p_id: _Number | None
    running: int | None
    """The goroutine that it runs."""
    wait_reason: str | None
    """The wait reason of that goroutine."""
    at: Location
    """Where that goroutine is, in the user's code."""
    start_function: str | None
    """The function that the thread began with, such as runtime.sysmon; None:
    the scheduler."""
    number: int | None  # if has_number
    """The number of the system call that the thread is in."""
    locked: int | None
    """The goroutine that has locked it."""
    mallocing: int
    throwing: int
    locks: int
    dying: int
    ncgo: int
    is_spinning: bool
    is_blocked: bool
    is_extra: bool

class Scheduler(NamedTuple):  # gr_scheduler
    """Ps, Ms, run queues, and who stops the world."""

    is_known: bool
    """The target has runtime.sched; if not, its numbers are 0."""
    gomaxprocs: int | None
    ncpu: int | None
    queued: int
    """Runnable goroutines in the global queue."""
    queue_head: int | None
    """The first goroutine of the global queue."""
    idle_ps: int
    idle_ms: int
    idle_locked_ms: int
    spinning_ms: int
    runnable: int
    """Goroutines that are runnable, by their state."""
    needs_spinning: bool
    is_stopping: bool
    """The world is being stopped, or has been: stop_wait is 0 then."""
    stop_wait: int
    """Ps that have not stopped yet."""
    is_freezing: bool
    """The program is ending: all Ps were asked to stop, and none is awaited."""
    safe_point_wait: int
    is_sysmon_asleep: bool
    is_user_disabled: bool
    """Only the runtime's own goroutines may run."""
    disabled: int
    phase: str
    """The phase of the collector: off, mark, mark termination, or ?"""
    cycles: int
    """Collections that have begun."""
    poll_waiters: int
    """Goroutines that wait for the poller."""
    ps: tuple[SchedulerP, ...]
    ms: tuple[SchedulerM, ...]

class HistogramRow(NamedTuple):  # gr_histogram_row
    """Objects that have a key in common."""

    key: str
    objects: int
    bytes: int
    c_objects: int
    """The blocks of C among them."""
    c_bytes: int
    retained_bytes: int
    """The bytes that they keep alive, C memory included: exact for roots and
    goroutines, else a lower bound. 0 if it was not asked for."""
    retained_c_bytes: int
    """The part of them in blocks of C."""

class Histogram(NamedTuple):  # gr_histogram
    """The objects of the heap, counted by key."""

    rows: tuple[HistogramRow, ...]
    """Most retained bytes first, then most bytes."""
    objects: int
    """The sum of all rows."""
    bytes: int
    c_objects: int
    """The blocks of C among them."""
    c_bytes: int
    exact_objects: int
    """The objects that nothing would hold without all objects of the exact
    type."""
    exact_bytes: int
    exact_c_bytes: int
    """The part of them in blocks of C."""
    gaps: Gaps

class Site(NamedTuple):  # gr_py_site
    """Sampled objects with one allocation stack."""

    key: str  # row.key
    """The innermost call: function, file and line."""
    stack: tuple[StackFrame, ...]  # gr_py_site_stack()
    """The innermost call first; none if no call is known."""
    root: _Text | None  # row.root
    """The root that the objects are billed to, if roots are asked for."""
    root_kind: _Text | None  # row.root_kind
    sampled: Total  # row.sampled
    """Objects of which the stack is known."""
    total: Total  # row.total
    """The objects that these stand for, scaled as runtime/pprof does;
    estimated unless the rate is 1."""

class SiteTable(NamedTuple):  # gr_site_table
    """Sampled objects, counted by where they were allocated."""

    rows: tuple[Site, ...]  # gr_py_site_rows()
    """Most bytes first."""
    sampled: Total
    """The sum of all rows."""
    total: Total
    heap: Total
    """All objects that were counted, sampled or not."""
    rate: int  # sites.sampling.rate
    """runtime.MemProfileRate; 0: sampling is off now."""
    is_cut: bool  # sites.is_cut
    """The runtime's records are damaged: some are missing."""
    is_disabled: bool  # sites.sampling.is_disabled
    """The linker has left out the profiling of memory."""
    gaps: Gaps

class Allocation(NamedTuple):  # gr_allocation
    """Where an object was allocated."""

    is_sampled: bool
    """The runtime has sampled the object; if not, the stack is not known."""
    stack: tuple[StackFrame, ...]  # gr_py_allocation_stack()
    """The innermost call first."""

class Listed(NamedTuple):  # gr_listed
    """The contents of a list of objects."""

    total: Total
    """The objects of its lines."""
    left: int
    """Objects beyond the limit."""

class Exported(NamedTuple):  # gr_exported
    """The contents of a file of Scan.export()."""

    total: Total
    """Objects of the program, and the bytes of their slots."""
    references: int
    """References from an object to an object."""
    classes: int
    """Types, as the format has them."""
    threads: int
    """Goroutines, as the format has them."""
    file_bytes: int
    merged: int
    """Nodes for all objects together, by type; 0: each object has one."""
    cut: int
    """Objects that the format cannot show in their full length."""

class Hop(NamedTuple):  # gr_hop
    """One reference of a chain."""

    name: str
    """The name in the tree: a variable, a field, an element."""
    type: str | None
    """The type of the object that is reached."""
    addr: _Addr | None
    """The address of that object; None for a root in registers."""

class Why(NamedTuple):  # gr_why
    """The memory at an address, and the chain that holds it."""

    addr: _Addr
    """The address that was asked about."""
    is_object: bool
    base_addr: _Addr
    """Start of the object, behind its malloc header; 0: no object."""
    bytes: int
    """Size of the object without that header; 0: no object."""
    type: str | None
    """Type of that memory: "main.T", "[]main.T", "string", "map[K]V",
    "begins with main.T"."""
    offset: int
    """addr - base_addr"""
    is_reachable: bool
    root_name: str | None
    root_kind: _RootKind | None  # if is_reachable
    goroutine_id: int | None
    """Set for a root on a stack."""
    hops: tuple[Hop, ...]
    """The root comes first."""
    description: str | None
    """The memory, if it is no object: "stack of goroutine 7"."""
    gaps: Gaps
    """The gaps of the target and of the walk."""

class Reference(NamedTuple):  # gr_reference
    """A pointer, and what is at its other end."""

    vertex: Vertex
    """The object that is referred to, or the object or root that refers."""
    name: str
    """The field or element with the pointer: ".next", "[3].key". A root has
    the name of its variable: "main.sessions[3].conn"."""
    word_addr: _Addr | None
    """The address of the pointer; None for a register."""
    is_conservative: bool
    """The collector does not follow the word: it may be no pointer. So it is
    with all words of C memory."""

class ReferenceGroup(NamedTuple):  # gr_reference_group
    """References by the same field, with the same type at the other end."""

    type: str
    """The type of the objects at the other end; for roots their kind."""
    name: str
    """As Reference.name, without indexes and keys."""
    references: int
    bytes: int
    """The bytes of the objects at the other end. Each is counted once, in the
    first of its groups."""
    example_addr: _Addr | None
    """The address of one of them."""

class References(NamedTuple):  # gr_references
    """The references from or to an object."""

    total: int
    """The number of all of them."""
    list: tuple[Reference, ...]
    """The first of them."""
    groups: tuple[ReferenceGroup, ...]
    """Groups of all, most references first; empty if the list has all, or if
    no groups were asked for."""
    ungrouped: int
    """References in none of the groups, because there are too many."""

class Special(NamedTuple):  # gr_special
    """An action of the runtime when an object dies."""

    kind: Literal["finalizer", "cleanup", "weak pointer"]
    function: str | None

class ObjectInfo(NamedTuple):  # gr_object_info
    """One object of the heap."""

    addr: _Addr
    """The address that was asked about."""
    is_object: bool
    """If not, only `addr` and `description` mean something."""
    is_c: bool
    """It is a block of C: it has no slot and no span."""
    description: str | None
    """The memory that is there instead of an object: "stack of goroutine
    7"."""
    base_addr: _Addr
    """The start of the object, behind its malloc header."""
    bytes: int
    """The size of the object without that header."""
    offset: int
    """addr - base_addr"""
    type: str | None
    type_source: str | None
    """How the type is known: "its malloc header"; None for a block of C of
    unknown type."""
    type_bytes: int | None
    """Size of a value of the type, if there is one in the object."""
    slot_addr: _Addr
    slot_bytes: int
    span_start: _Addr
    """The start of the first slot of the span."""
    span_end: _Addr
    """The end of the last slot."""
    slot_index: int
    nslots: int
    """The number of slots of the span."""
    spanclass: int
    """Size class << 1 | noscan, as in runtime/mheap.go."""
    header_bytes: int
    is_reachable: bool
    has_leaked_referrers: bool
    """It is a block of C that nothing reaches, and others of these lead to
    it."""
    missing_bytes: int
    """Memory that may hold pointers to such a block, and is not at hand."""
    is_unswept: bool
    """The collector has not swept its span yet: it may be dead."""
    is_fresh: bool
    """It was allocated last, and may not be initialised yet."""
    specials: tuple[Special, ...]
    retained_bytes: int
    """With the slots' unused bytes, and C memory; 0 for garbage."""
    retained_c_bytes: int
    """The part of it in blocks of C."""
    dominator: Vertex | None  # if is_reachable
    """The last vertex on all paths to it; None for garbage. A "group" or "top"
    holds it over several roots."""
    references: References
    """The references from it."""
    referrers: References
    """The references to it, from reachable objects and roots; to a leaked
    block, from other leaked blocks."""
    gaps: Gaps
    """The gaps of the target and of the walk."""

class GoroutineBrief(NamedTuple):  # gr_goroutine_brief
    """A goroutine in one line."""

    id: int
    state: str
    """"running", "waiting", "syscall" ..."""
    wait_reason: str | None
    function: str | None
    """The function that it began with."""

class PathHop(NamedTuple):  # gr_path_hop
    """A vertex on a path, and the word that leads to it."""

    vertex: Vertex
    name: str
    """The name of a root. For an object, the field or element of the hop
    before that has the pointer; "" if that is itself the pointer."""
    word_addr: _Addr | None
    """The address of that pointer; None for a root and for a register."""
    is_conservative: bool
    """The collector does not follow that word: it may be no pointer."""
    left_out: int
    """Hops before it that are not described: the path is too long."""

class Path(NamedTuple):  # gr_holder_path
    """A shortest path to an object."""

    hops: tuple[PathHop, ...]
    """The root comes first, the object last."""
    goroutine: GoroutineBrief | None  # if goroutine.id
    """The goroutine of the root."""

class ReachingRoot(NamedTuple):  # gr_reaching_root
    """A root that reaches an object."""

    vertex: Vertex
    distance: int
    """References from the root to the object."""
    goroutine: GoroutineBrief | None  # if goroutine.id

class RootGroup(NamedTuple):  # gr_holder_root_group
    """Roots of one name and kind that reach an object."""

    name: str
    kind: str
    roots: int
    least_distance: int
    goroutine_id: int | None
    """The goroutine of the nearest."""

class Holder(NamedTuple):  # gr_holder
    """The part that all paths to an object have in common, as near to the
    roots as possible."""

    kind: Literal["root", "reference", "goroutine", "several"]
    """One root; one pointer of a root; roots of one goroutine; none of
    these."""
    vertex: Vertex | None  # if has_vertex
    """The root or goroutine. If several: the object on all paths to the one
    that was asked about; None if there is none."""
    name: str | None
    """The name of the root, or of its field or element; None if several."""
    freed_bytes: int
    """The bytes that nothing would hold without it, C memory included."""
    freed_c_bytes: int
    """The part of them in blocks of C."""
    goroutine: GoroutineBrief | None  # if goroutine.id
    """The goroutine of a root on a stack."""
    nroots: int
    """If several: roots that reach the object."""
    is_more: bool
    """Not all of them were counted."""

class Holders(NamedTuple):  # gr_holders
    """Who keeps an object alive."""

    is_reachable: bool
    """If not, nothing else means anything."""
    retained_bytes: int
    """With C memory."""
    retained_c_bytes: int
    """The part of it in blocks of C."""
    holder: Holder | None  # if is_reachable
    paths: tuple[Path, ...]
    """The shortest first, each from another root; those of the runtime
    last."""
    is_complete: bool
    """No other root reaches it."""
    roots: tuple[ReachingRoot, ...]
    """The nearest first, those of the runtime last; if all were asked for."""
    all_roots: int
    """How many there are."""
    groups: tuple[RootGroup, ...]
    """All of them; most roots first."""
    ungrouped: int
    """Roots in no group, because there are too many."""

class MergedBranch(NamedTuple):  # gr_merged_branch
    """Vertices of one type, or roots of one name, below the same branch."""

    parent: int
    """Index of the branch above; of the first: 0."""
    depth: int
    example: Vertex
    """The one that is nearest to the top."""
    field: str | None
    """The field by which the example is referred to, without indexes."""
    vertices: int
    objects: int
    """Objects of the type, among these and below."""
    bytes: int
    """Own bytes of these objects."""
    cut: int
    """Objects below without a branch of their own."""

class MergedTypes(NamedTuple):  # gr_merged_types
    """The shortest paths to all objects of a type, merged."""

    type: str
    objects: int
    bytes: int
    unreached: int
    """Reached only over weak references, which were left out."""
    branches: tuple[MergedBranch, ...]
    """The first one is the program."""

class ClassTotal(NamedTuple):  # gr_class_total
    """The objects of one span class."""

    spanclass: int
    """Size class << 1 | noscan, as in runtime/mheap.go."""
    elem_bytes: int | None
    """The size of a slot; None for large objects."""
    allocated: Total
    reached: Total

class Difference(NamedTuple):  # gr_difference
    """An object that is allocated and not reached."""

    addr: _Addr
    bytes: int
    """The size of its slot."""
    type: str | None
    reason: str | None
    """None: there is no explanation, which is an error of goref."""

class FreeSlot(NamedTuple):  # gr_free_slot
    """A pointer to a slot that is not allocated."""

    addr: _Addr
    """The pointer's value."""
    held_by: _Addr | None
    """The base of the object that it lies in; None: a root."""

class ArenaVerdict(NamedTuple):  # gr_arena_verdict
    """An arena of a C allocator, compared with its counters."""

    arena: NativeArena
    reached_blocks: int
    """Those that something holds; 0 if the arena is not checked."""
    reached_bytes: int
    explanation: str | None
    """Why an arena may not be checked; None: it is, or there is no reason."""

class AllocatorVerdict(NamedTuple):  # gr_allocator_verdict
    """A C allocator, compared with its counters."""

    name: str
    version: str
    """"" if it is not known."""
    is_checked: bool
    refusal: str | None
    """Why it cannot be read; it has no arenas then."""
    arenas: tuple[ArenaVerdict, ...]  # arenas[narenas]

class NativeVerdict(NamedTuple):  # gr_native_verdict
    """The memory of C, compared with what its allocators count."""

    allocators: tuple[AllocatorVerdict, ...]  # allocators[nallocators]
    free_pointers: int
    """Pointers of reached Go memory to free memory of C."""
    free_words: int
    """Words of C's variables that lead there; they may be no pointers."""
    unexplained: int
    """Arenas that are not checked for no known reason."""

class Verdict(NamedTuple):  # gr_verdict
    """A walk compared with the allocator's own books."""

    allocated: Total
    reached: Total
    kept: Total
    """Objects that the last collection found alive, and that no allocation
    has come near since."""
    kept_reached: Total
    """The reached part of them."""
    is_most_lost: bool
    """Most of them are not reached: a kind of root may be missing."""
    free_slot_pointers: int
    free_slots: tuple[FreeSlot, ...]
    """The first of these."""
    missed_pointers: int
    """Pointers in reached memory to objects that were not reached."""
    stats: Total | None  # if has_stats
    """The runtime's own statistics."""
    rebuilt: Total
    """The same figures from the spans."""
    classes: tuple[ClassTotal, ...]
    """The span classes in which allocated and reached differ."""
    differences: tuple[Difference, ...]
    """The first, by address."""
    native: NativeVerdict
    unexplained: int
    """0: everything is accounted for."""
    gaps: Gaps

# ----------------------------------------------------------------- functions

def elf_facts(path: str) -> ElfFacts:
    """Facts about the file at path, from the file itself. It need not be ELF.

    Opening never waits. FileError: the file cannot be opened, or it shrinks
    meanwhile. FormatError: it is not a regular file."""

def core_facts(path: str) -> CoreFacts:
    """Facts about the program of a core, from the core. No file that the core
    names is opened.

    FileError, FormatError (no core, or one without program headers),
    ArchitectureError: as of Scan()."""

def core_modules(
    core: str, exe: str, debug_folder: str = "/usr/lib/debug"
) -> CoreModules:
    """The modules of a core for Scan(): the executable at exe, and the
    libraries that its loader had loaded, each with its debug_file(). Errors
    are those of core_facts().

    If exe cannot be read or belongs to another program, it is the only module,
    and Scan() says what is wrong."""

def debug_file(path: str, folder: str = "/usr/lib/debug") -> str | None:
    """The separate file with the debug information of the file at path, found
    as gdb finds it: by build id in folder, or by section .gnu_debuglink. Its
    build id, or its checksum if path has no build id, shows that it belongs to
    path. None: there is no such regular file, or path itself has debug
    information."""

def check_writable(path: str) -> None:
    """FileError if a profile could not be written there. Changes nothing."""

def write_file(path: str, data: bytes) -> None:
    """Write a file whole or not at all, as write_profile() does. FileError if
    it cannot be written."""

def process_reader(pid: int) -> int:
    """The thread whose files in /proc show the memory and the open files of a
    process: the first one, or a living one if the first has ended. 0 if all
    have ended."""

def why_not_traced(pid: int) -> str:
    """The reason for which the kernel does not permit tracing a process: the
    process that already traces it, or the permission that is needed."""

def read_registers(tid: int) -> tuple[int, ...]:
    """The registers of a stopped thread that this process traces, in the
    order that Scan takes them, and the number of its system call or 2**64 - 1.
    OSError: they cannot be read."""

def write_tree_profile(
    path: str,
    places: list[tuple[str, str | None, int]],
    label_sets: list[tuple[tuple[str, str], ...]],
    nodes: list[tuple[int, int, int, int, int]],
    comment: str | None = None,
    partial: str | None = None,
    exe_path: str | None = None,
    build_id: str | None = None,
    labels: _Labels = (),
    time_ns: int = 0,
) -> None:
    """Write a tree as a profile for pprof, whole or not at all.

    places: names, each with a file and a line.
    label_sets: the labels that samples may have.
    nodes: of each its parent, which comes before it (-1: none), a place, a set
        of labels, objects and bytes, which may be below zero.
    partial: a comment of the file: why it is not all.
    labels, time_ns: as of Scan.goroutine_profile().
    """

@final
class Process:
    """A process that goref holds still, for Scan.

    A thread of Python's own process traces it. When that thread ends, the
    process goes on with its state and its signals. The thread ends by
    release(), with the last reference, with the interpreter, or when Python's
    process is killed. Any thread of Python may call the methods. After
    os.fork(), the child holds nothing.

    Code in Python's process that waits for any child, as os.wait() does, may
    get the number of the traced process while that is being stopped."""

    def __new__(cls, pid: int) -> Process:
        """Check a process; nothing is stopped. ProcessError: there is no such
        process, it is a thread, it has ended, or another process traces it."""
    def stop(
        self, limit_s: float, poll: Callable[[], None] | None = None
    ) -> Stop:
        """Stop all threads and read their registers.

        limit_s: how long to wait for all threads. A thread does not stop while
            it waits in the kernel, such as for a disk or for the child of
            vfork().
        poll: called every 10 ms. An exception that it raises, or Ctrl-C, ends
            the call, and the process goes on.

        ProcessError: the process cannot be stopped, and goes on."""
    def release(self) -> int:
        """Let the process go on; nothing happens if it is not held. Returns
        the microseconds for which it was stopped."""
    def is_held(self) -> bool:
        """Does it stand still? False, too, if it was held and has ended or
        begun another program."""

@final
class Growth:
    """The resident memory of a process that runs, by class and by the stack
    that has made it resident. The scan is prepared with the extent "residency"
    and not finished; it is not used for anything else while a method runs."""

    def __new__(cls, scan: Scan, from_empty: bool = False) -> Growth:
        """from_empty: the program has just begun, so the pages of the first
        tick are new, too."""
    def tick(self, has_gaps: bool = False) -> GrowthTick:
        """Read the process without stopping it. Pages of the first tick are
        old; those that come later have the stacks of the events. has_gaps:
        events since the last tick may be missing, so only a page with an event
        of its own has a stack."""
    def add_events(self, data: bytes) -> None:
        """Add what was seen since the last tick, 24 bytes for each event,
        little endian: address of a page (u64), id of a stack (u32), flags
        (u32: 1 in kernel mode, 2 mapping made, 4 given back, 8 brief), bytes
        (u64, of a mapping). The latest event of a page counts."""
    def add_stack_pointer(self, address: int) -> None:
        """A thread's stack is at this address."""
    def stacks(self, max_rows: int) -> tuple[GrowthStack, ...]:
        """The pages that are new since the first tick and were resident at the
        last one, the most bytes first."""
    def untouched(self, max_rows: int) -> tuple[GrowthStack, ...]:
        """Memory that was mapped since the first tick, could be written to at
        the last one, and was not touched, by the stack that mapped it and by
        class, the most bytes first."""
    def mappings(self) -> tuple[GrowthMapping, ...]:
        """The mappings that had resident pages at the last tick, by address."""
    def pages(self) -> bytes:
        """The pages of stacks() by address, 40 bytes for each range: start and
        end, start and end of what the call has mapped that it lies in, or 0
        (u64), id of the stack, 0 (u32)."""

@final
class Scan:
    """One stopped target, opened once: what it holds does not change."""

    def __new__(
        cls,
        kind: str,
        read: Callable[[int, int], bytes | bytearray | memoryview],
        modules: Sequence[_Module],
        threads: _Threads,
        core: str | None = None,
        pid: int = 0,
        progress: Callable[[str, int, int], None] | None = None,
        cache: bool = False,
        prepare: bool = False,
        copy_threads: int = 1,
        memory_limit: int = 0,
        extent: str = "heap",
        held: bool = False,
        saved: str | None = None,
    ) -> Scan:
        """Open a target.

        extent: "heap" for all questions; "goroutines" for those on goroutines
            and their calls, which need no heap; "values" to copy strings and
            numbers of a process, too; "residency" to read which of its pages
            are resident; "pages" to read that and nothing else of it, if it
            can be known; "buckets" for the runtime's own profiles alone;
            "sites" for the heap and these; "report" for these and residency;
            "save" and "save-values" for save(): all questions and residency,
            without and with values. The scan of a core reads the heap when a
            question needs it.
        held: the process stands still as long as the scan exists, so that
            values can be read when they are needed.
        saved: the path of a saved file.
        kind: "core", "native", "snapshot", "remote" or "saved".
        read: (address, length) -> the bytes. Any exception but
            KeyboardInterrupt means that they are not there.
        modules: (path, separate debug file, load bias), executable first. A
            fourth item is the name in answers, if that is not the path.
        threads: (lwp as the target counts, registers), or a Process that is
            held; none for cores.
        core: the path of the core.
        pid: the process, if it runs on this machine.
        progress: called about every 20 ms with the name of the running step,
            how many units of its work are done and how many there are, which
            may be an estimate. Those of a walk are objects. Outside of a long
            step, it gets "", 0 and 0. An exception that it raises ends the
            call.
        cache: keep tables of debug information in the user's cache folder. If
            there are none, keep the addresses at which the runtime was found.
        prepare: do only what can be done while the process still runs. Then
            come estimate(), reserve(), and, while the process stands still,
            capture(), and last finish(). Nothing else works before that.
        copy_threads: threads that copy a process.
        memory_limit: private memory that the scan may take; 0: no limit.
            More is a MemoryLimitError.
        """
    def estimate(self) -> Estimate:
        """The cost of a scan; of one that is not settled, the cost of
        copy_searched()."""
    def is_unsettled(self) -> bool:
        """True if the runtime of a running process is not found yet, because
        it changed while it was searched. Then call copy_searched() and
        search_copy() before everything else, until it is found."""
    def copy_searched(self) -> None:
        """Copy what the search has read. The process must stand still until
        this returns."""
    def search_copy(self) -> None:
        """Search the copy. Raises UnsettledError if several copies have not
        been enough."""
    def trace_facts(self) -> TraceFacts:
        """The facts for goref-trace. The process runs: the scan is prepared
        and not finished. So it is for the methods that follow."""
    def alloc_functions(
        self,
        prefix: str = "",
        object: str = "",
        with_mappings: bool = False,
    ) -> AllocFunctions:
        """The functions of all allocators of C and C++ in the process, each
        once, and at which instruction to probe it. Other processors than
        x86-64 have none.

        prefix: names of C with this prefix belong to an allocator, too.
        object: only those of the object with this path or file name.
        with_mappings: mmap() and munmap() of the C library, too.
        """
    def name_frames(
        self, pcs: Sequence[int]
    ) -> tuple[tuple[TraceCall, ...], ...]:
        """The Go calls at each pc, the innermost first; () if that is not in Go
        code. For a return address, the pc is the byte before."""
    def labels_at(self, address: int) -> tuple[Label, ...]:
        """The labels at an address that g.labels had; () if there are none, or
        if they cannot be read any more."""
    def reserve(self) -> None:
        """Take and touch the memory for the copy."""
    def capture(
        self, threads: _Threads, copy_pid: int = 0
    ) -> None:
        """Copy what is needed: the process may run again.

        threads: as in the constructor.
        copy_pid: a process that is a stopped copy of the target, and is
            read in its place; 0: none.
        """
    def finish(self) -> None:
        """Make a whole scan of what was captured."""
    def extend(self, extent: str) -> None:
        """Read what an extent needs beyond what is there. Every question does
        that; after this, estimate() covers it, too. A process has only what
        was captured: ArgumentError."""
    def info(self) -> Info:
        """The opened target."""
    def layout(self) -> str:
        """The resolved layout table as text."""
    def resolve(self, text: str) -> Place:
        """The place of an expression. NotFoundError: perhaps gdb knows it."""
    def variable(
        self, place: tuple[str, int, int, bool, int], max_held: int
    ) -> Variable:
        """The contents of a variable of a known type, without a walk."""
    def complete(self, prefix: str, is_type: bool = False) -> list[str]:
        """Names of package variables that begin so, and of fields behind them;
        or of types. Needs no walk."""
    def set_progress(
        self, progress: Callable[[str, int, int], None] | None, /
    ) -> None:
        """Replace the callback of the constructor."""
    def set_memory_limit(self, limit: int) -> None:
        """Memory that the scan may take from now on; 0: no limit."""
    def walk(
        self,
        max_depth: int,
        max_nodes: int,
        places: Sequence[tuple[str, int, int, bool, int]] = (),
        attribution: str = "nearest",
        per_goroutine: bool = False,
        keep_partial: bool = False,
        weight: str = "bytes",
    ) -> Result:
        """Walk the heap: from all roots, or only from places.

        max_depth: levels of the tree; what lies deeper is counted on them.
        max_nodes: nodes of the tree.
        places: as Place.
        attribution: who is billed for what several roots reach: "nearest",
            or "first", with everything that is reached from it.
        per_goroutine: each goroutine has roots of its own.
        keep_partial: KeyboardInterrupt or the memory limit ends the walk,
            and what was found until then is a result, whose ledger says so.
        weight: what each "bytes" of the result counts: "bytes" of slots, or
            "pointers": the words that the collector scans.
        """
    def why(
        self,
        addr: int,
        max_depth: int,
        max_nodes: int,
        attribution: str = "nearest",
    ) -> Why:
        """The holders of the memory at an address: the chain over which walk()
        with the same attribution bills it. The first question of a stop
        walks, and keeps what it found for the next ones."""
    def goroutines(
        self,
        filters: tuple[tuple[str, bool, str], ...],
        with_system: bool = False,
        group: str | None = None,
        max_rows: int = 0,
        group_label: str | None = None,
        channel: int = 0,
        with_bytes: bool = False,
    ) -> GoroutineList:
        """List goroutines. No walk of the heap is needed.

        filters: each a field, whether the condition is negated, and a text
            that must be in it: userloc, curloc, goloc, startloc, state,
            waiting; call, that of a function of the stack; label takes KEY
            or KEY=VALUE; running and user take no text.
        group: one of these fields but call, stack, wait (state and place), or
            waiting-on, which needs the heap.
        max_rows: of the list, or of each group. 0: no limit.
        group_label: the key of the only label that counts.
        channel: the address of a channel: only goroutines that wait for it,
            which needs the heap. 0: all.
        with_bytes: what they keep alive. Makes the object graph.
        """
    def goroutine_profile(
        self,
        selection: Literal["goroutine", "goroutineleak"],
        path: str | None = None,
        partial: str | None = None,
        labels: _Labels = (),
        time_ns: int = 0,
    ) -> GoroutineProfile:
        """The stacks of all goroutines but the runtime's own, or of those
        that have leaked (leaks()). Only the latter need the heap.

        path: the profile is also written there, for pprof.
        partial: a comment of the file: why it is not all.
        labels: of the file's samples.
        time_ns: of the file, since 1970; 0: not known.
        """
    def bucket_profile(
        self,
        name: Literal["heap", "allocs", "block", "mutex"],
        path: str,
        partial: str | None = None,
        labels: _Labels = (),
        time_ns: int = 0,
        now: bool = False,
    ) -> BucketProfile:
        """Write a profile that the runtime collects. No walk of the heap is
        needed; the target is a core, or a process that is held.

        partial: a comment of the file: why it is not all.
        labels, time_ns: as of goroutine_profile().
        now: of heap and allocs: what exists at this moment, instead of what
            existed at the last collection. A process was opened with the
            extent "sites", or gdb holds it.
        """
    def allocation(self, addr: int) -> Allocation:
        """Where the object at an address was allocated. NotFoundError as of
        sites()."""
    def backtrace(
        self,
        goroutine_id: int,
        max_calls: int = 0,
        with_variables: bool = False,
        first_call: int = 0,
        ncalls: int = 0,
        max_string: int = 64,
        max_elements: int = 64,
        max_depth: int = 1,
    ) -> Backtrace:
        """The calls of a goroutine.

        with_variables: of ncalls calls (0: all) from first_call on.
        max_string, max_elements, max_depth: limits of their values.
        """
    def goroutine_wait(
        self,
        goroutine_id: int,
        may_walk: bool = True,
        max_string: int = 64,
        max_elements: int = 64,
        max_depth: int = 1,
    ) -> GoroutineWait:
        """The things that a goroutine waits for.

        may_walk: walk the heap, once, to name what no package variable leads
            to.
        """
    def waits(
        self,
        goroutine_id: int = 0,
        max_groups: int = 0,
        max_ids: int = 0,
        with_paths: bool = True,
    ) -> Waits:
        """The things that goroutines wait for, who may own them, and deadlocks.

        goroutine_id: only what it waits for, or may own; 0: all.
        max_groups: also of blockers; 0: no limit.
        max_ids: of a group; 0: no limit, nor of owners.
        with_paths: name things by the object graph, which is made.
        """
    def dominators(
        self,
        places: Sequence[tuple[str, int, int, bool, int]] = (),
        max_depth: int = 1,
        max_children: int = 0,
        max_rows: int = 0,
        min_bytes: int = 0,
        weight: str = "bytes",
    ) -> Dominators:
        """The vertices that keep most alive. The first question of a stop makes
        the object graph, and keeps it for the next ones.

        places: as Place: the tree below these; none: of the program.
        max_depth: levels below the first row, 1024 at most.
        max_children: rows directly below each row; 0: no limit.
        max_rows: rows below the first one, those that keep most; 0: no limit.
        min_bytes: rows that keep less are left out.
        weight: as of walk(): what all sizes count.
        """
    def holders(
        self,
        addr: int,
        max_paths: int,
        max_roots: int,
        all_roots: bool = False,
        exclude_weak: bool = False,
    ) -> Holders:
        """Find who keeps the object at an address alive. all_roots: search and
        count all roots; at most max_roots are described. exclude_weak: leave
        weak references out of paths and roots."""
    def merge_type(
        self, type: str, max_branches: int, exclude_weak: bool = False
    ) -> MergedTypes:
        """Merge a shortest path to each reachable object of a type, whose name
        is one of those that are printed. NotFoundError if there is none."""
    def object_info(
        self,
        addr: int,
        max_references: int,
        max_referrers: int,
        group_references: bool = False,
        group_referrers: bool = False,
    ) -> ObjectInfo:
        """Describe the object at an address. At most so many references from
        and to it are listed; if there are more, they are put into groups on
        request, which reads all."""
    def print_value(
        self,
        place: Place,
        max_string: int = 64,
        max_elements: int = 64,
        max_depth: int = 1,
    ) -> str | None:
        """The value at a place, as Delve prints it; of an address, the object
        that has it. None: its type is not known, or it is a piece of a
        string, a map or a channel."""
    def growth_pages(self, pages: bytes, max_groups: int) -> GrowthPages:
        """The contents of pages as of Growth.pages(). The scan is finished, or
        of a file, with the extent "report"."""
    def growth_samples(self, addresses: bytes) -> GrowthSamples:
        """Which sampled objects are still there, and who holds them. addresses:
        of objects that the runtime has sampled (p of runtime.mProf_Malloc),
        as 8 little-endian bytes each, in any order. If an address was sampled
        twice, its row is of the later object: the earlier one was freed. The
        scan is as for growth_pages()."""
    def growth_blocks(
        self, blocks: bytes, are_walked: bool = False
    ) -> GrowthBlocks:
        """Which blocks of C are still in use, and who holds them. The scan is
        as for growth_pages().

        blocks: address and bytes, as they were asked for, of each: 8
            little-endian bytes each.
        are_walked: all of them are of allocators whose heap is walked: what
            no arena has is freed then, if all arenas are checked. Memory that
            was mapped is not.
        """
    def rss(self, marked: bool = True) -> Rss:
        """Where the resident memory is. A process was opened with the extent
        "residency"."""
    def save(
        self,
        path: str,
        values: bool = False,
        stop: str | None = None,
        identity: str | None = None,
    ) -> None:
        """Write the target to a file. The scan was opened with the extent
        "save", or "save-values" for all memory.

        stop: why the program stopped; the opener gets it as Info.stop.
        identity: which process it is; the opener gets it as Info.identity."""
    def suspects(self, weight: str = "bytes") -> Suspects:
        """The few holders that keep most of the heap alive.

        weight: as of walk(): what all sizes count, except those of a Vertex
            itself. Resident bytes are known only of "bytes".
        """
    def waste(
        self, checks: tuple[str, ...] | None = None, min_share: int = 0
    ) -> Waste:
        """Find memory that could be saved.

        checks: their names; None: all. Those that need values which the target
            does not have are not asked.
        min_share: leave out rows with less of the heap, in millionths.
        """
    def cards(
        self, types: tuple[str, ...], max_objects: int, max_cards: int
    ) -> Cards:
        """The objects that retain most of each type and of each suspect, at
        its accumulation point or below.

        types: names of rows of histogram("type").
        max_objects: of a type or a suspect, 64 at most.
        max_cards: in all; suspects come first, then types in their order.
        """
    def type_holders(
        self, types: tuple[str, ...], max_holders: int
    ) -> TypeHolders:
        """Who holds the objects of each type: the root that a walk bills,
        which is that of the nearest path. types: as of cards()."""
    def native(self) -> Native:
        """The memory of the C allocators: their arenas, and the blocks in
        use."""
    def native_leaks(self) -> NativeLeaks:
        """The blocks of C that nothing holds."""
    def kept_by_c(self) -> KeptByC:
        """The Go objects that a cgo.Handle or a runtime.Pinner keeps alive for
        C."""
    def leaks(
        self,
        ignored: tuple[
            tuple[Literal["top", "any", "created-by"], str], ...
        ] = (),
    ) -> Leaks:
        """The goroutines that can never wake, by the rule of the runtime's own
        goroutineleak profile.

        ignored: patterns of goroutines to leave out: the name of a function,
            in which `*' stands for any characters; "top" compares it with the
            calls up to the innermost one that is the user's, "any" with all
            calls, "created-by" with the function of the go statement."""
    def finalization(self, with_pools: bool = True) -> Finalization:
        """Finalizers and cleanups that wait to run, the goroutines that run
        them, those that can never run, and what only sync.Pools hold.

        with_pools: without, the dominators are not needed."""
    def scheduler(self) -> Scheduler:
        """Ps, Ms, run queues, and who stops the world."""
    def goroutine_of_thread(self, thread_id: int) -> int | None:
        """The goroutine that a thread runs. None: the thread is of no M of the
        runtime, or its M runs no goroutine.

        thread_id: in the target's own pid namespace.
        """
    def list_objects(
        self,
        where: str | Callable[[str], object],
        is_wanted: Callable[[str], object] | None = None,
        min_bytes: int = 0,
        limit: int = 0,
        order: str = "address",
        with_retained: bool = False,
        merged_types: bool = False,
        with_kind: bool = False,
    ) -> Listed:
        """Write a line for each reached object: address, bytes, what it
        retains if asked for, type ("?": not known). Address and bytes are
        those behind the malloc header. merged_types: types have the names of
        a histogram. with_kind: before the type, `go` or `c`; with retained
        bytes, those of C behind them.

        where: as for objects().
        is_wanted: asked once for each type; None: all are.
        limit: lines; 0: no limit.
        order: "address"; or the largest first: "bytes", "retained".
        """
    def export(self, path: str, format: str) -> Exported:
        """Write all reached objects with their references to a file for other
        tools. Makes the object graph.

        format: "hprof", "heapsnapshot", "jsonl".
        """
    def histogram(
        self,
        by: str = "type",
        with_retained: bool = False,
        garbage: bool = False,
        exact: str | None = None,
        weight: str = "bytes",
    ) -> Histogram:
        """Count the objects of the heap.

        by: "type", "package", "span-class", or what leads to it on the
            nearest path: "root", "goroutine", "field".
        with_retained: also what the objects of each row keep alive.
        garbage: objects that are allocated and not reached.
        exact: a type, of which all objects are taken away.
        weight: as of walk(): what all sizes count. Blocks of C have 0 words.
        """
    def sites(
        self, with_root: bool = False, garbage: bool = False
    ) -> SiteTable:
        """Count the objects that the runtime has sampled by where they were
        allocated. A process was opened with the extent "sites", or gdb holds
        it: NotFoundError.

        with_root: a row for each root that they are billed to.
        garbage: objects that are allocated and not reached.
        """
    def graph_phases(self) -> GraphPhases: ...
    def gaps(self) -> Gaps:
        """Those of the target, and of the walk of the object graph if that
        was made."""
    def graph_size(self) -> GraphSize:
        """This and the methods below make the object graph when they need it;
        it is kept. The same number is the same vertex as long as the scan
        lives."""
    def has_retained(self) -> bool:
        """Are retained sizes known? Nothing is made."""
    def vertex(self, vertex: int, with_retained: bool = False) -> Vertex: ...
    def content(self, vertex: int, max: int = 0) -> bytes:
        """The bytes of an object, or those of a block of C that the program
        may use; at most max of them, if it is not 0. Error: the file has no
        values."""
    def find(self, place: tuple[str, int, int, bool, int]) -> int | None:
        """The vertex of a place: a variable's root, or an object."""
    def dominator(self, vertex: int) -> int | None:
        """The immediate dominator. The top is its own; a block of C that
        nothing holds has none."""
    def retained(self, vertices: Sequence[int]) -> tuple[int, int]:
        """Bytes that vertices keep alive together, C memory included, and the
        part of them in blocks of C."""
    def paths(self, vertex: int, max_paths: int) -> list[list[int]]:
        """Shortest chains from distinct roots, each root first."""
    def links(
        self, source: int, target: int, max: int = 0
    ) -> list[NamedLink]:
        """The pointers from an object or a root to an object, in the order of
        words. max: return at most this many; 0: at most 65,536."""
    def type_info(self, type: int) -> TypeInfo:
        """Describe the type with a number."""
    def dynamic_type(self, interface: int, word: int) -> DynamicType:
        """The type of the value in an interface, by the first word of the
        interface, which is not 0. interface: the number of its type."""
    def read(self, addr: int, bytes: int) -> bytes:
        """Read memory, at most 1 GiB. FaultError: some of it is missing.
        NoMemoryError: the file was saved without values."""
    def show(
        self,
        type: int,
        addr: int,
        content: bytes | None = None,
        max_string: int = 64,
        max_elements: int = 64,
        max_depth: int = 1,
    ) -> str:
        """The text of a value as Delve prints it. The value is at an address,
        or it is content."""
    def value_place(self, vertex: int) -> ValuePlace:
        """Where the value of an object or of a root lies."""
    def local_values(
        self, goroutine_id: int, first_call: int, ncalls: int
    ) -> tuple[LocalValue, ...]:
        """The variables of ncalls calls from first_call on (0: the innermost),
        in the order of their declaration, arguments first. The goroutine may
        have fewer calls."""
    def length(self, type: int, header: int) -> int:
        """The number of entries of a map, or of elements that wait in a
        channel, by the address of its header. It is 0 for nil."""
    def map_find(
        self, type: int, header: int, key: bytes | int | bool
    ) -> int | None:
        """The address of the element with a key; None: there is none."""
    def map_entries(self, type: int, header: int) -> MapEntries:
        """The entries of the map whose header is at an address."""
    def iterate(self, type: str | None = None, min_bytes: int = 0) -> Vertices:
        """Objects by address, of one type, as it is printed, and of at least so
        many bytes."""
    def neighbours(self, vertex: int, which: str) -> Vertices:
        """which: "references", "referrers" or "dominated"."""
    def panic(
        self, max_string: int = 64, max_elements: int = 64, max_depth: int = 1
    ) -> Panic:
        """Say what ended the program: a panic, a fatal error or a signal."""
    def verify(self, max_differences: int) -> Verdict:
        """Compare the walk with the allocator's own books.

        max_differences: how many Verdict.differences has at most; those
            without a reason are always in it. 0: no limit.
        """
    def reached(self, where: str | Callable[[str], object]) -> Total:
        """Write a line for every reached object, by address: the address in
        hexadecimal, and the bytes; both behind the malloc header.

        where: the name of a file, which is written whole or not at all, or
            a callable that gets pieces of the text.
        """

@final
class Vertices:
    """Numbers of vertices, one by one."""

    def __iter__(self) -> Vertices: ...
    def __next__(self) -> int: ...

@final
class MapEntries:
    """The addresses of the key and of the element of each entry of a map."""

    def __iter__(self) -> MapEntries: ...
    def __next__(self) -> tuple[int, int]: ...

@final
class Result:
    """The result of one walk. It keeps its scan alive."""

    def ledger(self) -> Ledger:
        """The totals of the walk."""
    def roots(self) -> list[RootTotal]:
        """Sorted by bytes, then objects, both falling, then name."""
    def types(self) -> list[TypeTotal]:
        """Sorted like the roots."""
    def dominators(self, max_depth: int, max_nodes: int) -> Result:
        """The dominator tree as a result, for write_profile(): a path has what
        keeps its objects alive. This result is of a walk from all roots.

        max_depth: levels of the tree; what lies deeper is counted on them.
        max_nodes: nodes of the tree.
        """
    def sites(self, max_depth: int, max_nodes: int) -> Result:
        """The sampled objects that are reached as a result, for
        write_profile(): a path has what holds its objects, and then the calls
        that allocated them. This result is of a walk from all roots.

        max_depth, max_nodes: of the paths without the calls.
        """
    def sampling(self) -> Sampling | None:
        """The samples of a result of sites(); None: the result has all
        objects."""
    def retained(self, max_roots: int = 0) -> list[int | None]:
        """The bytes that each of roots() alone keeps alive. The first question
        of a stop makes the object graph. The walk was from all roots.

        max_roots: only the first ones; the others have None. 0: all.
        """
    def write_profile(
        self,
        path: str,
        max_samples: int,
        partial: str | None = None,
        format: str = "pprof",
        labels: _Labels = (),
        time_ns: int = 0,
        root_labels: bool = False,
    ) -> ProfileStats:
        """Write a profile, whole or not at all.

        max_samples: paths with objects; past it the smallest fold. 0: no
            limit.
        partial: why the profile is not about all of the heap; only pprof
            has a place for it.
        format: "pprof", "folded", "dot" or "jsonl".
        labels, time_ns: as of Scan.goroutine_profile(); of pprof only.
        root_labels: also the labels root_kind and goroutine_state; of pprof
            only. `go tool pprof' draws a box for each.
        """
