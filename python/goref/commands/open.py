# SPDX-License-Identifier: Apache-2.0
"""goref open FILE VERB in gdb: one question to a saved file. The program that
gdb looks at stays what all other commands are about."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import Any

import gdb

from .. import args, helptext, params, saved, target
from ..progress import Progress
from ..session import as_gdb_error, current, warn
from ..verbs import OVERVIEW, STANDALONE, VERBS
from . import base

_USAGE = "goref open FILE [VERB] [ARGUMENT]..."


class Files:
    """Questions to saved files. The scan of the latest file is kept."""

    def __init__(self, run: Callable[[str, Any], object]) -> None:
        self.run = run
        self.scan: Any = None
        self.identity: tuple[Any, ...] = ()

    def ask(self, words: list[str]) -> None:
        """words: FILE [VERB] [ARGUMENT]..."""
        if not words:
            raise gdb.GdbError(f"goref open: no FILE given: {_USAGE}")
        path, rest = os.path.expanduser(words[0]), words[1:]
        verb = OVERVIEW
        if rest and rest[0] in VERBS:
            verb, rest = VERBS[rest[0]], rest[1:]
        elif rest and rest[0] in STANDALONE:
            asked = f"goref {rest[0]} {shlex.quote(words[0])} ..."
            raise gdb.GdbError(
                f"goref open: {rest[0]} is about two heaps: write `{asked}'"
            )
        elif rest and not rest[0].startswith("-"):
            raise gdb.GdbError(f"goref open: there is no verb `{rest[0]}'")
        parser = args.Parser(
            f"goref open FILE {verb.name}",
            verb.options,
            takes_words=bool(verb.operands),
        )
        try:
            options = parser.parse(rest)
            if options.help:
                gdb.write(helptext.verb_help(verb))
                return
            args.add_defaults(options, verb.options)
            self._ask(path, verb.name, options)
        except args.UsageError as problem:
            raise gdb.GdbError(f"{parser.prog}: {problem}") from None

    def _ask(self, path: str, verb: str, options: Any) -> None:
        target.check_name(os.path.abspath(path))
        scan = self._open(path, options)
        info = scan.info()
        if not options.json:
            base.answer(f"{path}: {info.origin} of {info.exe_path}\n")
        with current.instead(scan, [], path):
            self.run(verb, options)

    def _open(self, path: str, options: Any) -> Any:
        """The scan of the file; the latest one is kept."""
        timeout = getattr(options, "timeout", None)
        progress = Progress(params.progress(), timeout)
        try:
            identity = saved.identity(path)
            if self.scan is None or identity != self.identity:
                self.scan = None
                limit = params.memory_limit(options.memory_limit)
                self.scan = saved.open_scan(path, progress, limit)
                self.identity = identity
                warn(self.scan.info().warnings)
        except OSError as problem:
            raise gdb.GdbError(f"goref: {path}: {problem.strerror}") from None
        except (Exception, KeyboardInterrupt) as problem:
            progress.clear()
            raise as_gdb_error(problem, progress.reason) from None
        return self.scan
