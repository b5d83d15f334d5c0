# SPDX-License-Identifier: Apache-2.0
"""bash and zsh on a terminal, which complete command lines of goref as they
find its completion by themselves.

debian/tests/completion uses it, too: nothing here needs a build."""

import os
import re
import subprocess
from pathlib import Path

import pexpect

from goref.verbs import SOURCES, STANDALONE, VERBS

BASH_COMPLETION = Path("/usr/share/bash-completion/bash_completion")
# A bound that only a hang breaks.
GENEROUS = 120
ITEMS = {**SOURCES, **VERBS, **STANDALONE}
EVERY = {f"--{o.name}" for o in VERBS["scan"].options}
WHY = {f"--{o.name}" for o in VERBS["why"].options}
FORMATS = {"hprof", "heapsnapshot", "jsonl", "folded", "dot"}
PROFILES = {"heap", "allocs", "block", "mutex", "goroutine", "goroutineleak"}
MINE = str(os.getpid())

# A line, words that are offered, and words that are not. The current folder has
# the files core.1 and app.
CASES = [
    ("goref ", {"core", "attach", "diff", "help"}, {"scan"}),
    ("goref --", {"--help", "--version"}, {"--out"}),
    ("goref diff ", {"core.1", "app", MINE}, {"scan"}),
    ("goref diff core.1 --sn", {"--snapshot"}, {"app"}),
    ("goref he", {"help"}, {"core"}),
    ("goref help ", {*ITEMS}, set()),
    ("goref core ", {"core.1", "app"}, {"scan"}),
    ("goref core app ", {"core.1", "app", *VERBS}, set()),
    ("goref core app core.1 ", {*VERBS}, {"app"}),
    ("goref open ", {"core.1", "app"}, {"scan"}),
    ("goref open app ", {*VERBS}, {"app", "core.1"}),
    ("goref core core.1 wh", {"why"}, {"verify"}),
    ("goref core core.1 --", EVERY | {"--why", "--verify"}, {"--snapshot"}),
    ("goref core --top 3 core.1 scan --", EVERY, {"--why", "--addresses"}),
    ("goref core core.1 objects --a", {"--addresses"}, {"--attribution"}),
    ("goref core core.1 export --", {"--format"}, {"--by", "--top"}),
    ("goref core core.1 export -f", {"-format"}, {"--format"}),
    ("goref core -o scan core.1 v", {"verify"}, {"app"}),
    ("goref core core.1 scan --out co", {"core.1"}, {"app"}),
    ("goref core core.1 -o a", {"app"}, {"core.1"}),
    ("goref core core.1 why --attribution ", {"nearest", "first"}, {"app"}),
    ("goref core core.1 why --attribution=f", {"first"}, {"nearest"}),
    ("goref core core.1 scan --top ", set(), {"app", "first", "scan"}),
    ("goref core core.1 export --format ", FORMATS, {"pprof", "text", "app"}),
    ("goref core core.1 scan --format ", {"pprof", "dot"}, {"hprof", "text"}),
    ("goref core core.1 --format ", {"pprof", "dot"}, {"hprof", "text"}),
    ("goref open app waits --format ", {"text", "json"}, {"pprof", "hprof"}),
    ("goref open app waits -format ", {"text", "json"}, {"pprof", "hprof"}),
    ("goref core core.1 histogram --by ", {"type", "site,root"}, {"path"}),
    ("goref attach 1 histogram --by=si", {"site", "site,root"}, {"type"}),
    ("goref open app waste --checks ", {"pool", "size-class"}, {"app"}),
    ("goref diff app core.1 --by ", {"type", "path"}, {"span-class"}),
    ("goref open app goroutines --with ", {"state", "label"}, {"app"}),
    ("goref core core.1 export ", {"core.1", "app"}, {"scan"}),
    ("goref core core.1 export --format dot ", {"app"}, {"dot", "scan"}),
    ("goref core core.1 why ", set(), {"core.1", "app", "scan"}),
    ("goref open app profile ", PROFILES, {"core.1"}),
    ("goref open app goroutine ", set(), {"core.1", "locals"}),
    ("goref open app goroutine 17 ", {"bt", "locals", "wait"}, {"core.1"}),
    ("goref attach ", {MINE}, {"app", "2"}),
    ("goref attach 1 ", {*VERBS}, {"app"}),
    ("goref attach 1 why --", WHY | {"--max-pause"}, {"--out"}),
]  # fmt: skip
# A line, and its last word after TAB.
FINISHED = [
    ("goref core core.1 wh", "why"),
    ("goref core core.1 scan --per", "--per-goroutine"),
    ("goref core core.1 why --attribution=f", "--attribution=first"),
    ("goref core core.1 export --format hea", "heapsnapshot"),
    ("goref core core.1 histogram --by spa", "span-class"),
    ("goref attach 1 histogram --by=fi", "--by=field"),
    ("goref core core.1 waste --checks po", "pool"),
    ("goref open app waste --checks pool,spa", "pool,sparse-map"),
    ("goref op", "open"),
    ("goref open ap", "app"),
    ("goref attach " + MINE, MINE),
]  # fmt: skip


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\x07\r]", " ", text)


class Shell:
    """A shell on a terminal whose prompt is slow, as on a busy machine. ask is the key that lists what may follow, and
    waiting is what the shell prints once it reads keys by itself: before, the
    terminal edits lines, and takes control characters for its own."""

    ask = ""
    waiting = ""

    def __init__(self, words, folder, commands, **variables):
        variables |= {"TERM": "dumb", "PS1": "% ", "HOME": str(folder)}
        self.child = pexpect.spawn(
            words[0], words[1:], cwd=str(folder), encoding="utf-8",
            timeout=GENEROUS, dimensions=(100, 300),
            env={**os.environ, "LC_ALL": "C.UTF-8", **variables},
        )  # fmt: skip
        self.child.delaybeforesend = None
        for command in [*commands, "echo rea''dy"]:
            self.child.sendline(command)
        self.child.expect("ready\r?\n")

    def listed(self, line):
        """The text that the shell shows for a line, which is then dropped."""
        self.child.expect_exact(self.waiting)
        self.child.send(f"{line}{self.ask}\x15echo don''e\r")
        self.child.expect("done\r?\n")
        return plain(self.child.before)

    def words(self, line):
        return {*self.listed(line).split()}

    def finished(self, line):
        """The line after TAB."""
        self.child.expect_exact(self.waiting)
        self.child.send(f"{line}\t\x01echo '<\x05>' don''e\r")
        self.child.expect("<([^<>]*)> done\r?\n")
        return self.child.match[1]

    def close(self):
        self.child.close(force=True)


class Bash(Shell):
    """data: a folder that has bash-completion/completions, like /usr/share."""

    ask = "\x1b?"
    waiting = "% "

    def __init__(self, folder, data=None):
        settings = ("bell-style none", "enable-bracketed-paste off",
                    "page-completions off",
                    "completion-query-items 0")  # fmt: skip
        where = {"XDG_DATA_DIRS": f"{data}:/usr/share"} if data else {}
        super().__init__(
            ["bash", "--norc", "--noprofile", "-i"], folder,
            [*(f"bind 'set {setting}'" for setting in settings),
             f". {BASH_COMPLETION}", "PROMPT_COMMAND='sleep 0.02'"], INPUTRC="/dev/null", **where,
        )  # fmt: skip


class Zsh(Shell):
    """functions: a folder of functions before those of the system."""

    ask = "\x04"
    waiting = "\x1b[?2004h"

    def __init__(self, folder, functions=None):
        super().__init__(
            ["zsh", "-f", "-i"], folder,
            [f"fpath=({functions} $fpath)" if functions else ":",
             "precmd() { sleep 0.02; }",
             "autoload -Uz compinit; compinit -u -D",
             "zstyle ':completion:*' list-colors ''",
             "setopt list_ambiguous no_beep; bindkey -e; LISTMAX=1000"],
        )  # fmt: skip


def mistake(shell, line, there, absent):
    """Why the list of a shell is wrong; empty: it is right."""
    found = shell.words(line)
    more = absent & found - {*line.split()}
    if there <= found and not more:
        return ""
    return f"{line}: not there: {there - found}, too much: {more} of {found}"


def folders_of_zsh():
    """Where a zsh of the system looks for completion."""
    done = subprocess.run(
        ["zsh", "-f", "-c", "print -l $fpath"], capture_output=True, text=True
    )
    return [Path(line) for line in done.stdout.splitlines()]
