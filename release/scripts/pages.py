"""Pages are written from what the wheel holds: a diagnosis by the command, and a replay of the laboratory."""

import subprocess
from pathlib import Path

import numpy as np

import biasfree as bf

rng = np.random.default_rng(0)
x = rng.normal(size=(60, 3))
table = np.column_stack([x, x @ [1.0, -2.0, 0.5]])
np.savetxt("data.csv", table, delimiter=",", header="a,b,c,target", comments="")
subprocess.run(["biasfree", "diagnose", "data.csv", "--html", "diagnosis.html"], check=True)
six = bf.data.six_points(0.5)
run = bf.gradient_flow(bf.networks.gaussian((2, 8, 1), scale=0.1, seed=0), six, np.linspace(0, 10, 21))
bf.lab.animate(run, six, "replay.html")
bf.lab.animate(run, six, "replay.gif")
for name in ("diagnosis.html", "replay.html"):
    assert "<style>" in Path(name).read_text(), f"{name} has no style"
