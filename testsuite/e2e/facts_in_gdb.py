# SPDX-License-Identifier: Apache-2.0
"""Sourced by gdb (test_facts.py): prints what gdb knows of the core, as JSON
behind the word FACTS."""

import json
import re

import gdb


def said(command):
    return gdb.execute(command, to_string=True)


def auxv(name):
    return int(
        re.search(rf"{name}\s.*\s(0x\w+)$", said("info auxv"), re.M)[1], 16
    )


def number(text):
    try:
        return int(gdb.parse_and_eval(text))
    except gdb.error:
        return None


def running():
    """m.procid and m.curg.goid of the runtime's list of threads."""
    try:
        m = gdb.parse_and_eval("'runtime.allm'")
        m["procid"]
    except gdb.error:
        return  # the runtime is in a library, or stripped
    while int(m):
        g = m["curg"]
        yield int(m["procid"]), int(g["goid"]) if int(g) else None
        m = m["alllink"]


def text_starts():
    """The run-time address of .text of each library, from gdb 17 on of all."""
    rows = re.findall(r"^(0x\w+) .*?(/.*)$", said("info sharedlibrary"), re.M)
    return {name: int(start, 16) for start, name in rows}


gdb.execute("set language c")
inferior = gdb.selected_inferior()
threads = sorted(inferior.threads(), key=lambda thread: thread.num)
siginfo = "$_siginfo._sifields"
facts = {
    "exe": re.search("exe = '(.*)'", said("info proc exe"))[1],
    "pid": inferior.pid,
    "random": bytes(inferior.read_memory(auxv("AT_RANDOM"), 16)).hex(),
    "signal": number("$_exitsignal"),
    "siginfo": [
        number("$_siginfo.si_signo"),
        number("$_siginfo.si_code"),
        number(f"{siginfo}._kill.si_pid"),
        number(f"(unsigned long) {siginfo}._sigfault.si_addr"),
    ],
    "threads": [thread.ptid[1] for thread in threads],
    "running": list(running()),
    "files": [
        file.filename
        for file in gdb.objfiles()
        if file.owner is None and "system-supplied" not in file.filename
    ],
    "debug": {
        file.owner.filename: file.filename
        for file in gdb.objfiles()
        if file.owner is not None
    },
    "starts": text_starts(),
}
print("FACTS" + json.dumps(facts))
