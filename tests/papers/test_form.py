"""The form of a figure: texts, settings, named arrays, claims and tables, panels."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pytest
import xarray

import biasfree as bf
from biasfree_papers.experiment import Claim
from biasfree_papers.figure import read_text
from biasfree_papers.named_arrays import as_arrays, as_dataset, layers, network_of
from biasfree_papers.panels import Row, picture
from biasfree_papers.registry import named
from biasfree_papers.settings import SeededSettings, at_least, seeds, setting
from biasfree_papers.statements import observed, ours, paper, table
from refusals import invalid


@dataclass(frozen=True)
class Settings(SeededSettings):
    width: int = setting(10, "a number of neurons", at_least(1))
    seeds: int = seeds(3)


def dataset():
    values = np.arange(6.0).reshape(2, 3)
    return xarray.Dataset({"v": (("delta", "seed"), values)}, {"delta": [0.1, 0.2], "seed": [4, 5, 6]})


def test_settings_are_checked_and_described():
    assert Settings(width=3).width == 3
    np.testing.assert_array_equal(Settings(seed=2).all_seeds, [2, 3, 4])
    assert list(Settings.described()) == ["seed", "seeds", "width"]
    invalid("width must be a whole number of at least 1, got 0", Settings, width=0)


def test_a_text_has_a_title_a_caption_and_two_parts(tmp_path):
    path = tmp_path / "one.md"
    parts = "## Rebuilt\n\nAll.\n\n## Deviations\n\n- One,\n  still.\n- Two.\n"
    path.write_text(f"# A title\n\nA caption\nof two lines.\n\n{parts}")
    text = read_text(path)
    assert (text.title, text.caption, text.rebuilt) == ("A title", "A caption of two lines.", "All.")
    assert text.deviations == ("One, still.", "Two.")
    path.write_text("# A title\n")
    invalid("must begin with a line '# title' and have a caption", read_text, path)
    path.write_text("# A title\n\nA caption.\n\n## Rest\n\nMore.")
    invalid(r"has the parts \['Rest'\]; a figure has Rebuilt and Deviations", read_text, path)


def test_numbers_survive_as_plain_arrays():
    network = bf.networks.gaussian((2, 3, 1), scale=1.0, seed=0)
    made = dataset().assign(layers("last", network)).assign(word=("delta", ["a", "bb"]))
    back = as_dataset(as_arrays(made))
    xarray.testing.assert_identical(back, made)
    for one, other in zip(network_of(back, "last").weights, network.weights, strict=True):
        np.testing.assert_array_equal(one, other)
    invalid(r"unlike \['odd'\]", as_arrays, made.assign(odd=("delta", np.array([None, None]))))


def test_a_claim_takes_its_words_from_the_axes():
    n = dataset()
    claim = ours(
        "v is small", largest_v=n.v.max("seed"), at_most=5.0, source="here", bound="derived", nature="theorem"
    )
    assert (claim.quantity, claim.each, claim.measured, claim.holds) == (
        "largest v",
        "values of δ",
        (2.0, 5.0),
        True,
    )
    claim = paper("v is small", v=n.v.isel(delta=0), at_most=1.5, source="there", bound="a level of ours")
    assert (claim.seeds, claim.verdict, claim.basis) == ((4, 5, 6), "holds for 2 of 3 seeds", "chosen")
    claim = observed("v is large", v=n.v, at_least=n.delta, source="here", bound="δ itself")
    assert claim.bounds == (0.1, 0.1, 0.1, 0.2, 0.2, 0.2)
    assert claim.held == (False, True, True, True, True, True)


def test_nothing_measured_does_not_hold():
    n = dataset()
    nothing = n.v.max("seed").where(n.delta > 1, drop=True)
    assert not ours("v", v=nothing, at_most=1.0, source="here", bound="derived", nature="theorem").holds


def test_a_claim_needs_one_quantity_and_one_bound():
    for parts in (
        {"v": 1.0},
        {"at_most": 1.0},
        {"v": 1.0, "w": 2.0, "at_most": 1.0},
        {"v": 1.0, "at_most": 1, "at_least": 1},
    ):
        with pytest.raises(
            ValueError, match="a claim needs one measured quantity and one of at_most and at_least"
        ):
            ours("…", source="", bound="", **parts)


def test_a_table_is_columns_over_axes():
    n = dataset()
    one = table(
        "by δ", over="delta", columns={"δ": n.delta, "seeds": n.sizes["seed"], "mean": n.v.mean("seed")}
    )
    assert one.columns == ("δ", "seeds", "mean")
    assert one.rows == ((0.1, 3, 1.0), (0.2, 3, 4.0))
    two = table(
        "all", over=("delta", "seed"), columns={"δ": n.delta, "seed": n.seed, "v": n.v.where(n.v > 0)}
    )
    assert two.rows == ((0.1, 5, 1.0), (0.1, 6, 2.0), (0.2, 4, 3.0), (0.2, 5, 4.0), (0.2, 6, 5.0))
    with pytest.raises(ValueError, match=r"the column 'v' of 'by δ' has the axes \('delta', 'seed'\)"):
        table("by δ", over="delta", columns={"v": n.v})


def test_panels_have_letters_and_shared_legends():
    def panel(axes, n):
        axes.plot(n.delta, n.v, label=["x", "_", "_"])

    def several(row, n):
        for axes in row:
            panel(axes, n)

    figure = picture(dataset(), [Row([panel, (2, several)], legend="below"), [panel]], height=3)
    letters = [axes.get_title(loc="left") for axes in figure.axes]
    assert letters == ["(a)", "(b)", "", "(c)"]
    figure.draw_without_rendering()
    (legend,) = [legend for part in figure.subfigs for legend in part.legends]
    assert [text.get_text() for text in legend.get_texts()] == ["x"]


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
    invalid("one per value", replace, claim((1.0, 2.0), (1.0,)), seeds=(0,))


def test_a_claim_says_where_its_bound_comes_from():
    assert claim((1.0,), (2.0,)).record()["basis"] == "derived"
    assert claim((1.0,), (2.0,), "paper").basis == claim((1.0,), (2.0,), "observed").basis == "chosen"
    assert replace(claim((1.0,), (2.0,), "paper"), basis="stated").record()["basis"] == "stated"
    invalid("a claim of ours needs a derived bound", replace, claim((1.0,), (2.0,)), basis="chosen")


def test_a_claim_of_ours_says_whether_it_could_fail():
    assert replace(claim((1.0,), (2.0,)), nature="identity").record()["nature"] == "identity"
    for kind, nature in (("ours", None), ("ours", "luck"), ("observed", "theorem")):
        with pytest.raises(ValueError, match="needs nature='prediction' or 'theorem' or 'identity'"):
            replace(claim((1.0,), (2.0,)), kind=kind, basis="derived", nature=nature)


def test_unknown_figures_are_refused():
    invalid("no experiment 'fig33'; there are: fig1, fig3", named, "fig33")
