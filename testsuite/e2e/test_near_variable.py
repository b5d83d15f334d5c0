# SPDX-License-Identifier: Apache-2.0
"""A wrong name of a variable, a field or a type: the error of each verb names
those that are similar, in its one line."""

import pytest

from session import one_line, run_cli
from toolchains import variants

WRONG = "main.sessionByToken"
RIGHT = "main.sessionsByToken"


@pytest.fixture(scope="module")
def core(farm):
    return lambda variant: farm.target("leaky", variant)


def ask(core, *words):
    return run_cli(["core", *core.gdb_args, *words])


@variants("default", "nodwarf")
@pytest.mark.parametrize("verb", ["why", "scan", "dominators", "object"])
def test_variable(core, variant, verb):
    done = ask(core(variant), verb, WRONG)
    if variant.flavour == "default":
        one_line(done, 1, f"is it {RIGHT}?")
    # A warning comes before it if there is no debug information.
    assert done.stderr.endswith(f'"{WRONG}": is it {RIGHT}?\n')


@variants("default")
@pytest.mark.parametrize(
    "words, told",
    [
        (["why", "sessionsByToken"], f"is it {RIGHT}?"),
        (["why", "sessionByToken"], f"is it {RIGHT}?"),
        (["why", f"{WRONG}[3].Name"], f"is it {RIGHT}?"),
        (["why", "maine.sessionsByToken"], f"is it {RIGHT}?"),
        (["why", "base64.StdEncodin"], "is it encoding/base64.StdEncoding"),
        (["why", "base64.StdEncoding"], "is it encoding/base64.StdEncoding"),
        (["--why", WRONG], f"is it {RIGHT}?"),
        (["why", "--type", "main.Sesion"], "is it main.Session?"),
        (["histogram", "--exact", "main.Sesion"], "is it main.Session?"),
    ],
)
def test_others(core, variant, words, told):
    one_line(ask(core(variant), *words), 1, told)


@variants("default")
@pytest.mark.parametrize("words", ["main.q", "q", "main.elsewhere", "x.y.z"])
def test_nothing_is_similar(core, variant, words):
    done = ask(core(variant), "why", words)
    one_line(done, 1, "and no local variable in use")
    assert "is it" not in done.stderr


@variants("default")
def test_types_of_objects(core, variant):
    """The list is empty, and says what may have been meant."""
    for pattern in ("main.Sesion", r"^main\.Sesion$"):
        done = ask(core(variant), "objects", "--type", pattern)
        assert done.returncode == 0 and not done.stdout
        assert done.stderr.endswith("; is it main.Session?\n")
    done = ask(core(variant), "objects", "--type", "main.Se.*Q")
    assert "is it" not in done.stderr


@variants("default")
def test_local_variable(farm, variant):
    """Those in use are suggested, too."""
    target = farm.target("roots", variant)
    done = ask(target, "why", "main.main.locl")
    one_line(done, 1, "is it main.main.local")
