# SPDX-License-Identifier: Apache-2.0
"""Describes the target of gdb as plain data for _goref.

Nothing here selects a thread or a frame for longer than it takes, and nothing
writes to the target.
"""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import gdb

from .. import elf, filenames, native, procfs
from ..errors import Error

_REGISTERS = (
    "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip"
).split()
_AT_ENTRY = 9


class Target:
    """Arguments of _goref.Scan, and notes for the user."""

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
    """The error message for a core that gdb cannot open; None for a good
    one."""
    return elf.how_piped(path) or elf.how_packed(path) or elf.how_cut(path)


def _not_attached(word: str) -> Error:
    """The error for a process to which gdb was told to attach, but has not."""
    pid = int(word) if word.isascii() and word.isdigit() else 0
    try:
        native.load().Process(pid)
        reason = "gdb has not attached"
    except (native.load().Error, OverflowError) as problem:
        reason = str(problem)
    return procfs.why_not_attached(pid, reason)


def _no_target() -> Error:
    with open("/proc/self/cmdline", "rb") as file:
        words = file.read().decode(errors="replace").split("\0")
    for i, word in enumerate(words):
        match = re.fullmatch(r"--?(?:p|pid)(?:=(\d+))?", word)
        if match and (match[1] or words[i + 1 : i + 2]):
            return _not_attached(match[1] or words[i + 1])
        wrong = _why_not_opened(word) if i else None
        if wrong:
            return Error(f"goref: {wrong}")
    return Error(
        "goref: no program to look at: open a core (`gdb EXE CORE`), "
        "attach to a process (`attach PID`) or start one"
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


def core_path(inferior: Any) -> str:
    corefile = getattr(inferior, "corefile", None)
    if corefile is not None:
        with suppress(UnicodeDecodeError):  # for said_by()
            return os.path.abspath(str(corefile.filename))
    text = said_by("info target")
    begin = re.search(r"Local core dump file:\s+`", text)
    if begin:
        # The name may itself hold what stands behind it.
        for end in re.finditer(r"', file type", text):
            name = text[begin.end() : end.start()]
            if os.path.isfile(name):
                filenames.check(name)
                return os.path.abspath(name)
    raise Error("goref: gdb does not say which core it has open")


def exe_path(inferior: Any) -> str | None:
    """The executable that gdb has open, without `target:` and links."""
    space = inferior.progspace
    path = getattr(space, "executable_filename", None) or space.filename
    if not path:
        return None
    return filenames.real_name(path.removeprefix("target:"))


# ---------------------------------------------------------------- identity


def files() -> list[tuple[str, str]]:
    """The files that gdb has open and that exist: never to be written over."""
    inferior = gdb.selected_inferior()
    found = [("executable", exe_path(inferior))]
    if kind_of(inferior) == "core":
        found.append(("core", core_path(inferior)))
    return [(w, f) for w, f in found if f and os.path.exists(f)]


def _file_identity(path: str | None) -> tuple[Any, ...]:
    try:
        st = os.stat(path or "")
    except OSError:
        return (path,)
    return (path, st.st_dev, st.st_ino, st.st_size, st.st_mtime_ns)


def identify() -> tuple[Any, ...]:
    """The identity of the target. If two calls return the same, the target has
    not moved in between."""
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
        identity += (procfs.start_time(pid), procfs.run_counts(pid))
    return identity


def _core_exe(path: str | None, core: str) -> str:
    if path:
        return path
    hint = "EXE"
    text = said_by("info proc exe")
    match = re.search(r"^exe = '(.*)'", text, re.M)
    if match:
        hint = match[1]
    if hint != "EXE" and not os.path.isfile(hint):
        raise Error(
            f"goref: {core} needs the executable that it came from, which "
            f"was {hint} and is not there: fetch it, then `file EXE`"
        )
    raise Error(
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
        if name not in (exe, named) and not procfs.is_same_file(name, exe):
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


def _frame_registers(thread: Any) -> tuple[int, ...]:
    """Registers from gdb's frames. This is slow, and selects the thread."""
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
    is_nested = kind == "native" and procfs.is_nested(inferior.pid)
    for thread in inferior.threads():
        if thread.is_running():
            raise Error(
                "goref: the program is running: stop it first (`interrupt`)"
            )
        tid = thread.ptid[1]
        if kind != "native":
            slow.append((thread, tid))
            continue
        own = procfs.own_tid(inferior.pid, tid) if is_nested else tid
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
        runs = procfs.executable(inferior.pid, named, notes)
        modules = _modules(runs.path, named)
        modules[0] = (*modules[0], runs.name)
        return Target(kind, modules, threads, pid=inferior.pid, notes=notes)
    if not named:
        raise Error("goref: no executable: load it with `file EXE`")
    modules = _modules(named, named)
    modules[0] = (*modules[0][:2], _entry_bias(named))
    biases = _library_biases()
    for i, (path, debug, _) in enumerate(modules[1:], 1):
        modules[i] = (path, debug, biases.get(os.path.realpath(path)))
    return Target(kind, modules, threads)
