"""The command `biasfree lab`: the live page in the browser."""

from __future__ import annotations

from typing import Annotated

import typer

from biasfree.stopping import STOP


def lab(
    link: Annotated[
        str, typer.Argument(help="An experiment to open: an address with #v1…, or that part alone.")
    ] = "",
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 takes a free one.", min=0, max=65535)] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address, open nothing.")
    ] = False,
) -> None:
    """Open the laboratory: drag a point, watch the network learn. Ctrl-C ends it."""
    from biasfree.lab import serve

    with STOP.deferred():
        serve(link, port=port, browser=not no_browser, ended=lambda: STOP.signal)
