# SPDX-License-Identifier: Apache-2.0
"""The table of verbs. The parsers, gdb's help, `goref --help', the manual pages
and the completion of shells are made from it.

Data only.
"""

from ..options import VERIFY, WHY
from . import first, goroutines, heap, tools, waste
from .compare import DIFF
from .sources import ATTACH, CORE, OPEN
from .trace import TRACE
from .verb import Source, Verb

__all__ = [
    "NO_LIMIT",
    "NO_VERB",
    "OPEN",
    "QUESTIONS",
    "SOURCES",
    "STANDALONE",
    "STATUSES",
    "STATUS_NOTE",
    "SUMMARY",
    "Source",
    "VERBS",
    "Verb",
]

# In the order in which help lists them.
VERBS = {
    verb.name: verb
    for module in (first, heap, waste, goroutines, tools)
    for verb in vars(module).values()
    if isinstance(verb, Verb)
}

# Verbs whose operands name what they look at: on the command line they are no
# question on one source.
STANDALONE = {DIFF.name: DIFF, TRACE.name: TRACE}

SOURCES = {s.name: s for s in (CORE, ATTACH, OPEN)}

# Verbs as options, for a command line without a verb.
QUESTIONS = {"why": WHY, "verify": VERIFY}

SUMMARY = "Find out who holds the memory of a Go program, and why it hangs"

NO_LIMIT = (
    "For N and SIZE, 0 or `unlimited' means no limit. Options may be "
    "abbreviated and may have one dash; `--' ends them."
)

NO_VERB = (
    "Without a verb, goref runs `overview', or `scan' if there is an option "
    "of scan or an expression."
)

STATUSES = (
    (0, "complete: goref has seen all of the heap"),
    (1, "failed"),
    (2, "wrong usage"),
    (3, "partial: goref has seen a part; the output says why"),
    (4, "a --fail-... condition holds, such as suspects --fail-above"),
)

STATUS_NOTE = (
    "If Ctrl-C or --timeout ends goref before the walk begins, the status is "
    "1. If SIGTERM or SIGHUP ends goref, the status is 128 plus the signal's "
    "number, and there is no answer."
)
