"""The losses, their derivatives, and extreme arguments."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, sampled_from

from biasfree import losses
from refusals import invalid

outputs, labels = floats(-50, 50), sampled_from([-1.0, 1.0])


@given(f=outputs, y=floats(-50, 50))
def test_square(f, y):
    loss = losses.loss_named("square")
    assert loss.value(f, y) == pytest.approx((f - y) * (f - y) / 2, rel=1e-15)
    assert loss.residual(f, y) == y - f


@given(f=floats(-700, 700), y=labels)
def test_logistic_agrees_with_many_digits(f, y):
    loss = losses.loss_named("logistic")
    with localcontext(prec=400):  # e^-700 is 1e-304, to be added to 1
        exact = (-Decimal(y) * Decimal(f)).exp()
        value, slope = float((1 + exact).ln()), y * float(exact / (1 + exact))
    # exp of an argument z carries a relative error of |z|·eps ≤ 700·2e-16
    assert loss.value(f, y) == pytest.approx(value, rel=1e-12, abs=1e-300)
    assert loss.residual(f, y) == pytest.approx(slope, rel=1e-12, abs=1e-300)


@given(f=floats(-1e9, 1e9), y=floats(-1e3, 1e3))
def test_huber_agrees_with_many_digits(f, y):
    loss = losses.loss_named("huber")
    gap = y - f
    with localcontext(prec=700):  # of e = y − f as it is in floating point; 1 + e² has them all
        root = (1 + Decimal(gap) ** 2).sqrt()
        value, slope = float(root - 1), float(Decimal(gap) / root)
    # some roundings of 1e-16; a gap below 1e-154 has a square that underflows
    assert loss.value(f, y) == pytest.approx(value, rel=1e-15, abs=1e-300)
    assert loss.residual(f, y) == pytest.approx(slope, rel=1e-15, abs=1e-300)


@given(name=sampled_from(list(losses.LOSSES)), f=outputs, y=labels)
def test_mirror_images_have_opposite_residuals(name, f, y):
    """What results for any loss on symmetric data rest on; native code knows losses by their numbers."""
    loss = losses.loss_named(name)
    assert loss.value(-f, -y) == loss.value(f, y)
    assert loss.residual(-f, -y) == -loss.residual(f, y)
    assert [one.code for one in losses.LOSSES.values()] == [0, 1, 2]


@given(name=sampled_from(list(losses.LOSSES)), f=outputs, y=labels)
def test_the_residual_is_minus_the_slope(name, f, y):
    loss, h = losses.loss_named(name), 1e-4
    slope = (loss.value(f + h, y) - loss.value(f - h, y)) / (2 * h)
    # central differences: third derivative·h²/6 ≤ 2e-9, and rounding of values up to 1e3 over h: 2e-9
    assert loss.residual(f, y) == pytest.approx(-slope, abs=1e-7)


def test_extremes_are_finite():
    f = np.array([1e308, -1e308, 0.0])
    for name in ("logistic", "huber"):
        loss = losses.loss_named(name)
        for y in (1.0, -1.0):
            assert np.isfinite(loss.value(f, y)).all()
            assert np.isfinite(loss.residual(f, y)).all()
    loss = losses.loss_named("logistic")
    assert loss.value(0.0, 1.0) == pytest.approx(np.log(2), rel=1e-15)


def test_logistic_labels_are_plus_and_minus_one():
    losses.loss_named("logistic").check(np.array([1.0, -1.0]))
    losses.loss_named("square").check(np.array([0.3]))
    with pytest.raises(ValueError, match=r"needs labels -1 and \+1, got 0.0; relabel y, as 2\*y - 1 does"):
        losses.loss_named("logistic").check(np.array([1.0, 0.0]))


@pytest.mark.parametrize("name", ["hinge", "", None, 3, ["square"]])
def test_unknown_losses_are_refused_with_the_known_ones(name):
    invalid(r"unknown loss .*; choose one of square, logistic, huber", losses.loss_named, name)
