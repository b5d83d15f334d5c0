# SPDX-License-Identifier: Apache-2.0
"""Releases of glibc beside the machine's own, and programs that run with
them: as flavours of toolchains.py, each with the loader and the libraries of
its release."""

import functools
import subprocess

import pytest

import toolchains
from toolchains import TESTSUITE, Variant

# Those that Debian 10 to 13 have.
GLIBCS = ("2.28", "2.31", "2.36", "2.41")


@functools.cache
def trees():
    """{release: its folder, or the reason why there is none}."""
    done = subprocess.run(
        [TESTSUITE / "fetch-glibc", *GLIBCS], capture_output=True, text=True
    )
    found = {}
    for line in done.stdout.splitlines():
        release, _, rest = line.partition(" ")
        found[release.removeprefix("glibc")] = rest
    return found


def settings(tree):
    """The environment of a build with the headers, the start code and the
    libraries of a tree: a program that is linked against a newer libc may need
    symbols that an older one lacks."""
    own = f"{tree}/lib/x86_64-linux-gnu"
    linked = f"{tree}/usr/lib/x86_64-linux-gnu"
    # gcc looks for the files to link in its own folders first.
    link = [
        f"--sysroot={tree} -B{linked}/ -L{linked} -L{own}",
        f"-Wl,--dynamic-linker={tree}/lib64/ld-linux-x86-64.so.2",
        f"-Wl,-rpath={own}",
    ]
    return {
        "CGO_ENABLED": "1",
        "CGO_CFLAGS": f"-O2 -g --sysroot={tree}",
        "CGO_LDFLAGS": " ".join(link),
    }


def variant(go_release, glibc):
    """The variant that builds a program for a release of glibc; skips the test
    where it cannot be had."""
    tree = trees().get(glibc, "unavailable: fetch-glibc says nothing")
    if tree.startswith("unavailable:"):
        pytest.skip(f"glibc {glibc} {tree}")
    flavour = f"glibc{glibc}"
    toolchains.FLAGS[flavour] = []
    toolchains.ENVIRONMENT[flavour] = settings(tree)
    return Variant(go_release, flavour)
