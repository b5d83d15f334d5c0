# SPDX-License-Identifier: Apache-2.0
"""The manual pages, made of the table of options: names and texts in roff."""

import re
from collections.abc import Iterable

from goref.helptext import option_names, source_usage, verb_uses
from goref.options import Option
from goref.verbs import (
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


def escaped(text: str) -> str:
    """Text that means itself; what stands in quotes becomes bold."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`']*)'", r"\\fB\1\\fP", text)
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.M)


def _paragraphs(text: str) -> list[str]:
    lines: list[str] = []
    for paragraph in filter(None, text.split("\n\n")):
        lines += [".PP", escaped(" ".join(paragraph.split()))]
    return lines[1:]


def _option(option: Option) -> list[str]:
    names, _, value = option_names(option).partition(f"--{option.name}")
    names = f"{names}--{option.name}".replace("-", "\\-")
    tag = f"\\fB{names}\\fP"
    if value:
        tag += f" \\fI{escaped(value.strip())}\\fP"
    return [".TP", tag, escaped(option.help)]


def _options(options: list[Option]) -> list[str]:
    return [line for option in options for line in _option(option)]


def _examples(item: Verb | Source) -> list[str]:
    lines = [".SH EXAMPLES"] if item.examples else []
    for words, what in item.examples:
        lines += [".TP", f"\\fBgoref {escaped(words)}\\fP"]
        lines.append(escaped(f"{what[:1].upper()}{what[1:]}."))
    return lines


def _statuses() -> list[str]:
    lines = [".SH EXIT STATUS"]
    for number, what in STATUSES:
        lines += [
            ".TP",
            str(number),
            escaped(f"{what[:1].upper()}{what[1:]}."),
        ]
    return [*lines, ".PP", escaped(STATUS_NOTE)]


def _begin(
    name: str, summary: str, uses: list[str], version: str
) -> list[str]:
    lines = [
        f'.TH "{name.upper()}" "1" "" "goref\\-gdb {version}" "User Commands"',
        ".SH NAME",
        f"{escaped(name)} \\- {escaped(summary[:1].lower() + summary[1:])}",
        ".SH SYNOPSIS",
        ".nf",
    ]
    for use in uses:
        command, _, words = use.partition(" ")
        lines.append(f"\\fB{escaped(command)}\\fP {escaped(words)}".rstrip())
    return [*lines, ".fi"]


def _end(name: str) -> list[str]:
    others = ["goref", *(f"goref-{n}" for n in [*SOURCES, *VERBS, *STANDALONE])]
    see = ",\n".join(
        f".BR {escaped(other)} (1)" for other in others if other != name
    )
    return [
        ".SH SEE ALSO",
        *see.replace(",\n", " ,\n").split("\n"),
        ".BR gdb (1)",
    ]


def _page(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def verb_page(verb: Verb, version: str) -> str:
    name = f"goref-{verb.name}"
    uses = verb_uses(verb)
    if verb.name in VERBS:
        words = f"{verb.name} [OPTION]... {verb.operands}".strip()
        uses.append(f"(gdb) goref {words}")
    lines = _begin(name, verb.summary, uses, version)
    lines += [".SH DESCRIPTION"]
    lines += _paragraphs(f"{verb.text}\n\n{verb.details}")
    lines += [".SH OPTIONS", *_options([*verb.options]), ".PP"]
    lines += [escaped(NO_LIMIT), *_statuses(), *_examples(verb)]
    return _page([*lines, *_end(name)])


def source_page(source: Source, version: str) -> str:
    name = f"goref-{source.name}"
    lines = _begin(name, source.summary, [source_usage(source)], version)
    lines += [".SH DESCRIPTION"]
    lines += _paragraphs(f"{source.text}\n\n{source.details}")
    lines += [".SH VERBS", *_verbs(VERBS.values()), ".PP", escaped(NO_VERB)]
    lines += [".SH OPTIONS"]
    lines += _options([*source.options, *QUESTIONS.values()])
    names = ", ".join(
        f"\\fB\\-\\-{escaped(o.name)}\\fP" for o in VERBS["scan"].options
    )
    lines += [".PP", f"Without a verb, those of \\fBscan\\fP, too: {names}."]
    return _page([*lines, *_statuses(), *_examples(source), *_end(name)])


def _verbs(verbs: Iterable[Verb]) -> list[str]:
    lines = []
    for verb in verbs:
        lines += [".TP", f"\\fB{escaped(verb.name)}\\fP"]
        lines.append(escaped(verb.summary) + ".")
    return lines


def main_page(version: str) -> str:
    uses = [source_usage(s) for s in SOURCES.values()]
    uses += [use for verb in STANDALONE.values() for use in verb_uses(verb)]
    uses += ["goref help [VERB]", "(gdb) goref VERB [OPTION]..."]
    lines = _begin("goref", SUMMARY, uses, version)
    lines += [
        ".SH DESCRIPTION",
        "Goref answers from a core file, a running process or a file that it",
        "has saved. It rebuilds the Go heap, and follows every reference as",
        "the garbage collector does, but with types and names. The program",
        "needs no change. Goref writes nothing to its memory. Only",
        "\\-\\-snapshot makes it run anything: the system calls that fork it.",
        ".PP",
        "The same verbs are commands in gdb, about what gdb looks at, and",
        "methods in Python (import goref).",
        ".SH WHAT TO LOOK AT",
    ]
    for source in SOURCES.values():
        lines += [".TP", f"\\fB{escaped(source.name)}\\fP"]
        lines.append(escaped(source.summary) + ".")
    lines += [".SH VERBS", *_verbs(VERBS.values()), ".PP", escaped(NO_VERB)]
    lines += [".SH TWO HEAPS", *_verbs(STANDALONE.values())]
    lines += [
        ".SH OPTIONS",
        ".TP",
        "\\fB\\-h\\fP, \\fB\\-\\-help\\fP",
        "Print help, of the verb if one is given.",
        ".TP",
        "\\fB\\-V\\fP, \\fB\\-\\-version\\fP",
        "Print the version.",
        ".TP",
        "\\fB\\-\\-python\\-path\\fP",
        "Print the folder that PYTHONPATH needs for `import goref', if Python",
        "does not find the package without it.",
        *_statuses(),
        ".SH ENVIRONMENT",
        ".TP",
        "\\fBXDG_CACHE_HOME\\fP",
        "Below it, or below \\fI~/.cache\\fP, tables of debug information are",
        "kept in \\fIgoref\\-gdb/symbols\\fP.",
    ]
    return _page([*lines, *_end("goref")])


def pages(version: str) -> dict[str, str]:
    """File names to their text."""
    found = {"goref.1": main_page(version)}
    for source in SOURCES.values():
        found[f"goref-{source.name}.1"] = source_page(source, version)
    for verb in (*VERBS.values(), *STANDALONE.values()):
        found[f"goref-{verb.name}.1"] = verb_page(verb, version)
    return found
