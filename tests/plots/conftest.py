"""Axes of figures that pyplot does not manage."""

import io

import matplotlib
import pytest
from matplotlib.figure import Figure


@pytest.fixture
def axes():
    """Axes of a figure outside pyplot; the test checks at its end that it renders, with labels."""
    before = dict(matplotlib.rcParams)
    figure = Figure(figsize=(3, 3), layout="constrained")
    panel = figure.subplots()
    yield panel
    assert panel.get_xlabel()
    assert panel.get_ylabel()
    figure.savefig(io.BytesIO(), dpi=60)
    assert dict(matplotlib.rcParams) == before


@pytest.fixture
def blank():
    """Axes without labels, as for calls that raise."""
    return Figure().subplots()
