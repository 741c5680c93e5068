"""Answers where the truth is known by construction, and reports whose parts agree."""

import re
from typing import Any

import numpy as np
import pytest

import biasfree as bf

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
W = np.array([1.0, -2.0, 0.5])
LINEAR = X @ W
BENT = LINEAR + 2 * np.abs(X[:, 0])
NOISE = RNG.normal(size=len(X))


def memory(y):
    """A model that returns what it has seen at the nearest sample."""
    return lambda z: y[np.argmin(((z[:, None] - X) ** 2).sum(axis=2), axis=1)]


def fitted(z):
    """The least-squares map with intercept."""
    return np.c_[z, np.ones(len(z))] @ np.linalg.lstsq(np.c_[X, np.ones(len(X))], BENT)[0]


@pytest.mark.parametrize(
    ("model", "y", "case", "said"),
    [
        (
            lambda z: 0.1 * z @ W,
            LINEAR,
            "not trained",
            "model 18.8 %: it is not trained yet .*: rescaled, they explain 100 %",
        ),
        (
            lambda z: np.abs(z[:, 1]),
            LINEAR,
            "not trained",
            "not trained yet or too small, and needs no",
        ),
        (lambda z: np.abs(z[:, 1]), BENT, "not trained", "a nonlinear model is worth training"),
        (lambda z: z @ W, LINEAR, "needs none", "effectively linear, and nothing nonlinear is seen"),
        (
            lambda z: z @ W + 0.4 * np.abs(z[:, 0]),
            LINEAR + 3 * NOISE,
            "needs none",
            "no difference that these data can show, so it needs no nonlinearity",
        ),
        (lambda z: z @ W + 2 * np.abs(z[:, 0]), BENT, "earns", "the nonlinearity earns"),
        (memory(LINEAR + 3 * NOISE), LINEAR + 3 * NOISE, "unconfirmed", "may have memorized these samples"),
        (fitted, BENT, "not yet", "a nonlinear model can do better: use a nonlinear model"),
        (lambda z: z @ W, LINEAR + 5, "intercept", "has no biases, nothing .*: add biases, or center"),
        (lambda z: z @ W + 4, LINEAR + 5, "not trained", "it is not trained yet"),
        (lambda z: z[:, 0], NOISE, "no signal", "Cannot tell.*use more samples"),
        (lambda z: z[:, 0], np.ones(len(X)), "constant", "Cannot tell: all targets are equal"),
    ],
)
def test_numbers(model, y, case, said):
    report = bf.diagnose(model, X, y, flips=20)
    assert report.case == case
    assert re.search(said, report.answer)
    assert "annot tell" in report.answer or "%" in report.answer


def test_a_small_nonlinear_share_that_matters_is_not_called_linear():
    """A large mean makes N small, as of any bounded function plus a large linear part."""
    x = X + 20
    y = x @ np.ones(3) + 3 * np.abs(X[:, 0])
    report = bf.diagnose(lambda z: z @ np.ones(3) + 3 * np.abs(z[:, 0] - 20), x, y, flips=20)
    rows: Any = report.tables["function"].rows
    assert dict(rows)["nonlinear share N, output 0"] < 0.01
    assert (report.case, report.verdict) == ("earns", "nonlinear")
    assert any("small as this is, it matters" in reason for reason in report.reasons)


def test_the_points_are_those_of_the_scores():
    """The nonlinearity earns the difference of two values of R², computed here from their definition."""
    report = bf.diagnose(lambda z: z @ W + 1.9 * np.abs(z[:, 0]), X, BENT, flips=20)
    rows: dict[Any, Any] = {row[0]: row for row in report.tables["scores"].rows}
    off = BENT - (LINEAR + 1.9 * np.abs(X[:, 0]))
    assert rows["this model"][1] == pytest.approx(1 - np.sum(off**2) / np.sum((BENT - BENT.mean()) ** 2))
    gain = 100 * (rows["this model"][1] - rows["linear map with intercept"][1])
    assert f"earns {gain:.2g} points" in report.answer


def test_linear_maps_are_scored_as_by_hand_without_ridge():
    """For many samples the chosen ridge matters little, so held-out R² is that of least squares."""
    y = LINEAR + NOISE
    report = bf.diagnose(data=X, y=y, flips=20)
    rows = {row[0]: row for row in report.tables["scores"].rows}
    folds = np.array_split(np.random.default_rng(5).permutation(len(X)), 5)
    left = 0.0
    for fold in folds:
        train = np.setdiff1d(np.arange(len(X)), fold)
        left += np.sum((y[fold] - X[fold] @ np.linalg.lstsq(X[train], y[train])[0]) ** 2)
    by_hand = 1 - left / np.sum((y - y.mean()) ** 2)
    assert rows["linear map"][1] == pytest.approx(by_hand, abs=0.01)  # other folds, and 3/150 from fitting


LABELS = np.where(LINEAR > 0, "up", "down")
CURVED = (np.abs(X[:, 0]) + np.abs(X[:, 1]) > 1.4).astype(int)


@pytest.mark.parametrize(
    ("model", "y", "case", "said"),
    [
        (lambda z: z @ W, LABELS, "needs none", "does no better; this model 100 % on the samples given"),
        (
            lambda z: -z @ W,
            LABELS,
            "not trained",
            "model 0 %: it is not trained yet or too small, and needs no",
        ),
        (lambda z: np.stack([-z @ W, z @ W], axis=1), LABELS, "needs none", "this model 100 %"),
        (lambda z: 1 / (1 + np.exp(-z @ W)), LABELS, "needs none", "this model 100 %"),
        (lambda z: np.abs(z[:, 0]) + np.abs(z[:, 1]) - 1.4, CURVED, "earns", "the nonlinearity earns"),
        (lambda z: z @ W, CURVED, "not yet", "can do better"),
        (lambda z: 0.5 + 0.3 * np.sign(z @ W), (LINEAR > 0) * 1.0, "needs none", "this model 100 %"),
    ],
)
def test_classes(model, y, case, said):
    report = bf.diagnose(model, X, y, flips=20)
    assert report.case == case
    assert re.search(said, report.answer)
    assert report.tables["scores"].columns[1:3] == ("accuracy", "cross entropy")


def test_cross_entropy_and_accuracy_by_hand():
    logits = np.stack([X[:, 0], X[:, 1], X[:, 2] - 0.2], axis=1)
    y = RNG.integers(0, 3, len(X))
    report = bf.diagnose(lambda z: np.stack([z[:, 0], z[:, 1], z[:, 2] - 0.2], axis=1), X, y, flips=20)
    row = report.tables["scores"].rows[0]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert row[1] == pytest.approx(np.mean(np.argmax(p, axis=1) == y))
    assert row[2] == pytest.approx(-np.mean(np.log(p[np.arange(len(y)), y])))
    shifted = bf.diagnose(
        lambda z: np.stack([z[:, 0], z[:, 1], z[:, 2] - 0.2], axis=1) + 7 * z[:, :1] ** 2, X, y, flips=20
    )
    assert shifted.verdict == report.verdict  # softmax does not see what all logits share
    again = shifted.tables["function"].rows[0][1]
    assert again == pytest.approx(report.tables["function"].rows[0][1], abs=1e-9)


def test_compare_trains_networks_with_and_without_biases():
    x = RNG.uniform(-1, 1, size=(120, 1))
    y = np.abs(x[:, 0] - 0.5)
    model = bf.networks.gaussian((1, 8, 1), scale=1.0)
    report = bf.diagnose(model, x, y, compare=True, flips=20)
    rows: dict[Any, Any] = {row[0]: row[1] for row in report.tables["scores"].rows}
    assert rows["same shape, biases"] > 0.9 > rows["same shape, no biases"]
    assert re.search("Biases would add .* points?", report.answer)
    assert "With biases, the same network reaches" in report.answer


def test_the_same_data_in_single_and_double_precision_give_the_same_answer():
    symmetric = bf.data.odd_sine(n=40, d=3, seed=0)
    model = bf.networks.gaussian((3, 5, 1), scale=1.0)
    for x, y in ((X, BENT), (symmetric.x, symmetric.y), (X, LINEAR + NOISE)):
        single = (x.astype(np.float32), y.astype(np.float32))
        double = tuple(part.astype(np.float64) for part in single)
        one, other = (bf.diagnose(model, data, flips=39) for data in (single, (x, y)))
        assert (one.answer, one.verdict, one.case) == (other.answer, other.verdict, other.case)
        assert bf.diagnose(model, double, flips=39).to_json() == one.to_json()


@pytest.mark.parametrize(
    ("x", "y", "why"),
    [
        (X[:8], BENT[:8], "8 samples are too few to hold some out; at least 10 are needed"),
        (X + 10, BENT + NOISE, "odd and even functions look alike on these inputs.*Center the inputs"),
        (X, LINEAR + 5 * NOISE, "smaller than its error allows to see.*four times as many samples halve"),
    ],
)
def test_not_identifiable_says_why_and_what_would_help(x, y, why):
    report = bf.diagnose(data=(x, y), flips=20)
    said = [reason for reason in report.reasons if reason.startswith("not identifiable")]
    assert len(said) == 1
    assert re.search(why, said[0])


def random_case(seed):
    """A model and data of any kind: mirrored or not, with noise or none, numbers or classes."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 32)), int(rng.integers(1, 4))
    x = rng.normal(size=(n, d)) + rng.choice([0.0, 0.0, 2.0])
    y = x @ rng.normal(size=d) * rng.choice([0, 1]) + rng.choice([0, 1]) * np.abs(x[:, 0])
    y = y + rng.choice([0.0, 0.0, 1.0]) * rng.normal(size=n) + rng.choice([0, 0, 3])
    if rng.random() < 0.3:
        x, y = np.concatenate([x, -x]), np.concatenate([y, -y])
    if rng.random() < 0.3:
        y = np.where(y > np.median(y), "a", "b")
    w = rng.normal(size=d)
    models = (
        bf.networks.gaussian((d, 4, 1), scale=rng.choice([1e-3, 1.0]), seed=seed),
        bf.networks.rank_one(w, width=4, scale=1.0),
        lambda z: z @ w + 1.0,
        lambda z: np.abs(z[:, 0]),
        None,
    )
    return models[rng.integers(len(models))], x, y


@pytest.mark.parametrize("seeds", [range(80), pytest.param(range(80, 400), marks=pytest.mark.slow)])
def test_the_parts_of_a_report_agree(seeds):
    """Over random models and data: sentences, verdict and tables never contradict each other."""
    cases = set()
    for seed in seeds:
        model, x, y = random_case(seed)
        report = bf.diagnose(model, x, y, flips=20)
        check_agreement(report, model)
        cases.add(report.case)
    assert len(cases) >= 8  # the random cases reach most answers


def check_agreement(report, model):
    answer, all_reasons = report.answer, " ".join(report.reasons)
    linear = report.verdict in ("effectively linear", "linear so far")
    if model is not None:
        small = "unexplained, not more than" in re.sub(r" \(output.*?\)", "", all_reasons)
        assert linear is (small and "small as this is, it matters" not in all_reasons)
        assert ("ffectively linear" in answer) <= linear
        assert ("ffectively a linear map with" in answer) <= (report.verdict == "effectively affine")
    symmetric, none, not_symmetric = (
        said in all_reasons for said in ("data are symmetric", "show no asymmetry", "data are not symmetric")
    )
    assert symmetric + none + not_symmetric == 1
    assert ("must stay so" in answer) <= ("every sample has its mirror image" in all_reasons)
    assert ("likely to stay so" in answer) <= none
    assert not ("needs no nonlinearity" in answer and "nonlinear model" in answer)
    assert ("Cannot tell" in answer) == (report.case in ("unconfirmed", "no signal", "too few", "constant"))
    scores = {row[0]: row for row in report.tables["scores"].rows}
    if "linear map" in scores and model is not None:
        mine, best = (
            scores["this model"][1],
            max(scores[f"linear map{s}"][1] for s in ("", " with intercept")),
        )
        assert (report.case == "not trained") <= (mine < best)
        assert (report.case == "earns") <= (mine > best)
        shown = re.search(r"this model(?:, which has no biases,)? ([\d.]+) %", answer)
        assert shown is None or float(shown[1]) == pytest.approx(100 * mine, rel=5.1e-3)  # three digits
    if "theory" in report.tables:
        table = report.tables["theory"]
        apply = sum(bool(row[2]) for row in table.rows)
        assert table.title.startswith(f"Theory: {apply} of {len(table.rows)} results apply")
        assert f"{apply} of {len(table.rows)} results of the theory apply" in all_reasons
    unknown = "not identifiable" in report.tables["targets"].rows[-1]
    assert report.case == "constant" or unknown == any(
        reason.startswith("not identifiable") for reason in report.reasons
    )


def test_mirror_images_are_never_separated():
    """Noise whose mirror images are also samples: held-out maps do not know it."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(31, 40)), rng.normal(size=31)
    report = bf.diagnose(data=bf.data.symmetrize(bf.Dataset(x, y)), flips=20)
    assert report.case == "no signal"


def test_a_sample_without_mirror_image_counts_though_the_study_lacks_it():
    """A study has 2000 samples, and that of seed 0 not the last of these."""
    data = bf.data.odd_sine(n=3000, d=3, seed=0)
    more = bf.Dataset(np.r_[data.x, [[1.0, 2.0, 3.0]]], np.r_[data.y, 1.0])
    for given, exact in ((data, True), (more, False)):
        reasons = bf.diagnose(data=given, flips=20).reasons
        assert any("every sample has its mirror image" in reason for reason in reasons) is exact


@pytest.mark.parametrize("mean", [3.0, 0.0])
def test_the_projected_test_finds_an_asymmetry_in_many_dimensions(mean):
    x = np.random.default_rng(0).normal(size=(300, 60))
    report = bf.diagnose(data=bf.Dataset(x + mean * np.eye(60)[0], x[:, 1:5]), flips=39)
    assert any("Condition 3 (TMLR 3) is rejected" in reason for reason in report.reasons) is (mean > 0)


def test_symmetric_data_come_with_what_batches_and_optimizers_do():
    data = bf.data.odd_sine(n=30, d=3, seed=0)
    network = bf.networks.gaussian((3, 6, 1), scale=0.1, seed=0)
    (told,) = [reason for reason in bf.diagnose(network, data).reasons if "batches that hold x" in reason]
    assert told.page == "docs/theory/optimizers.md"
    bent = bf.Dataset(data.x, np.abs(data.y))
    assert not [reason for reason in bf.diagnose(network, bent).reasons if "batches" in reason]
