"""The fingerprint of a function changes with all that its results depend on, and with nothing else."""

import functools
import threading
import types
from typing import Any

import cloudpickle
import numpy as np
import pytest

import biasfree as bf
from biasfree.sweeps._compute import portable
from biasfree.sweeps._fingerprint import differences, fingerprint

MODULE = """
import numpy as np
import biasfree as bf
RATE = 0.5
UNUSED = 1
TABLE = np.arange(3.0)


class Model:
    power = 2
    def __init__(self, x): self.x = x
    def value(self): return helper(self.x) ** self.power


def helper(x, shift=1):
    return RATE * x + shift


def function(x, *, offset=0):
    '''What it does.'''
    # how
    return Model(x).value() + TABLE.sum() + offset
"""


def parts(source, name="function"):
    """The parts of the fingerprint of a function in a module of the user with that source."""
    module = types.ModuleType("user_module")
    exec(compile(source, "user_module.py", "exec"), module.__dict__)
    return fingerprint(getattr(module, name)).parts


def changed(before, after):
    """What the fingerprint of MODULE names as changed after a replacement in its source."""
    assert MODULE.count(before) >= 1
    old, new = parts(MODULE), parts(MODULE.replace(before, after))
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("RATE * x", "RATE + x", "function helper"),
        ("RATE = 0.5", "RATE = 0.6", "global RATE of helper"),
        ("RATE = 0.5", "RATE = 1", "global RATE of helper"),
        ("arange(3.0)", "arange(3)", "global TABLE of function"),
        ("arange(3.0)", "arange(4.0)", "global TABLE of function"),
        ("shift=1", "shift=2", "default of shift in helper"),
        ("offset=0", "offset=3", "default of offset in function"),
        ("power = 2", "power = 3", "power of class Model"),
        ("** self.power", "* self.power", "function Model.value"),
        ("TABLE.sum()", "TABLE.max()", "function function"),
    ],
)
def test_a_change_is_named(before, after, named):
    assert named in changed(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("'''What it does.'''", "'''What else.'''"),
        ("    # how\n", ""),
        ("UNUSED = 1", "UNUSED = 2"),
        ("\n\n\ndef helper", "\n\n# a comment\n\n\ndef helper"),
        ("return RATE * x + shift", "return (RATE * x\n        + shift)"),
    ],
)
def test_words_layout_and_what_is_not_read_do_not_count(before, after):
    assert changed(before, after) == []


@pytest.mark.parametrize(
    ("use", "module"),
    [
        ("bf.networks.gaussian((2, 3, 1), scale=x)", "biasfree.networks._initializations"),
        ("bf.theory.reduced_flow", "biasfree.theory.symmetric._reduced_flow"),
        ("bf.gradient_descent", "biasfree.dynamics.descent._gradient_descent"),
    ],
)
def test_what_it_imports_of_ours_counts_and_no_more(use, module):
    found = parts(f"import biasfree as bf\ndef function(x): return {use}")
    assert f"biasfree module {module}" in found
    assert {"version of numpy", "version of jax", "version of python"} <= found.keys()
    assert not [name for name in found if name.startswith("biasfree module biasfree.plots")]
    assert "version of jax" not in parts("import numpy as np\ndef function(x): return np.sin(x)")


def test_the_name_and_the_place_of_the_script_do_not_count():
    """The same file is `__main__` when it is run, and a module when the command loads it."""
    source = "def function(x):\n    class Local:\n        y = __name__\n    return Local, __file__\n"
    found = []
    for name in ("__main__", "biasfree_sweep_file"):
        scope: dict[str, Any] = {"__name__": name, "__file__": f"/{name}.py"}
        exec(source, scope)
        found.append(fingerprint(scope["function"]).digest)
    assert found[0] == found[1]


def test_names_imported_inside_or_by_name_count_too():
    inside = parts("def function(x):\n    from biasfree.networks import gaussian\n    return gaussian")
    by_name = parts("from biasfree.networks import gaussian\ndef function(x): return gaussian")
    wanted = "biasfree module biasfree.networks._initializations"
    assert inside[wanted] == by_name[wanted]


def test_only_what_is_taken_of_a_module_counts(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "followed_by_name.py").write_text("K = 2\ndef f(x): return K * x\ndef g(x): return x\n")
    source = "import followed_by_name as m\ndef f(x): return m.f(x)\ndef h(x): return getattr(m, 'f')(x)\n"
    scope: dict[str, Any] = {"__name__": "user_module"}
    exec(source, scope)
    function, whole, followed_by_name = scope["f"], scope["h"], scope["m"]
    before, all_before = fingerprint(function), fingerprint(whole)
    followed_by_name.g = lambda x: -x
    assert fingerprint(function).digest == before.digest
    assert fingerprint(whole).digest != all_before.digest
    followed_by_name.K = 3
    assert fingerprint(function).changes(before.parts) == ["global K of f (2)"]


REFUSED = [
    (threading.Lock(), "is a lock and cannot be hashed"),
    ((i for i in range(3)), "is a generator and cannot be hashed"),
    (np.random.default_rng(0), "is a random generator: results would depend on the order of the points"),
    ([{"deep": threading.Lock()}], "is a lock and cannot be hashed"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED)
def test_what_cannot_be_hashed_is_refused_by_name(value, message, tmp_path):
    function = lambda x: (x, value)  # noqa: E731
    with pytest.raises(ValueError, match=rf"value, which .*<lambda> closes over, {message}"):
        bf.sweep(function, over={"x": [1]}, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def function(x): return eval('x')", "function calls eval"),
        ("N = 0\ndef function(x):\n    global N\n    N += x\n    return N", "function changes the global N"),
        ("L = [0]\nL.append(open)\ndef function(x): return (v for v in L)", None),
    ],
)
def test_what_cannot_be_seen_is_refused_by_name(source, message):
    if message is None:
        parts(source)
        return
    with pytest.raises(ValueError, match=message):
        parts(source)


def closing_over(value):
    def function(x):
        return value, x

    return function


def half(x):
    return x / 2


VALUES = [
    1, 1.5, 1j, "a", b"a", None, True, (1, 2), [1, 2], {"a": 1}, {1, 2}, frozenset("ab"), range(3), slice(2),
    np.arange(3), np.float32(1), np.dtype("f8"), np.sin, len, "x".upper, functools.partial(half, x=1),
    bf.networks.gaussian((2, 3, 1), scale=1), bf.data.six_points(), bf.gradient_flow,
    types.SimpleNamespace(a=1),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_function_sent_to_another_process_keeps_its_fingerprint(value):
    function = closing_over(value)
    expected = fingerprint(function)
    assert fingerprint(cloudpickle.loads(portable(function))).digest == expected.digest
    assert differences(cloudpickle.loads(portable(function)), expected) == []
    assert fingerprint(closing_over("another value")).changes(expected.parts)


def test_values_of_different_kinds_differ():
    """No two of the values share a fingerprint: 1, 1.0 and True are three values."""
    digests = {fingerprint(closing_over(value)).digest for value in [*VALUES, 1.0, "1", (1, 2, 3)]}
    assert len(digests) == len(VALUES) + 3


def jitted(factor):
    import jax

    return jax.jit(lambda x: factor * x)


def with_rule(factor):
    import jax

    function = jax.custom_jvp(lambda x: x)
    function.defjvp(lambda primals, tangents: (primals[0], factor * tangents[0]))
    return function


def compiled(factor):
    import numba

    return numba.njit(lambda x: x, fastmath=factor == 2)


def vectorized(factor):
    return np.vectorize(lambda x: factor * x)


def masked(factor):
    return np.ma.masked_array([1.0, 2.0], [factor == 1, False])


def tensor(factor):
    return pytest.importorskip("torch").full((2,), factor)


def cached(factor):
    return functools.cache(lambda x: factor * x)


class Scaled:
    def __init__(self, factor):
        self.factor = factor


def of_metaclass(factor):
    meta = type("Meta", (type,), {"factor": factor})
    return meta("Made", (), {})


KINDS = [jitted, with_rule, compiled, vectorized, masked, tensor, cached, Scaled, of_metaclass]


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_objects_count_with_all_that_they_hold(make):
    one, other, same = (fingerprint(closing_over(make(factor))).digest for factor in (1, 2, 1))
    assert one == same != other


def hidden():
    return np.frompyfunc(lambda x: x, 1, 1)


def by_name():
    return type("Named", (), {"__reduce__": lambda _: "NAME"})()


@pytest.mark.parametrize("make", [hidden, by_name], ids=lambda make: make.__name__)
def test_objects_that_hide_what_they_do_are_refused(make):
    with pytest.raises(ValueError, match=r"value, which .* closes over, is a .* and cannot be hashed"):
        fingerprint(closing_over(make()))


def test_functions_made_by_one_factory_differ():
    """Two functions of one name, each with its own closure."""
    pair = [closing_over(1), closing_over(2)]
    assert fingerprint(closing_over(pair)).digest != fingerprint(closing_over(pair[::-1])).digest


def test_cached_functions_of_a_script_travel():
    @functools.cache
    def cached(x):
        return 2 * x

    def function(x):
        return cached(x)

    assert cloudpickle.loads(portable(function))(4) == 8


def test_a_worker_elsewhere_with_other_files_is_noticed():
    from dataclasses import replace

    function = closing_over(bf.networks.gaussian)
    expected = fingerprint(function)
    files = {**expected.files, "biasfree.networks._initializations": "other"}
    assert differences(function, replace(expected, files=files)) == [
        "biasfree module biasfree.networks._initializations"
    ]
    versions = {**expected.parts, "version of numpy": "0"}
    assert differences(function, replace(expected, parts=versions)) == ["version of numpy"]
