# SPDX-License-Identifier: Apache-2.0
"""A Java heap dump as VisualVM's own library reads it."""

import json
import os
import shutil
import subprocess
from pathlib import Path

LIBRARY = Path(
    os.environ.get(
        "GOREF_VISUALVM_JAR",
        "/usr/share/visualvm/visualvm/modules/"
        "org-graalvm-visualvm-lib-jfluid-heap.jar",
    )
)
READER = Path(__file__).parent / "readers" / "HprofReader.java"


def reason():
    """Why nothing can be read here, or None."""
    if not shutil.which("javac"):
        return "no javac: apt-get install default-jdk-headless"
    if not LIBRARY.exists():
        return "no heap library of VisualVM: apt-get install visualvm"
    return None


class Dump:
    """classes, objects and threads by number, and roots."""

    def __init__(self, text):
        rows = [json.loads(line) for line in text.splitlines()]
        self.classes = {r["id"]: r for r in rows if "class" in r}
        self.objects = {r["object"]: r for r in rows if "object" in r}
        self.roots = [r for r in rows if "root" in r]
        self.threads = {r["to"]: r for r in self.roots if "frames" in r}

    def instances(self, name):
        """Instances of all classes of that name."""
        return sum(
            c["instances"] for c in self.classes.values() if c["class"] == name
        )

    def statics(self, package):
        """Static fields: numbers of objects by name."""
        return {
            name: number
            for c in self.classes.values()
            if c["class"] == package
            for name, number in c["statics"]
        }


class Reader:
    """The library, with a program that prints what it finds."""

    def __init__(self, folder):
        self.path = f"{LIBRARY}:{folder}"
        subprocess.run(
            ["javac", "-cp", LIBRARY, "-d", folder, READER], check=True
        )

    def read(self, path):
        done = subprocess.run(
            ["java", "-cp", self.path, "HprofReader", path],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0 and not done.stderr, done.stderr
        return Dump(done.stdout)
