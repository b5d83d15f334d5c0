# SPDX-License-Identifier: Apache-2.0
"""The labels and the time that the user gives a profile. Pure: never imports
gdb."""

from typing import Any, NamedTuple

from . import args

# Keys of labels that goref itself writes, some only if asked.
_OWN = ("root_kind", "goroutine_state", "goroutine_id", "bytes")
_MAX_LABELS = 30  # as stores of profiles have it


class Stamp(NamedTuple):
    """The user's words about a profile, as write_profile() takes them."""

    labels: tuple[tuple[str, str], ...]
    time_ns: int


def of(options: Any) -> Stamp:
    """The stamp of a profile; a UsageError if it makes no sense."""
    for name in ("label", "root-labels", "time"):
        if name in options.given:
            _check(name, options)
    labels = tuple(options.label)
    keys = [key for key, _ in labels]
    for key in keys:
        if key in _OWN:
            raise args.UsageError(f"--label {key}: goref itself writes {key}")
        if keys.count(key) > 1:
            raise args.UsageError(f"--label {key} is given twice")
    if len(labels) > _MAX_LABELS:
        raise args.UsageError(f"more than {_MAX_LABELS} labels")
    return Stamp(labels, options.time or 0)


def _check(name: str, options: Any) -> None:
    """Only a file in pprof's format has a place for it."""
    if options.out is None:
        raise args.UsageError(f"--{name} is about the profile: add --out")
    if getattr(options, "text", False):
        raise args.UsageError(f"--{name} has no place in a text")
    form = getattr(options, "format", "pprof")
    if form != "pprof":
        raise args.UsageError(f"--{name} has no place in the format {form}")
