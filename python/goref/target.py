# SPDX-License-Identifier: Apache-2.0
"""Takes from gdb the target, as plain data for _goref.

Nothing here selects a thread or a frame for longer than it takes, and nothing
writes to the target.
"""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import gdb

from . import elf, filenames

_REGISTERS = (
    "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip"
).split()
_AT_ENTRY = 9


class Target:
    """Arguments of _goref.Scan, and what to say beside."""

    def __init__(
        self,
        kind: str,
        modules: list[tuple[str, str | None, int | None]],
        threads: Iterable[tuple[int, tuple[int, ...]]] = (),
        core: str | None = None,
        pid: int = 0,
        notes: Iterable[str] = (),
    ) -> None:
        self.kind = kind
        self.modules = modules
        self.threads = list(threads)
        self.core = core
        self.pid = pid
        self.notes = list(notes)


# ---------------------------------------------------------------- which one


def kind_of(inferior: Any) -> str | None:
    """core, native or remote; None if there is no program to look at."""
    connection = inferior.connection
    if connection is None:
        return None
    if connection.type == "core":
        return "core"
    if not inferior.pid:
        return None
    return "native" if connection.type == "native" else "remote"


def _why_not_opened(path: str) -> str | None:
    """The error message for a core that gdb did not open; None if fine."""
    return elf.how_piped(path) or elf.how_packed(path) or elf.how_cut(path)


def _no_target() -> gdb.GdbError:
    with open("/proc/self/cmdline", "rb") as file:
        words = file.read().decode(errors="replace").split("\0")
    for i, word in enumerate(words):
        match = re.fullmatch(r"--?(?:p|pid)(?:=(\d+))?", word)
        if match and (match[1] or words[i + 1 : i + 2]):
            return why_not_attached(match[1] or words[i + 1])
        wrong = _why_not_opened(word) if i else None
        if wrong:
            return gdb.GdbError(f"goref: {wrong}")
    return gdb.GdbError(
        "goref: no program to look at: open a core (`gdb EXE CORE`), "
        "attach to a process (`attach PID`) or start one"
    )


NO_EXE = "it has no executable (it has ended, or is of the kernel)"


def why_not_attached(pid: str, said: str = "") -> gdb.GdbError:
    """gdb was told to attach, and did not: say what would help.
    said: gdb's own words, if they are known."""
    return gdb.GdbError(
        f"goref: not attached to process {pid}: {_attach_help(pid, said)}"
    )


def _attach_help(pid: str, said: str) -> str:
    if not os.path.exists(f"/proc/{pid}"):
        return "there is no such process"
    if said == NO_EXE:
        return said
    tracer = _status(pid, "TracerPid")
    if tracer and tracer[0] != "0":
        return f"process {tracer[0]} already traces it"
    if said and "ermitted" not in said:
        return " ".join(said.split())
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope") as file:
            scope = int(file.read())
    except (OSError, ValueError):
        scope = 0
    if scope == 3:
        return "kernel.yama.ptrace_scope=3 forbids it until reboot"
    return (
        "run as root or with CAP_SYS_PTRACE (in a container: "
        "--cap-add=SYS_PTRACE)"
        + (f"; kernel.yama.ptrace_scope is {scope}" if scope else "")
    )


def said_by(command: str) -> str:
    """The output of a gdb command. Names in a damaged core may not be text.
    gdb cannot pass such output to Python, so it goes through a file."""
    try:
        return str(gdb.execute(command, to_string=True))
    except UnicodeDecodeError:
        pass
    with open(os.memfd_create("goref"), "rb") as file:
        name = f"/proc/{os.getpid()}/fd/{file.fileno()}"
        gdb.execute(f"pipe {command} | cat >{name}")
        return file.read().decode("utf-8", "surrogateescape")


# ----------------------------------------------------- names of files for gdb

# Commands take these as they are, in all releases of gdb.
_PLAIN = re.compile(r"/[A-Za-z0-9_/.,+=@%-]*")
_opened: dict[int, str] = {}  # a descriptor that gdb opens -> the name


def check_name(path: str) -> None:
    """Neither gdb nor a profile takes other text than UTF-8."""
    shown = path.encode("utf-8", "surrogateescape")
    try:
        shown.decode()
    except UnicodeDecodeError:
        name = shown.decode("utf-8", "backslashreplace")
        raise gdb.GdbError(
            f"goref: {name}: the name is not UTF-8: rename it or link to it"
        ) from None


def name_for_gdb(path: str) -> str:
    """An absolute name of a file that stands in a command as one word. The
    name itself does, if it is plain. Any other one may hold what the parser
    makes more of, a newline and a second command even: gdb then opens the
    file by a descriptor of ours, which stays open. OSError: it cannot be
    read."""
    name = os.path.abspath(path)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    if _PLAIN.fullmatch(name):
        os.close(fd)
        return name
    _opened[fd] = name
    return f"/proc/self/fd/{fd}"


def _own_name(path: str) -> str:
    return filenames.own_name(path, _opened, os.getpid())


def with_names(text: str) -> str:
    """Text of gdb in which files have their own names."""
    return filenames.with_own_names(text, _opened, os.getpid())


def core_path(inferior: Any) -> str:
    corefile = getattr(inferior, "corefile", None)
    if corefile is not None:
        with suppress(UnicodeDecodeError):  # for said_by()
            return os.path.abspath(_own_name(str(corefile.filename)))
    text = said_by("info target")
    begin = re.search(r"Local core dump file:\s+`", text)
    if begin:
        # The name may itself hold what stands behind it.
        for end in re.finditer(r"', file type", text):
            name = _own_name(text[begin.end() : end.start()])
            if os.path.isfile(name):
                check_name(name)
                return os.path.abspath(name)
    raise gdb.GdbError("goref: gdb does not say which core it has open")


def exe_path(inferior: Any) -> str | None:
    """The executable that gdb has open, without `target:` and links."""
    space = inferior.progspace
    path = getattr(space, "executable_filename", None) or space.filename
    if not path:
        return None
    return filenames.real_name(_own_name(path.removeprefix("target:")))


# ---------------------------------------------------------------- identity


def files(saved: str | None = None) -> list[tuple[str, str | None]]:
    """The files that gdb has open and that exist: never to be written over.
    saved: the saved file that is asked."""
    inferior = gdb.selected_inferior()
    found = [("executable", exe_path(inferior)), ("saved file", saved)]
    if kind_of(inferior) == "core":
        found.append(("core", core_path(inferior)))
    return [(w, f) for w, f in found if f and os.path.exists(f)]


def _file_identity(path: str | None) -> tuple[Any, ...]:
    try:
        st = os.stat(path or "")
    except OSError:
        return (path,)
    return (path, st.st_dev, st.st_ino, st.st_size, st.st_mtime_ns)


def _stat(pid: int, field: int) -> str | None:
    """A field of /proc/PID/stat, counted from the one behind the name."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[field].decode()
    except (OSError, IndexError):
        return None


def status_kb(pid: int, key: str) -> int:
    """A size of /proc/PID/status; 0 if it is not there."""
    words = _status(str(pid), key)
    return int(words[0]) if words else 0


def start_time(pid: int) -> str | None:
    """The start of a process in ticks. With the pid, it is unique."""
    return _stat(pid, 19)


def page_faults(pid: int) -> int:
    """The page faults of a process so far that needed no disk."""
    return int(_stat(pid, 7) or 0)


def count_threads(pid: int) -> int:
    """0 if there is no such process, or not any more."""
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


def _run_counts(pid: int) -> tuple[Any, ...]:
    """How often each thread was given a processor. Two such answers tell
    whether the process has run in between."""
    counts = []
    folder = f"/proc/{pid}/task"
    try:
        for tid in os.listdir(folder):
            with open(f"{folder}/{tid}/schedstat") as file:
                counts.append((tid, file.read()))
    except OSError:
        return ()
    return tuple(sorted(counts))


def identify() -> tuple[Any, ...]:
    """Two equal answers: the same target, unmoved between."""
    inferior = gdb.selected_inferior()
    kind = kind_of(inferior)
    if not kind:
        raise _no_target()
    identity: tuple[Any, ...] = (
        inferior.num,
        kind,
        inferior.connection_num,
        _file_identity(exe_path(inferior)),
        tuple(o.filename for o in gdb.objfiles()),
        inferior.pid,
    )
    if kind == "core":
        identity += _file_identity(core_path(inferior))
    if kind == "native":
        pid = inferior.pid
        identity += (start_time(pid), _run_counts(pid))
    return identity


# -------------------------------------------------------------- executable


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _native_exe(pid: int, path: str | None, notes: list[str]) -> str:
    """A file that we can open and that is what the process runs."""
    proc = f"/proc/{pid}/exe"
    if path and _same_file(path, proc):
        return path
    known = elf.identity(proc)
    if path and known and known & elf.identity(path):
        # The same build, say with its debug information.
        return path
    try:
        link = os.readlink(proc)
        os.stat(proc)
    except OSError as problem:
        if path:
            return path
        raise gdb.GdbError(
            f"goref: cannot open {proc}: {problem.strerror}"
        ) from None
    if link.endswith(" (deleted)"):
        name = link.removesuffix(" (deleted)")
        notes.append(
            f"{name} was deleted or replaced since process {pid} started: "
            f"using {proc}"
        )
    elif not _same_file(link, proc):
        notes.append(
            f"{link} of process {pid} is not visible here (another mount "
            f"namespace): using {proc}"
        )
    elif path:
        notes.append(
            f"process {pid} runs {link}, not {path}: using what it runs"
        )
    return proc


def _core_exe(path: str | None, core: str) -> str:
    if path:
        return path
    hint = "EXE"
    text = said_by("info proc exe")
    match = re.search(r"^exe = '(.*)'", text, re.M)
    if match:
        hint = match[1]
    if hint != "EXE" and not os.path.isfile(hint):
        raise gdb.GdbError(
            f"goref: {core} needs the executable that it came from, which "
            f"was {hint} and is not there: fetch it, then `file EXE`"
        )
    raise gdb.GdbError(
        f"goref: {core} needs the executable that it came from: "
        f"`file {hint}` (or `gdb {hint} {core}`)"
    )


def _entry_bias(path: str) -> int | None:
    """The load bias of the executable, from AT_ENTRY."""
    try:
        text = said_by("info auxv")
    except gdb.error:
        return None
    match = re.search(rf"^{_AT_ENTRY}\s+AT_ENTRY\s.*\s(0x\w+)$", text, re.M)
    entry = elf.entry_point(path)
    if not match or entry is None:
        return None
    return (int(match[1], 16) - entry) & 0xFFFFFFFFFFFFFFFF


def _modules(exe: str, named: str | None) -> list[Any]:
    """The executable, then what else gdb has loaded, each with its
    separate debug file. gdb has no interface for load biases."""
    debug = {}
    others = []
    for objfile in gdb.objfiles():
        owner = objfile.owner
        name = (objfile.filename or "").removeprefix("target:")
        if owner is not None:
            debug[(owner.filename or "").removeprefix("target:")] = name
        elif getattr(objfile, "is_file", True) and os.path.isfile(name):
            others.append(name)
    modules = [(exe, debug.get(named or exe), None)]
    for name in others:
        if name not in (exe, named) and not _same_file(name, exe):
            modules.append((name, debug.get(name), None))
    return modules


def _library_biases() -> dict[str, int]:
    """The load bias of each library, by its name."""
    found = {}
    row = re.compile(r"(0x\w+)\s+(0x\w+)\s+\w+(?: \(\*\))?\s+(.*)$")
    for line in said_by("info sharedlibrary").splitlines():
        match = row.match(line)
        if not match:
            continue
        name = match[3].removeprefix("target:")
        bias = elf.load_bias(name, int(match[1], 16), int(match[2], 16))
        if bias is not None:
            found[os.path.realpath(name)] = bias & 0xFFFFFFFFFFFFFFFF
    return found


# ----------------------------------------------------------------- threads


def _status(pid: str, key: str, tid: str | None = None) -> list[str]:
    path = f"/proc/{pid}/task/{tid}/status" if tid else f"/proc/{pid}/status"
    try:
        with open(path, errors="replace") as file:
            for line in file:
                if line.startswith(key + ":"):
                    return line.split()[1:]
    except OSError:
        pass
    return []


def _is_nested(pid: int) -> bool:
    """Does the process run in a pid namespace below ours?"""
    return len(_status(str(pid), "NSpid")) > 1


def own_tid(pid: int, tid: int) -> int:
    """The thread's number in its own pid namespace, as its runtime has it."""
    numbers = _status(str(pid), "NSpid", str(tid))
    return int(numbers[-1]) if numbers else tid


def _frame_registers(thread: Any) -> tuple[int, ...]:
    """Through gdb's frames: slow, and it selects the thread."""
    thread.switch()
    frame = gdb.newest_frame()
    values = [int(frame.read_register(r)) for r in _REGISTERS]
    try:
        values.append(int(frame.read_register("fs_base")))
    except (ValueError, gdb.error):
        values.append(0)
    try:
        values.append(int(frame.read_register("orig_rax")))
    except (ValueError, gdb.error):
        values.append(-1)
    return tuple(v & 0xFFFFFFFFFFFFFFFF for v in values)


class _Selection:
    """Puts the user's thread and frame back."""

    def __enter__(self) -> None:
        self.thread = gdb.selected_thread()
        try:
            self.frame = gdb.selected_frame() if self.thread else None
        except gdb.error:
            self.frame = None

    def __exit__(self, *_: object) -> None:
        if self.thread and self.thread.is_valid():
            self.thread.switch()
        if self.frame and self.frame.is_valid():
            self.frame.select()


def _threads(native: Any, inferior: Any, kind: str) -> list[Any]:
    threads = []
    slow = []
    is_nested = kind == "native" and _is_nested(inferior.pid)
    for thread in inferior.threads():
        if thread.is_running():
            raise gdb.GdbError(
                "goref: the program is running: stop it first (`interrupt`)"
            )
        tid = thread.ptid[1]
        if kind != "native":
            slow.append((thread, tid))
            continue
        own = own_tid(inferior.pid, tid) if is_nested else tid
        try:
            threads.append((own, native.read_registers(tid)))
        except OSError:
            slow.append((thread, own))
    if slow:
        with _Selection():
            for thread, own in slow:
                threads.append((own, _frame_registers(thread)))
    return threads


# ------------------------------------------------------------- the whole


def collect(native: Any) -> Target:
    """The selected inferior, described for _goref.Scan."""
    inferior = gdb.selected_inferior()
    kind = kind_of(inferior)
    if not kind:
        raise _no_target()
    named = exe_path(inferior)
    notes: list[str] = []
    if kind == "core":
        core = core_path(inferior)
        exe = _core_exe(named, core)
        return Target(kind, _modules(exe, named), core=core)
    threads = _threads(native, inferior, kind)
    if kind == "native":
        exe = _native_exe(inferior.pid, named, notes)
        modules = _modules(exe, named)
        return Target(kind, modules, threads, pid=inferior.pid, notes=notes)
    if not named:
        raise gdb.GdbError("goref: no executable: load it with `file EXE`")
    modules = _modules(named, named)
    modules[0] = (*modules[0][:2], _entry_bias(named))
    biases = _library_biases()
    for i, (path, debug, _) in enumerate(modules[1:], 1):
        modules[i] = (path, debug, biases.get(os.path.realpath(path)))
    return Target(kind, modules, threads)


def _mapped_files(pid: int) -> list[str]:
    """The other files whose code a process runs, as names that we can open."""
    found: dict[tuple[str, str], str] = {}
    try:
        with open(f"/proc/{pid}/maps", errors="surrogateescape") as file:
            for line in file:
                words = line.rstrip("\n").split(None, 5)
                if len(words) == 6 and "x" in words[1]:
                    found.setdefault((words[3], words[4]), words[5])
    except OSError:
        return []
    names = []
    for path in found.values():
        inside = f"/proc/{pid}/root{path}"
        if path.startswith("/") and os.path.isfile(inside):
            names.append(path if _same_file(path, inside) else inside)
    return names


def running(pid: int) -> Target:
    """A process that gdb is not attached to; the executable is what gdb has
    open. Its registers come when it stands still."""
    notes: list[str] = []
    exe = _native_exe(pid, exe_path(gdb.selected_inferior()), notes)
    modules = _modules(exe, exe)
    for name in _mapped_files(pid):
        if not _same_file(name, f"/proc/{pid}/exe"):
            modules.append((name, None, None))
    return Target("native", modules, pid=pid, notes=notes)


def stopped_threads(native: Any) -> list[Any]:
    """The threads of the process that gdb is attached to."""
    return _threads(native, gdb.selected_inferior(), "native")


def read_memory(inferior: Any) -> Any:
    """The read callback of _goref.Scan."""
    return inferior.read_memory
