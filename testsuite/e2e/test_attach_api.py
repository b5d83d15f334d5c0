# SPDX-License-Identifier: Apache-2.0
"""goref.attach() in plain Python: from any thread and in any program, and
whatever becomes of that, the process goes on as it was."""

import signal

import pytest

from hosts import lines_of, run_host, start_host
from signalled import Signalled
from targets import attach_reason, skip_if
from toolchains import Variant
from waiting import LONGEST_S, comes, states_of

CENTRAL = Variant("go1.24", "default")
OBJECTS = 20000


@pytest.fixture
def target(farm):
    skip_if(attach_reason())
    it = Signalled(farm.process("signalled", CENTRAL, [str(OBJECTS)]))
    yield it
    it.process.stop()


@pytest.fixture
def other(farm):
    it = Signalled(farm.process("signalled", CENTRAL, [str(OBJECTS)]))
    yield it
    it.process.stop()


COUNT = "sum(o.type == 'main.Link' for o in heap.objects())"


def test_lets_go_before_it_returns(target):
    code = f"heap = goref.attach(PID); say(tracer()); say({COUNT})"
    assert lines_of(target.pid, code) == ["0", str(OBJECTS // 2)]
    target.check()


HOLD = "heap = goref.attach(PID, hold=True); say(tracer() == os.getpid())\n"
# Each ends what holds the process. Python itself goes on, without its collector
# of cycles.
LEAVES = {
    "with": "with goref.attach(PID, hold=True): say(bool(tracer()))",
    "close": HOLD + "heap.close(); heap.close()",
    "del": HOLD + "del heap",
    "del after values": HOLD
    + """
link = next(heap.objects(type="main.Link"))
for value in heap.value("main.chain"), link.value():
    repr(value), str(value), len(list(value.items()))
del heap, link, value""",
    "del of the last value": HOLD
    + """
value = heap.value("main.chain")
del heap
value.object.value().Next.object
del value""",
    "an exception within": """
try:
    with goref.attach(PID, hold=True):
        say(bool(tracer()))
        raise ValueError
except ValueError:
    pass""",
    "an exception of the function": """
def ask():
    heap = goref.attach(PID, hold=True)
    say(bool(tracer()))
    raise ValueError
try:
    ask()
except ValueError:
    pass""",
}


@pytest.mark.parametrize("code", LEAVES.values(), ids=LEAVES)
def test_left(target, code):
    """The host still lives when the process goes on."""
    code = f"import gc; gc.disable()\n{code}\nsay(tracer()); input()"
    host = start_host(target.pid, code)
    said = [host.stdout.readline().strip() for _ in range(2)]
    target.check()
    host.communicate("\n", timeout=LONGEST_S)
    assert said == ["True", "0"]


# Each ends the host while it holds the process.
ENDS = {
    "end of the script": ("", 0),
    "sys.exit": ("sys.exit(7)", 7),
    "an exception": ("raise ValueError", 1),
    "os._exit": ("os._exit(9)", 9),
    "SIGKILL": ("os.kill(os.getpid(), signal.SIGKILL)", -9),
    "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM)", -15),
    "SIGINT": ("os.kill(os.getpid(), signal.SIGINT)", -2),
    "abort": ("os.abort()", -6),
    "exec": ("os.execv('/bin/true', ['true'])", 0),
}


@pytest.mark.parametrize("code, status", ENDS.values(), ids=ENDS)
def test_host_ends(target, code, status):
    ended, out, err = run_host(target.pid, HOLD + code)
    assert (ended, out) == (status, "True\n"), err
    target.check()


def test_what_is_held_stands_still(target):
    """Its signals wait, and come when it is left."""
    code = HOLD + "say('held'); input(); heap.close(); say(tracer()); input()"
    host = start_host(target.pid, code)
    for _ in range(2):
        host.stdout.readline()
    assert states_of(target.pid) == {"t"}
    target.send(signal.SIGUSR1)
    assert states_of(target.pid) == {"t"}
    host.stdin.write("\n")
    host.stdin.flush()
    assert host.stdout.readline() == "0\n"
    target.check()
    host.communicate("\n", timeout=LONGEST_S)


KILLED = HOLD + """
before = heap.is_valid()
os.kill(PID, signal.SIGKILL)
while heap.is_valid():
    pass
try:
    heap.ledger
except goref.StaleError as problem:
    say(before, problem)
heap.close()
"""


def test_killed_while_it_is_held(other):
    """Its number may soon be that of another process."""
    lines = lines_of(other.pid, KILLED)
    assert lines[1:] == ["True goref: the program is no longer at this stop"]


THREAD = """
def work():
    with goref.attach(PID, hold=HELD) as heap:
        say(bool(tracer()), COUNT)
it = threading.Thread(target=work)
it.start()
it.join()
say(tracer())
"""


@pytest.mark.parametrize("held", [False, True], ids=["copy", "hold"])
def test_from_a_thread(target, held):
    """The thread that attaches need not be the main one."""
    code = THREAD.replace("HELD", str(held)).replace("COUNT", COUNT)
    lines = lines_of(target.pid, code)
    assert lines == [f"{held} {OBJECTS // 2}", "0"]
    target.check()


def test_closed_by_another_thread(target):
    code = HOLD + (
        "it = threading.Thread(target=heap.close)\n"
        "it.start(); it.join(); say(tracer())"
    )
    assert lines_of(target.pid, code) == ["True", "0"]
    target.check()


TWO = """
together = threading.Barrier(2)
said = []
def work(pid):
    for _ in range(5):
        together.wait()
        with goref.attach(pid, hold=HELD) as heap:
            said.append((COUNT, bool(tracer(pid))))
threads = [threading.Thread(target=work, args=[p]) for p in (PID, OTHER)]
[it.start() for it in threads]
[it.join() for it in threads]
say(set(said), len(said))
"""


@pytest.mark.parametrize("held", [False, True], ids=["copy", "hold"])
def test_two_processes_at_once(target, other, held):
    code = TWO.replace("OTHER", str(other.pid)).replace("COUNT", COUNT)
    (line,) = lines_of(target.pid, code.replace("HELD", str(held)))
    assert line == f"{{({OBJECTS // 2}, {held})}} 10"
    target.check()
    other.check()


def test_two_heaps_of_one_process(target):
    """It is held by the first: the second is refused in one line."""
    code = HOLD + (
        "try:\n"
        "    goref.attach(PID)\n"
        "except goref.Error as problem:\n"
        "    say(problem)\n"
        "heap.close(); goref.attach(PID).close(); say(tracer())"
    )
    _, refused, after = lines_of(target.pid, code)
    assert refused.startswith(f"goref: not attached to process {target.pid}:")
    assert after == "0"
    target.check()


# Cells run one after the other in a loop that has its own handler of SIGINT.
NOTEBOOK = """
import asyncio
cells = [
    "heap = goref.attach(PID, hold=True)",
    "say(tracer() == os.getpid())",
    "count = COUNT",
    "heap.close()",
    "say(count, tracer())",
]
async def main():
    loop, names = asyncio.get_running_loop(), globals()
    interrupted = asyncio.Event()
    loop.add_signal_handler(signal.SIGINT, interrupted.set)
    for cell in cells:
        await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGINT)
        exec(compile(cell, "cell", "exec"), names)
    await asyncio.wait_for(interrupted.wait(), 120)
    say(interrupted.is_set())
asyncio.run(main())
"""


def test_in_a_loop_of_cells(target):
    lines = lines_of(target.pid, NOTEBOOK.replace("COUNT", COUNT))
    assert lines == ["True", f"{OBJECTS // 2} 0", "True"]
    target.check()


FORK = HOLD + """
import multiprocessing
def child(pid):
    say("child", tracer() == os.getppid())
    try:
        goref.attach(pid)
    except goref.Error:
        say("refused")
context = multiprocessing.get_context("fork")
it = context.Process(target=child, args=[PID])
it.start()
it.join()
say(it.exitcode, tracer() == os.getpid())
heap.close()
it = context.Process(target=goref.attach, args=[PID])
it.start()
it.join()
say(it.exitcode, tracer())
"""


def test_after_fork(target):
    """A child holds nothing, and its end lets nothing go."""
    lines = lines_of(target.pid, FORK)
    assert lines == ["True", "child True", "refused", "0 True", "0 0"]
    target.check()


FORK_DURING_A_SNAPSHOT = """
from goref.snapshot import Copy
reading, writing = os.pipe()
with Copy(PID, None):
    child = os.fork()
    if not child:
        os.close(writing)
        os.read(reading, 1)  # until the parent closes its end, or ends
        os._exit(0)
say(os.waitpid(child, os.WNOHANG)[0])
os.close(writing)
os.waitpid(child, 0)
"""


def test_fork_during_a_snapshot(target):
    """The copy does not wait for a child that has all that was open."""
    assert lines_of(target.pid, FORK_DURING_A_SNAPSHOT) == ["0"]
    target.check()


ASK_IN_CHILD = """
import multiprocessing
heap = goref.attach(PID, hold=HELD)
it = multiprocessing.get_context("fork").Process(
    target=lambda: say(COUNT))
it.start()
it.join()
say(it.exitcode)
heap.close()
"""


@pytest.mark.parametrize("held", [False, True], ids=["copy", "hold"])
def test_a_child_asks(target, held):
    """The copy is in a fork of the script, too."""
    code = ASK_IN_CHILD.replace("HELD", str(held)).replace("COUNT", COUNT)
    assert lines_of(target.pid, code) == [str(OBJECTS // 2), "0"]
    target.check()


HANDLERS = """
def state():
    numbers = sorted(signal.valid_signals())
    return ([signal.getsignal(n) for n in numbers],
            signal.pthread_sigmask(signal.SIG_BLOCK, ()))
def own(*_):
    came.append(1)
came = []
signal.signal(signal.SIGINT, own)
signal.signal(signal.SIGCHLD, own)
before = state()
with goref.attach(PID, hold=True):
    say(state() == before)
goref.attach(PID).close()
say(state() == before)
"""


def test_handlers_of_the_host_stay(target):
    assert lines_of(target.pid, HANDLERS) == ["True", "True"]
    target.check()


# SIGINT comes when the process stands still.
INTERRUPTED = """
from goref import live
capture = live.Look._capture
def interrupted(self):
    os.kill(os.getpid(), signal.SIGINT)
    capture(self)
live.Look._capture = interrupted
"""
OWN_HANDLER = INTERRUPTED + """
came = []
signal.signal(signal.SIGINT, lambda *_: came.append(tracer()))
heap = goref.attach(PID)
say(came, COUNT)
"""
DEFAULT_HANDLER = INTERRUPTED + """
try:
    goref.attach(PID)
except KeyboardInterrupt:
    say("interrupted", tracer())
live.Look._capture = capture
goref.attach(PID).close()
say(tracer())
"""


def test_sigint_is_for_the_handler_of_the_host(target):
    """It comes when the process runs on: what it does may take long."""
    code = OWN_HANDLER.replace("COUNT", COUNT)
    assert lines_of(target.pid, code) == [f"[0] {OBJECTS // 2}"]
    target.check()


def test_sigint_interrupts(target):
    assert lines_of(target.pid, DEFAULT_HANDLER) == ["interrupted 0", "0"]
    target.check()


def test_hold_and_snapshot_are_refused(target):
    code = "goref.attach(PID, hold=True, snapshot=True)"
    status, _, err = run_host(target.pid, code)
    assert status == 1
    assert err.splitlines()[-1].startswith("ValueError: goref: hold and snap")
    target.check()


def test_process_ends_while_it_is_held(target):
    """It is gone at once, although we hold it."""
    code = HOLD + "input(); say('closes'); heap.close(); say('closed')"
    host = start_host(target.pid, code)
    host.stdout.readline()
    target.process.popen.kill()
    target.process.popen.wait(timeout=LONGEST_S)
    out, err = host.communicate("\n", timeout=LONGEST_S)
    assert (host.returncode, out) == (0, "closes\nclosed\n"), err
    assert comes(lambda: target.process.popen.poll() is not None)
