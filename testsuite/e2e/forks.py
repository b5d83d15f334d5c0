# SPDX-License-Identifier: Apache-2.0
"""The server of asking.py. It reads a question in a line of JSON, runs it in a
child that it forks, and writes the result. All modules are loaded once."""

import importlib
import json
import os
import pkgutil
import resource
import signal
import sys
import tempfile

import scanner


def load():
    """Load all modules that a run of goref loads."""
    import goref.cli

    goref.cli.native.load()

    for folder in "commands", "render", "sources", "verbs":
        package = importlib.import_module(f"goref.{folder}")
        for found in pkgutil.iter_modules(package.__path__):
            if found.name != "gdb":
                importlib.import_module(f"goref.{folder}.{found.name}")


def interrupt_at(looks):
    """Raise KeyboardInterrupt when goref looks for Ctrl-C for the Nth time."""
    from goref import progress

    whole, left = progress.Progress.__call__, [looks]

    def look(self, *counts):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGINT)
        return whole(self, *counts)

    progress.Progress.__call__ = look


def child(question, out, err):
    """Answer, and end."""
    status = 98
    try:
        os.dup2(out, 1)
        os.dup2(err, 2)
        seconds = question["max_seconds"]
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if question.get("interrupt_at"):
            interrupt_at(question["interrupt_at"])
        if question["program"] == "goref":
            from goref import cli

            cli.main(question["words"])
        status = scanner.run(question["words"])
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(status)


def status_of(code):
    if not os.WIFSIGNALED(code):
        return os.WEXITSTATUS(code)
    number = os.WTERMSIG(code)
    return "hangs" if number == signal.SIGXCPU else -number


def said(file):
    file.seek(0)
    return file.read().decode(errors="surrogateescape")


def serve():
    load()
    for line in sys.stdin:
        question = json.loads(line)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            pid = os.fork()
            if not pid:
                child(question, out.fileno(), err.fileno())
            _, code, usage = os.wait4(pid, 0)
            done = {
                "returncode": status_of(code),
                "stdout": said(out),
                "stderr": said(err),
                "used": usage.ru_maxrss << 10,
                "seconds": usage.ru_utime + usage.ru_stime,
            }
        print(json.dumps(done), flush=True)


if __name__ == "__main__":
    serve()
