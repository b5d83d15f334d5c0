# SPDX-License-Identifier: Apache-2.0
"""gdb on a terminal."""

import re
from contextlib import suppress

import pexpect

from session import environment, start_command

PROMPT = r"\(gdb\) $"
# A bound that only a hang breaks; what a person feels is measured elsewhere.
GENEROUS = 20


def plain(text):
    """Without colours, cursor movements and carriage returns."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    return text.replace("\x1b[?2004h", "").replace("\r", "")


class Terminal:
    def __init__(self, args=(), height=0):
        line = start_command(["-q", *args])
        env = {**environment(), "INPUTRC": "/dev/null", "TERM": "vt100"}
        self.child = pexpect.spawn(
            line[0], line[1:], env=env, encoding="utf-8", timeout=60,
            dimensions=(40, 200), codec_errors="replace",
        )  # fmt: skip
        self.child.expect(PROMPT)
        self.run("set confirm off")
        self.run(f"set height {height}")
        self.run("set style enabled off")

    def run(self, command, timeout=120):
        """Send a line; return what came before the next prompt."""
        self.child.sendline(command)
        self.child.expect(PROMPT, timeout=timeout)
        return plain(self.child.before)

    def settle(self):
        """Come to rest at a prompt, however many there were before."""
        self.child.sendline("echo settled\\n")
        self.child.expect("settled\r?\n", timeout=GENEROUS)
        self.child.expect(PROMPT)

    def complete(self, text):
        """What TAB TAB makes of a beginning; the line is then dropped."""
        self.child.send(text + "\t\t")
        self.child.expect([pexpect.TIMEOUT], timeout=1.5)
        shown = plain(self.child.before)
        self.child.sendcontrol("u")
        self.settle()
        return shown

    def close(self):
        if self.child.isalive():
            self.child.sendcontrol("c")
            self.child.sendline("kill")
            self.child.sendline("quit")
        try:
            self.child.close(force=True)
        except pexpect.ExceptionPexpect:
            # It is killed, and ends when it gets a processor.
            with suppress(pexpect.ExceptionPexpect):
                self.child.wait()
