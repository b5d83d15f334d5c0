# SPDX-License-Identifier: Apache-2.0
"""Runs of a command whose memory is measured."""

import subprocess
import sys

from session import environment

# A child of a large process begins with the memory of that process, as far as
# the kernel counts, so a small one starts the command.
MEASURED = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[2:], timeout=float(sys.argv[1])).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status if status >= 0 else 128 - status)
"""


def run_measured(command, timeout):
    """Run a command; `used` of what is returned is the most bytes that it had
    in memory."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(timeout), *command],
        capture_output=True,
        text=True,
        errors="replace",
        env=environment(),
    )
    assert "TimeoutExpired" not in done.stderr, command
    done.stdout, _, kilobytes = done.stdout[:-1].rpartition("\n")
    done.used = int(kilobytes) << 10
    return done
