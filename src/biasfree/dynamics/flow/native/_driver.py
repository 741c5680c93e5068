"""Driver of a native flow: block by block of saved times, with progress; raises if the flow cannot end."""

from __future__ import annotations

import numpy as np

from biasfree.dynamics._progress import Progress
from biasfree.dynamics._recorder import Recorder
from biasfree.dynamics.field._layers import Params
from biasfree.dynamics.flow._driver import CALL_STEPS, LEVEL_REACHED, Limits, Pace, UnfinishedError, broken
from biasfree.dynamics.flow.native._flow import Flow
from biasfree.dynamics.flow.native._layout import parts_of
from biasfree.dynamics.flow.native._loop import Code

_ADVICE = ' method="steps" asks for less accuracy.'


def follow(flow: Flow, ts: np.ndarray, limits: Limits, recorder: Recorder) -> str:
    """Follow the flow through `ts` and record the states there; returns the reason why it stopped."""
    end, levels, pace = float(ts[-1]), recorder.levels, Pace()
    levels.reach(0.0, flow.loss())
    with Progress("gradient flow") as progress:
        while len(ts) and not levels.done:
            saves, code = flow.saves(ts[: recorder.slots]), Code.TIRED
            ts = ts[recorder.slots :]
            while code == Code.TIRED:
                code = flow.advance(saves, levels, min(CALL_STEPS, limits.max_steps - flow.tried))
                progress.update(flow.t / end if end else 1.0)
                pace.note(flow.tried, flow.t, _params(flow.theta.copy(), flow))
                if code == Code.BROKEN:
                    raise UnfinishedError(broken(flow.t, limits, end, _ADVICE))
                if code == Code.TIRED and (flow.tried >= limits.max_steps or pace.hopeless(limits, end)):
                    raise UnfinishedError(pace.why(_params(flow.theta, flow), limits, end, _ADVICE))
            done = flow.saved
            recorder.add_with(saves.ts[:done], _params(saves.states[:done], flow), saves.losses[:done])
    if not levels.done:
        return "end of ts"
    recorder.add_last(flow.t, _params(flow.theta, flow), flow.loss())
    return LEVEL_REACHED


def _params(states: np.ndarray, flow: Flow) -> Params:
    weights, biases = parts_of(states, flow.shape)
    return Params(tuple(weights), tuple(biases))
