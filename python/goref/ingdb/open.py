# SPDX-License-Identifier: Apache-2.0
"""goref open in gdb: commands ask a saved file, for one question or until
`goref close'."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import Any

from .. import args, filenames, front, helptext
from ..errors import Error
from ..session import Session, current, running
from ..sources.saved import Saved
from ..verbs import STANDALONE, VERBS

_USAGE = "goref open FILE [VERB] [ARGUMENT]..."


class Files:
    """The open file, and the last file that was asked a single question: the
    next question about that file does not read it again."""

    def __init__(self, run: Callable[[str, Any], object]) -> None:
        """run: the function that answers a question, by its verb and
        options."""
        self.run = run
        self.latest: Session | None = None
        self.before: Session | None = None  # while a file is open

    def ask(self, words: list[str]) -> None:
        """words: FILE [VERB] [ARGUMENT]..."""
        if not words:
            raise Error(f"goref open: no FILE given: {_USAGE}")
        # An absolute path stays valid after gdb's command `cd'.
        path = os.path.abspath(os.path.expanduser(words[0]))
        verb, stays, rest = VERBS["overview"], True, words[1:]
        if rest and rest[0] in VERBS:
            verb, stays, rest = VERBS[rest[0]], False, rest[1:]
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
        filenames.check(path)
        if path == current.file:
            self.run(verb, options)
        else:
            self._ask_instead(path, verb, options, stays)
        if stays and not options.json:
            front.current.write(f"goref looks at {path} until `goref close'\n")

    def _ask_instead(
        self, path: str, verb: str, options: Any, stays: bool
    ) -> None:
        """Ask a file that is not the open one."""
        before = current.switch(self._session(path))
        is_answered = False
        try:
            self.run(verb, options)
            is_answered = True
        finally:
            if not (is_answered and stays):
                self.latest = current.switch(before)
            elif self.before is None:
                self.before = before

    def _session(self, path: str) -> Session:
        """The last session if it has this file, or else a new one."""
        latest, self.latest = self.latest, None
        if latest is not None and latest.file == path:
            return latest
        return Session(Saved(path), path)

    def close(self) -> None:
        """Go back to what gdb looks at."""
        if self.before is None:
            raise Error("goref: no file is open: `goref open FILE' opens one")
        before, self.before = self.before, None
        current.switch(before)


def title(options: Any, extent: str) -> str:
    """The line that names the open file before an answer. Opens the file for a
    question of this extent; Error if it cannot."""
    with running(options.memory_limit, options.timeout, extent) as scan:
        info = scan.info()
    return f"{current.file}: {info.origin} of {info.exe_path}\n"
