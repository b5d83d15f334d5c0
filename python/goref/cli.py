# SPDX-License-Identifier: Apache-2.0
"""`goref`, the command line: gdb in batch mode, driven from inside."""

import argparse
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import gdb

from . import args, commands, elf, live, native, params, snapshot, target

COMPLETE, FAILED, USAGE, PARTIAL = 0, 1, 2, 3

_ABOUT = """\
Usage: goref core [OPTION]... EXE CORE [EXPRESSION]...
  or:  goref attach [OPTION]... PID [EXPRESSION]...
Find out who holds the memory of a Go program.

  core       look at a core file (of the kernel, gcore, dlv dump)
  attach     look at a process, which stands still meanwhile
  --version  print the version
  --help     print this; `goref core --help' has the options

Exit status: 0 all was seen, 3 a part of it (which, is said), 1 failed,
2 wrong usage.
"""

_DETAILS = {
    "core": """\
CORE needs exactly the EXE that ran. With EXPRESSIONs, only what these hold: a
package variable (main.cache), an address, a Go conversion as
'(*main.T)(0xc000012345)', or what gdb can evaluate.
""",
    "attach": """\
The process stands still only while memory is copied: how much and for how
long is said before. It goes on also when goref is killed. With EXPRESSIONs,
only what these hold: a package variable (main.cache), an address, a Go
conversion as '(*main.T)(0xc000012345)', or what gdb can evaluate.

With --snapshot, one thread of the process makes a system call that forks it
(by ptrace; nothing is written to its memory): the process stands still while
its page tables are copied, 20 to 60 ms for each GB, and then every page that
it writes to is doubled until goref has read the copy. For less than 0.1 ms,
on a busy machine a few ms, and twice, the registers of that thread are not its
own. Whenever goref or gdb is killed, the process goes on as it was, and a
helper clears away. Only if this helper itself (goref-snapshot) is killed by
SIGKILL: two ended processes then stay in the process's list of children until
it ends, and if that happens in those 0.1 ms, its thread sees a wait of its own
end early, and signals stay blocked in it. Refused, with the reason, where
limits of processes or memory, or the state of the threads would make it
unsafe. Memory shared with other processes is not copied.

A seccomp filter, which containers have by default, is suspended in that one
thread while the process stands still: its own calls do not escape it. The
kernel lets only root outside of all containers do so; otherwise a process
under a filter is refused. Should the helper be killed in those 0.1 ms, the
filter sees a clone or wait4 that the process did not make: one that ends a
process for these will do so. Those of containers allow them.
""",
}
_EPILOG = """
For SIZE, --top and the N of --max-depth, --max-nodes and --max-samples, 0 or
`unlimited' means no limit. Exit status: 0 all was seen, 3 a part of it, 1
failed, 2 wrong usage. A part exists only once the walk runs: Ctrl-C or
--timeout before that is 1.
"""


class _Exit(Exception):
    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(message)
        self.status = status


class _Closed(Exception):
    """Whoever read our output has enough, as `head` has."""


def _answer(text: str) -> None:
    """gdb would not say that it could not write."""
    gdb.flush()
    left = text.encode("utf-8", "surrogateescape")
    try:
        while left:
            left = left[os.write(1, left) :]
    except BrokenPipeError:
        raise _Closed from None
    except OSError as problem:
        raise _Exit(FAILED, f"cannot write: {problem.strerror}") from None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        text = args.with_nearest(self, message)
        raise _Exit(USAGE, f"{text}; try `{self.prog} --help'")

    def _print_message(self, message: str, file: Any = None) -> None:
        _answer(message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise _Exit(status, message or "")


def _parser(command: str, words: str) -> _Parser:
    parser = _Parser(
        prog=f"goref {command}",
        usage=f"goref {command} [OPTION]... {words} [EXPRESSION]...",
        epilog=_DETAILS[command] + _EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    args.add_scan_options(parser, str)
    if command == "attach":
        parser.add_argument(
            "--max-pause",
            type=args.milliseconds,
            metavar="MS",
            help="refuse if the process would have to stand still for more "
            "milliseconds, and give up copying after three quarters of them, "
            "so as to let it go in time; a busy machine may need longer",
        )
        parser.add_argument(
            "--threads",
            type=args.threads,
            metavar="N",
            help="threads that copy the process while it stands still, up to "
            "16; not given: 2 where there are two processors",
        )
        parser.add_argument(
            "--snapshot",
            action="store_true",
            help="have the process forked and look at the copy (below)",
        )
    questions = parser.add_mutually_exclusive_group()
    questions.add_argument(
        "--why",
        action="append",
        default=[],
        metavar="EXPRESSION",
        help="instead, print the chain of references that holds this object; "
        "may be repeated: with --json, the answers are then one array",
    )
    questions.add_argument(
        "--verify",
        action="store_true",
        help="instead, check what is seen against the allocator's own books",
    )
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    return parser


# ------------------------------------------------------------------- targets


def _escaped(path: str) -> str:
    """For commands of gdb that take quotes and backslashes."""
    return re.sub(r"([^\w/.,+=@%-])", r"\\\1", path)


def _check_name(path: str) -> None:
    """gdb takes no other text than UTF-8."""
    shown = path.encode("utf-8", "surrogateescape")
    try:
        shown.decode()
    except UnicodeDecodeError:
        name = shown.decode("utf-8", "backslashreplace")
        raise _Exit(
            FAILED, f"{name}: the name is not UTF-8: rename it or link to it"
        ) from None


def _file(path: str) -> str:
    """An absolute name; an error if it cannot be read."""
    _check_name(os.path.abspath(path))
    piped = elf.how_piped(path)
    if piped:
        raise _Exit(FAILED, piped)
    try:
        with open(path, "rb"):
            return os.path.abspath(path)
    except OSError as problem:
        raise _Exit(FAILED, f"{path}: {problem.strerror}") from None


def _quietly(command: str) -> None:
    """Without what gdb prints, which to_string does not catch all of."""
    gdb.flush()
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        gdb.execute(command, to_string=True)
        gdb.flush()
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _open_exe(exe: str, needs_symbols: bool) -> None:
    """gdb's own reading of symbols is the longest part of its start, and
    only expressions that goref does not understand itself need them."""
    how = "" if needs_symbols else "-readnever "
    _quietly(f"file {how}{_escaped(exe)}")


def _open_core(exe: str, core: str, needs_symbols: bool) -> None:
    exe, core = _file(exe), _file(core)
    packed = elf.how_packed(core)
    if packed:
        raise _Exit(FAILED, packed)
    _open_exe(exe, needs_symbols)
    # gdb took this name as it is, before it came to read quotes.
    try:
        _quietly(f"core-file {core}")
    except gdb.error:
        cut = elf.how_cut(core)
        if cut:
            raise _Exit(FAILED, cut) from None
        if core == _escaped(core):
            raise
        _quietly(f"core-file {_escaped(core)}")


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A context within which gdb keeps the process stopped."""
    try:
        # Separate debug files of shared libraries would be read now.
        _quietly(f"with debug-file-directory -- attach {pid}")
        yield
    except gdb.error as problem:
        if gdb.selected_inferior().pid:
            raise
        raise target.why_not_attached(str(pid), str(problem)) from None
    finally:
        if gdb.selected_inferior().pid:
            _quietly("detach")


def _attach(text: str, options: Any) -> None:
    if not text.isascii() or not text.isdigit() or int(text) >> 31:
        raise _Exit(
            USAGE, f"not a process number: {text}; try `goref attach --help'"
        )
    pid = int(text)
    if not os.access(f"/proc/{pid}/mem", os.R_OK):
        raise target.why_not_attached(str(pid), "not permitted")
    if not os.path.exists(f"/proc/{pid}/exe"):
        raise target.why_not_attached(str(pid), target.NO_EXE)
    if options.threads is not None:
        gdb.execute(f"set goref threads {options.threads}")
    # Nothing that gdb reads of files is to be read while the process waits.
    _quietly("set auto-solib-add off")
    _open_exe(f"/proc/{pid}/exe", needs_symbols=False)
    live.look(
        pid,
        lambda: stopped(pid),
        options.max_pause,
        params.memory_limit(options.memory_limit),
        options.max_nodes or params.max_nodes(),
        snapshot.Look if options.snapshot else live.Look,
    )


# ----------------------------------------------------------------- questions


def _ask(options: Any) -> list[str]:
    """Answer what was asked; the reasons why that is not all."""
    if options.verify:
        options.max_differences = 20
        return commands.verify(options)
    if options.why:
        return commands.why(options, options.why)
    return commands.scan(options)


# Of a scan alone; the rest of the options is for all questions.
_OF_A_SCAN = (
    "out", "max_depth", "max_nodes", "max_samples", "top", "timeout",
    "per_goroutine",
)  # fmt: skip


def _check_question(parser: _Parser, command: str, options: Any) -> None:
    """No option is passed over in silence."""
    if not options.verify and not options.why:
        return
    question = "--verify" if options.verify else "--why"
    names = list(_OF_A_SCAN)
    if command == "core":
        names.append("memory_limit")
    if options.verify:
        names.append("attribution")
    for name in names:
        if getattr(options, name) != parser.get_default(name):
            option = "--" + name.replace("_", "-")
            parser.error(f"{option} has no meaning with {question}")
    if options.expressions:
        parser.error(
            f"EXPRESSION {options.expressions[0]} has no meaning with "
            f"{question}"
        )


def _run(command: str, rest: Sequence[str]) -> int:
    words = {"core": "EXE CORE", "attach": "PID"}[command]
    parser = _parser(command, words)
    options = args.parse(parser, rest)
    count = len(words.split())
    if len(options.words) < count:
        missing = words.split()[len(options.words)]
        parser.error(f"no {missing} given")
    named = options.words[:count]
    options.expressions = options.words[count:]
    _check_question(parser, command, options)
    if options.out is not None:
        _check_name(options.out)
    if command == "core":
        needs_symbols = bool(options.expressions or options.why)
        _open_core(named[0], named[1], needs_symbols)
    else:
        _attach(named[0], options)
    return PARTIAL if _ask(options) else COMPLETE


def _dispatch(words: list[str]) -> int:
    first = words[0] if words else ""
    if first in ("core", "attach"):
        return _run(first, words[1:])
    if first in ("-h", "--help", "help"):
        _answer(_ABOUT)
        return COMPLETE
    if first in ("-V", "--version"):
        _answer(f"goref-gdb {native.load().VERSION}, gdb {gdb.VERSION}\n")
        return COMPLETE
    what = f"there is no `{first}'" if first else "nothing to do given"
    raise _Exit(USAGE, f"{what}; try `goref --help'")


# ---------------------------------------------------------------------- main


def _arguments() -> list[str]:
    """What the shell put into the environment."""
    count = int(os.environ.pop("GOREF_ARGC", "0"))
    return [os.environ.pop(f"GOREF_ARG{i}") for i in range(count)]


def _status(words: list[str]) -> int:
    try:
        if os.isatty(2):
            gdb.execute("set goref progress on")
        commands.answer = _answer
        return _dispatch(words)
    except _Exit as end:
        if str(end):
            gdb.write(f"goref: {end}\n", gdb.STDERR)
        return end.status
    except _Closed:
        return FAILED
    except KeyboardInterrupt:
        gdb.write("goref: interrupted\n", gdb.STDERR)
    except (gdb.GdbError, gdb.error, UnicodeError) as problem:
        text = " ".join(str(problem).split())
        begin = "" if text.startswith("goref") else "goref: "
        gdb.write(f"{begin}{text}\n", gdb.STDERR)
    return FAILED


def main() -> None:
    """The end of this process."""
    status = _status(_arguments())
    # All is said: Ctrl-C would only make Python's own end fail. gdb sets its
    # handler again as it quits, which must not run then.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    sys.stdout.flush()
    gdb.flush()
    gdb.execute("set confirm off")
    gdb.execute(f"quit {status}")
