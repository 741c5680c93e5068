"""Many runs on six points on whatever device JAX has: `python -m benchmarks.device`.

It prints a table for benchmarks/README.md, and on an accelerator keeps it in benchmarks/h200.json, from
where `make bench` takes the row that cannot be measured everywhere.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import seeds
from benchmarks.measure import machine
from benchmarks.rows import Goal, Row, quantity
from biasfree.files import replacing
from biasfree.tables import as_json

GOALS = {"16 384 runs on six points, one H200": Goal("≥", 80)}
STORED = Path(__file__).with_name("h200.json")
RUNS = 16_384
#: Batches tried by default: on a CPU to find the best one, on an accelerator to see it fill.
CPU_BATCHES, BATCHES = (1, 16, 64, 256, 1024), (256, 1024, 4096, RUNS)
COMPARED = 1000


def rows() -> Iterator[Row]:
    """The stored measurement beside the best batch of this CPU."""
    ((name, goal),) = GOALS.items()
    here = min(seeds.seconds_a_run_step(runs, seeds.STEPS) for runs in (16, seeds.RUNS))
    if not STORED.exists():
        note = "no stored measurement: run `python -m benchmarks.device` on a machine that has one"
        yield Row(name, "our best CPU batch", None, here, "s a run-step", goal=goal, note=note)
        return
    record = json.loads(STORED.read_text())
    batch = next(batch for batch in record["batches"] if batch["runs"] == RUNS)
    yield Row(
        name,
        "our best CPU batch, now",
        batch["seconds_a_run_step"],
        here,
        "s a run-step",
        goal=goal,
        error=batch["error"],
        stored=f"measured on {record['date']}, {record['device']}",
        note=f"{record['steps']:,} steps; a whole call, without compilation",
    )


def measured(batches: tuple[int, ...], steps: int) -> dict[str, Any]:
    """Seconds per run and step for every batch, with the device and the date."""
    import jax

    found = []
    for runs in batches:
        seconds = seeds.seconds_a_run_step(runs, steps)
        checked = sorted({0, runs // 2, runs - 1})
        error = seeds.error_of(seeds.starts(runs), checked, COMPARED)
        found.append({"runs": runs, "seconds_a_run_step": seconds, "error": error})
        print(f"{runs} runs: {1e9 * seconds:.4g} ns a run and step, error {error:.1e}", flush=True)
    here, kind = machine(), jax.devices()[0].device_kind
    return as_json({"date": here["date"], "device": kind, "steps": steps, "batches": found, "machine": here})


def markdown(record: dict[str, Any]) -> str:
    """The table for benchmarks/README.md."""
    lines = [
        f"Measured on {record['date']}, {record['device']}, {record['steps']:,} steps, "
        f"jax {record['machine']['versions']['jax']}.",
        "",
        "| runs | a run and step | all runs, a step | error |",
        "|---|---|---|---|",
    ]
    for batch in record["batches"]:
        each = batch["seconds_a_run_step"]
        lines.append(
            f"| {batch['runs']:,} | {quantity(each, 's')} | {quantity(each * batch['runs'], 's')} | "
            f"{batch['error']:.0e} |"
        )
    return "\n".join(lines)


def main() -> None:
    import jax

    on_cpu = jax.default_backend() == "cpu"
    parser = argparse.ArgumentParser(prog="python -m benchmarks.device", description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=CPU_BATCHES if on_cpu else BATCHES)
    parser.add_argument("--steps", type=int, default=seeds.STEPS)
    parser.add_argument("--out", type=Path, default=None if on_cpu else STORED)
    options = parser.parse_args()
    record = measured(tuple(options.runs), options.steps)
    if options.out is not None:
        with replacing(options.out) as file:
            file.write(json.dumps(record, indent=1, ensure_ascii=False).encode() + b"\n")
    print(markdown(record))


if __name__ == "__main__":
    main()
