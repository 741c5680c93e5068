"""The models that people have: classifiers, estimators, tuples and dicts, in any precision."""

import warnings
from typing import Any

import numpy as np
import pytest

import biasfree as bf
from refusals import invalid

RNG = np.random.default_rng(1)
X = RNG.normal(size=(60, 4))
W = np.array([1.0, -1.0, 2.0, 0.5])
Y = X @ W
THREE = np.digitize(Y, [-1.5, 1.5])


def scores(report):
    return {row[0]: row[1] for row in report.tables["scores"].rows}


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_estimators_and_pipelines():
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    names = np.array(["low", "middle", "high"])[THREE]
    for model, y, reading in (
        (make_pipeline(StandardScaler(), LogisticRegression()), names, "probabilities"),
        (RidgeClassifier(), THREE, "logits"),
        (SVC(decision_function_shape="ovr"), names, "logits"),
        (LogisticRegression(), Y > 0, "probabilities"),
    ):
        report = bf.diagnose(model.fit(X, y), X, y, flips=20)
        assert scores(report)["this model"] == pytest.approx(model.score(X, y))
        assert any(f"read as {reading}" in note for note in report.notes)
    report = bf.diagnose(LinearRegression().fit(X, Y), X, Y, flips=20)
    assert (report.case, report.verdict) == ("needs none", "effectively linear")
    shifted = bf.diagnose(LinearRegression().fit(X, Y + 3), X, Y + 3, flips=20)
    assert (shifted.case, shifted.verdict) == ("needs none", "effectively affine")


def test_perceptrons_of_scikit_learn_are_read_as_networks():
    pytest.importorskip("sklearn")
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    options: Any = {"hidden_layer_sizes": (5,), "solver": "lbfgs", "max_iter": 50, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numbers = MLPRegressor(**options).fit(X, Y)
        classes = MLPClassifier(**options).fit(X, THREE)
        two = MLPClassifier(**options).fit(X, np.where(Y > 0, "a", "b"))
    for model, y in ((numbers, Y), (classes, THREE), (two, np.where(Y > 0, "a", "b"))):
        report = bf.diagnose(model, X, y, flips=20)
        assert scores(report)["this model"] == pytest.approx(model.score(X, y))
        assert "layers" in report.tables


def test_an_estimator_fitted_to_a_data_frame_gets_one():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LinearRegression

    frame = pandas.DataFrame(X, columns=list("abcd")).assign(y=Y)
    model = LinearRegression().fit(frame[list("abcd")], Y)
    assert bf.diagnose(model, frame, "y", flips=20).case == "needs none"
    assert bf.diagnose(model, X, Y, flips=20).case == "needs none"


def test_tuples_and_dicts():
    array = np.ones((3, 2))
    entry: int | None
    for model, entry in (
        (lambda x: {"a": x @ W}, None),
        (lambda x: (0 * x, x @ W), 1),
        (lambda x: (x @ W).tolist(), None),  # a list of numbers is an output
    ):
        assert bf.diagnose(model, X, Y, output=entry, flips=20).case == "needs none"
    for found, output, message in (
        (
            {"logits": array, "hidden": array},
            None,
            "dict with the entries 'logits', 'hidden'; choose",
        ),
        ({"logits": array, "hidden": array}, "x", "no output 'x'; its entries are 'logits', 'hidden'"),
        ((array, array), None, "a tuple with the entries 0, 1; choose one with output="),
        (array, 0, "returns one array, so output=0 has no meaning"),
    ):
        invalid(f"^[^:]*{message}", bf.diagnose, lambda _, found=found: found, X[:3], Y[:3], output=output)
    report = bf.diagnose(lambda x: {"f": x @ np.ones(4), "x": x}, X, Y, output="f", flips=20)
    assert report.case == "not trained"


def test_outputs_of_any_shape():
    images = RNG.normal(size=(60, 1, 2, 2))
    report = bf.diagnose(lambda x: x, images, images, flips=20)
    assert (report.case, report.verdict) == ("needs none", "effectively linear")
    invalid("has 4 outputs, but the data have 1 targets per sample", bf.diagnose, lambda x: x, images, Y)


def test_any_precision_and_bfloat16_of_jax():
    jnp = pytest.importorskip("jax.numpy")
    for kind in (jnp.float32, jnp.float16, jnp.bfloat16):
        report = bf.diagnose(lambda x, kind=kind: jnp.asarray(x, kind) @ jnp.asarray(W, kind), X, Y, flips=20)
        assert (report.case, report.verdict) == ("needs none", "effectively linear")


def test_modules_of_any_precision_are_left_as_they_were():
    pytest.importorskip("torch")
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm = torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8)
            self.second = torch.nn.Linear(8, 3)
            self.fail = False

        def forward(self, x):
            assert not self.training
            if self.fail:
                raise RuntimeError("out of luck")
            return {"logits": self.second(torch.relu(self.norm(self.first(x))))}

    torch.manual_seed(0)
    for kind in (torch.float32, torch.bfloat16, torch.float64):
        model = Model().to(kind).train()
        model.second.eval()
        before = {name: value.clone() for name, value in model.state_dict().items()}
        report = bf.diagnose(model, X, THREE, flips=20)
        assert report.tables["scores"].columns[1] == "accuracy"
        model.fail = True
        invalid(r"fails on samples of shape \(4,\): out of luck", bf.diagnose, model, X, THREE)
        assert [model.training, model.norm.training, model.second.training] == [True, True, False]
        assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_labels_and_outputs_that_do_not_fit():
    four = lambda x: x  # noqa: E731
    for y, options, message in (
        (np.arange(60) % 7, {}, "4 outputs, but the labels go from 0 to 6; labels must be below the number"),
        (np.array(["a", "b", "c"])[THREE], {}, "has 4 outputs, but y has 3 classes"),
        (THREE, {"classes": ["a", "b", "c", "d"]}, "label 0, which is not among the classes a, b, c, d"),
        (Y, {"task": "numbers"}, 'task must be "regression" or "classification", got \'numbers\''),
        ([None, *Y[1:]], {}, "got missing values; remove these samples"),
    ):
        given: Any = options
        invalid(message, bf.diagnose, four, X, y, flips=20, **given)
    ordered = bf.diagnose(
        lambda x: np.stack([-x @ np.ones(4), x @ np.ones(4)], axis=1),
        X,
        np.where(X @ np.ones(4) > 0, "no", "yes"),
        classes=["yes", "no"],
        flips=20,
    )
    assert scores(ordered)["this model"] == 1.0
    whole = np.round(3 * Y).astype(int)
    assert bf.diagnose(lambda x: x[:, 0], X, whole, flips=20).tables["scores"].columns[1] == "R²"


def test_flips_that_can_never_reject_are_refused():
    with pytest.raises(ValueError, match=r"flips=19 can never reject.* 1/20 = 0\.05.*use at least 20 flips"):
        bf.diagnose(data=(X, Y), flips=19)
    bf.diagnose(data=(X[:5], Y[:5]), flips=20)
    bf.diagnose(data=(X[:5], Y[:5]), flips=9, rejected_below=0.2)
