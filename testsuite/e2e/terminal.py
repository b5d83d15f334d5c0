# SPDX-License-Identifier: Apache-2.0
"""gdb on a terminal."""

import re
import tempfile
from contextlib import suppress

import pexpect

from session import environment, start_command

PROMPT = r"\(gdb\) $"
# A bound that only a hang breaks; what a person feels is measured elsewhere.
GENEROUS = 20


def plain(text):
    """Without colors, cursor movements and carriage returns."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    return text.replace("\x1b[?2004h", "").replace("\r", "")


# goref stops at its Nth look for Ctrl-C, or at the Nth one in a walk, and waits
# for it.
PAUSE = """
import os, select
from goref.progress import Progress
def pause_at(last, is_in_walk, whole=Progress.__call__):
    left = [last]
    def look(self, step="", done=0, total=0):
        left[0] -= step == "walking the heap" or not is_in_walk
        if left[0] == 0:
            left[0] = -1
            os.write(1, b"@@ it looks @@")
            for _ in range(12000):
                select.select([], [], [], 0.01)
        whole(self, step, done, total)
    Progress.__call__ = look
"""


class Terminal:
    def __init__(self, args=(), height=0):
        line = start_command(["-q", *args])
        env = {**environment(), "INPUTRC": "/dev/null", "TERM": "vt100"}
        self.child = pexpect.spawn(
            line[0], line[1:], env=env, encoding="utf-8", timeout=60,
            dimensions=(40, 200), codec_errors="replace",
        )  # fmt: skip
        self.child.delaybeforesend = None
        self.child.delayafterclose = self.child.delayafterterminate = 0
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
        """Complete a beginning with TAB TAB; the line is then dropped. gdb reads
        the next command when it has shown all of the completion."""
        self.child.send(text + "\t\t\x15")
        self.child.sendline("echo settled\\n")
        self.child.expect("settled\r?\n", timeout=GENEROUS)
        shown = plain(self.child.before)
        self.child.expect(PROMPT)
        return shown

    def interrupt_at(self, look, command, is_in_walk=False):
        """Run a command, and send Ctrl-C when goref looks for it for the Nth
        time: does it look so often? The prompt behind it is not read then."""
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(f"{PAUSE}pause_at({look}, {is_in_walk})\n")
            file.flush()
            self.run(f"source {file.name}")
        self.child.sendline(command)
        if self.child.expect(["@@ it looks @@", PROMPT], timeout=120):
            return False
        self.child.sendcontrol("c")
        return True

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
