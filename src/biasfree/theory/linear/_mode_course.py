"""The strength of one mode of a deep linear network: ȧ = L·a^{2−2/L}(s − a), for any depth."""

from __future__ import annotations

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Float, increasing_times, non_negative, whole

_TERMS = 100  # of power series in at most 2/3: (2/3)¹⁰⁰ < 1e-17
_LARGEST = 690.0  # ln 1e300
_NEWTON = 8  # steps; slopes along them differ by a factor below 4, so that six suffice


@public
def mode_course(start: float, s: float, ts: ArrayLike, *, depth: int) -> Float[np.ndarray, "T"]:
    """The strength a(t) of one aligned mode of a deep linear network with L = `depth` weight layers.

    ȧ = L·a^{2−2/L}(s − a), a(0) = start:  L = 1: a = s + (start − s)e^{−t};
    L = 2: a = 1/(e^{−2st}/start + (1 − e^{−2st})/s);  L ≥ 3: t(a), see `mode_time`, inverted by Newton's
    method to rounding. `ts` may end at infinity, where a = s (0 from start = 0 if L ≥ 2). Accuracy: the
    relative error is that of rounding t, 1e-16·tȧ/a, which is large at the transition for L ≥ 3 and a tiny
    start.

    Assumes: Σ = I, τ = 1; start and s not negative.
    Reference: Saxe et al. (2014), whose N_l = L + 1 counts layers of neurons.
    """
    ts = increasing_times(ts, infinite=True)
    depth = whole("depth", depth)
    start = non_negative("start", start)
    s = non_negative("s", s)
    with np.errstate(divide="ignore"):  # ln 0 = −∞: an absent mode
        return np.where(ts == 0, start, np.exp(log_course(np.log(start), s, ts, depth)))


@public
def mode_time(start: float, stop: float, s: float, *, depth: int) -> float:
    """The time in which an aligned mode goes from strength `start` to `stop`; infinite if it never does.

    t = ∫ da/(L·a^p(s − a)), p = 2 − 2/L: with b = a/s, in units of 1/(L·s^p), L = 1: −ln|1 − b|;
    L = 2: ln b − ln|1 − b|; L ≥ 3: Σ_k b^{k+1−p}/(k+1−p) for b < ½, Σ_k b^{−k−p}/(k+p) for b > 3/2, between
    them −ln|1 − b| − Σ_{k≥1} (p)_k(1 − b)^k/(k!·k).

    Assumes: Σ = I, τ = 1; stop between start and s.
    Reference: Saxe et al. (2014) for L = 2 and L → ∞; the series are derived here.
    """
    depth = whole("depth", depth)
    start, stop, s = (non_negative(n, v) for n, v in (("start", start), ("stop", stop), ("s", s)))
    if not min(start, s) <= stop <= max(start, s):
        raise ValueError(
            f"a mode moves from start={start:g} toward s={s:g} and does not reach stop={stop:g}; choose a "
            "stop between them."
        )
    if start == stop:
        return 0.0
    if stop == s or (start == 0 and depth > 1):
        return float("inf")
    p = 2 - 2 / depth
    if s == 0:
        return float(np.log(start / stop) if depth == 1 else (stop**-p - start**-p) / (p * depth))
    if depth == 2 and start > s:  # ln b and ln|1 − b| would cancel
        return float(np.log1p(s / start * ((start - stop) / (stop - s))) / (2 * s))
    if depth <= 2:  # as one logarithm, which keeps digits where both strengths are small
        grown = np.log(stop) - np.log(start) if depth == 2 else 0.0
        return float((grown + np.log1p((stop - start) / (s - stop))) / (depth * s**p))
    past, now = (_scaled_time(np.log(a) - np.log(s), (s - a) / s, p) for a in (start, stop))
    return (now - past) / float(depth * s**p)


def log_course(log_start: float, s: float, ts: np.ndarray, depth: int) -> Float[np.ndarray, "T"]:
    """ln a(t), for initial strengths far below the smallest float, which ten layers can have."""
    p = 2 - 2 / depth
    with np.errstate(divide="ignore"):  # ln 0 at t = 0 and for absent modes
        log_s = np.log(s)
        if depth == 1:
            return np.logaddexp(log_start - ts, log_s + np.log(-np.expm1(-ts)))
        if log_start in (-np.inf, log_s):
            return np.full_like(ts, log_start)
        if s == 0:
            return log_start - np.logaddexp(0, np.log(p * depth) + p * log_start + np.log(ts)) / p
        if depth == 2:
            return log_start - np.logaddexp(-2 * s * ts, log_start - log_s + np.log(-np.expm1(-2 * s * ts)))
    log_b = log_start - log_s
    if (1 - p) * log_b > _LARGEST:  # its plateau is longer than the largest float
        return np.where(ts == np.inf, log_s, log_start)
    below = log_b < 0
    found = np.empty_like(ts)
    theta = _scaled_time(log_b, -np.expm1(log_b), p) + depth * s**p * ts
    far = theta < _far_time(_edge(below), p, below)
    found[far], found[~far] = _far(theta[far], p, below), _near(theta[~far], p, below)
    return np.where(ts == 0, log_start, log_s + found)


def _scaled_time(log_b: float, x: float, p: float) -> float:
    """The time at which the mode is at b, in units of 1/(L·s^p) and up to a constant on each side of s.

    `log_b` is ln b and x = 1 − b.
    """
    below = x > 0
    if abs(x) > 0.5:
        return float(_far_time(log_b, p, below))
    return float(_far_time(_edge(below), p, below) + _near_time(x, p))


def _edge(below: bool) -> float:
    """ln b at which the two series meet."""
    return float(np.log(0.5 if below else 1.5))


def _far_time(log_b: ArrayLike, p: float, below: bool) -> Float[np.ndarray, "..."]:
    """Σ_k b^{k+1−p}/(k+1−p) below s, Σ_k b^{−k−p}/(k+p) above it, clipped to 1e±300."""
    k = np.arange(_TERMS)
    log_b = np.asarray(log_b)
    power = 1 - p if below else -p
    series = polyval(np.exp(log_b if below else -log_b), 1 / (k + power if below else k - power))
    return np.exp(np.clip(power * log_b, -_LARGEST, _LARGEST)) * series


def _near_time(x: ArrayLike, p: float) -> Float[np.ndarray, "..."]:
    """−ln|x| − Σ_{k≥1} (p)_k x^k/(k!·k), x = 1 − b, minus its value at |x| = ½."""
    k = np.arange(1, _TERMS)
    x = np.asarray(x)
    terms = np.concatenate([[0.0], np.cumprod((p + k - 1) / k) / k])
    return -np.log(2 * np.abs(x)) - polyval(x, terms) + polyval(np.sign(x) / 2, terms)


def _far(theta: Float[np.ndarray, "T"], p: float, below: bool) -> Float[np.ndarray, "T"]:
    """ln b far from s, by Newton's method in b^{1−p} or b^{−p}, in which the time is nearly linear.

    It is convex there, so that all steps from the initial guess have one sign.
    """
    power = 1 - p if below else -p
    edge = np.exp(power * _edge(below))
    lead = np.maximum(power * theta, edge) if below else np.minimum(-power * theta, edge)
    for _ in range(_NEWTON):
        log_b = np.log(lead) / power
        slope = -np.expm1(-np.abs(log_b)) * power
        lead = lead - (_far_time(log_b, p, below) - theta) * (slope if below else -slope)
    return np.log(lead) / power


def _near(theta: Float[np.ndarray, "T"], p: float, below: bool) -> Float[np.ndarray, "T"]:
    """ln b near s, by Newton's method in z = −ln 2|x|, in which the time is nearly linear."""
    sign = 1.0 if below else -1.0
    theta = np.minimum(theta - _far_time(_edge(below), p, below), 700.0)  # |x| ≪ 1e-300, also at infinity
    z = theta * np.exp(p * _edge(below))
    for _ in range(_NEWTON):
        x = sign * np.exp(-z) / 2
        z = np.maximum(z - (_near_time(x, p) - theta) * (1 - x) ** p, 0.0)
    return np.log1p(-sign * np.exp(-z) / 2)
