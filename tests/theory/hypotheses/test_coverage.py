"""The table of coverage; tests/theory/test_edges.py compares what applies with what functions refuse."""

import tracemalloc
from operator import attrgetter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans, floats, integers, sampled_from

import biasfree as bf
import oracles
from refusals import refused

RESULTS = [
    row.result for row in bf.theory.coverage(bf.networks.gaussian((2, 3, 1), scale=1.0), bf.data.xor())
]


@settings(max_examples=60)
@given(
    sizes=sampled_from([(2, 3, 1), (2, 3, 2), (2, 1), (2, 3, 3, 3, 1), (5, 2, 1)]),
    leak=floats(0, 1),
    biased=booleans(),
    scale=sampled_from([1e-200, 1e-8, 1.0, 1e100]),
    samples=integers(1, 6),
    zero_x=booleans(),
    zero_y=booleans(),
    seed=integers(0, 2**31),
)
def test_it_never_raises(sizes, leak, biased, scale, samples, zero_x, zero_y, seed):
    rng = np.random.default_rng(seed)
    network = bf.networks.gaussian(sizes, scale=scale, leak=leak, seed=seed)
    if biased:
        network = bf.Network(network.weights, leak=leak, biases=[np.ones(len(w)) for w in network.weights])
    x = np.zeros((samples, 2)) if zero_x else rng.normal(size=(samples, 2))
    y = np.zeros(samples) if zero_y else rng.choice([-1.0, 1.0], size=samples)
    table = bf.theory.coverage(network, bf.Dataset(x, y))
    shown = table.table()
    assert len(shown) > 1000
    text = str(table).splitlines()
    assert len(text) <= 20
    assert max(map(len, text)) <= 110
    assert len(table) == len(RESULTS)
    if sizes[0] != 2 or sizes[-1] != 1:
        assert table.applies == ()
        assert "match the sizes" in str(table)
        assert "match the sizes" in shown


def test_zero_weights_are_no_obstacle():
    network = bf.Network((np.zeros((3, 2)), np.zeros((1, 3))))
    assert "white_flow" not in bf.theory.coverage(network, bf.data.six_points()).applies


def test_the_table_says_what_is_missing_and_what_helps():
    data = bf.data.odd_sine(n=50, d=4, seed=0)
    network = bf.networks.gaussian((4, 30, 1), scale=1e-6, seed=1)
    table = bf.theory.coverage(network, data)
    assert table["aligned"].applies
    assert [finding.hypothesis.key for finding in table["white_flow"].missing] == [
        "rank_one",
        "signs",
        "white",
    ]
    assert any("bf.theory.aligned" in remedy for remedy in table["white_flow"].remedies)
    assert any("bf.data.whiten" in remedy for remedy in table["white_flow"].remedies)
    white = bf.data.whiten(data)
    helped = bf.theory.coverage(bf.theory.aligned(network, white), white)
    assert {"white_flow", "reduced_flow"} <= {*helped.applies}
    text = table.table()
    assert "Assumption 4 (TMLR 7)" in text
    assert "rank_one" in text
    assert text.count("\n") > 100
    with pytest.raises(KeyError, match="no result is called 'nothing'; there are linear_part"):
        table["nothing"]


def test_it_prints_what_applies_and_the_nearest_misses():
    data = bf.data.odd_sine(n=50, d=4, seed=0)
    network = bf.networks.gaussian((4, 30, 1), scale=1e-6, seed=1)
    table = bf.theory.coverage(network, data)
    applying = sum(row.applies for row in table)
    first, *rest = str(table).splitlines()
    assert first == f"{applying} of {len(table)} results apply:"
    *names, perhaps = rest[: rest.index("Nearest misses:")]
    assert perhaps == "  Perhaps, up to some time: early_flow, gated_flow."
    listed = ", ".join(line.strip() for line in names)
    assert listed.replace(",,", ",").split(", ") == list(table.applies)
    near = [row.result.calls[0] for row in table.misses]
    counts = [len(row.missing) for row in table.misses]
    assert counts == sorted(counts)
    assert not any(row.applies for row in table.misses)
    assert not {name for row in table.misses for name in row.result.calls} & {*table.applies}
    assert near.index("reduced_flow") < near.index("white_flow")  # which has one hypothesis more
    (white,) = (i for i, line in enumerate(rest) if "  white input, Σ = νI (white 0.4 > 1e-08):" in line)
    assert rest[white].endswith(": sigmoid_flow, time_to_loss, two_sigmoid_flow, split_loss")
    assert "independent points (independent 2 > 1e-08)" in str(table)
    assert rest[white + 1].startswith("    → whiten with bf.data.whiten(data)")
    assert "table()" in rest[-1]


def test_what_holds_up_to_some_time_is_perhaps():
    """Activation patterns may change and outputs may grow: only the call knows."""
    data = bf.data.odd_sine(n=9, d=3, seed=0)
    network = bf.networks.gaussian((3, 6, 1), scale=1e-6, seed=0)
    table = bf.theory.coverage(network, data)
    assert table.perhaps == {
        "early_flow": "outputs are no longer negligible",
        "gated_flow": "an activation pattern changes",
    }
    assert not {*table.perhaps} & {*table.applies}
    assert not {*table.perhaps} & {name for row in table.misses for name in row.result.calls}
    for name in table.perhaps:
        flow = getattr(bf.theory, name)
        assert flow(network, data, [0.0, 1e-3]).stats.defects
        refused("end ts earlier", flow, network, data, [0.0, 1e3])
    assert table.table().count("• it applies until") == 2


def test_data_of_other_dimensions_have_one_miss():
    table = bf.theory.coverage(bf.networks.gaussian((3, 4, 1), scale=1.0), bf.data.six_points())
    _, head, miss, remedy, _ = str(table).splitlines()
    assert head == "Nearest misses:"
    assert miss.startswith("  data of the network's dimensions (sizes 1 > 0): ")
    assert remedy == "    → match the sizes of network and data"


def test_every_tolerance_of_the_docstrings_is_the_hypothesis_default():
    """`key_tolerance=value` in a docstring of a result is the default that its hypothesis has."""
    import re

    known: dict[str, dict[str, float | None]] = {}
    for result in RESULTS:
        for path in result.paths:
            known.setdefault(path, {}).update((f"{h.key}_tolerance", h.tolerance) for h in result.assumes)
    for name, tolerances in known.items():
        text = public(name).__doc__
        for key, value in re.findall(r"(\w+_tolerance)=([\d.e+-]*\d)", text):
            assert key in tolerances, f"{name} documents {key}"
            assert tolerances[key] == float(value), f"{name} documents {key}={value}"


def public(path):
    """The function of a public path, bf.theory.white_flow."""
    return attrgetter(path.removeprefix("bf."))(bf)


def test_rows_follow_the_public_names():
    order = [*bf.theory.__all__, "homogeneity_defect"]
    firsts = [order.index(result.calls[0]) for result in RESULTS]
    assert firsts == sorted(firsts)
    titles = [result.title for result in RESULTS]
    assert len(set(titles)) == len(titles)
    assert all(result.reference for result in RESULTS)
    assert all(callable(public(path)) for result in RESULTS for path in result.paths)


def test_many_samples_cost_no_pairs():
    """No hypothesis may look at all pairs of samples: 1.44·10⁸, which take 144 MB at a byte each."""
    data = oracles.random_data(12_000, 3)
    tracemalloc.start()
    try:
        table = bf.theory.coverage(bf.networks.gaussian((3, 4, 1), scale=1e-3), data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert not table["independent_flow"].applies
    # blocks of 64 MB
    assert peak < 100_000_000
