# SPDX-License-Identifier: Apache-2.0
"""The end-to-end tests of `./run-tests --quick': each kind of target (a core,
a process, a saved file, gdb, Python), and each kind of question once, with one
Go release and without tools that may be missing.

They cover: what the program says of its own memory against what is found (by
roots, by types, by every word), waits and what they wait for, the overview,
each answer in gdb against that of plain Python, what a saved file answers, an
attached process that goes on, exports, reports, errors in one line and exit
statuses. Left to the whole run: other releases, flavours and sources, damaged
and crafted cores, moments of signals, limits of memory and time, foreign
tools, installation."""

import re

RELEASE = "go1.24"

# For each file, patterns of the names of its tests, between spaces; the rest of
# a file is left out. test_quick.py finds one that is of no test.
TESTS = {
    "test_api.py": r"top_holders waits _objects$ graph",
    "test_attach.py": r"copies_and_lets_go\[go1.24-default",
    "test_cli.py": r"core\[ expressions why help wrong_usage no_such_file",
    "test_diff.py": r"tables_add_up\[go1.24-default",
    "test_dominators.py": r"shared\[",
    "test_errors.py": r".",
    "test_export.py": r"json_lines_add_up folded",
    "test_goroutines.py": r"stacks\[go1.24-default filters groups channel",
    "test_hung.py": r"wait_reasons",
    "test_import.py": r"core\[ core_without_exe attach$",
    "test_in_gdb.py": r"expressions verb\[go1.24-default-roots",
    "test_leaks.py": r"runtime_verdict",
    "test_named.py": r"default",
    "test_objects.py": r".",
    "test_operands.py": r".",
    "test_refused_first.py": r".",
    "test_report.py": r"figures_are_those_of_the_verbs\[go1.24-default",
    "test_rest.py": r"default-core",
    "test_roots.py": r"default-core",
    "test_saved.py": r"same_answers\[go1.24-default why_every_object",
    "test_show.py": r"default",
    "test_sites.py": r"site_and_root",
    "test_suggested.py": r".",
    "test_sums.py": r"(rest|roots|values)-go1.24-default",
    "test_suspects.py": r"planted\[\w+-go1.24-default",
    "test_value.py": r".",
    "test_values.py": r"default-core",
    "test_verbs.py": r"core_alone\[go1.24-default",
    "test_verify.py": r"default-core",
    "test_waits.py": r"(waits|proof|answers)\[go1.24-default live",
}


def is_quick(item):
    """Does a test of pytest belong to them?"""
    names = TESTS.get(item.path.name, "").split()
    return any(re.search(name, item.name) for name in names)
