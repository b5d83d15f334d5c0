# SPDX-License-Identifier: Apache-2.0
"""Words to values: one parser for gdb and for the command line, made of the
table of options. Never imports gdb."""

import argparse
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from .options import Option

UNLIMITED = 0xFFFFFFFF  # as the scanner has it
_MAX_DIGITS = 20  # of a number: Python refuses to convert thousands
_OPEN = {"(": ")", "[": "]", "{": "}"}


def split(text: str) -> list[str]:
    """Words, with quotes left on; brackets and quotes hold blanks, so that
    `*(*map[string]interface {})(0xc000012345)` is one."""
    words: list[str] = []
    word = ""
    closing: list[str] = []
    quote = ""
    escaped = False
    for char in text:
        if char.isspace() and not (quote or closing or escaped):
            if word:
                words.append(word)
            word = ""
            continue
        word += char
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in _OPEN:
            closing.append(_OPEN[char])
        elif closing and char == closing[-1]:
            closing.pop()
    return _join_casts(words + [word] if word else words)


def _join_casts(words: list[str]) -> list[str]:
    """`(*main.T) (0xc000012345)` is one."""
    joined: list[str] = []
    for word in words:
        if (
            joined
            and word[0] == "("
            and re.fullmatch(r"\*?\(\*.*[^(]\)", joined[-1])
        ):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def unquote(word: str) -> str:
    """The value of an option: without quotes and backslashes."""
    return re.sub(
        r"""\\(.)|"([^"]*)"|'([^']*)'""",
        lambda m: m[1] or m[2] or m[3] or "",
        word,
    )


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= _MAX_DIGITS


def process_number(word: str) -> int | None:
    """The number of a process; None: the word is none."""
    number = int(word) if _is_number(word) else 0
    return number if 0 < number < 1 << 31 else None


def text(word: str) -> str:
    """A text without the quotes around it."""
    is_quoted = len(word) > 1 and word[0] == word[-1] and word[0] in "\"'"
    return word[1:-1] if is_quoted else word


def file_name(word: str) -> str:
    return os.path.expanduser(unquote(word))


def count(word: str) -> int:
    """A number; 0 or a beginning of `unlimited` is no limit."""
    text = unquote(word)
    if text and "unlimited".startswith(text):
        return 0
    if not _is_number(text):
        raise argparse.ArgumentTypeError(f"not a number: {text}")
    return int(text)


_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


def size(word: str) -> int:
    """Bytes: 1G, 500M, 1.5GB; 0 or a beginning of `unlimited' is no limit."""
    text = unquote(word)
    if text and "unlimited".startswith(text):
        return 0
    found = re.fullmatch(
        r"(\d+(?:\.\d+)?)([kmgt]?)(?:i?b)?", text, re.I | re.A
    )
    if not found or len(found[1]) > _MAX_DIGITS:
        raise argparse.ArgumentTypeError(
            f"not a size: {text} (as 500M, 1.5G, or unlimited)"
        )
    bytes_ = float(found[1]) * (1 << _UNITS[found[2].lower()])
    if 0 < bytes_ < 1:
        raise argparse.ArgumentTypeError(f"less than a byte: {text}")
    return int(bytes_)


def seconds(word: str) -> float:
    text = unquote(word)
    if not re.fullmatch(r"\d+(\.\d+)?", text, re.A) or not float(text):
        raise argparse.ArgumentTypeError(f"not a time in seconds: {text}")
    return float(text)


_SECONDS = {"ms": 0.001, "": 1, "s": 1, "m": 60, "h": 3600}


def duration(word: str) -> float:
    """Seconds: 60, 60s, 500ms, 5m, 1.5h."""
    text = unquote(word)
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h|)", text, re.A)
    if not found or not float(found[1]):
        raise argparse.ArgumentTypeError(
            f"not a time: {text} (as 60s, 500ms, 5m or 1h)"
        )
    return float(found[1]) * _SECONDS[found[2]]


def _percentage(word: str) -> float:
    text = unquote(word)
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)%?", text, re.A)
    if not found:
        raise argparse.ArgumentTypeError(
            f"not a percentage: {text} (as 1% or 0.5%)"
        )
    return float(found[1])


def share(word: str) -> float:
    """A percentage above 0, up to 100: 1%, 0.5."""
    found = _percentage(word)
    if not 0 < found <= 100:
        raise argparse.ArgumentTypeError(
            "must be above 0 % and at most 100 %"
        )
    return found


def percent(word: str) -> float:
    """A percentage from 0 to 100."""
    found = _percentage(word)
    if found > 100:
        raise argparse.ArgumentTypeError("must be at most 100 %")
    return found


def _unknown(name: str, choices: Sequence[str]) -> str:
    """The error for a name that is not among the choices."""
    if not name:
        return f"a name is missing (as {choices[0]},{choices[1]})"
    import difflib  # only needed here

    near = difflib.get_close_matches(name, choices, 1, 0.6)
    hint = f"is it {near[0]}?" if near else f"one of {', '.join(choices)}"
    return f"there is no {name} ({hint})"


def names_of(choices: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """A reader of some of the choices, with commas between. Each is taken
    once."""

    def read(word: str) -> tuple[str, ...]:
        found = [name.strip() for name in unquote(word).split(",")]
        for name in found:
            if name not in choices:
                raise argparse.ArgumentTypeError(_unknown(name, choices))
        return tuple(dict.fromkeys(found))

    return read


def milliseconds(word: str) -> int:
    text = word.removesuffix("ms")
    if not _is_number(text) or not int(text):
        raise argparse.ArgumentTypeError(f"not a time in ms: {word}")
    return int(text)


MAX_THREADS = 16  # as the scanner has it


def threads(word: str) -> int:
    text = unquote(word)
    if not (
        re.fullmatch(r"\d{1,3}", text, re.A) and 0 < int(text) <= MAX_THREADS
    ):
        raise argparse.ArgumentTypeError(
            f"not a number of threads: {text} (1 to {MAX_THREADS})"
        )
    return int(text)


def limit(word: str) -> int:
    """A count as the walk takes it."""
    return min(count(word) or UNLIMITED, UNLIMITED)


# How types begin that are meant as they are: `[]uint8`, `*main.T`. Expressions
# are compiled where they are used: most questions need none.
_TYPE = r"\[\d*\]|\*|map\[|(<-)?chan |func\("


def matcher(text: str | None) -> Callable[[str], bool] | None:
    """A test whether a name has a match of a regular expression, or the text
    itself: types are written with brackets. None: no text was given."""
    if text is None:
        return None
    literal = text
    if re.match(_TYPE, literal):
        return lambda name: literal in name
    try:
        pattern = re.compile(literal)
    except (re.error, OverflowError, RecursionError) as problem:
        raise UsageError(
            f"not a regular expression: {literal} ({problem})"
        ) from None
    return lambda name: bool(pattern.search(name)) or literal in name


_LABEL = r"(?!__)[A-Za-z_][A-Za-z0-9_.]*"
_MAX_LABEL = 1024  # as stores of profiles have it
_MAX_LABEL_VALUE = 2048


def label(word: str) -> tuple[str, str]:
    """A label of a profile: KEY=VALUE."""
    key, equals, value = unquote(word).partition("=")
    if not equals or not value:
        raise argparse.ArgumentTypeError(f"not a label: {word} (as env=prod)")
    if not re.fullmatch(_LABEL, key) or len(key) > _MAX_LABEL:
        raise argparse.ArgumentTypeError(
            f"not a name of a label: {key} (letters, digits, `_' and `.'; "
            "without `__' in front)"
        )
    if not value.isprintable() or len(value.encode()) > _MAX_LABEL_VALUE:
        raise argparse.ArgumentTypeError(
            f"label {key}: the value is not printable text of at most "
            f"{_MAX_LABEL_VALUE} bytes"
        )
    return key, value


_RFC_3339 = (
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?"
    r"([Zz]|[+-]\d\d:\d\d)"
)
_MAX_NS = (1 << 63) - 1  # of a profile


def moment(word: str) -> int:
    """A time in nanoseconds since 1970: as RFC 3339 has it, in seconds, or
    `now'."""
    from datetime import datetime  # takes its time, and few need it

    text = unquote(word)
    found = -1
    if text == "now":
        return time.time_ns()
    if re.fullmatch(r"\d{1,11}(\.\d{1,9})?", text, re.A):
        whole, _, part = text.partition(".")
        found = int(whole) * 10**9 + int(part.ljust(9, "0"))
    elif match := re.fullmatch(_RFC_3339, text, re.A):
        day, clock, part, zone = match.groups(default="")
        with suppress(ValueError, OverflowError):
            at = datetime.fromisoformat(f"{day}T{clock}{zone.upper()}")
            found = int(at.timestamp()) * 10**9 + int(part.ljust(9, "0"))
    if not 0 < found <= _MAX_NS:
        raise argparse.ArgumentTypeError(
            f"not a time: {text} (as 2026-07-01T12:00:00Z, seconds since "
            "1970, or now)"
        )
    return found


_WORD = "\0"  # before words that come after `--`, and before the value `--`

Path = Callable[[str], str]


def _of_value(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda word: convert(word.removeprefix(_WORD))


_TYPES: dict[str, Callable[[str], Any]] = {
    "count": count,
    "limit": limit,
    "size": size,
    "seconds": seconds,
    "duration": duration,
    "share": share,
    "percent": percent,
    "milliseconds": milliseconds,
    "threads": threads,
    "label": label,
    "time": moment,
}


class UsageError(Exception):
    """The command line is wrong. str() names the mistake in one line."""


def _nearest(message: str, names: Iterable[str]) -> str:
    """An error of argparse, with the option that was meant if one is near."""
    unknown = re.match(r"unrecognized arguments: --?([\w-]+)", message)
    if not unknown:
        return message
    import difflib  # only needed here

    near = difflib.get_close_matches(unknown[1], names, 1, 0.7)
    return f"{message} (is it --{near[0]}?)" if near else message


class Parser(argparse.ArgumentParser):
    """Takes `-opt` as gdb does, `--opt`, abbreviations, and options anywhere
    among the other words. Errors are UsageError."""

    def __init__(
        self,
        command: str,
        options: Iterable[Option],
        path: Path = file_name,
        takes_words: bool = True,
        has_quotes: bool = True,
    ) -> None:
        """path: makes a file's name of a word.
        has_quotes: quotes are still on, as in gdb."""
        super().__init__(
            prog=command,
            usage=command,
            add_help=False,
            argument_default=argparse.SUPPRESS,
            # We print no help of its own. Without a width it would load
            # modules to ask the terminal.
            formatter_class=partial(argparse.HelpFormatter, width=80),
        )
        self.takes_words = takes_words
        self.types: dict[str, Callable[[str], Any]] = dict(_TYPES)
        self.types["file"] = path
        self.types["text"] = text if has_quotes else str
        self.types["type"] = self.types["text"]
        self.table = {o.name: o for o in options}
        self.add_argument("-h", "--help", action="store_true")
        for option in self.table.values():
            self._add(option)
        if takes_words:
            self.add_argument("words", nargs="*", default=[])

    def _add(self, option: Option) -> None:
        names = [f"-{option.letter}"] if option.letter else []
        names.append(f"--{option.name}")
        if option.is_flag:
            self.add_argument(*names, action="store_true")
        elif option.kind == "condition":
            self.add_argument(
                *names,
                action="append",
                nargs="+",
                dest=option.attribute,
                metavar=option.value,
            )
        elif option.kind == "choice":
            self.add_argument(
                *names,
                type=_of_value(str),
                choices=option.choices,
                dest=option.attribute,
            )
        elif option.kind == "names":
            self.add_argument(
                *names,
                type=_of_value(names_of(option.choices)),
                metavar=option.value,
                dest=option.attribute,
            )
        else:
            self.add_argument(
                *names,
                action="append" if option.repeats else "store",
                type=_of_value(self.types[option.kind]),
                metavar=option.value,
                dest=option.attribute,
            )

    def error(self, message: str) -> NoReturn:
        raise UsageError(_nearest(message, self.table))

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise UsageError(message or f"exit {status}")

    def parse(self, words: Sequence[str]) -> Any:
        """Every option as an attribute; `words`, what is none; `given`, the
        names of the options that were there. `--` ends options: what follows
        it is taken as it is; `behind`, the number of these words, or None
        without `--`."""
        has_end = "--" in words
        end = words.index("--") if has_end else len(words)
        before = [self._spelt(word) for word in words[:end]]
        behind = [_WORD + word for word in words[end + 1 :]]
        options = self.parse_intermixed_args([*before, *behind])
        if self.takes_words:
            words = [w.removeprefix(_WORD) for w in options.words]
            options.words = words
        options.given = frozenset(
            name
            for name, option in self.table.items()
            if hasattr(options, option.attribute)
        )
        options.help = getattr(options, "help", False)
        options.behind = len(behind) if has_end else None
        add_defaults(options, self.table.values())
        return options

    def parse_text(self, text: str) -> Any:
        return self.parse(split(text))

    def _spelt(self, word: str) -> str:
        """gdb's options are long ones with one dash, and may be as short as
        one letter. argparse drops each word `--`, also where it is the value
        of an option."""
        if re.fullmatch("-[a-z]--|--?[a-z-]+=--", word):
            word = word[:-2] + _WORD + "--"
        begin = word[1:].partition("=")[0]
        is_known = self.candidates(begin) or "help".startswith(begin)
        return "-" + word if re.match("-[a-z]", word) and is_known else word

    def candidates(self, begin: str) -> list[Option]:
        """Options whose names begin so; the one of that name alone."""
        if begin in self.table:
            return [self.table[begin]]
        return [o for o in self.table.values() if o.name.startswith(begin)]

    def option(self, word: str) -> Option | None:
        """The option that a word names, abbreviated or not."""
        found = self.candidates(word.lstrip("-"))
        return found[0] if word.startswith("-") and len(found) == 1 else None

    def operands(self, words: Sequence[str]) -> list[int]:
        """The indexes of the words that are neither options nor values of
        options. Nothing is checked."""
        found: list[int] = []
        i = 0
        while i < len(words):
            word = words[i]
            if word == "--":
                return [*found, *range(i + 1, len(words))]
            if not word.startswith("-") or word == "-":
                found.append(i)
            elif self._takes_next(word):
                i += 1
            i += 1
        return found

    def _takes_next(self, word: str) -> bool:
        """Is the word behind an option its value?"""
        if "=" in word:
            return False
        known = self.candidates(word.lstrip("-"))
        # `-o FILE', but not `-oFILE'.
        known += [o for o in self.table.values() if f"-{o.letter}" == word]
        return any(not o.is_flag for o in known)


def defaults(table: Iterable[Option], **given: Any) -> Any:
    """The options of a verb that another verb asks."""
    options = argparse.Namespace(**given)
    add_defaults(options, table)
    return options


def add_defaults(options: Any, table: Iterable[Option]) -> None:
    """Set each option that was not given to its start value."""
    for option in table:
        if not hasattr(options, option.attribute):
            setattr(options, option.attribute, option.start)
