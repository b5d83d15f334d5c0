# SPDX-License-Identifier: Apache-2.0
"""The commands that README.md, pages of doc/ and quickstart print, and a shell
that runs them one after the other, as a reader does."""

import os
import re
import signal
import subprocess
from dataclasses import dataclass, field

TIMEOUT = 3600  # of all commands together
# A reader puts this in place of such a word, in the folder of the tour.
STAND_INS = {
    "CORE": "core",
    "EXE": "leaky",
    "FILE": "heap.goref",
    "ID": "1",
    "NEW": "core",
    "OLD": "core.earlier",
    "PID": "$!",
    "VERB": "hung",
}
# Operands of verbs, which the table leaves out.
OPERANDS = {
    "export": "--format dot heap.dot",
    "object": "main.pageCache.order[3]",
    "profile": "heap -o heap.pb.gz",
    "report": "page.html",
    "save": "heap.goref",
    "why": "main.pageCache",
}


@dataclass
class Command:
    """One command line, and what is printed below it."""

    text: str
    line: int  # of the file
    expected: list = field(default_factory=list)
    typed: list = field(default_factory=list)  # at gdb's prompt
    status: int = None
    output: str = ""

    def __str__(self):
        return self.text

    @property
    def script(self):
        """The command with stand-ins, for a shell."""
        words = "|".join(STAND_INS)
        return re.sub(
            rf"\b({words})\b", lambda found: STAND_INS[found[1]], self.text
        )

    @property
    def is_service(self):
        return self.text.endswith("&")


def _transcript(lines):
    """The commands of a block between fences, given as (number, line)."""
    found = []
    for number, line in lines:
        if line.startswith("$ "):
            found.append(Command(line[2:], number))
            continue
        assert found, f"line {number}: a block that begins with no command"
        if line.startswith("(gdb) "):
            found[-1].typed.append(line[len("(gdb) ") :])
        elif line.strip() and line != "[...]":
            found[-1].expected.append(line)
    return found


def _blocks(text):
    """The transcripts, the indented lines and all others as (number, line)."""
    transcripts, indented, prose, fence = [], [], [], None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if fence is not None:
                transcripts += _transcript(fence)
            fence = [] if fence is None else None
        elif fence is not None:
            fence.append((number, line))
        elif line.startswith("    "):
            indented.append((number, line[4:]))
        else:
            prose.append((number, line))
    return transcripts, indented, prose


def _inline(prose):
    """`goref ...` in a sentence, or in the cell of a table."""
    text = "\n".join(line for _, line in prose)
    for found in re.finditer(r"`([^`]+)`", text):
        words = " ".join(found[1].split())
        if re.match(r"(\w+=\S+ )?(\./)?(gdb-)?goref \S", words):
            number = text[: found.start()].count("\n")
            yield Command(words, prose[number][0])


def _verbs(rows):
    """The commands that ask a core by the verbs of these rows."""
    for number, line in rows:
        cells = line.split(" | ")
        if line.startswith("| ") and len(cells) == 2:
            for verb in re.findall(r"`([a-z][^`]*)`", cells[1]):
                if not verb.startswith("goref "):
                    operand = OPERANDS.get(verb, "")
                    text = f"goref core CORE {verb} {operand}".rstrip()
                    yield Command(text, number)


def of_pages(texts):
    """All commands of the pages. Those of transcripts come first: they start
    the service and write the files that the others name."""
    pages = [_blocks(text) for text in texts]
    found = [command for page in pages for command in page[0]]
    found += [Command(line, n) for page in pages for n, line in page[1]]
    return found + [c for page in pages for c in _inline(page[2])]


def of_table(text):
    """The verbs of README's table, asked of a core."""
    _, _, prose = _blocks(text)
    begin = [
        n for n, line in prose if line == "| what you want to know | verb |"
    ]
    end = [n for n, line in prose if begin and n > begin[0] and not line]
    assert begin, "README.md has no table of verbs"
    rows = [(n, line) for n, line in prose if begin[0] + 1 < n < end[0]]
    return list(_verbs(rows))


def of_quickstart(text):
    """The commands that quickstart prints at its end."""
    said = text[text.index("cat <<'END'") :]
    return [
        Command(found[1], 0)
        for found in re.finditer(
            r"(?m)^  ((?:goref|gdb-goref|go|PATH|cd)\b.*?)(?:  .*)?$", said
        )
    ]


def _step(number, command, folder):
    """Shell text that runs one command as if typed: what it sets is there for
    the next. A person waits until the service says that it is ready."""
    typed = folder / f"{number}.in"
    typed.write_text("".join(f"{line}\n" for line in command.typed))
    out = folder / f"{number}.out"
    lines = [
        f"{{ {command.script}",
        f"}} <'{typed}' >'{out}' 2>&1",
        f"echo $? >'{folder}/{number}.status'",
    ]
    if command.is_service:
        lines += [
            f"until [ -s '{out}' ] || ! kill -0 $!; do sleep 0.1; done",
        ]
    return "\n".join(lines)


def run(commands, cwd, folder, env):
    """Run them in one shell, and fill in their status and output."""
    script = ["trap '[ -z \"$!\" ] || kill -KILL $!' EXIT"]
    script += [_step(n, c, folder) for n, c in enumerate(commands)]
    shell = subprocess.Popen(
        ["sh", "-c", "\n".join(script)],
        cwd=cwd,
        env=env,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        shell.wait(TIMEOUT)
    finally:
        if shell.poll() is None:
            os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
    for number, command in enumerate(commands):
        status = folder / f"{number}.status"
        command.status = int(status.read_text()) if status.exists() else None
        out = folder / f"{number}.out"
        if out.exists():
            command.output = out.read_text(errors="replace")


def form(text):
    """Text without what differs from run to run: sizes, addresses, and the
    blanks and line breaks that depend on these."""
    text = re.sub(r"0x[0-9a-f]+", "#", text)
    text = re.sub(
        r"[<+-]?\d+(?:[,.]\d+)*(?: ?(?:%|(?:(?:[KMGT]i)?B|[mu]?s)\b))?",
        "#",
        text,
    )
    return " ".join(text.split())
