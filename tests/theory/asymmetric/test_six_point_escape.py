"""How a ReLU network leaves the plateau of the six points: the rate of escape, κ, duration and loss."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import biasfree as bf
import oracles
from refusals import invalid, refused

escape_of = bf.theory.six_point_escape
deltas, seeds = floats(1e-6, 0.25), integers(0, 2**31)
MARGIN = 0.02  # of |w|: descent steps to and fro across an edge of the wedge
R, L, UP, DOWN = (0.01, 0.002, 0.01), (-0.01, 0.001, -0.01), (-0.002, 0.01, 0.009), (0.002, 0.01, -0.009)


def drawn(seed=0, *, width=100, scale=1e-3):
    return bf.networks.gaussian((2, width, 1), scale=scale, seed=seed)


def of_neurons(*neurons, **options):
    """A network of neurons (w₁, w₂, a)."""
    w1, w2, a = np.array(neurons).T
    return bf.Network((np.stack([w1, w2], axis=1), a[None]), **options)


def kappa_of(network, delta):
    """δ√(A₊A₋) of the neurons in the wedge −δw₂ ≤ w₁ ≤ 0."""
    (w1, w2), a = network.weights[0].T, network.weights[1][0]
    near = MARGIN * np.hypot(w1, w2)
    inside = (w2 > 0) & (w1 <= near) & (w1 >= -delta * w2 - near)
    return delta * np.sqrt(np.sum(a[inside & (a > 0)] ** 2) * np.sum(a[inside & (a < 0)] ** 2))


def slid_rate(delta):
    """The sum of the rates at which wedge neurons slide up their edges, R and L at their least squares.

    Along an edge a neuron feels the mean of the forces on either side that has no part across it.
    """
    data = bf.data.six_points(delta)
    halves = [np.where(((data.x[:, 0] > 0) == right)[:, None], data.x, 0.0) for right in (True, False)]
    features = np.hstack(halves)
    residual = data.y - features @ np.linalg.lstsq(features, data.y, rcond=None)[0]
    beside_left, inside, beside_right = (
        residual[active] @ data.x[active] / 6 for active in ([0, 3, 4], [0, 3, 4, 5], [0, 3, 5])
    )

    def sliding(outside, normal):
        across, into = outside @ normal, inside @ normal
        share = across / (across - into)
        along = np.array([-normal[1], normal[0]]) * np.sign(normal[0]) / np.linalg.norm(normal)
        return ((1 - share) * outside + share * inside) @ along

    return sliding(beside_left, data.x[5]) - sliding(beside_right, data.x[4])


def compared(run, escape):
    """A run, whose κ is saved, against theory: relative errors of order δ, with the factors seen here."""
    delta, middle = escape.delta, escape.begins + escape.duration() / 2
    early = (run.ts > escape.begins + 0.3 * escape.duration()) & (run.saved < 0.02 * 4)
    rate = np.polyfit(run.ts[early], np.log(run.saved[early]), 1)[0]
    assert rate == pytest.approx(escape.rate, rel=0.1 * delta)
    begins = run.time_of((run.loss[0] + escape.plateau) / 2)
    assert begins == pytest.approx(escape.begins, abs=1)  # the sigmoid of a plateau at δ = 0: 3 is its unit
    assert run.time_of(0.8 * escape.plateau) - begins == pytest.approx(escape.duration(), rel=0.2 * delta)
    assert np.interp(middle, run.ts, run.saved) == pytest.approx(escape.kappa([middle])[0], rel=delta)
    before = run.ts < escape.begins + 1.1 * escape.duration()  # then descent with so large a step is unstable
    assert np.abs(run.loss - escape.loss(run.ts))[before].max() <= delta * escape.plateau
    return rate, run.time_of(0.8 * escape.plateau) - begins


@pytest.mark.parametrize(
    ("delta", "rate", "duration"), [(0.05, 0.010793, 1750.0), (0.1, 0.020973, 878.0)], ids=["0.05", "0.1"]
)
def test_descent_escapes_as_predicted(delta, rate, duration):
    """Rates of κ .0108 and .0210, durations 1743 and 870, from the initial weights alone."""
    escape = escape_of(drawn(), delta)
    steps = round((escape.begins + 1.3 * escape.duration()) / 0.025)
    run = bf.gradient_descent(
        drawn(), bf.data.six_points(delta), step=0.025, steps=steps, save_every=steps // 400,
        save=lambda network: kappa_of(network, delta),
    )  # fmt: skip
    found = compared(run, escape)
    assert_allclose(found, (rate, duration), rtol=0.005)  # of the window that is fitted


@pytest.mark.slow
def test_flow_escapes_as_predicted():
    escape = escape_of(drawn(), 0.1)
    ts = np.linspace(0, escape.begins + 1.3 * escape.duration(), 401)
    run = bf.gradient_flow(
        drawn(), bf.data.six_points(0.1), ts, rtol=1e-6, method="events",
        save=lambda network: kappa_of(network, 0.1),
    )  # fmt: skip
    compared(run, escape)


def test_networks_escape_or_not_as_predicted():
    """Six seeds, one of which has lost its wedge neurons with a > 0."""
    delta, networks = 0.15, [drawn(seed) for seed in range(6)]
    steps = round(150 / delta / 0.025)
    runs = bf.gradient_descent(
        networks, bf.data.six_points(delta), step=0.025, steps=steps, save_every=100, save=lambda _: 0.0
    )
    predicted = [escape_of(network, delta) for network in networks]
    begins, ends = np.array([run.time_of([0.25 + 2 / 9, 0.8 * 4 / 9]) for run in runs]).T
    assert [bool(np.isfinite(end)) for end in ends] == [escape.escapes for escape in predicted]
    escaped = np.isfinite(ends)
    assert 0 < escaped.sum() < 6
    # 0.2 δ as above, and a factor of two in κ₀, which moves the end by ln 2/rate
    found, expected = (ends - begins)[escaped], np.array([e.duration() for e in predicted])[escaped]
    assert_allclose(found, expected, rtol=0.2 * delta, atol=np.log(2) / predicted[0].rate)


@pytest.mark.parametrize("wedge", [(), (UP,), (DOWN,)], ids=["none", "a > 0", "a < 0"])
def test_without_wedge_neurons_of_both_signs_it_stays(wedge):
    """At the least squares of either half; or, with those of a < 0, at `stuck_level`."""
    network, data = of_neurons(R, L, *wedge), bf.data.six_points(0.1)
    escape = escape_of(network, 0.1)
    assert not escape.escapes
    assert escape.duration() == np.inf
    assert (escape.kappa([0.0, 1e6, np.inf]) == 0).all()
    assert escape.loss([1e4, np.inf]).tolist() == [4 / 9, 4 / 9]
    run = bf.gradient_descent(network, data, step=0.05, steps=60_000, save_every=60_000)
    share = bf.diagnostics.nonlinear_share(run[-1], data.x)[0]
    # at t = 3000 what decays at the slowest rate, 1/9 or a tenth of it, is at rounding
    if not wedge:
        assert share == pytest.approx(escape.nonlinear_share, rel=1e-9)
    if wedge == (DOWN,):
        assert run.loss[-1] == pytest.approx(escape.stuck_level, rel=1e-12)
    assert escape.stuck_level * (1 - 1e-12) <= run.loss[-1] < 4 / 9


@settings(max_examples=60)
@given(delta=deltas, seed=integers(0, 200), scale=floats(1e-6, 1e-2))
def test_kappa_solves_its_equation_and_loss_follows(delta, seed, scale):
    escape = escape_of(drawn(seed, scale=scale), delta)
    ts = np.linspace(0, escape.begins + 1.5 * min(escape.duration(), 30 / escape.rate), 60)
    kappa, loss = escape.kappa(ts), escape.loss(ts)
    assert (np.diff(kappa) >= 0).all()
    assert (np.diff(loss) <= 1e-15).all()
    assert ((kappa >= 0) & (kappa <= 4)).all()
    late = ts >= escape.begins
    if escape.escapes:
        solved = solve_ivp(
            lambda _, log: escape.rate * (1 - np.exp(log) / 4), (escape.begins, ts[-1]),
            [np.log(escape.initial)], t_eval=ts[late], rtol=1e-10, atol=1e-10, method="DOP853",
        )  # fmt: skip
        assert_allclose(np.log(kappa[late]), solved.y[0], atol=1e-7)  # some hundred steps
    rest = loss - 4 / 9 * (1 - kappa / 4) ** 2
    assert (rest >= -1e-15).all()
    # of the first fall e^{−2(t − begins)/3}/18 (1 + √2)² is left
    assert (rest <= 6 / 18 * np.exp(-2 / 3 * (ts - escape.begins)) + 1e-15).all()
    assert loss[0] == pytest.approx(0.5, abs=0.06 * scale**0.5 + 1e-6)


@settings(max_examples=60)
@given(delta=deltas, share=floats(0.01, 0.99))
def test_duration_is_when_the_loss_is_that_share(delta, share):
    escape = bf.theory.SixPointEscape(delta, slid_rate(delta), begins=40.0, initial=1e-9)
    kappa = escape.kappa([escape.begins + escape.duration(share)])
    # the exponent, up to 30, is rounded to 1e-15 of itself
    assert (1 - kappa[0] / 4) ** 2 == pytest.approx(share, rel=1e-12)
    assert escape.duration(share) >= escape.duration(share + 0.005)


def test_limits():
    escape = escape_of(drawn(), 0.1)
    assert escape.kappa([np.inf]).tolist() == [4.0]
    assert escape.loss([np.inf]).tolist() == [0.0]
    assert escape.kappa([0.0]).tolist() == [pytest.approx(escape.initial, rel=1e-15)]
    # ln κ/(4 − κ) is −½ ln share at the end of the fall
    assert escape.duration(1e-200) == pytest.approx(escape.duration(1e-100) + 50 * np.log(10) / escape.rate)
    assert replace(escape, initial=3.9).duration() == 0  # below the level from the beginning


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 9.99e-4, 1e-3, 0.02, 0.25])
def test_the_rate_is_two_ninths_of_delta_and_a_closed_form(delta):
    rate = escape_of(drawn(), delta).rate
    # forces of order 1 with rounding 1e-15, of which δ is left
    assert rate == pytest.approx(slid_rate(delta), rel=1e-15 / delta)
    assert rate == pytest.approx(2 * delta / 9, rel=0.6 * delta)  # 1 − δ/2 − 5δ²/12 + …


def test_durations_are_as_one_over_delta():
    """ln(const/κ₀)·9/(2δ): κ₀ is as δ, for neurons that are not turned."""
    network = of_neurons(R, L, UP, DOWN)
    small, smaller = escape_of(network, 1e-5), escape_of(network, 1e-6)
    assert small.initial / smaller.initial == pytest.approx(10, rel=1e-3)
    expected = 10 * small.duration() + np.log(10) * 9 / 2e-6
    assert smaller.duration() == pytest.approx(expected, rel=1e-4)


def test_at_delta_zero_nothing_escapes():
    escape = escape_of(drawn(), 0.0)
    assert (escape.rate, escape.initial, escape.duration()) == (0, 0, np.inf)
    assert not escape.escapes
    assert escape.stuck_level == pytest.approx(4 / 9, rel=1e-14)
    assert escape.nonlinear_share == pytest.approx(0, abs=1e-30)


@given(seed=integers(0, 200), delta=deltas)
@settings(max_examples=30)
def test_levels_fall_in_order(seed, delta):
    escape, data = escape_of(drawn(seed), delta), bf.data.six_points(delta)
    best = np.mean((data.y - data.x @ bf.theory.least_squares(data)) ** 2) / 2
    # of order δ², at δ = 1e-6 below rounding
    assert escape.stuck_level <= best + 1e-15
    assert best <= escape.plateau + 1e-15
    assert 0 <= escape.nonlinear_share <= delta**2


def test_neurons_in_any_order_are_the_same():
    network, order = drawn(), np.random.default_rng(0).permutation(100)
    first, second = network.weights
    other = escape_of(bf.Network((first[order], second[:, order])), 0.1)
    assert other.initial == pytest.approx(escape_of(network, 0.1).initial, rel=1e-13)


def test_early_phase_of_a_wedge_neuron():
    """a² falls by w₁² before the wedge; inside (w₂, a) turn by δt/6; the growing part of both counts."""
    network, delta = of_neurons(R, L, UP, DOWN), 0.05
    escape, sizes = escape_of(network, delta), []
    for w1, w2, a in (UP, DOWN):
        entered = 6 * np.arctanh(abs(w1 / a))
        solved = solve_ivp(
            lambda _, z: (-z[1] * delta / 6, -z[0] * delta / 6), (entered, escape.begins),
            (w2, np.sign(a) * np.sqrt(a**2 - w1**2)), rtol=1e-10, atol=1e-14,
        )  # fmt: skip
        sizes.append((solved.y[0, -1] + abs(solved.y[1, -1])) / 2)
    assert escape.initial == pytest.approx(delta * np.prod(sizes), rel=1e-8)


def test_r_and_l_return_to_their_least_squares_at_a_ninth():
    """The slowest rate at which the plateau is restored: what 2δ/9 is compared with."""
    size = np.sqrt(1 / 3)
    weights = np.array([size, 0, -size, 0, size, -size])  # w of R, w of L, and their a

    def velocity(flat):
        network = bf.Network((flat[:4].reshape(2, 2), flat[4:][None]))
        found, _ = oracles.gradients(*oracles.layers(network), 0.0, bf.data.six_points(0.0))
        return -np.concatenate([g.ravel() for g in found])

    step = 1e-6  # steps along either axis keep the activation patterns
    assert_allclose(velocity(weights), 0, atol=1e-15)
    columns = [(velocity(weights + step * e) - velocity(weights - step * e)) / (2 * step) for e in np.eye(6)]
    rates = np.sort(-np.linalg.eigvals(np.array(columns)).real)
    # two of zero, along |w|² − a²; central differences to step²
    assert_allclose(rates, [0, 0, 1 / 9, 1 / 9, 1 / 3, 1 / 3], atol=1e-9)


@pytest.mark.parametrize("first", ["R", "L"])
def test_between_the_falls_of_the_halves_a_wedge_neuron_sees_an_eighteenth(first):
    """At δ = 0, inside and outside: the force along an edge is ∓1/18, by which half is learned first."""
    data = bf.data.six_points(0.0)
    learned = np.where((data.x[:, 0] > 0) == (first == "R"), data.x[:, 0] / 3, 0.0)
    residual = data.y - learned
    for active in ([0, 3, 4, 5], [0, 3, 4], [0, 3, 5]):
        force = residual[active] @ data.x[active] / 6
        assert force[1] == pytest.approx(-1 / 18 if first == "R" else 1 / 18, rel=1e-14)


WRONG: tuple[Any, ...] = ("0.1", bf.data.six_points())
NARROW = bf.networks.gaussian((2, 40, 1), scale=1e-3, seed=1)


@pytest.mark.parametrize(
    ("network", "delta", "message"),
    [
        (bf.networks.gaussian((2, 9, 9, 1), scale=1e-3), 0.1, r"assumes two layers .* is 1 "),
        (bf.networks.gaussian((2, 9, 2), scale=1e-3), 0.1, r"assumes one output .* is 1 "),
        (bf.networks.gaussian((3, 9, 1), scale=1e-3), 0.1, r"assumes two inputs, .* is 1 .*of two inputs"),
        (oracles.with_biases(NARROW), 0.1, r"assumes no biases"),
        (bf.Network(NARROW.weights, leak=0.1), 0.1, r"assumes a ReLU network, α = 0, .* α is 0\.1"),
        (NARROW, 0.3, r"assumes a small δ, .* is 0\.6 \(tolerated: at most 0\.5\); use a smaller delta"),
        (NARROW, 1.0, r"assumes a small δ, .* is nan"),
        (bf.networks.gaussian((2, 40, 1), scale=1.0), 0.1, r"assumes small initial weights"),
        (of_neurons((0.03, 0.03, -0.0297), (-0.03, 0.03, 0.0297)), 0.1, r"assumes a growing part r₁"),
        (bf.Network((np.zeros((3, 2)), np.zeros((1, 3)))), 0.1, r"assumes a growing part r₁ .* is inf"),
        (of_neurons(R, UP, DOWN), 0.1, r"assumes neurons that learn both halves of the data .* is inf"),
    ],
)  # fmt: skip
def test_refusals(network, delta, message):
    refused(message, escape_of, network, delta)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: escape_of(NARROW, -0.1), r"delta must not be negative, got -0\.1"),
        (lambda: escape_of(NARROW, np.nan), "delta must be finite"),
        (lambda: escape_of(NARROW, WRONG[0]), "delta must be a number"),
        (lambda: escape_of(WRONG[1], 0.1), r"network must be a bf\.Network"),
        (lambda: escape_of(NARROW, 0.1).duration(1.0), "share must lie between 0 and 1, got 1.0"),
        (lambda: escape_of(NARROW, 0.1).duration(np.nan), "share must be finite"),
        (lambda: escape_of(NARROW, 0.1).loss(3.0), "ts must be a one-dimensional array"),
        (lambda: escape_of(NARROW, 0.1).kappa([-1.0, 2.0]), "ts must not be negative"),
        (lambda: escape_of(drawn(scale=1e-90), 1e-4), "κ at the beginning .* too small for floating-point"),
        (lambda: escape_of(drawn(scale=1e-200), 0.1), "the time of the first fall overflows floating point"),
        (lambda: escape_of(drawn(), 1e-305), "use larger weights or a larger delta"),
    ],
)  # fmt: skip
def test_wrong_calls(call, message):
    invalid(message, call)


def test_unknown_tolerances_are_refused():
    with pytest.raises(TypeError, match=r"'rate_tolerance'; the tolerances here are delta_tolerance=0\.5"):
        escape_of(NARROW, 0.1, rate_tolerance=1.0)


def test_relaxed_tolerances_answer_beyond():
    assert escape_of(NARROW, 0.3, delta_tolerance=1.0).rate == pytest.approx(slid_rate(0.3), rel=1e-13)
    refused("a small δ", escape_of, NARROW, 1.0, delta_tolerance=np.inf)


def test_lopsided_halves_are_measured():
    """|r₁⁺|² is e⁶ times |r₁⁻|²: the halves are learned 18 apart, which turns wedge neurons by 1."""
    network = of_neurons((1, 0, 1), (-np.exp(-3), 0, -np.exp(-3)))
    row = bf.theory.coverage(network, bf.data.six_points(0.1))["six_point_escape"]
    assert {one.hypothesis.key: one.defect for one in row.findings}["halves"] == pytest.approx(1)


@pytest.mark.parametrize("delta", [0.0, 0.05, 0.25, 0.26, 0.9, 1.0, 1.5])
def test_coverage_agrees(delta):
    data, order = bf.data.six_points(delta), [3, 0, 5, 1, 2, 4]
    for network in (NARROW, drawn(scale=1.0), of_neurons(R, UP, DOWN), bf.Network(NARROW.weights, leak=1.0)):
        row = bf.theory.coverage(network, bf.Dataset(data.x[order], data.y[order]))["six_point_escape"]
        if row.applies:
            assert escape_of(network, delta).delta == delta
            continue
        with pytest.raises(bf.AssumptionError) as refusal:
            escape_of(network, delta)
        assert refusal.value.hypothesis in [finding.hypothesis.name for finding in row.missing]


@pytest.mark.parametrize(
    "data",
    [
        bf.Dataset(bf.data.six_points(0.1).x, -bf.data.six_points(0.1).y),
        bf.Dataset(1.01 * bf.data.six_points(0.1).x, bf.data.six_points(0.1).y),
        bf.Dataset(bf.data.six_points(0.1).x[:5], bf.data.six_points(0.1).y[:5]),
        bf.data.xor(),
    ],
)
def test_other_data_are_not_covered(data):
    row = bf.theory.coverage(NARROW, data)["six_point_escape"]
    assert "six_points" in [finding.hypothesis.key for finding in row.missing]
