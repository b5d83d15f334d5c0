# SPDX-License-Identifier: Apache-2.0
"""The notebook doc/heap.ipynb runs in plain Python, on a core of a program, and
its numbers and its picture are those of the program."""

import base64
import io
import json
import re

import pytest

from plain import python_path
from session import TOP, run_cli
from toolchains import Variant

NOTEBOOK = TOP / "doc/heap.ipynb"
CENTRAL = Variant("go1.24", "default")
# The test asks this in the notebook, behind its own cells.
ASKED = """
import json, sys
print(json.dumps({
    "rows": rows,
    "bars": [bar.get_width() for bar in axes.patches],
    "colors": [bar.get_facecolor() for bar in axes.patches],
    "modules": [name for name in ("gdb",) if name in sys.modules],
}))
"""


@pytest.fixture(scope="module")
def leaky(farm):
    return farm.target("leaky", CENTRAL)


@pytest.fixture(scope="module")
def ran(leaky, tmp_path_factory):
    """The notebook after it ran, and what it answers to ASKED."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    for name in ("ipykernel", "matplotlib"):
        pytest.importorskip(name)
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "core").symlink_to(leaky.core)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells.insert(-1, nbformat.v4.new_code_cell(ASKED))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", python_path())
        for name in ("HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR",
                     "JUPYTER_CONFIG_DIR", "MPLCONFIGDIR"):  # fmt: skip
            (folder / name).mkdir()
            patch.setenv(name, str(folder / name))
        nbclient.NotebookClient(
            notebook, timeout=600, kernel_name="python3",
            resources={"metadata": {"path": str(folder)}},
        ).execute()  # fmt: skip
    return notebook, json.loads(text_of(notebook.cells[-2]))


def text_of(cell):
    return "".join(o.text for o in cell.outputs if o.output_type == "stream")


def picture_of(notebook):
    """The pixels of the one picture, as rows of rows of colors."""
    image = pytest.importorskip("matplotlib.image")
    pictures = [
        output.data["image/png"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]
    (picture,) = pictures
    return image.imread(io.BytesIO(base64.b64decode(picture)))


def test_numbers(ran, leaky):
    """As many objects as the program has made, and the bytes of histogram."""
    notebook, asked = ran
    rows = {name: (count, size) for name, count, size, _ in asked["rows"]}
    sessions = leaky.truth["sessions"]
    assert rows["main.Session"][0] == rows["main.User"][0] == sessions
    assert rows["main.Item"][0] == 3 * sessions
    done = run_cli(["core", leaky.core, "histogram", "--json"])
    table = json.loads(done.stdout)["rows"]
    told = {row["key"]: (row["objects"], row["bytes"]) for row in table}
    assert rows == {name: told[name] for name in rows}
    assert not asked["modules"]
    (printed,) = [
        text_of(cell) for cell in notebook.cells if cell.get("id") == "rows"
    ]
    assert len(printed.splitlines()) == len(rows)


def test_retained(ran, leaky):
    """The bytes that all sessions keep alive, by the verb that merges them."""
    _, asked = ran
    done = run_cli(["core", leaky.core, "histogram", "--retained", "--json"])
    least = {
        row["key"]: row["retained_bytes"]
        for row in json.loads(done.stdout)["rows"]
    }
    for name, _, size, retained in asked["rows"]:
        assert size <= least[name] <= retained, name


def test_picture(ran):
    """Bars of the numbers, in the picture that was drawn."""
    notebook, asked = ran
    rows = asked["rows"]
    bars = asked["bars"]
    assert bars[: len(rows)] == [row[3] / 1e6 for row in rows]
    assert bars[len(rows) :] == [row[2] / 1e6 for row in rows]
    pixels = picture_of(notebook)
    for color in (asked["colors"][0], asked["colors"][-1]):
        near = abs(pixels[:, :, :3] - color[:3]).max(axis=2) < 0.02
        assert near.sum() > 1000


def test_chain(ran):
    """From a root to the object, in the program's own names."""
    notebook, _ = ran
    (printed,) = [
        text_of(cell) for cell in notebook.cells if cell.get("id") == "holders"
    ]
    lines = printed.splitlines()
    assert re.match(r"<goref.Root main\.[\w.]+ \(global\)> retains ", lines[0])
    assert all("<goref.Object 0x" in line for line in lines[1:])


def test_no_outputs_are_stored():
    notebook = json.loads(NOTEBOOK.read_text())
    for cell in notebook["cells"]:
        assert not cell.get("outputs") and not cell.get("execution_count")
