# SPDX-License-Identifier: Apache-2.0
"""Arguments of the commands: gdb's spelling and everybody else's."""

import argparse
import os
import re
from typing import Any, NoReturn

import gdb

from . import params

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
    return words + [word] if word else words


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


def limit(word: str) -> int:
    """A count as the walk takes it."""
    return min(count(word) or params.UNLIMITED, params.UNLIMITED)


class Parser(argparse.ArgumentParser):
    """argparse for gdb: `-opt` and `--opt`, errors as gdb's errors."""

    def __init__(self, command: str) -> None:
        super().__init__(prog=command, add_help=False, usage=command)
        self.add_argument("-h", "--help", action="store_true")

    def error(self, message: str) -> NoReturn:
        raise gdb.GdbError(f"{self.prog}: {message}")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        self.error(message or f"exit {status}")

    def parse_text(self, text: str) -> Any:
        words = split(text)
        end = words.index("--") if "--" in words else len(words)
        words[:end] = [re.sub(r"^-(?=[a-z]{2})", "--", w) for w in words[:end]]
        return self.parse_intermixed_args(words)

    def options(self) -> list[str]:
        return sorted(
            name
            for action in self._actions
            for name in action.option_strings
            if name.startswith("--")
        )

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


_ATTRIBUTION: Any = {"choices": ("nearest", "first"), "default": "nearest"}


def scan_parser() -> Parser:
    parser = Parser("goref scan")
    parser.add_argument("--out", type=file_name)
    parser.add_argument("--max-depth", type=limit)
    parser.add_argument("--max-nodes", type=limit)
    parser.add_argument("--max-samples", type=count)
    parser.add_argument("--top", type=count)
    parser.add_argument("--attribution", **_ATTRIBUTION)
    parser.add_argument("--per-goroutine", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("expressions", nargs="*")
    return parser


def why_parser() -> Parser:
    parser = Parser("goref why")
    parser.add_argument("--attribution", **_ATTRIBUTION)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("expression", nargs="*")
    return parser


def verify_parser() -> Parser:
    parser = Parser("goref verify")
    parser.add_argument("--max-differences", type=count, default=20)
    parser.add_argument("--json", action="store_true")
    return parser


def objects_parser() -> Parser:
    parser = Parser("goref objects")
    parser.add_argument("--addresses", action="store_true")
    parser.add_argument("--out", type=file_name)
    return parser
