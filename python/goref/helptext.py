# SPDX-License-Identifier: Apache-2.0
"""The table of options as help, for gdb and for the command line. Pure: never
imports gdb."""

import textwrap
from collections.abc import Iterable

from .options import Option
from .verbs import (
    NO_LIMIT,
    NO_VERB,
    QUESTIONS,
    SOURCES,
    STANDALONE,
    STATUS_NOTE,
    STATUSES,
    SUMMARY,
    VERBS,
    Source,
    Verb,
)

_WIDTH = 79
_COLUMN = 24


def usage(name: str, *words: str) -> str:
    return " ".join(["goref", name, *filter(None, words)])


def verb_uses(verb: Verb) -> list[str]:
    """How the command line is written."""
    words = f"{verb.name} [OPTION]... {verb.operands}".rstrip()
    if verb.name in STANDALONE:
        return [f"goref {words}"]
    return [
        f"goref core [EXE] CORE {words}",
        f"goref attach PID|open FILE {verb.name} ...",
    ]


def verb_usage(verb: Verb) -> str:
    return usage(verb.name, "[OPTION]...", verb.operands)


def source_usage(source: Source) -> str:
    return usage(
        source.name, "[OPTION]...", source.places, "[VERB [OPTION]...]"
    )


def _wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Lines that never break inside the name of an option."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


# ----------------------------------------------------------------------- gdb


def _gdb_option(option: Option) -> list[str]:
    words = [f"-{option.name}", *filter(None, [option.value])]
    return ["  " + " ".join(words), *_wrap(option.help, 76, "    ")]


def gdb_help(verb: Verb) -> str:
    """The text of `help goref VERB', in the layout of gdb's commands."""
    lines = [f"{verb.summary}.", f"Usage: {verb_usage(verb)}", ""]
    lines += [*wrapped(verb.text, 76), "", "Options:"]
    for option in verb.options:
        lines += _gdb_option(option)
    return "\n".join([*lines, *wrapped(NO_LIMIT, 76)])


# -------------------------------------------------------------- command line


def _row(begin: str, text: str) -> list[str]:
    """A name and what it means, in two columns."""
    indent = " " * _COLUMN
    lines = _wrap(text, _WIDTH, indent)
    if len(begin) + 4 > _COLUMN:
        return [f"  {begin}", *lines]
    lines[0] = f"  {begin}".ljust(_COLUMN) + lines[0].lstrip()
    return lines


def _sentence(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}".rstrip(".")


def option_names(option: Option) -> str:
    names = [f"-{option.letter}"] if option.letter else []
    return " ".join(
        [", ".join([*names, f"--{option.name}"])]
        + ([option.value] if option.value else [])
    )


def _options(options: Iterable[Option]) -> list[str]:
    return [line for o in options for line in _row(option_names(o), o.help)]


def wrapped(text: str, width: int = _WIDTH) -> list[str]:
    """Lines of paragraphs, an empty one between them."""
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        lines += ["", *_wrap(paragraph, width)]
    return lines[1:]


def _examples(item: Verb | Source) -> list[str]:
    if not item.examples:
        return []
    lines = ["", "Examples:"]
    for words, what in item.examples:
        lines += [f"  goref {words}", f"      {what}"]
    return lines


def _details(item: Verb | Source, is_full: bool) -> list[str]:
    if not item.details:
        return []
    if is_full:
        return ["", *wrapped(item.details)]
    return ["", f"`goref help {item.name}' has the details."]


def verb_help(verb: Verb, is_full: bool = False) -> str:
    """The text of `goref help VERB' (is_full) and of --help."""
    first, *others = verb_uses(verb)
    lines = [
        f"Usage: {first}",
        *(f"  or:  {use}" for use in others),
        f"{verb.summary}.",
        "",
        *wrapped(verb.text),
        "",
        "Options:",
        *_options(verb.options),
        *wrapped(NO_LIMIT),
        *_examples(verb),
        *_details(verb, is_full),
    ]
    return "\n".join(lines) + "\n"


def source_help(source: Source, is_full: bool = False) -> str:
    lines = [
        f"Usage: {source_usage(source)}",
        f"{source.summary}.",
        "",
        *wrapped(source.text),
        "",
        *wrapped(
            f"Verbs: {', '.join(VERBS)}. `goref help' says what they do, "
            "`goref VERB --help' has the options of each."
        ),
        *wrapped(NO_VERB),
    ]
    if source.options:
        lines += ["", "Options:", *_options(source.options)]
    lines += ["", "Options without a verb:"]
    lines += _options(QUESTIONS.values())
    names = ", ".join(f"--{option.name}" for option in VERBS["scan"].options)
    lines += wrapped(f"and the options of `scan': {names}.")
    lines += _examples(source)
    return "\n".join([*lines, *_details(source, is_full)]) + "\n"


def _verbs(verbs: Iterable[Verb]) -> list[str]:
    return [
        line
        for verb in verbs
        for line in _row(verb.name, _sentence(verb.summary))
    ]


def main_help() -> str:
    uses = [source_usage(s) for s in SOURCES.values()]
    uses += [use for verb in STANDALONE.values() for use in verb_uses(verb)]
    lines = [
        f"Usage: {uses[0]}",
        *(f"  or:  {use}" for use in uses[1:]),
        "  or:  goref help [VERB]",
        f"{SUMMARY}.",
        "",
        "Where to look:",
    ]
    for source in SOURCES.values():
        lines += _row(source.name, _sentence(source.summary))
    lines += ["", "Verbs:", *_verbs(VERBS.values()), *wrapped(NO_VERB), ""]
    lines += ["To compare two heaps:", *_verbs(STANDALONE.values()), ""]
    lines += ["Options:"]
    lines += _row("-h, --help", "Print this help, or that of a verb.")
    lines += _row("-V, --version", "Print the version.")
    lines += _row(
        "--python-path", "Print what PYTHONPATH needs for `import goref'."
    )
    lines += ["", "Exit status:"]
    lines += [f"  {number}  {what}" for number, what in STATUSES]
    return "\n".join([*lines, *wrapped(STATUS_NOTE)]) + "\n"


def help_of(name: str, is_full: bool = False) -> str | None:
    """Help on a verb or a source; None: there is no such word."""
    verb = VERBS.get(name) or STANDALONE.get(name)
    if verb:
        return verb_help(verb, is_full)
    if name in SOURCES:
        return source_help(SOURCES[name], is_full)
    return None
