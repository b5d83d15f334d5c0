# SPDX-License-Identifier: Apache-2.0
"""`goref`, the command line: gdb in batch mode, driven from inside."""

import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import gdb

from . import (
    args,
    commands,
    elf,
    ended,
    helptext,
    libraries,
    native,
    params,
    shell,
    target,
)
from .commands import base
from .verbs import (
    HIDDEN,
    OVERVIEW,
    QUESTIONS,
    SCAN,
    SOURCES,
    STANDALONE,
    VERBS,
    Source,
    Verb,
)
from .progress import Progress
from .session import as_gdb_error, current, warn

COMPLETE, FAILED, USAGE, PARTIAL, CONDITION = 0, 1, 2, 3, 4


class _Exit(Exception):
    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(message)
        self.status = status


class _Closed(Exception):
    """Whoever read our output has enough, as `head` has."""


def _answer(text: str) -> None:
    """gdb would not say that it could not write."""
    ended.check()
    gdb.flush()
    left = text.encode("utf-8", "surrogateescape")
    try:
        while left:
            left = left[os.write(1, left) :]
    except BrokenPipeError:
        raise _Closed from None
    except OSError as problem:
        raise _Exit(FAILED, f"cannot write: {problem.strerror}") from None


# ------------------------------------------------------------------- targets


def _absolute(path: str) -> str:
    """The current folder may be gone."""
    try:
        return os.path.abspath(path)
    except OSError as problem:
        raise _Exit(FAILED, f"{path}: {problem.strerror}") from None


def _file(path: str) -> str:
    """The name by which gdb can open a file; an unreadable one is an error."""
    target.check_name(_absolute(path))
    piped = elf.how_piped(path)
    if piped:
        raise _Exit(FAILED, piped)
    try:
        return target.name_for_gdb(path)
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
    ended.check()


def _open_exe(exe: str, needs_symbols: bool) -> None:
    """gdb's own reading of symbols is the longest part of its start, and
    only expressions that goref does not understand itself need them.
    exe: as target.name_for_gdb() gives it."""
    with ended.at_once():
        _quietly(f"file {'' if needs_symbols else '-readnever '}{exe}")


def _find_exe(core: str) -> str:
    from . import executable  # only needed here

    try:
        found = executable.find(core)
    except executable.NotFoundError as problem:
        raise _Exit(FAILED, str(problem)) from None
    warn([found.warning] if found.warning else [])
    return found.path


def _replace_lost_folder() -> None:
    """gdb 18 crashes if the current folder was removed, so gdb gets another
    one. It stays ours: relative names lead nowhere."""
    try:
        os.getcwd()
    except OSError:
        lost = os.open(".", os.O_PATH)
        gdb.execute("cd /", to_string=True)
        os.fchdir(lost)
        os.close(lost)


def _plain(path: str) -> str:
    """Like _file(), but a compressed file is an error."""
    name = _file(path)
    packed = elf.how_packed(path)
    if packed:
        raise _Exit(FAILED, packed)
    return name


def _check_processor(core: str) -> None:
    """gdb 16 crashes on a core of a processor that it does not know."""
    name = elf.foreign_processor(core)
    if name and name not in gdb.architecture_names():
        raise _Exit(
            FAILED,
            f"{core} is of {name}, which this gdb does not know: install "
            "gdb-multiarch, and set GDB=gdb-multiarch",
        )


def _load_pair(exe: str, core: str, needs_symbols: bool) -> None:
    """Both as target.name_for_gdb() gives them."""
    _open_exe(exe, needs_symbols)
    with ended.at_once():
        _quietly(f"core-file {core}")


def _load_core(exe: str, core: str, needs_symbols: bool) -> None:
    """The same, with the libraries."""
    sysroot = libraries.hide()
    try:
        _load_pair(exe, core, needs_symbols)
    except gdb.error:
        if not needs_symbols:
            raise
        # Damaged debug information: what goref understands itself needs none
        # of gdb's symbols.
        _load_pair(exe, core, False)
    reason = libraries.why_hidden(exe)
    if reason is None:
        with ended.at_once():
            _quietly(f"set sysroot {sysroot}")
    elif reason:
        warn([f"no library is loaded: {reason}"])


def _open_core(exe: str | None, core: str, needs_symbols: bool) -> None:
    """Without exe, it is found."""
    names = [_plain(path) for path in (exe, core) if path is not None]
    _check_processor(core)
    if exe is None:
        names.insert(0, _file(_find_exe(core)))
    try:
        _load_core(names[0], names[1], needs_symbols)
    except gdb.error as problem:
        wrong = elf.how_cut(core) or target.with_names(str(problem))
        raise _Exit(FAILED, " ".join(wrong.split())) from None


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


def _attach(text: str, options: Any, extent: str) -> None:
    """extent: what the question needs of the process."""
    from . import lifetime, live, snapshot  # only needed here

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
    # libthread_db would read pages of libc and of stacks that the process does
    # not have in memory, and which count as its Rss from then on. It only
    # names threads.
    _quietly("set libthread-db-search-path /dev/null")
    # Nor any file that the process names itself.
    libraries.hide()
    _open_exe(f"/proc/{pid}/exe", needs_symbols=False)
    current.life = lifetime.of_process(pid)
    live.look(
        pid,
        lambda: stopped(pid),
        options.max_pause,
        params.memory_limit(options.memory_limit),
        getattr(options, "max_nodes", None) or params.max_nodes(),
        getattr(options, "timeout", None),
        extent,
        snapshot.Look if options.snapshot else live.Look,
    )


def _open_saved(path: str, options: Any, extent: str) -> None:
    """extent: what the question needs of the file."""
    from . import saved  # only needed here

    timeout = getattr(options, "timeout", None)
    progress = Progress(params.progress(), timeout, current.command_begin)
    limit = params.memory_limit(options.memory_limit)
    target.check_name(_absolute(path))
    try:
        scan = saved.open_scan(path, progress, limit, extent)
    except (Exception, KeyboardInterrupt) as problem:
        progress.clear()
        raise as_gdb_error(problem, progress.reason) from None
    warn(scan.info().warnings)
    current.keep(scan, [])


# ----------------------------------------------------------------- questions


def _usage_error(name: str, message: str) -> _Exit:
    command = " ".join(filter(None, ["goref", name, "--help"]))
    return _Exit(USAGE, f"{message}; try `{command}'")


def _count_places(source: Source, words: Sequence[str]) -> int:
    """The number of operands that name the target."""
    if source.name != "core":
        return 1
    if not words:
        return 2
    is_last = len(words) == 1 or words[1] in {**VERBS, **HIDDEN}
    is_packed = is_last and elf.how_packed(words[0])
    return 1 if is_packed or elf.is_core(words[0]) else 2


def _not_of_one(
    source: Source, words: Sequence[str], places: Sequence[int]
) -> _Exit:
    """A verb that names all that it looks at behind itself."""
    verb = words[places[-1]]
    line = shell.command(verb, *(words[at] for at in places[:-1]))
    return _usage_error(
        verb,
        f"{verb} is about two heaps: write `{line} ...', "
        f"without `{source.name}'",
    )


def _take_verb(
    source: Source, words: Sequence[str]
) -> tuple[int, Verb | None, list[str]]:
    """The number of operands before the verb, the verb, and all other words.
    An option's value is not an operand: all options are known here."""
    verbs = {**VERBS, **HIDDEN}
    every = [o for v in verbs.values() for o in v.options]
    every += [*QUESTIONS.values(), *source.options]
    places = args.Parser("goref", every).operands(words)
    count = _count_places(source, [words[i] for i in places])
    if len(places) > count:
        at = places[count]
        verb = verbs.get(words[at]) if "--" not in words[:at] else None
        if words[at] in STANDALONE:
            raise _not_of_one(source, words, places[: count + 1])
        if verb:
            return count, verb, [*words[:at], *words[at + 1 :]]
    return count, None, list(words)


def _check_no_verb(source: Source, word: str) -> None:
    """Every name of a Go program has a dot: a bare word is meant as a verb."""
    if source.name == "core" and elf.is_elf(word):
        raise _usage_error(source.name, f"EXE comes before CORE: {word}")
    if not re.fullmatch(r"[a-z][a-z-]*", word):
        return
    import difflib  # only needed here

    near = difflib.get_close_matches(word, VERBS, 1, 0.6)
    hint = f" (is it {near[0]}?)" if near else ""
    raise _usage_error(source.name, f"there is no verb `{word}'{hint}")


def _guess_verb(source: Source, options: Any) -> Verb:
    """The verb that options without a verb stand for. An option that does not
    belong to it is an error."""
    given = options.given - {o.name for o in source.options}
    asked = [name for name in QUESTIONS if name in given]
    if len(asked) > 1:
        raise _usage_error(source.name, "--why and --verify: only one of them")
    if not asked:
        if options.words:
            _check_no_verb(source, options.words[0])
        return SCAN if given or options.words else OVERVIEW
    verb = VERBS[asked[0]]
    for name in sorted(given - {o.name for o in verb.options} - {*asked}):
        raise _usage_error(
            source.name, f"--{name} has no meaning with --{verb.name}"
        )
    if options.words:
        raise _usage_error(
            source.name,
            f"EXPRESSION {options.words[0]} has no meaning with --{verb.name}",
        )
    return verb


def _check_words(verb: Verb, options: Any) -> None:
    words = options.words
    if words and not verb.operands:
        raise _usage_error(
            verb.name, f"{words[0]} has no meaning with {verb.name}"
        )
    is_needed = verb.operands and not verb.operands.startswith("[")
    if is_needed and not words and not getattr(options, "type", None):
        raise _usage_error(verb.name, f"no {verb.operands} given")


def _missing(source: Source, words: Sequence[str]) -> _Exit:
    """Fewer operands than it takes to name what to look at."""
    if source.name == "core" and words:
        _file(words[0])
        cut = elf.how_cut(words[0])
        if cut:
            return _Exit(FAILED, cut)
        what = f"no CORE given: {words[0]} is not a core file"
    else:
        what = f"no {source.places.split()[-1]} given"
    return _usage_error(source.name, what)


class _Question:
    """A parsed command line: the target, the verb and its options."""

    def __init__(self, source: Source, rest: Sequence[str]) -> None:
        count, self.verb, words = _take_verb(source, rest)
        known = self.verb.options if self.verb else SCAN.options
        more = () if self.verb else tuple(QUESTIONS.values())
        name = f"{source.name} {self.verb.name}" if self.verb else source.name
        parser = args.Parser(
            f"goref {name}",
            [*source.options, *known, *more],
            path=str,
            has_quotes=False,
        )
        try:
            self.options = options = parser.parse(words)
        except args.UsageError as problem:
            help_name = self.verb.name if self.verb else source.name
            raise _usage_error(help_name, str(problem)) from None
        if options.help:
            return
        self.places = options.words[:count]
        if len(self.places) < count:
            raise _missing(source, self.places)
        options.words = options.words[count:]
        if self.verb:
            _check_words(self.verb, options)
        else:
            self.verb = _guess_verb(source, options)
        args.add_defaults(options, self.verb.options)
        if getattr(options, "out", None) is not None:
            target.check_name(options.out)

    def needs_symbols(self) -> bool:
        assert self.verb
        if self.verb.operands == "FILE":
            return False
        return bool(self.options.words or getattr(self.options, "why", None))

    def check(self) -> None:
        """An error if its options make no sense."""
        assert self.verb
        try:
            commands.check(self.verb.name, self.options)
        except args.UsageError as problem:
            raise _usage_error(self.verb.name, str(problem)) from None

    def extent(self) -> str:
        """What it needs of the program, by options that make sense."""
        assert self.verb
        return commands.extent(self.verb.name, self.options)


def _help_name(source: Source, rest: Sequence[str]) -> str:
    """`goref core why --help' is about why."""
    return next((word for word in rest if word in VERBS), source.name)


def _run(source: Source, rest: Sequence[str]) -> int:
    question = _Question(source, rest)
    if question.options.help:
        _answer(helptext.help_of(_help_name(source, rest)) or "")
        return COMPLETE
    places = question.places
    base.ask_with(shell.command(source.name, *places))
    question.check()
    if source.name == "core":
        exe = places[0] if len(places) > 1 else None
        _open_core(exe, places[-1], question.needs_symbols())
    elif source.name == "open":
        _open_saved(places[0], question.options, question.extent())
    else:
        _attach(places[0], question.options, question.extent())
    assert question.verb
    return _ask(question.verb, question.options)


def _ask(verb: Verb, options: Any) -> int:
    """The status of an answer."""
    try:
        return PARTIAL if commands.run(verb.name, options) else COMPLETE
    except base.ConditionHolds as problem:
        raise _Exit(CONDITION, str(problem).removeprefix("goref ")) from None
    except args.UsageError as problem:
        raise _usage_error(verb.name, str(problem)) from None


def _run_alone(verb: Verb, words: Sequence[str]) -> int:
    """A verb whose operands name what it looks at."""
    parser = args.Parser(
        f"goref {verb.name}", verb.options, path=str, has_quotes=False
    )
    try:
        options = parser.parse(words)
    except args.UsageError as problem:
        raise _usage_error(verb.name, str(problem)) from None
    if options.help:
        _answer(helptext.verb_help(verb))
        return COMPLETE
    base.ask_with(shell.command(verb.name))
    if getattr(options, "out", None) is not None:
        target.check_name(options.out)
    return _ask(verb, options)


def _help(words: Sequence[str]) -> int:
    text = helptext.main_help()
    if words:
        found = helptext.help_of(words[0], is_full=True)
        if found is None:
            raise _usage_error("", f"there is no verb `{words[0]}'")
        text = found
    _answer(text)
    return COMPLETE


def _dispatch(words: list[str]) -> int:
    first = words[0] if words else ""
    if first in SOURCES:
        return _run(SOURCES[first], words[1:])
    if first in STANDALONE:
        return _run_alone(STANDALONE[first], words[1:])
    if first in ("-h", "--help", "help"):
        return _help(words[1:])
    if first in ("-V", "--version"):
        _answer(f"goref-gdb {native.load().VERSION}, gdb {gdb.VERSION}\n")
        return COMPLETE
    if first in VERBS:
        if {"-h", "--help"} & {*words}:
            _answer(helptext.verb_help(VERBS[first]))
            return COMPLETE
        raise _Exit(
            USAGE,
            f"{first} of what? Write `goref core [EXE] CORE {first}', "
            f"`goref attach PID {first}' or `goref open FILE {first}'; try "
            "`goref --help'",
        )
    raise _Exit(USAGE, _no_source(words))


def _no_source(words: list[str]) -> str:
    """The error message if the first word is no source. If it is a file or a
    number, the message says which source has to stand before it."""
    first = words[0] if words else ""
    meant = ""
    if elf.is_elf(first) or elf.how_packed(first):
        meant = "core"
    elif os.path.isfile(first):
        meant = "open"
    elif first.isascii() and first.isdigit():
        meant = "attach"
    if meant:
        whole = shell.command(meant, *words)
        return f"the word `{meant}' is missing: write `{whole}'"
    what = f"there is no `{first}'" if first else "no command given"
    return f"{what}; try `goref --help'"


# ---------------------------------------------------------------------- main


def _arguments() -> list[str]:
    """The words of the command line, which the shell passes in variables."""
    count = int(os.environ.pop("GOREF_ARGC", "0"))
    return [os.environ.pop(f"GOREF_ARG{i}") for i in range(count)]


def _status() -> int:
    try:
        ended.watch()
        current.command_begin = time.monotonic()
        words = _arguments()
        if os.isatty(2):
            gdb.execute("set goref progress on")
        base.write_with(_answer)
        _replace_lost_folder()
        status = _dispatch(words)
        ended.block()
        return status
    except _Exit as end:
        text = elf.shown(" ".join(str(end).split()))
        if text:
            gdb.write(f"goref: {text}\n", gdb.STDERR)
        return end.status
    except _Closed:
        return FAILED
    except KeyboardInterrupt:
        gdb.write("goref: interrupted\n", gdb.STDERR)
    except (gdb.GdbError, gdb.error, UnicodeError) as problem:
        text = elf.shown(" ".join(str(problem).split()))
        begin = "" if text.startswith("goref") else "goref: "
        gdb.write(f"{begin}{text}\n", gdb.STDERR)
    return FAILED


def main() -> None:
    """The end of this process."""
    status = FAILED
    try:
        try:
            status = _status()
            ended.block()
        except KeyboardInterrupt:
            # While it said why there is no answer.
            gdb.write("goref: interrupted\n", gdb.STDERR)
            ended.block()
    except BaseException:
        # A `finally` that fails on the way out hides Ended.
        if not ended.is_due():
            raise
    if ended.is_due():
        sys.stdout.flush()
        gdb.flush()
        ended.die()
    sys.stdout.flush()
    gdb.flush()
    # Behind each command, gdb looks up the language of the frame, in debug
    # information that may be damaged.
    with suppress(gdb.error):
        gdb.execute("set confirm off")
    gdb.execute(f"quit {status}")
