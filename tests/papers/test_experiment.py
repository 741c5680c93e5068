from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from biasfree_papers.experiment import Claim
from biasfree_papers.registry import named


def claim(measured, bound, kind: Literal["ours", "paper", "observed"] = "ours"):
    nature: Any = "theorem" if kind == "ours" else None
    return Claim("s", "[ZSL25]", kind, measured, bound, "o", tuple(range(len(measured))), nature=nature)


def test_verdicts():
    assert claim((1.0, 2.0), (2.0,)).verdict == "holds"
    assert claim((1.0, 2.0), (1.5,)).verdict == "holds for 1 of 2 seeds"
    assert claim((1.0, 2.0), (1.5, 2.5)).verdict == "holds"
    assert claim((1.0, 2.0), (0.5,)).verdict == "holds for 0 of 2 seeds"
    assert claim((1.0,), (0.5,)).verdict == "does not hold"
    assert not claim((np.nan, 1.0), (2.0,)).holds
    assert not claim((1.0,), (np.inf,)).holds
    assert claim((1.0,), (2.0,)).record()["verdict"] == "holds"
    assert claim((0.1 + 0.2,), (0.3,)).verdict == "holds, to rounding"  # one rounding above
    assert claim((0.3,), (0.3,)).verdict == "holds"
    assert claim((0.3 + 1e-14,), (0.3,)).verdict == "does not hold"
    assert not claim((np.inf,), (0.3,)).holds
    with pytest.raises(ValueError, match="one per value"):
        replace(claim((1.0, 2.0), (1.0,)), seeds=(0,))


def test_a_claim_says_where_its_bound_comes_from():
    assert claim((1.0,), (2.0,)).record()["basis"] == "derived"
    assert claim((1.0,), (2.0,), "paper").basis == claim((1.0,), (2.0,), "observed").basis == "chosen"
    assert replace(claim((1.0,), (2.0,), "paper"), basis="stated").record()["basis"] == "stated"
    with pytest.raises(ValueError, match="a claim of ours needs a derived bound"):
        replace(claim((1.0,), (2.0,)), basis="chosen")


def test_a_claim_of_ours_says_whether_it_could_fail():
    assert replace(claim((1.0,), (2.0,)), nature="identity").record()["nature"] == "identity"
    for kind, nature in (("ours", None), ("ours", "luck"), ("observed", "theorem")):
        with pytest.raises(ValueError, match="needs nature='prediction' or 'theorem' or 'identity'"):
            replace(claim((1.0,), (2.0,)), kind=kind, basis="derived", nature=nature)


def test_settings_are_checked():
    fig3 = named("fig3")
    assert fig3.settle({"leaks": "1,0"})["leaks"] == (0.0, 1.0)
    assert fig3.settle({"scale": 1})["scale"] == 1.0
    with pytest.raises(ValueError, match="fig3 has no setting 'depth'; it has: seed, seeds, width"):
        fig3.settle({"depth": "3"})
    with pytest.raises(ValueError, match="cannot read width='wide'; expected a number of neurons"):
        fig3.settle({"width": "wide"})
    with pytest.raises(ValueError, match=r"width must be a whole number of at least 2, got 1\.5"):
        fig3.settle({"width": "1.5"})
    with pytest.raises(ValueError, match="include 0 and 1"):
        fig3.settle({"leaks": "0,0.5"})
    with pytest.raises(ValueError, match="no experiment 'fig33'; there are: fig1, fig3"):
        named("fig33")
