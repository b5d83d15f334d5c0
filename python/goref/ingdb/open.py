# SPDX-License-Identifier: Apache-2.0
"""goref open in gdb: a saved file as what is looked at, for one question or
until `goref close'."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import Any

from .. import args, filenames, front, helptext
from ..errors import Error
from ..session import Session, current, running
from ..sources.saved import Saved
from ..verbs import OVERVIEW, STANDALONE, VERBS

_USAGE = "goref open FILE [VERB] [ARGUMENT]..."


class Files:
    """The file that is open, or the latest one that was asked."""

    def __init__(self, run: Callable[[str, Any], object]) -> None:
        self.run = run
        self.latest: Session | None = None
        self.before: Session | None = None  # while a file is open

    def ask(self, words: list[str]) -> None:
        """words: FILE [VERB] [ARGUMENT]..."""
        if not words:
            raise Error(f"goref open: no FILE given: {_USAGE}")
        path, rest = os.path.expanduser(words[0]), words[1:]
        verb, stays = OVERVIEW, not rest
        if rest and rest[0] in VERBS:
            verb, rest = VERBS[rest[0]], rest[1:]
        elif rest and rest[0] in STANDALONE:
            asked = f"goref {rest[0]} {shlex.quote(words[0])} ..."
            raise Error(
                f"goref open: {rest[0]} is about two heaps: write `{asked}'"
            )
        elif rest and not rest[0].startswith("-"):
            raise Error(f"goref open: there is no verb `{rest[0]}'")
        parser = args.Parser(
            f"goref open FILE {verb.name}",
            verb.options,
            takes_words=bool(verb.operands),
        )
        try:
            options = parser.parse(rest)
            if options.help:
                front.current.write(helptext.verb_help(verb))
                return
            args.add_defaults(options, verb.options)
            self._ask(path, verb.name, options, stays)
        except args.UsageError as problem:
            raise Error(f"{parser.prog}: {problem}") from None

    def _ask(self, path: str, verb: str, options: Any, stays: bool) -> None:
        """stays: later commands are about the file, too."""
        filenames.check(os.path.abspath(path))
        before = current.switch(self._session(path))
        try:
            with running(options.memory_limit, options.timeout, "goroutines"):
                pass
            self.run(verb, options)
        except BaseException:
            stays = False
            raise
        finally:
            if stays:
                self._stay(before)
            else:
                self.latest = current.switch(before)

    def _session(self, path: str) -> Session:
        """The session of the file: the latest one, if it is still the same
        file."""
        latest, self.latest = self.latest, None
        for known in (latest, current):
            if known is not None and known.file == path:
                return known
        return Session(Saved(path), path)

    def _stay(self, before: Session) -> None:
        """Look at the file until close()."""
        if self.before is None:
            self.before = before
        file = current.file
        front.current.write(
            f"{file} is what goref looks at until `goref close'\n"
        )

    def close(self) -> None:
        """Go back to what gdb looks at."""
        if self.before is None:
            raise Error("goref: no file is open: `goref open FILE' opens one")
        before, self.before = self.before, None
        current.switch(before)


def title() -> str:
    """The line that names the open file before an answer; "" if gdb itself is
    looked at."""
    if not current.file or current.scan is None:
        return ""
    info = current.scan.info()
    return f"{current.file}: {info.origin} of {info.exe_path}\n"
