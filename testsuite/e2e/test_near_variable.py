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
        one_line(done, 1, f"did you mean {RIGHT}?")
    # A warning comes before it if there is no debug information.
    assert done.stderr.endswith(f'"{WRONG}"; did you mean {RIGHT}?\n')


@variants("default")
@pytest.mark.parametrize(
    "words, told",
    [
        (["why", "sessionsByToken"], f"did you mean {RIGHT}?"),
        (["why", "sessionByToken"], f"did you mean {RIGHT}?"),
        (["why", f"{WRONG}[3].Name"], f"did you mean {RIGHT}?"),
        (["why", "maine.sessionsByToken"], f"did you mean {RIGHT}?"),
        (["why", "base64.StdEncodin"], "did you mean encoding/base64.StdEncoding"),
        (["why", "base64.StdEncoding"], "did you mean encoding/base64.StdEncoding"),
        (["--why", WRONG], f"did you mean {RIGHT}?"),
        (["why", "--type", "main.Sesion"], "did you mean main.Session?"),
        (["histogram", "--exact", "main.Sesion"], "did you mean main.Session?"),
    ],
)
def test_others(core, variant, words, told):
    one_line(ask(core(variant), *words), 1, told)


@variants("default")
@pytest.mark.parametrize("words", ["main.q", "q", "main.elsewhere", "x.y.z"])
def test_nothing_is_similar(core, variant, words):
    done = ask(core(variant), "why", words)
    one_line(done, 1, "no package variable or local variable in use is called ")
    assert "did you mean" not in done.stderr


@variants("default")
def test_types_of_objects(core, variant):
    """The list is empty, and says what may have been meant."""
    for pattern in ("main.Sesion", r"^main\.Sesion$"):
        done = ask(core(variant), "objects", "--type", pattern)
        assert done.returncode == 0 and not done.stdout
        assert done.stderr.endswith("; did you mean main.Session?\n")
    done = ask(core(variant), "objects", "--type", "main.Se.*Q")
    assert "did you mean" not in done.stderr


@variants("default")
def test_local_variable(farm, variant):
    """Those in use are suggested, too."""
    target = farm.target("roots", variant)
    done = ask(target, "why", "main.main.locl")
    one_line(done, 1, "did you mean main.main.local")
