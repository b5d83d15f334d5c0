# SPDX-License-Identifier: Apache-2.0
"""The server of asking.py. It reads a question in a line of JSON, runs it in a
child that it forks, and writes the result. All modules are loaded once."""

import contextlib
import ctypes
import gc
import importlib
import json
import mmap
import os
import pkgutil
import resource
import selectors
import signal
import sys

import scanner  # finds goref

import answers  # isort: skip

MOST_FILES = 256  # of the server, which its children do not need


def load():
    """Load all modules that a run of goref loads."""
    import goref.cli

    goref.cli.native.load()

    for folder in "commands", "render", "sources", "verbs":
        package = importlib.import_module(f"goref.{folder}")
        for found in pkgutil.iter_modules(package.__path__):
            if found.name != "gdb":
                importlib.import_module(f"goref.{folder}.{found.name}")
    # A run imports these late. The tests keep compiled modules elsewhere: each
    # child would compile them again.
    for name in "difflib", "locale":
        importlib.import_module(name)


# The number of times that the child has looked for Ctrl-C.
LOOKS = memoryview(mmap.mmap(-1, 8)).cast("Q")


def interrupt_at(last):
    """Raise KeyboardInterrupt when goref looks for Ctrl-C for the Nth time."""
    from goref import progress

    whole = progress.Progress.__call__

    def look(self, *counts):
        LOOKS[0] += 1
        if LOOKS[0] == last:
            os.kill(os.getpid(), signal.SIGINT)
        return whole(self, *counts)

    progress.Progress.__call__ = look


def settle(question):
    """Be in the folder and environment of who asks, as a child of its own."""
    if "cwd" in question:
        os.chdir(question["cwd"])
        os.umask(question["umask"])
        os.sched_setaffinity(0, question["processors"])
        os.environ.clear()
        os.environ.update(question["env"])
        signal.setitimer(signal.ITIMER_REAL, question["timeout"])
    if question.get("max_seconds"):
        seconds = question["max_seconds"]
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if "interrupt_at" in question:
        interrupt_at(question["interrupt_at"])


def detach():
    """Have no file of the server."""
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.closerange(3, MOST_FILES)


def open_core(exe, core):
    """Keep a scan of the core and what it has found. If there is an error, each
    question meets it, too."""
    from goref.errors import Error

    quiet, told = os.open(os.devnull, os.O_WRONLY), os.dup(1)
    os.dup2(quiet, 1)
    with contextlib.suppress(Error, UnicodeError):
        answers.answer("dominators", (exe, core))
    sys.stdout.flush()
    os.dup2(told, 1)


def run_opened(words, questions, max_seconds):
    """Open a core once, answer each question in a child, and write down all
    that answer() says. The limit is one of each child."""
    open_core(*words)
    found = [
        answer({"program": "goref", "words": ["core", *words, *asked],
                "max_seconds": max_seconds}, lambda: None)
        for asked in questions
    ]  # fmt: skip
    print(json.dumps(found))
    return 0


def run(program, words):
    """The exit status; goref ends this process itself."""
    if program == "goref":
        from goref import cli

        cli.main(words)
    return answers.main(*words) if program == "answers" else scanner.run(words)


def child(question, out, err, prepare):
    """Answer, and end."""
    status = 1
    try:
        os.dup2(out, 1)
        os.dup2(err, 2)
        prepare()
        settle(question)
        program, words = question["program"], question["words"]
        if program == "opened":
            more = question["questions"], question["max_seconds"]
            status = run_opened(words, *more)
        else:
            status = run(program, words)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def status_of(code):
    if not os.WIFSIGNALED(code):
        return os.WEXITSTATUS(code)
    number = os.WTERMSIG(code)
    return "hangs" if number == signal.SIGXCPU else -number


def said(*pipes):
    """All that comes out of pipes, until nobody can write to them."""
    texts = {pipe: bytearray() for pipe in pipes}
    with selectors.DefaultSelector() as waiting:
        for pipe in pipes:
            waiting.register(pipe, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                piece = os.read(key.fd, 1 << 16)
                texts[key.fd] += piece
                if not piece:
                    waiting.unregister(key.fd)
                    os.close(key.fd)
    return [text.decode(errors="surrogateescape") for text in texts.values()]


def answer(question, prepare=detach):
    """prepare: what the child does first."""
    LOOKS[0] = 0
    out, err = os.pipe(), os.pipe()
    pid = os.fork()
    if not pid:
        child(question, out[1], err[1], prepare)
    os.close(out[1])
    os.close(err[1])
    stdout, stderr = said(out[0], err[0])
    _, code, usage = os.wait4(pid, 0)
    return {
        "returncode": status_of(code),
        "stdout": stdout,
        "stderr": stderr,
        "used": usage.ru_maxrss << 10,
        "seconds": usage.ru_utime + usage.ru_stime,
        "looks": LOOKS[0],
    }


def serve():
    load()
    gc.collect()
    libc = ctypes.CDLL(None)
    for line in sys.stdin:
        # A child takes its memory from the system, as a process of its own
        # does, and not what a long answer has left here.
        libc.malloc_trim(0)
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    serve()
