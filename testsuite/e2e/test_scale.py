# SPDX-License-Identifier: Apache-2.0
"""Samples are scaled as runtime/pprof does it, to the bit: the function of each
release against ours."""

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from toolchains import go_binary, go_environment, variants

SCANNER = Path(__file__).parent.parent.parent / "scanner"
COUNT = 100_000
RATES = (0, 1, 2, 100, 512, 4096, 65536, 512 * 1024, 512 * 1024, 1 << 30)

GO = """\
package main

import ("bufio"; "fmt"; "math"; "os")

%s

func main() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		var count, object, rate int64
		if _, err := fmt.Fscan(in, &count, &object, &rate); err != nil {
			return
		}
		objects, bytes := scaleHeapSample(count, %s, rate)
		fmt.Fprintln(out, objects, bytes)
	}
}
"""

C = """\
#include "profiles/scale.c"

#include <inttypes.h>
#include <stdio.h>

int main(void)
{
	int64_t count, object, rate, values[2];

	while (scanf("%" SCNd64 " %" SCNd64 " %" SCNd64, &count, &object,
		     &rate) == 3) {
		gr_scale_memory(count, (uint64_t)object, rate, values);
		printf("%" PRId64 " %" PRId64 "\\n", values[0], values[1]);
	}
}
"""


def go_source(release):
    """A program with the release's own function."""
    root = subprocess.run(
        [go_binary(release), "env", "GOROOT"],
        env=go_environment(), capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    text = (Path(root) / "src/runtime/pprof/protomem.go").read_text()
    [function] = re.findall(
        r"^func scaleHeapSample\(.*?^}", text, re.DOTALL | re.MULTILINE
    )
    takes_size = "avgSize, rate int64" in function
    return GO % (function, "object" if takes_size else "count*object")


def samples():
    """Counts, sizes and rates, those of programs and odd ones."""
    chance = random.Random(11)
    for _ in range(COUNT):
        yield (
            chance.choice((0, 1, 2, 7, chance.randrange(1 << 10),
                           chance.randrange(1 << 30))),
            chance.choice((0, 8, 16, 48, 1 << chance.randrange(34),
                           8 * chance.randrange(4096),
                           8192 * chance.randrange(1 << 16))),
            chance.choice(RATES),
        )  # fmt: skip


@pytest.fixture(scope="module")
def given():
    return "".join(f"{a} {b} {c}\n" for a, b, c in samples())


@pytest.fixture(scope="module")
def ours(given, tmp_path_factory):
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("scale")
    (folder / "scale.c").write_text(C)
    line = [compiler, "-O2", "-I", SCANNER, "scale.c", "-o", "scale", "-lm"]
    subprocess.run(line, cwd=folder, check=True)
    return answered([folder / "scale"], given)


def answered(line, given):
    done = subprocess.run(
        line, input=given, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@variants("default")
def test_scale(variant, given, ours, tmp_path):
    source = tmp_path / "main.go"
    source.write_text(go_source(variant.release))
    subprocess.run(
        [go_binary(variant.release), "build", "-o", tmp_path / "scale", source],
        env=go_environment(), check=True,
    )  # fmt: skip
    theirs = answered([tmp_path / "scale"], given)
    assert len(theirs) == len(ours) == COUNT
    asked = given.splitlines()
    differ = [row for row in zip(asked, ours, theirs) if row[1] != row[2]]
    assert not differ, (len(differ), differ[:5])
