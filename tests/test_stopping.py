"""The command ends at any signal with its exit code, a report, and no process left."""

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from processes import alive, state, wait_until

SCRIPT = Path(__file__).parent / "signaled.py"
#: Seconds after which what has not happened never will: a test that waits so long fails.
NEVER = 300.0

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")


class Run:
    """The command, running in a folder; a variable in the environment marks it and its child processes."""

    def __init__(self, out, *arguments, **environment):
        self.out, self.mark = out, uuid.uuid4().hex
        out.mkdir()
        marked = {**os.environ, "MARK": self.mark, **environment}
        command = [sys.executable, str(SCRIPT), "run", *arguments, "--out", str(out)]
        self.process = subprocess.Popen(
            command, env=marked, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def end(self):
        """The exit code as a shell reports it, and the output."""
        text, _ = self.process.communicate(timeout=NEVER)
        code = self.process.returncode
        return (code if code >= 0 else 128 - code), text

    def interrupt(self):
        """Send Ctrl-C to the process while it is paused; False if it had already ended."""
        os.kill(self.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if state(self.process.pid) == "Z":
            return False
        os.kill(self.process.pid, signal.SIGINT)
        os.kill(self.process.pid, signal.SIGCONT)
        return True

    def living(self):
        """The processes with the mark."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                marked = f"MARK={self.mark}".encode() in (folder / "environ").read_bytes().split(b"\0")
            except OSError:  # it has just ended
                continue
            if marked and alive(folder.name):
                found.append(int(folder.name))
        return found


def begun(run, figures):
    """Wait until one figure is finished and the others are inside their run."""
    wait_until(lambda: (run.out / "quick" / "claims.json").exists())
    wait_until(lambda: len(list(run.out.glob("*.here"))) == figures)


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
def test_a_signal_kills_the_figures_under_way_and_reports_the_finished(tmp_path, number, code):
    """Even if one is inside compiled code and handles no signals."""
    run = Run(tmp_path / "out", "quick", "deaf", "--jobs", "2", STUBS="1")
    begun(run, 1)
    (run.out / "deaf" / ".numbers.npz.00000000.partial").touch()  # as if it had been writing
    run.process.send_signal(number)
    ended, text = run.end()
    assert (ended, "What was finished is in" in text, "Traceback" in text) == (code, True, False)
    wait_until(lambda: run.living() == [])
    assert "Not made yet: deaf, asleep." in (run.out / "report.html").read_text()
    assert list((run.out / "deaf").iterdir()) == []


@pytest.mark.parametrize("figure", ["deaf", pytest.param("asleep", marks=pytest.mark.slow)])
def test_no_process_outlives_a_killed_command(tmp_path, figure):
    """Killed by the kernel, or by a thread that watches the parent."""
    run = Run(tmp_path / "out", "quick", figure, "--jobs", "2", STUBS="1")
    begun(run, 1)
    assert len(run.living()) >= 2
    run.process.kill()
    assert run.end()[0] == 128 + signal.SIGKILL
    wait_until(lambda: run.living() == [])


@pytest.mark.parametrize(
    "moment",
    [
        "typer",
        pytest.param("biasfree_papers.registry", marks=pytest.mark.slow),
        pytest.param("biasfree_papers.commands.watching", marks=pytest.mark.slow),
        "multiprocessing.popen_spawn_posix",
    ],
)
def test_no_interruption_is_lost_in_a_callback(tmp_path, moment):
    """From the first imports to the start of the first process."""
    run = Run(tmp_path / "out", "appC5", MOMENT=moment)
    code, text = run.end()
    assert (code, "Traceback" in text) == (130, False)
    wait_until(lambda: run.living() == [])


def test_an_interruption_after_the_last_figure_counts(tmp_path):
    code, text = Run(tmp_path / "out", "quick", STUBS="1", MOMENT="biasfree_papers.commands.summary").end()
    assert (code, "Traceback" in text) == (130, False)


def check_interruptions(tmp_path, names, cases, seed, **environment):
    """`biasfree run` after Ctrl-C at random times, uniform over the life of an uninterrupted run.

    The life begins with our first line: before it, Python itself may answer with exit code 1. A process that
    ended before its signal is no case.
    """
    first = Run(tmp_path / "whole", *names, **environment)
    wait_until(lambda: (first.out / "ready").exists())
    began = time.monotonic()
    whole, _ = first.end()
    assert whole in (0, 1)  # small settings may break a claim
    life, times = time.monotonic() - began, random.Random(seed)
    received = attempts = 0
    while received < cases:
        attempts += 1
        run = Run(tmp_path / f"{attempts}", *names, "--jobs", str(1 + attempts % 2), **environment)
        wait_until(lambda run=run: (run.out / "ready").exists())
        delay = times.uniform(0, life)
        time.sleep(delay)
        interrupted = run.interrupt()
        code, text = run.end()
        print(f"{delay:.2f} s of {life:.2f} s: {code if interrupted else 'ended before'}")
        assert (code, "Traceback" in text) == (130 if interrupted else whole, False), text
        wait_until(lambda run=run: run.living() == [])
        received += interrupted


@pytest.mark.slow
def test_interruptions_at_thirty_random_times(tmp_path):
    """Real figures, in parallel and one after the other."""
    small = ("--seeds", "1", "--set", "width=4", "--set", "leaks=0.0", "--set", "end=1.0")
    check_interruptions(tmp_path, ("appC5", "appC6", *small), 30, seed=14)


def check(code):
    """Run a snippet that uses the signal handler in a process of its own."""
    ready = "import os, signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    ready += "from biasfree.stopping import STOP, blocked_signals\n"
    ended = subprocess.run([sys.executable, "-c", ready + code], capture_output=True, text=True)
    return ended.returncode, ended.stdout, ended.stderr


def test_a_signal_sent_twice_at_once_is_one_and_a_second_one_leaves():
    """`timeout` sends its signal to the process and to its group."""
    code = (
        "STOP.listen()\nwith STOP.deferred():\n"
        "    for _ in range(2):\n        os.kill(os.getpid(), signal.SIGTERM)\n"
        "    print(STOP.signal, flush=True)\n    STOP._at -= 60\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "    print('not reached', flush=True)\n"
    )
    assert check(code) == (143, "15\n", "")


def test_a_process_starts_with_signals_blocked_and_its_parent_loses_no_signal():
    code = (
        "import subprocess\nSTOP.listen()\nwith STOP.deferred():\n    with blocked_signals():\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        asked = 'import signal; print(len(signal.pthread_sigmask(signal.SIG_BLOCK, [])))'\n"
        "        subprocess.run([sys.executable, '-c', asked])\n"
        "    print(STOP.signal, len(signal.pthread_sigmask(signal.SIG_BLOCK, [])), flush=True)\n"
        "STOP.leave(0)\n"
    )
    assert check(code) == (130, "2\n2 0\n", "")


def test_signals_ignored_at_start_stay_ignored():
    ignored = "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    assert check(f"{ignored}STOP.listen()\nos.kill(os.getpid(), 2)\nSTOP.leave(3)\n") == (3, "", "")
