"""The laboratory answers from what the wheel holds: its page, each file of it, and one experiment."""

import asyncio
import json
import subprocess
from pathlib import Path

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import websocket_connect

import biasfree.lab

PAGE = Path(biasfree.lab.__file__).parent / "page"


async def ask(address: str) -> None:
    """Open the page as a browser does, then have an experiment computed."""
    origin, _, token = address.partition("/?token=")
    client = AsyncHTTPClient()
    opened = await client.fetch(HTTPRequest(address, follow_redirects=False), raise_error=False)
    cookie = {"Cookie": opened.headers["Set-Cookie"].partition(";")[0]}
    assert token in cookie["Cookie"]
    for name in ("", *(path.name for path in PAGE.iterdir() if path.is_file())):
        answer = await client.fetch(f"{origin}/{name}", headers=cookie)
        assert answer.body, f"{name} is empty"
    request = HTTPRequest(origin.replace("http", "ws") + "/talk", headers={**cookie, "Origin": origin})
    talk = await websocket_connect(request)
    await talk.write_message(json.dumps({"id": 1, "state": {}}))
    stages: list[str] = []
    while "done" not in stages:
        message = await asyncio.wait_for(talk.read_message(), 300)
        assert message is not None, f"the server closed after {stages}"
        stages.append(json.loads(message)["stage"])
    assert {"state", "exact", "measures"} <= set(stages), stages
    print(stages)


command = ["biasfree", "lab", "--no-browser"]
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as lab:
    try:
        assert lab.stdout is not None
        asyncio.run(ask(lab.stdout.readline().split()[-1]))
    finally:
        lab.terminate()
