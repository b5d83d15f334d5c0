# SPDX-License-Identifier: Apache-2.0
"""Run by session.py, in plain Python: answers `goref VERB' about a core or a
process, one question after the other, as gdb's commands do. Its arguments: a
line that it writes before each answer, an executable and its core, or `pid'
and the number of a process, and the questions."""

import sys

from goref import args, commands, front
from goref.errors import Error
from goref.session import current
from goref.sources.core import Core
from goref.sources.process import Process
from goref.verbs import STANDALONE, VERBS


def open_source(where, name, options):
    """A process is copied again if a question needs something else of it."""
    exe, core = where
    if exe != "pid":
        current.source = current.source or Core(core, exe)
        return
    commands.check(name, options)
    extent = commands.extent(name, options)
    if current.source is None or current.source.needed != extent:
        current.close()
        current.source = Process(int(core), extent)


def answer(question, where):
    name, _, rest = question.partition(" ")
    verb = {**VERBS, **STANDALONE}.get(name)
    if verb is None:
        raise Error(f'Undefined goref command: "{name}".')
    parser = args.Parser(
        f"goref {name}", verb.options, takes_words=bool(verb.operands)
    )
    try:
        options = parser.parse_text(rest)
        open_source(where, name, options)
        commands.run(name, options)
    except args.UsageError as problem:
        raise Error(f"{parser.prog}: {problem}") from None


def main(mark, exe, core, *questions):
    """The exit status: gdb's is that of the last command, too."""
    status = 0
    front.use(front.Terminal())
    front.current.note(mark + "\n")
    for question in questions:
        print(mark)
        try:
            answer(question, (exe, core))
            status = 0
        except Error as problem:
            front.current.note(f"{problem}\n")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
