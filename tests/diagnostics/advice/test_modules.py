"""The table of layers in the report on a PyTorch model that cannot be read as a network."""

import json

import numpy as np
import pytest

import biasfree as bf

pytest.importorskip("torch")
import torch
from torch import nn

RNG = np.random.default_rng(0)
IMAGES = RNG.normal(size=(60, 1, 4, 4))
Y = IMAGES.reshape(60, -1)[:, 0]


def test_a_cnn_has_a_row_per_layer_in_text_json_and_page(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 1))
    report = bf.diagnose(model, (IMAGES, Y))
    assert [row[0] for row in report.tables["modules"].rows] == ["(model)", "0", "1", "2", "3"]
    assert [row[3] for row in report.tables["modules"].rows[1:3]] == ["affine", "nonlinear"]
    assert "Layers as functions of their inputs" in str(report)
    assert json.loads(report.to_json())["tables"]["modules"]["rows"][2][1] == "ReLU"
    report.save_html(tmp_path / "report.html")
    assert "Layers as functions of their inputs" in (tmp_path / "report.html").read_text()


def test_models_that_are_read_have_none():
    plain = nn.Sequential(nn.Flatten(), nn.Linear(16, 4, bias=False), nn.ReLU(), nn.Linear(4, 1, bias=False))
    assert "modules" not in bf.diagnose(plain, (IMAGES, Y)).tables


@pytest.mark.parametrize(
    ("error", "note"),
    [
        (RuntimeError("no hooks here"), "the layers could not be measured: no hooks here"),
        (
            KeyboardInterrupt(),
            "interrupted: the layers were not measured; the report is complete without them.",
        ),
    ],
)
def test_layers_that_cannot_be_measured_are_a_note(error, note):
    class NoHooks(nn.Module):
        def forward(self, x):
            return x.reshape(len(x), -1).sum(dim=1) ** 2

        def register_forward_hook(self, *_, **__):
            raise error

    report = bf.diagnose(NoHooks(), (IMAGES, Y))
    assert note in report.notes
    assert "modules" not in report.tables
