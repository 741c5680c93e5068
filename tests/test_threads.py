"""Threads of BLAS: one inside every public call, as before afterwards."""

import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import OpenBLASController, ThreadpoolController, threadpool_info, threadpool_limits

import biasfree as bf
from biasfree import threads

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), RNG.normal(size=60)
DATA = bf.data.odd_sine(20, 3)
RUN = bf.theory.reduced_flow(bf.networks.rank_one(DATA.beta, width=4, scale=0.05), DATA, [0.0, 1.0])


@pytest.fixture(autouse=True)
def two_threads():
    """As if OPENBLAS_NUM_THREADS were 2: no thread controls the limit."""
    with threadpool_limits(2, user_api="blas"):
        OpenBLASController.clear_controlling_thread()
        yield


def counts():
    """The numbers of threads of all libraries of BLAS."""
    return {one.num_threads for one in ThreadpoolController().lib_controllers if one.user_api == "blas"}


class Model:
    """A function that notes the numbers of threads when it is called, and then does something else."""

    def __init__(self, then=lambda: None):
        self.seen, self.then = set(), then

    def __call__(self, x):
        self.seen |= counts()
        self.then()
        return np.abs(x[:, 0])


CALLS = {
    "diagnose": lambda model: bf.diagnose(model, X, Y),
    "a diagnostic": lambda model: bf.diagnostics.nonlinear_share(model, X),
    "a monitor": lambda model: bf.diagnostics.LinearityMonitor(model, X, Y)(1),
    "a map over time": lambda model: RUN.map(lambda _: model(X)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_has_one_thread_and_leaves_as_many_as_it_met(call):
    model, before = Model(), threadpool_info()
    assert counts() == {2}
    call(model)
    assert model.seen == {1}
    assert threadpool_info() == before


def fails():
    raise RuntimeError("as it should")


def test_threads_are_restored_after_an_error():
    before = threadpool_info()
    with pytest.raises(RuntimeError, match="as it should"):
        RUN.map(lambda _: Model(fails)(X))
    with pytest.raises(RuntimeError, match="as it should"):
        bf.diagnostics.nonlinear_share(Model(fails), X)
    assert threadpool_info() == before


def overlapping(first_out):
    """Two calls in two threads, side by side: numbers of threads while both are inside, and while one is."""
    inside = [threading.Event(), threading.Event()]
    leave = [threading.Event(), threading.Event()]

    def wait(i):
        inside[i].set()
        assert leave[i].wait(60)

    models = [Model(lambda i=i: wait(i)) for i in range(2)]
    calls = [threading.Thread(target=RUN.map, args=(lambda _, model=model: model(X),)) for model in models]
    for call, entered in zip(calls, inside, strict=True):
        call.start()
        assert entered.wait(60)
    both = counts()
    for i in (first_out, 1 - first_out):
        leave[i].set()
        calls[i].join(60)
        if i == first_out:
            one = counts()
    return both, one


@pytest.mark.parametrize("first_out", [0, 1])
def test_the_last_of_two_threads_restores(first_out):
    before = threadpool_info()
    assert overlapping(first_out) == ({1}, {1})
    assert threadpool_info() == before


class PerThread(threading.local):
    """A library such as MKL, whose limits hold for the thread that sets them."""

    user_api, internal_api = "blas", "mkl"
    num_threads = 2

    def set_num_threads(self, count):
        self.num_threads = count

    def __hash__(self):
        return id(self)


def test_limits_per_thread_are_restored_in_each(monkeypatch):
    library, both_inside, seen = PerThread(), threading.Barrier(2), []
    monkeypatch.setattr(threads, "get_cached_controller", lambda: SimpleNamespace(lib_controllers=[library]))

    def measure(_):
        both_inside.wait(60)
        return library.num_threads

    def work():
        inside = RUN.map(measure).tolist()
        seen.append((inside, library.num_threads))

    both = [threading.Thread(target=work) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join(60)
    assert seen == [([1, 1], 2)] * 2


def test_a_large_matrix_has_the_threads_of_the_caller(monkeypatch):
    rows, columns = X.shape
    monkeypatch.setattr(threads, "LARGE", rows * columns**2)
    few, all_ = Model(), Model()
    bf.diagnostics.nonlinear_share(few, X[1:])
    bf.diagnostics.nonlinear_share(all_, X)
    assert (few.seen, all_.seen) == ({1}, {2})


LOADED_INSIDE = """
import sys, numpy as np, biasfree as bf
from threadpoolctl import threadpool_info

def counts():
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

x = np.random.default_rng(0).normal(size=(60, 3))
bf.diagnose  # imports
loaded = "scipy" in sys.modules
inside = []
bf.diagnose(None, x, np.abs(x[:, 0]), watch=lambda _: inside.append(counts()))
print(loaded, "scipy.linalg" in sys.modules, set(inside[-1]), len(inside[-1]) == len(counts()), set(counts()))
"""


def test_a_library_that_a_call_loads_is_limited_too():
    environment = {**threads.one_thread_environment(), "OPENBLAS_NUM_THREADS": "2"}
    run = subprocess.run(
        [sys.executable, "-c", LOADED_INSIDE], env=environment, capture_output=True, text=True, check=False
    )
    assert run.stdout.split() == ["False", "True", "{1}", "True", "{2}"], run.stderr


def test_a_limit_of_the_caller_stays():
    """`threadpool_limits` around a call, in its thread and in another one."""
    model = Model()
    with threadpool_limits(3, user_api="blas"):
        call = threading.Thread(target=RUN.map, args=(lambda _: model(X),))
        call.start()
        call.join(60)
        assert model.seen == {3}  # the thread of the limit decides
        RUN.map(lambda _: model(X))
        assert model.seen == {1, 3}
        assert counts() == {3}
    assert counts() == {2}


def test_the_number_of_processes_is_bounded_by_memory(monkeypatch):
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)
    assert threads.processes(3, 900) == (3, 300)
    assert threads.processes(None, 10)[0] == 1
    assert threads.processes(None, 10**12)[0] == threads.cores()
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "5")
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "10000")
    assert threads.processes(None, None) == (5, int(0.8 * 10000 * 2**20) // 5)
