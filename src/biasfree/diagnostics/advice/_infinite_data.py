"""Infinite data in a report: the samples that are compared, and a table of exact means."""

from __future__ import annotations

from dataclasses import replace

from biasfree.data import Dataset, Population
from biasfree.diagnostics._function import nonlinear_share, square_loss
from biasfree.diagnostics._targets import target_shares
from biasfree.diagnostics.advice._report import Report
from biasfree.networks import Network
from biasfree.tables import Table

#: Samples of infinite data on which a model and its competitors are compared.
SAMPLED = 2000


def with_exact_means(report: Report, population: Population, seed: int) -> Report:
    """The report on samples of infinite data, with the exact means where there are formulas for them."""
    note = f"the data are infinite: scores and tests use {SAMPLED:,} of its samples (seed {seed})"
    network = None if report.subject is None else report.subject.network
    if not _has_formulas(network):
        return replace(report, notes=(f"{note}.", *report.notes))
    assert network is not None
    exact = Table(
        "Infinite data, exact",
        ("quantity", "value"),
        (
            ("R² of this model", 1 - 2 * square_loss(network, population) / population.mean_square),
            ("R² of the best linear map", target_shares(population).total.linear),
            (
                "N, the share of its outputs that no linear map explains",
                *nonlinear_share(network, population).tolist(),
            ),
        ),
    )
    told = replace(report, notes=(f"{note}; the table of infinite data has exact means.", *report.notes))
    return told.with_table("infinite data", exact)


def sampled(population: Population, seed: int) -> Dataset:
    """The samples of infinite data that a report compares models on."""
    return population.sample(SAMPLED, seed)


def _has_formulas(network: Network | None) -> bool:
    return network is not None and network.depth == 2 and network.biases is None and network.sizes[-1] == 1
