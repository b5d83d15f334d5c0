# SPDX-License-Identifier: Apache-2.0
"""gdb's commands `goref VERB'. Every start of gdb may register them: what a
command needs is loaded when it is first used."""

from __future__ import annotations

import gdb

from .. import helptext
from ..verbs import OPEN, STANDALONE, VERBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..args import Parser


class Command(gdb.Command):
    """`goref VERB` in gdb."""

    def __init__(self, name: str, run: Callable[[str, Any], object]) -> None:
        self.verb, self.run = {**VERBS, **STANDALONE}[name], run
        # gdb shows this one.
        self.__doc__ = helptext.gdb_help(self.verb)
        super().__init__(f"goref {name}", gdb.COMMAND_DATA)
        self.parser: Parser | None = None

    def _parser(self) -> Parser:
        if self.parser is None:
            from ..args import Parser

            self.parser = Parser(
                f"goref {self.verb.name}",
                self.verb.options,
                takes_words=bool(self.verb.operands),
            )
        return self.parser

    def complete(self, text: str, word: str | None) -> Any:
        from .. import complete

        return complete.complete(self._parser(), text, word)

    def invoke(self, arg: str, from_tty: bool) -> None:
        self.dont_repeat()
        from ..args import UsageError

        parser = self._parser()
        try:
            options = parser.parse_text(arg)
            if options.help:
                gdb.execute(f"help goref {self.verb.name}")
            else:
                self.run(self.verb.name, options)
        except UsageError as problem:
            raise gdb.GdbError(f"{parser.prog}: {problem}") from None


class Open(gdb.Command):
    """`goref open FILE VERB` in gdb."""

    def __init__(self, run: Callable[[str, Any], object]) -> None:
        self.run = run
        self.files: Any = None
        # gdb shows this one.
        self.__doc__ = (
            f"{OPEN.summary}.\nUsage: goref open FILE [VERB] [ARGUMENT]...\n\n"
            + OPEN.details.strip()
        )
        super().__init__("goref open", gdb.COMMAND_DATA, gdb.COMPLETE_FILENAME)

    def invoke(self, arg: str, from_tty: bool) -> None:
        self.dont_repeat()
        if self.files is None:
            from .open import Files

            self.files = Files(self.run)
        self.files.ask(gdb.string_to_argv(arg))
