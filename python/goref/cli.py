# SPDX-License-Identifier: Apache-2.0
"""The command line `goref`. It needs no gdb."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from . import (
    args,
    commands,
    elf,
    ended,
    filenames,
    front,
    native,
    shell,
)
from .commands import base
from .errors import Error
from .session import current, running
from .verbs import (
    QUESTIONS,
    SOURCES,
    STANDALONE,
    VERBS,
    Source,
    Verb,
)

if TYPE_CHECKING:
    from .sources import Source as Target

COMPLETE, FAILED, USAGE, PARTIAL, CONDITION = 0, 1, 2, 3, 4


# Options that say nothing about the question.
_OF_ALL = {"color", "timeout", "memory-limit"}


class _Exit(Exception):
    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(message)
        self.status = status


class _Closed(Exception):
    """The reader of our output has closed it, as `head` does."""


class _Terminal(front.Terminal):
    """The front end of the command line."""

    def __init__(self) -> None:
        super().__init__()
        self._warned: set[str] = set()

    def note(self, text: str) -> None:
        """Write a note. Where nobody can read it, the answer still comes."""
        with suppress(OSError):
            os.write(2, text.encode("utf-8", "backslashreplace"))

    def is_news(self, line: str) -> bool:
        is_news = line not in self._warned
        self._warned.add(line)
        return is_news

    def has_color(self) -> bool:
        return (
            _is_terminal(1)
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM", "dumb") != "dumb"
        )

    def write(self, text: str) -> None:
        """Write all of the text, or raise an error."""
        ended.check()
        left = text.encode("utf-8", "surrogateescape")
        try:
            while left:
                left = left[os.write(1, left) :]
        except BrokenPipeError:
            raise _Closed from None
        except OSError as problem:
            raise _Exit(FAILED, f"cannot write: {problem.strerror}") from None


def _answer(text: str) -> None:
    front.current.write(text)


# ------------------------------------------------------------------- targets


def _pid(text: str) -> int:
    number = args.process_number(text)
    if number is None:
        raise _Exit(
            USAGE, f"not a process number: {text}; try `goref attach --help'"
        )
    return number


def _attached(text: str, options: Any, extent: str) -> Target:
    """extent: what the question needs of the process."""
    from .sources import process  # only needed here

    pid = _pid(text)
    return process.Process(
        pid,
        extent,
        max_pause_ms=options.max_pause,
        max_nodes=getattr(options, "max_nodes", None),
        with_snapshot=options.snapshot,
        threads=options.threads,
    )


def _target(
    source: Source, places: Sequence[str], options: Any, extent: str
) -> Target:
    """The source that the words on the command line name."""
    if source.name == "core":
        from .sources import core

        exe = places[0] if len(places) > 1 else None
        return core.Core(places[-1], exe)
    if source.name == "open":
        from .sources import saved

        return saved.Saved(places[0])
    return _attached(places[0], options, extent)


def _finds_exe() -> bool:
    """True if the core leads to its executable."""
    from .sources import core

    return isinstance(current.source, core.Core) and current.source.is_found()


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
    is_last = len(words) == 1 or words[1] in VERBS
    is_packed = is_last and elf.how_packed(words[0])
    return 1 if is_packed or elf.is_core(words[0]) else 2


def _check_core(
    source: Source, places: Sequence[str], words: Sequence[str]
) -> None:
    """Error if a verb stands where CORE belongs. places: the operands that
    name the target."""
    if source.name != "core" or len(places) < 2:
        return
    verb = places[1]
    if verb not in VERBS or os.path.isfile(verb):
        return
    if not {"-h", "--help", "--"} & {*words}:
        raise _no_core(source, places[0], f"before {verb}")


def _not_of_one(
    source: Source, words: Sequence[str], places: Sequence[int]
) -> _Exit:
    """The error for a verb whose operands, which stand behind it, name what it
    looks at."""
    verb = words[places[-1]]
    line = shell.command(verb, *(words[at] for at in places[:-1]))
    return _usage_error(
        verb,
        f"{verb} names what it looks at itself: write `{line} ...', "
        f"without `{source.name}'",
    )


def _take_verb(
    source: Source, words: Sequence[str]
) -> tuple[int, Verb | None, list[str]]:
    """The number of operands before the verb, the verb, and all other words.
    An option's value is not an operand: all options are known here."""
    verbs = VERBS
    every = [o for v in verbs.values() for o in v.options]
    every += [*QUESTIONS.values(), *source.options]
    places = args.Parser("goref", every).operands(words)
    count = _count_places(source, [words[i] for i in places])
    _check_core(source, [words[i] for i in places[:count]], words)
    if len(places) > count:
        at = places[count]
        verb = verbs.get(words[at]) if "--" not in words[:at] else None
        if words[at] in STANDALONE:
            raise _not_of_one(source, words, places[: count + 1])
        if verb:
            return count, verb, [*words[:at], *words[at + 1 :]]
    return count, None, list(words)


def _check_no_verb(source: Source, word: str) -> None:
    """Error if the word seems to be a misspelled verb. Every name of a Go
    program has a dot, so a word without one is meant as a verb."""
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
        is_scan = options.words or given - _OF_ALL
        return VERBS["scan" if is_scan else "overview"]
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
    """The error for a command that does not name what to look at."""
    if source.name == "core" and words:
        return _no_core(source, words[0], "given")
    what = f"no {source.places.split()[-1]} given"
    return _usage_error(source.name, what)


def _no_core(source: Source, path: str, where: str) -> _Exit:
    """The error for a file that no CORE follows, and that is none itself.
    where: CORE is missing there."""
    filenames.check_readable(path)
    wrong = elf.how_piped(path) or elf.how_cut(path)
    if not wrong and not elf.is_elf(path):
        wrong = f"{path} is neither a core nor an executable"
    if wrong:
        return _Exit(FAILED, wrong)
    what = f"no CORE {where}: {path} is not a core file"
    return _usage_error(source.name, what)


class _Question:
    """A parsed command line: the target, the verb and its options."""

    def __init__(self, source: Source, rest: Sequence[str]) -> None:
        count, self.verb, words = _take_verb(source, rest)
        known = self.verb.options if self.verb else VERBS["scan"].options
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
            filenames.check(options.out)

    def check(self) -> None:
        """Raise an error if its options make no sense."""
        assert self.verb
        try:
            commands.check(self.verb.name, self.options)
        except args.UsageError as problem:
            raise _usage_error(self.verb.name, str(problem)) from None

    def extent(self) -> str:
        """The part of the program that it needs. check() must have
        succeeded."""
        assert self.verb
        return commands.extent(self.verb.name, self.options)


def _help_of(name: str) -> None:
    """Print the help of a verb or of a source."""
    from . import helptext  # only needed here

    _answer(helptext.help_of(name) or "")


def _help_name(source: Source, rest: Sequence[str]) -> str:
    """`goref core why --help' is about why."""
    return next((word for word in rest if word in VERBS), source.name)


def _run(source: Source, rest: Sequence[str]) -> int:
    question = _Question(source, rest)
    if question.options.help:
        _help_of(_help_name(source, rest))
        return COMPLETE
    places = question.places
    base.ask_with(shell.command(source.name, *places))
    question.check()
    options, extent = question.options, question.extent()
    current.source = _target(source, places, options, extent)
    if source.name == "core" and len(places) > 1 and _finds_exe():
        base.ask_with(shell.command(source.name, places[-1]))
    with running(
        options.memory_limit, getattr(options, "timeout", None), extent
    ):
        pass
    assert question.verb
    return _ask(question.verb, options)


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
        _help_of(verb.name)
        return COMPLETE
    base.ask_with(shell.command(verb.name))
    if getattr(options, "out", None) is not None:
        filenames.check(options.out)
    return _ask(verb, options)


def _help(words: Sequence[str]) -> int:
    from . import helptext  # only needed here

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
    if not words or first in ("-h", "--help", "help"):
        return _help(words[1:])
    if first in ("-V", "--version"):
        _answer(f"goref-gdb {native.load().VERSION}\n")
        return COMPLETE
    if first == "--python-path":
        _answer(f"{native.python_path()}\n")
        return COMPLETE
    if first in VERBS:
        if {"-h", "--help"} & {*words}:
            _help_of(first)
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


def _say(problem: BaseException) -> None:
    """Print an error in one line."""
    text = elf.shown(" ".join(str(problem).split()))
    if text:
        begin = "" if text.startswith("goref") else "goref: "
        front.current.note(f"{begin}{text}\n")


def _status(words: list[str]) -> int:
    try:
        ended.watch()
        current.command_begin = time.monotonic()
        status = _dispatch(words)
        ended.block()
        return status
    except _Exit as end:
        _say(end)
        return end.status
    except _Closed:
        return FAILED
    except KeyboardInterrupt:
        front.current.note("goref: interrupted\n")
    except (Error, UnicodeError) as problem:
        _say(problem)
    return FAILED


def _whole_status(words: list[str]) -> int:
    """The exit status. A signal may come at any time meanwhile."""
    try:
        try:
            status = _status(words)
            ended.block()
            return status
        except KeyboardInterrupt:
            # Ctrl-C came while an error message was being written.
            front.current.note("goref: interrupted\n")
            ended.block()
    except BaseException:
        # An error in a `finally` may have replaced Ended.
        if not ended.is_due():
            raise
    return FAILED


def main(words: list[str]) -> NoReturn:
    """Run a command line, and end this process with its exit status."""
    terminal = _Terminal()
    terminal.settings["progress"] = "on" if _is_terminal(2) else "auto"
    front.use(terminal)
    status = _whole_status(words)
    if current.source is not None:
        current.source.close()
    if ended.is_due():
        ended.die()
    # Nothing is left to clean up. Freeing the memory of a large heap piece by
    # piece would take long.
    os._exit(status)


def _is_terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:
        return False
