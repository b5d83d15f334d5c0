# SPDX-License-Identifier: Apache-2.0
"""gdb's commands `goref VERB'. Every start of gdb may register them: what a
command needs is loaded when it is first used."""

from __future__ import annotations

import gdb

from .. import commands, helptext
from ..errors import Error
from ..verbs import OPEN, STANDALONE, SUMMARY, VERBS
from .prefix import Prefix

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
        from .complete import complete

        return complete(self._parser(), text, word)

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
            raise Error(f"{parser.prog}: {problem}") from None


class Open(gdb.Command):
    """`goref open FILE` in gdb."""

    def __init__(self, files: _Files) -> None:
        self.files = files
        # gdb shows this one.
        self.__doc__ = (
            f"{OPEN.summary}.\nUsage: goref open FILE [VERB] [ARGUMENT]...\n\n"
            "With VERB, asks the file one question. Without VERB, prints an"
            "\noverview; later commands of goref ask the file until"
            "\n`goref close'."
            "\n\n" + OPEN.details.strip()
        )
        super().__init__("goref open", gdb.COMMAND_DATA)

    def complete(self, text: str, word: str | None) -> Any:
        from .complete import complete_open

        return complete_open(text, word)

    def invoke(self, arg: str, from_tty: bool) -> None:
        self.dont_repeat()
        self.files().ask(gdb.string_to_argv(arg))


class Close(gdb.Command):
    """Look again at the program that gdb has, instead of a saved file.
    Usage: goref close"""

    def __init__(self, files: _Files) -> None:
        self.files = files
        super().__init__("goref close", gdb.COMMAND_DATA, gdb.COMPLETE_NONE)

    def invoke(self, arg: str, from_tty: bool) -> None:
        self.dont_repeat()
        if arg.strip():
            raise Error("goref close takes no argument")
        self.files().close()


class _Files:
    """The state that `open` and `close` share, loaded at its first use."""

    def __init__(self) -> None:
        self.loaded: Any = None

    def __call__(self) -> Any:
        if self.loaded is None:
            from .open import Files

            self.loaded = Files(_ask)
        return self.loaded


def _ask(name: str, options: Any) -> None:
    """Answer one question. If a file is open, the answer begins with its name,
    except that of diff, which names both sides itself."""
    from .. import front
    from ..session import current

    if current.file and name in VERBS:
        from .open import title

        commands.check(name, options)
        line = title(options, commands.extent(name, options))
        if not getattr(options, "json", False):
            front.current.write(line)
    commands.run(name, options)


class _Goref(Prefix):
    __doc__ = f"""{SUMMARY}.
    Usage: goref VERB [ARGUMENT]...

    The program is a core that gdb has open or a process that it has stopped.
    Nothing is written to it and none of it runs. `goref overview' is where to
    begin."""

    name = "goref"


def register() -> None:
    _Goref()
    for name in (*VERBS, *STANDALONE):
        Command(name, _ask)
    files = _Files()
    Open(files)
    Close(files)
