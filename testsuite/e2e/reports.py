# SPDX-License-Identifier: Apache-2.0
"""Reports of targets, and the documents of verbs to compare them with."""

import json
import re
import sys

from session import TOP, run_cli, run_goref

sys.path.insert(0, str(TOP / "python"))

from goref.report.page import SCRIPTS, page  # noqa: E402, F401

LIMIT = 10 << 20  # bytes of a page


def write(target, path, *options):
    line = ["core", target.exe, target.core, "report", path, *options]
    done = run_cli(line)
    assert done.returncode == 0, done.stderr
    return done


def embedded(path):
    """The document in a page."""
    text = path.read_text(encoding="utf-8")
    found = re.search(
        r'<script type="application/json" id="goref-document">(.*?)</script>',
        text,
    )
    return json.loads(found[1])


def rewritten(path, out, change):
    """The page of a document that change() has changed."""
    document = embedded(path)
    change(document)
    out.write_text(page(document), encoding="utf-8")
    return out


def ask(target, *questions):
    """The documents of several verbs."""
    run = run_goref(target, [f"goref {q} --json" for q in questions])
    assert run.rc == 0, run.stderr
    return [run.json(i) for i in range(len(questions))]
