"""The exact flow of three and more layers: against rounded kinks, descent, and what the flow conserves."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import biasfree as bf
import oracles

SIZES = {3: (6, 5), 4: (6, 5, 4)}


def problem(seed, *, end=8.0):
    """A random network of three or four layers on five samples, some of them opposite."""
    rng = np.random.default_rng(seed)
    d, depth = int(rng.integers(2, 4)), int(rng.integers(3, 5))
    x = rng.normal(size=(5, d))
    if seed % 3 == 0:
        x = np.vstack([x[:3], -x[:2]])
    loss = ("square", "logistic")[seed // 2 % 2]
    y = rng.normal(size=5)
    data = bf.Dataset(x, y if loss == "square" else np.sign(y))
    network = bf.networks.gaussian((d, *SIZES[depth], 1), scale=1.0, seed=seed, leak=(0.0, 0.3)[seed % 2])
    return network, data, loss, np.linspace(0, end, 5)


#: Problems in which the flow is not unique: rounded kinks and descent have different limits.
NOT_UNIQUE = (226,)


def distance(weights, others):
    one, two = (np.concatenate([w[-1].ravel() for w in path]) for path in (weights, others))
    return np.linalg.norm(one - two) / np.linalg.norm(two)


def check_against_rounded_kinks(seed):
    """The distance from the flow of kinks rounded over a width ε is proportional to ε: exact at ε = 0."""
    network, data, loss, ts = problem(seed)
    run = bf.gradient_flow(network, data, ts, loss=loss, method="events")
    far, near = (
        distance(run.weights, oracles.kinked_flow(network, data, ts, kind=loss, rounding=rounding))
        for rounding in (1e-5, 1e-6)
    )
    # 1e-8: the tolerances of both integrators, over their steps; 0.2 instead of 0.1 leaves room for O(ε²)
    assert near <= 0.2 * far + 1e-8
    assert far <= 3e-4
    return run.stats.events


def test_the_limit_of_rounded_kinks():
    """Seed 134: a unit that slides is the only one of its layer that could see a sample."""
    happened = [check_against_rounded_kinks(seed) for seed in (8, 134)]
    assert all(sum(events[kind] for events in happened) > 0 for kind in ("crossings", "slides", "releases"))


@pytest.mark.parametrize("seed", [432, 1000])
def test_a_unit_that_returns_by_itself_does_not_end_every_step(seed):
    """Put on its hyperplane always, it would be there again at once (432); put on its side always, even from
    where it is on its hyperplane up to its errors, it would return for ever (1000)."""
    network, data, loss, ts = problem(seed)
    run = bf.gradient_flow(network, data, ts, loss=loss, method="events", max_steps=400)
    assert run.stats.stopped == "end of ts"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 11, 122, *(s for s in range(200, 240) if s not in NOT_UNIQUE)])
def test_the_limit_of_rounded_kinks_in_more_problems(seed):
    check_against_rounded_kinks(seed)


@pytest.mark.parametrize("seed", [0, 4, 8, 11])
def test_descent_with_small_steps_comes_near(seed):
    """To first order in the step; at kinks the constant depends on where the steps fall, here by up to 4."""
    network, data, loss, ts = problem(seed, end=2.0)
    run = bf.gradient_flow(network, data, ts, loss=loss)
    assert run.stats.method == "events"
    gaps = []
    for every in (64, 2048):
        descent = bf.gradient_descent(
            network, data, step=0.5 / every, steps=4 * every, save_every=every, loss=loss
        )
        pairs = zip(run.weights, descent.weights, strict=True)
        gaps.append(max(np.linalg.norm(one - two, axis=(1, 2)).max() for one, two in pairs))
    assert gaps[1] <= gaps[0] / 8  # 32 times smaller steps
    assert gaps[0] < 1e-2


@pytest.mark.parametrize("seed", [0, 4, 8, 24, 36])
def test_neurons_stay_balanced_and_the_loss_never_rises(seed):
    """|w_h|² − |a_h|² of every hidden neuron, incoming and outgoing weights, is conserved without L2."""
    network, data, loss, ts = problem(seed)
    run = bf.gradient_flow(network, data, ts, loss=loss, method="events")
    for incoming, outgoing in zip(run.weights, run.weights[1:], strict=False):
        balance = np.sum(incoming**2, axis=2) - np.sum(outgoing**2, axis=1)
        # pinning a unit to its hyperplane moves weights by what a step may err, 1e-9 each
        np.testing.assert_allclose(balance, balance[:1].repeat(len(ts), axis=0), atol=1e-6)
    assert (np.diff(run.loss) <= 1e-12).all()


def test_many_slides_where_steps_would_be_many():
    """Twenty neurons per layer on mirrored points: dozens of units slide, in two layers, on the same rays."""
    network = bf.networks.gaussian((2, 20, 20, 1), scale=0.5, seed=0)
    run = bf.gradient_flow(network, bf.data.six_points(0.1), np.linspace(0, 50, 11))
    assert run.stats.method == "events"
    assert run.stats.events["slides"] > 20
    assert run.stats.evaluations < 5_000
    assert (np.diff(run.loss) <= 1e-12).all()


def test_a_list_gives_the_bits_of_single_runs():
    data = problem(0)[1]
    networks = [bf.networks.gaussian((data.dimensions, 6, 5, 1), scale=1.0, seed=s) for s in range(3)]
    together = bf.gradient_flow(networks, data, [0.0, 2.0, 4.0])
    for network, run in zip(networks, together, strict=True):
        alone = bf.gradient_flow(network, data, [0.0, 2.0, 4.0])
        assert all(np.array_equal(a, b) for a, b in zip(run.weights, alone.weights, strict=True))


def test_levels_saved_times_and_measurements():
    network, data, loss, _ = problem(0)
    whole = bf.gradient_flow(network, data, np.linspace(0, 8, 200), loss=loss)
    levels = [float(whole.loss[60]), float(whole.loss[20]), 2 * float(whole.loss[0])]
    run = bf.gradient_flow(
        network, data, np.linspace(0, 8, 200), loss=loss, until=levels, save=lambda n: n.norms
    )
    assert run.stats.stopped == "loss level reached"
    assert run.stats.reached == pytest.approx([whole.ts[60], whole.ts[20], 0.0], rel=1e-6)
    assert run.ts[-1] == pytest.approx(whole.ts[60], rel=1e-6)
    assert run.saved is not None
    assert run.saved.shape == (len(run.ts), network.depth)


@pytest.mark.parametrize(
    ("biased", "change"),
    [
        (False, {"l2": 0.05}),
        (False, {"train": (True, False, True)}),
        (False, {"train": (False, True, True)}),
        (True, {}),
        (True, {"l2": 0.05, "train": (True, True, False)}),
    ],
)
def test_penalty_fixed_layers_and_biases_by_descent(biased, change):
    """Descent with shorter steps comes nearer, to first order in the step."""
    data = problem(0)[1]
    network = bf.networks.gaussian((data.dimensions, 6, 5, 1), scale=1.0, seed=3)
    network = oracles.with_biases(network) if biased else network
    exact = bf.gradient_flow(network, data, [0.0, 1.0], method="events", **change)
    ends = (
        bf.gradient_descent(network, data, step=1 / steps, steps=steps, save_every=steps, **change)
        for steps in (128, 8192)
    )
    far, near = (distance(oracles.arrays(exact), oracles.arrays(end)) for end in ends)
    assert far < 1e-2
    assert near <= far / 16  # 64 times shorter steps; at kinks the constant depends on where they fall


def test_too_many_steps_say_so():
    network, data, loss, ts = problem(24)
    with pytest.raises(bf.dynamics.UnfinishedError, match=r"stopped at t = .* of 8 at rtol = 1e-08"):
        bf.gradient_flow(network, data, ts, loss=loss, method="events", max_steps=3)


def test_a_change_of_a_callee_compiles_its_callers_again(tmp_path):
    """Numba stores functions by their own file; ours are dropped when any file of the folder changes."""
    package = tmp_path / "engine"
    package.mkdir()
    shutil.copy(Path(bf.dynamics.__file__).parent / "network" / "_compiled.py", package)
    (package / "__init__.py").touch()
    (package / "callee.py").write_text(
        "from engine._compiled import native\n@native\ndef f(x): return x + 1\n"
    )
    (package / "caller.py").write_text(
        "from engine._compiled import native\nfrom engine.callee import f\n@native\ndef g(x): return f(x)\n"
    )

    def call():
        code = "from engine.caller import g; print(g(1), sum(g.stats.cache_hits.values()))"
        run = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env={**os.environ, "NUMBA_CACHE_DIR": ""},
        )
        return run.stdout.split()

    assert call() == ["2", "0"]
    assert call() == ["2", "1"]
    (package / "callee.py").write_text(  # of another size: Python tells bytecode by second and size
        "from engine._compiled import native\n@native\ndef f(x): return x + 1 + 1\n"
    )
    assert call() == ["3", "0"]
    (caches,) = tmp_path.rglob("__pycache__/biasfree-native-*")
    (caches.parent / "cannot_be_removed.nbi" / "file").mkdir(parents=True)
    (package / "callee.py").write_text(
        "from engine._compiled import native\n@native\ndef f(x): return x + 3\n"
    )
    assert call() == call() == ["4", "0"]  # what was stored is neither removed nor used


def test_differences_of_norms_are_conserved_through_kinks():
    """|W_l|² − |W_1|², also where a ray that one layer no longer sees comes back into view."""
    data = bf.data.symmetrize(oracles.random_data(12, 3, seed=1))
    network = bf.networks.gaussian((3, 12, 12, 1), scale=0.1, seed=1)
    run = bf.gradient_flow(network, data, np.linspace(0, 60, 31), method="events", rtol=1e-5)
    squares = np.array([np.array(one.norms) ** 2 for one in run])
    drift = np.abs(squares[:, 1:] - squares[:, :1] - (squares[0, 1:] - squares[0, :1])).max()
    assert run.stats.events["slides"] > 0
    # an error of ε|W| in the weights changes a square by at most 2ε|W|²
    assert drift <= 4 * (run.stats.error or 0.0) * squares.max()


@pytest.mark.parametrize(("width", "d", "n"), [(12, 3, 12), (20, 5, 20)])
def test_weights_of_the_exact_structure_keep_it(width, d, n):
    """[ZSL25] Prop. 12: where r·x changes sign, all neurons of a half switch at once."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    data = bf.data.symmetrize(bf.Dataset(x, x @ rng.normal(size=d)))
    off = np.linalg.norm(data.beta) * rng.normal(size=d)
    start = bf.networks.low_rank(data.beta + 0.3 * off, widths=(width, width), scale=0.6, seed=0)
    ts = np.linspace(0, 20, 21)
    run, solved = bf.gradient_flow(start, data, ts, rtol=1e-6), bf.theory.deep_flow(start, data, ts)
    assert run.stats.method == "events"
    assert run.stats.events["crossings"] > 0
    assert distance(run.weights, solved.weights) < 1e-5


@pytest.mark.parametrize("seed", range(4))
def test_weights_of_the_exact_structure_turn_around_on_a_line(seed):
    """From weights of the wrong sign all neurons reach w·x = 0 at once, where no layer above sees anything of
    the samples; each goes on to the side on which it alone is seen."""
    data = bf.Dataset([[1.0, 0.0], [-1.0, 0.0]], [1.0, -1.0])
    network = bf.networks.low_rank([-0.45, 0.89], widths=(2 + seed, 2), scale=0.8, seed=seed)
    run = bf.gradient_flow(network, data, [0.0, 4.0, 40.0])
    assert run.loss[-1] < 1e-12

    def gap(step):
        end = oracles.descended(network, data, step=step, steps=round(4 / step))[0]
        return distance([w[1:2] for w in run.weights], [w[None] for w in end])

    assert gap(0.01) / gap(0.0025) > 2  # first order in the step


def test_a_neuron_of_the_first_layer_shrinks_to_nothing_and_rests():
    """The seed is one at which that happens; descent with shorter and shorter steps shows the same path."""
    data = bf.data.circle(40, bf.data.separation_target)
    network = bf.networks.gaussian((2, 20, 20, 1), scale=0.01, seed=2)
    run = bf.gradient_flow(network, data, [0.0, 640.0, 660.0], method="events", rtol=1e-6)
    assert run.stats.events["collapses"] == 1
    assert np.linalg.norm(run.weights[0][-1], axis=1).min() == 0

    def gap(step):
        steps = round(20 / step)
        end = bf.gradient_descent(run[1], data, step=step, steps=steps, save_every=steps)[-1]
        return distance([w[-1:] for w in run.weights], [w[None] for w in end.weights])

    assert gap(0.02) / gap(0.005) > 2  # first order in the step


def test_units_of_one_neuron_with_nearly_parallel_inputs_do_not_stall():
    rng = np.random.default_rng(1)
    w, x = rng.normal(size=4), rng.normal(size=(16, 4))
    data = bf.data.symmetrize(bf.Dataset(x, x @ w / np.linalg.norm(w)))
    network = bf.networks.gaussian((4, 16, 16, 16, 16, 1), scale=0.007, seed=1)
    run = bf.gradient_flow(network, data, [0.0, 1e8], method="events", rtol=3e-5)
    assert run.stats.stopped == "end of ts"


def test_units_that_return_to_their_side_do_not_end_every_step():
    """Seed 8: eight units are released at one time, and one that is beyond its hyperplane returns slowly."""
    network = bf.networks.gaussian((2, 20, 20, 1), scale=0.01, seed=8)
    run = bf.gradient_flow(network, bf.data.six_points(), [0.0, 2000.0], rtol=5e-6, max_steps=20_000)
    assert run.stats.stopped == "end of ts"
    assert (run.stats.error or 0.0) < 1e-3


def test_units_that_chatter_are_decided_together():
    """In 220, while (0, 1) and (2, 0) slide on a ray, (1, 3) is driven to be inactive; once it is, neither
    can be held; once both are released, (1, 3) is driven back. The slow tests compare with rounded kinks."""
    network, data, loss, ts = problem(220)
    run = bf.gradient_flow(network, data, ts, loss=loss, method="events", max_steps=1_000)
    assert run.stats.stopped == "end of ts"
    assert run.stats.branch_times == ()
    assert (np.diff(run.loss) <= 1e-12).all()


@pytest.mark.slow
def test_a_neuron_that_dies_on_its_last_hyperplane_follows_descent():
    """In 226 a first-layer neuron stops at t = 0.86 on the hyperplane of the only sample that it saw: beyond
    there is no force. At t = 6.7 the force turns. Rounded kinks, whose slope is nowhere zero, revive the
    neuron; descent, which is beyond the hyperplane by a part of its last step, does not."""
    network, data, loss, ts = problem(226)
    run = bf.gradient_flow(network, data, ts, loss=loss, method="events")
    far, near = (
        distance(
            run.weights,
            bf.gradient_descent(
                network, data, step=2 / every, steps=4 * every, save_every=every, loss=loss
            ).weights,
        )
        for every in (400, 6400)
    )
    assert near <= far / 8  # 16 times smaller steps
    rounded = oracles.kinked_flow(network, data, ts, kind=loss, rounding=1e-5)
    assert distance(run.weights, rounded) > 1e-4
