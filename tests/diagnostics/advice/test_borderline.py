"""Sentences that do not depend on the kernels of BLAS: ties are not decided by rounding, and say so."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import biasfree as bf
from borderline import CORNERS, bent

SCRIPT = Path(__file__).parents[2] / "borderline.py"
#: Cases whose sentences depended on the kernels: advice, scores, p-values, digits.
CHOSEN = (
    "grid and ones, bent",
    "one-hot, linear",
    "one-hot and ones, three classes",
    "corners, three classes",
    "far, bent, network",
    "far, three classes",
    "dependent columns, three classes",
    "classes 4",
)
#: Kinds of processors by `OPENBLAS_CORETYPE`, and the features that their NumPy does without.
KINDS = {
    "Haswell": "X86_V4 AVX512_ICL AVX512_SPR",
    "Prescott": "X86_V4 AVX512_ICL AVX512_SPR X86_V3",
    "SkylakeX": "",
    "Sandybridge": "X86_V4 AVX512_ICL AVX512_SPR X86_V3",
}


def said_by(kind: str, names: tuple[str, ...]) -> tuple[list[str], dict[str, list[str]]]:
    """The kernels that a kind of processor used, and its sentences; skipped where this one cannot run it."""
    pytest.importorskip("threadpoolctl")
    known = set(np._core._multiarray_umath.__cpu_dispatch__)  # type: ignore[attr-defined]
    without = " ".join(sorted(known & set(KINDS[kind].split())))
    env = os.environ | {"OPENBLAS_CORETYPE": kind, "NPY_DISABLE_CPU_FEATURES": without}
    env["PYTHONPATH"] = str(Path(bf.__file__).parents[1])
    command = [sys.executable, str(SCRIPT), *names]
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if run.returncode < 0:
        pytest.skip(f"this processor cannot run the kernels of {kind}: signal {-run.returncode}.")
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    return found["kernels"], found["said"]


def check_same(kinds: tuple[str, ...], names: tuple[str, ...]) -> None:
    """All kinds say the same; skipped where fewer than two kernels are used."""
    found = {kind: said_by(kind, names) for kind in kinds}
    kernels = {kind: ", ".join(used) for kind, (used, _) in found.items()}
    if len(set(kernels.values())) < 2:
        pytest.skip(f"this processor or its BLAS has one kernel only: {kernels}.")
    first = found[kinds[0]][1]
    for kind in kinds[1:]:
        for name, said in found[kind][1].items():
            assert said == first[name], (kernels, name)


def test_two_kinds_of_processors_say_the_same():
    check_same(("Haswell", "Prescott"), CHOSEN)


@pytest.mark.slow
def test_four_kinds_of_processors_say_the_same_about_100_data_sets():
    check_same(tuple(KINDS), ())


@pytest.mark.parametrize(
    ("model", "tie"),
    [
        (bent(np.sqrt(0.99), 0.1), "N equals nonlinear_above to rounding, and counts as not more"),
        (bent(0.9, 0.0), "the part of the targets that is not fitted equals residual_above to rounding"),
    ],
)
def test_a_tie_says_so_and_a_number_beside_it_does_not(model, tie):
    report = bf.diagnose(model, CORNERS, CORNERS[:, 0], flips=39)
    assert report.verdict != "nonlinear"
    assert any(tie in reason for reason in report.reasons)
    data = CORNERS, CORNERS[:, 0]
    report = bf.diagnose(model, data, flips=39, nonlinear_above=0.0101, residual_above=0.0101)
    assert not any("a tie" in reason for reason in report.reasons)


def test_a_gain_that_is_the_threshold_counts_and_says_so():
    """A threshold that is the measured difference of two accuracies, k of 64 samples."""

    model, label = bent(0.0, 1.0), (CORNERS[:, 0] * CORNERS[:, 1]).astype(int)

    def report(gain):
        return bf.diagnose(model, CORNERS, label, flips=39, gain_above=gain, unseen=True)

    scores: dict[Any, Any] = {row[0]: row[1] for row in report(0.0).tables["scores"].rows}
    gain = scores["this model"] - max(scores["linear map"], scores["linear map with intercept"])
    assert report(gain).case == report(0.99 * gain).case
    assert report(gain).case != report(1.01 * gain).case
    tie = "a tie: model minus linear map equals gain_above to rounding, and counts."
    assert tie in report(gain).reasons
    assert tie not in report(1.01 * gain).reasons
