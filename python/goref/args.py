# SPDX-License-Identifier: Apache-2.0
"""Arguments of the commands: gdb's spelling and everybody else's."""

import argparse
import difflib
import os
import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import gdb

UNLIMITED = 0xFFFFFFFF  # as the scanner has it
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


def file_name(word: str) -> str:
    return os.path.expanduser(unquote(word))


def count(word: str) -> int:
    """A number; 0 or a beginning of `unlimited` is no limit."""
    text = unquote(word)
    if text and "unlimited".startswith(text):
        return 0
    if not text.isascii() or not text.isdigit():
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
    if not found:
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


def milliseconds(word: str) -> int:
    text = word.removesuffix("ms")
    if not text.isascii() or not text.isdigit() or not int(text):
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


_WORD = "\0"  # before words that come after `--`


def parse(parser: argparse.ArgumentParser, words: Sequence[str]) -> Any:
    """`--` ends options: what follows it is taken as it is."""
    end = words.index("--") if "--" in words else len(words)
    behind = [_WORD + word for word in words[end + 1 :]]
    options = parser.parse_intermixed_args([*words[:end], *behind])
    for name, value in vars(options).items():
        if isinstance(value, list):
            value = [v.removeprefix(_WORD) for v in value]
            setattr(options, name, value)
    return options


def long_names(action: argparse.Action) -> list[str]:
    return [o for o in action.option_strings if o.startswith("--")]


def with_nearest(parser: argparse.ArgumentParser, message: str) -> str:
    """An error of argparse, with the option that was meant if one is near."""
    unknown = re.match(r"unrecognized arguments: --?([\w-]+)", message)
    if not unknown:
        return message
    names = [n for a in parser._actions for n in long_names(a)]
    near = difflib.get_close_matches(f"--{unknown[1]}", names, 1, 0.7)
    return f"{message} (is it {near[0]}?)" if near else message


class Parser(argparse.ArgumentParser):
    """argparse for gdb: `-opt` and `--opt`, errors as gdb's errors."""

    def __init__(self, command: str) -> None:
        super().__init__(prog=command, add_help=False, usage=command)
        self.add_argument(
            "-h", "--help", action="store_true", help=argparse.SUPPRESS
        )

    def error(self, message: str) -> NoReturn:
        text = with_nearest(self, message)
        raise gdb.GdbError(f"{self.prog}: {text}")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        self.error(message or f"exit {status}")

    def parse_text(self, text: str) -> Any:
        words = split(text)
        end = words.index("--") if "--" in words else len(words)
        # gdb's options are long ones, and may be as short as one letter.
        words[:end] = [re.sub(r"^-(?=[a-z])", "--", w) for w in words[:end]]
        return parse(self, words)

    def options(self) -> list[str]:
        return sorted(n for a in self._actions for n in long_names(a))

    def options_text(self) -> str:
        """As gdb's own commands describe theirs."""
        lines = []
        for action in self._actions:
            if not action.option_strings or action.help == argparse.SUPPRESS:
                continue
            words = [long_names(action)[0].removeprefix("-")]
            if action.choices:
                words.append("|".join(action.choices))
            elif action.nargs != 0:
                words.append(str(action.metavar))
            lines.append("  " + " ".join(words))
            lines += textwrap.wrap(
                f"{(action.help or '')[:1].upper()}{(action.help or '')[1:]}.",
                width=76,
                initial_indent="    ",
                subsequent_indent="    ",
            )
        return "\n".join(lines)

    def takes_words(self) -> bool:
        """Something else than options."""
        return any(not action.option_strings for action in self._actions)

    def option(self, word: str) -> argparse.Action | None:
        """The option that a word names, abbreviated or not."""
        name = "--" + word.lstrip("-")
        found = [o for o in self.options() if o.startswith(name)]
        if name in found:
            found = [name]
        if not word.startswith("-") or len(found) != 1:
            return None
        return self._option_string_actions[found[0]]


# Each says what it is once: for gdb's `help', and for `goref --help'.


def _add_attribution(parser: Any) -> None:
    parser.add_argument(
        "--attribution",
        choices=("nearest", "first"),
        default="nearest",
        help="whom to bill for what several roots hold: the one with the "
        "fewest hops, or the first one looked at, with all that hangs on it "
        "(as `grf' does)",
    )


def _add_json(parser: Any) -> None:
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document"
    )


def _add_max_differences(parser: Any) -> None:
    parser.add_argument(
        "--max-differences",
        type=count,
        default=20,
        metavar="N",
        help="objects listed; those without an explanation always are",
    )


def add_scan_options(
    parser: Any, path: Callable[[str], str] = file_name
) -> None:
    """path: makes a file's name of a word."""
    add = parser.add_argument
    add(
        "-o",
        "--out",
        type=path,
        metavar="FILE",
        help="write a profile that `go tool pprof FILE' opens",
    )
    add(
        "--max-depth",
        type=limit,
        metavar="N",
        help="levels of the reference tree; what lies deeper is counted on "
        "the last",
    )
    add(
        "--max-nodes",
        type=limit,
        metavar="N",
        help="nodes of the reference tree; what has none of its own is "
        "counted on the node above",
    )
    add(
        "--max-samples",
        type=count,
        metavar="N",
        help="paths in the profile; the smallest are counted on the path "
        "above",
    )
    add(
        "--top",
        type=count,
        metavar="N",
        help="rows of each table; with --json, roots and types listed",
    )
    add(
        "--memory-limit",
        type=size,
        metavar="SIZE",
        help="memory that the scan may take, as 500M or 2G; if need be the "
        "tree has fewer nodes. Not given: as much as is free",
    )
    add(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help="end after that time, with what was found by then",
    )
    _add_attribution(parser)
    add(
        "--per-goroutine",
        action="store_true",
        help="roots on stacks are those of one goroutine each, and the "
        "profile has the label goroutine_id",
    )
    _add_json(parser)


def scan_parser() -> Parser:
    parser = Parser("goref scan")
    add_scan_options(parser)
    parser.add_argument("expressions", nargs="*")
    return parser


def why_parser() -> Parser:
    parser = Parser("goref why")
    _add_attribution(parser)
    _add_json(parser)
    parser.add_argument("expression", nargs="*")
    return parser


def verify_parser() -> Parser:
    parser = Parser("goref verify")
    _add_max_differences(parser)
    _add_json(parser)
    return parser


def objects_parser() -> Parser:
    parser = Parser("goref objects")
    parser.add_argument(
        "--addresses",
        action="store_true",
        help="print one line for each object, by address: where it begins "
        "(behind a malloc header), and the bytes of its slot. For comparison "
        "with what another program finds",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=file_name,
        metavar="FILE",
        help="write the list to FILE",
    )
    return parser
