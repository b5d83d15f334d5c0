# SPDX-License-Identifier: Apache-2.0
"""The verbs of goref. Each is the function run() of a module with its name,
which is loaded at its first use. A function check() of that module refuses
options that make no sense, before anything is opened."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def check(name: str, options: Any) -> None:
    """An error for options that make no sense, before a process is
    stopped."""
    module = import_module(f".{name}", __name__)
    if hasattr(module, "check"):
        module.check(options)


def run(name: str, options: Any) -> list[str]:
    """Answer one question. Takes options as args.Parser has them; gives the
    reasons why the answer is partial, none if it is complete."""
    check(name, options)
    lost: list[str] = import_module(f".{name}", __name__).run(options)
    return lost


def extent(name: str, options: Any) -> str:
    """The part of the program that a question needs, as goref.Scan() takes it:
    all of the heap, unless the module of the verb has a function extent()."""
    module = import_module(f".{name}", __name__)
    if not hasattr(module, "extent"):
        return "heap"
    needed: str = module.extent(options)
    return needed
