"""`serve`: the page on this machine, until it is ended."""

from __future__ import annotations

import asyncio
import os
import webbrowser
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from biasfree.arguments import public
from biasfree.lab._state import from_fragment


@public
def serve(
    link: str = "", *, port: int = 0, browser: bool = True, ended: Callable[[], Any] = lambda: False
) -> None:
    """Serve the laboratory on 127.0.0.1 and print its address, until `ended()` is true.

    `link` is an experiment: an address with #v1…, or that part alone. The address has a random token, which
    becomes a cookie; links to share have none. Port 0 is a free one.
    """
    if find_spec("tornado") is None:
        raise ValueError(
            "the laboratory needs Tornado, which is not installed; run `pip install 'biasfree[lab]'`."
        )
    from biasfree.lab._server import Lab, serve_until

    experiment, notes = from_fragment(link)

    async def run() -> None:
        try:
            lab = Lab(port)
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise OSError(
                error.errno, f"port {port} of 127.0.0.1 cannot be used: {reason}; choose another"
            ) from None
        address = lab.address(experiment.fragment if link else "")
        print("\n".join([*notes, f"biasfree lab: {address}", "Ctrl-C ends it."]), flush=True)
        if browser:
            webbrowser.open(address)
        await serve_until(lab, ended)

    asyncio.run(run())
