# SPDX-License-Identifier: Apache-2.0
"""Run by session.py, in plain Python: answers `goref VERB' about a core, one
question after the other, as gdb's commands do. Its arguments: a line that it
writes before each answer, an executable, its core, the questions."""

import sys

from goref import args, commands, front
from goref.errors import Error
from goref.session import current
from goref.sources.core import Core
from goref.verbs import STANDALONE, VERBS


def answer(question):
    name, _, rest = question.partition(" ")
    verb = {**VERBS, **STANDALONE}.get(name)
    if verb is None:
        raise Error(f'Undefined goref command: "{name}".')
    parser = args.Parser(
        f"goref {name}", verb.options, takes_words=bool(verb.operands)
    )
    try:
        commands.run(name, parser.parse_text(rest))
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
            current.source = current.source or Core(core, exe)
            answer(question)
            status = 0
        except Error as problem:
            front.current.note(f"{problem}\n")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
