"""The server answers its own page only, bounds what arrives, and leaves no process behind."""

import asyncio
import inspect
import json
import os
import re
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from biasfree.dynamics import Halted
from biasfree.lab import serve
from biasfree.lab._server import LARGEST_MESSAGE, MOST_PAGES, PAGE, Lab
from biasfree.lab._worker import Inbox, in_time
from lab_command import lab_command
from refusals import invalid

#: The sockets that a test has opened.
CLIENTS: list[Any] = []


def served(test):
    """A test that runs beside a server, its first argument; others are fixtures."""

    async def beside(fixtures):
        lab, CLIENTS[:] = Lab(), []
        try:
            await test(lab, **fixtures)
        finally:
            for client in CLIENTS:
                client.close()
            await lab.close()

    def run(**fixtures):
        asyncio.run(beside(fixtures))

    _, *others = inspect.signature(test).parameters.values()
    run.__signature__ = inspect.Signature(others)  # type: ignore[attr-defined]
    return run


def cookie(lab):
    return {"Cookie": f"biasfree_lab_{lab.port}={lab.token}"}


async def status(lab, path="/", **headers):
    """The status of an answer, without following it elsewhere, and the answer."""
    request = HTTPRequest(lab.origin + path, headers=headers, follow_redirects=False)
    answer = await AsyncHTTPClient().fetch(request, raise_error=False)
    return answer.code, answer


class Echo:
    """Stands for a process: tells back every message, so that no computation is started."""

    def __init__(self, tell):
        self.tell, self.released = tell, False

    def send(self, message):
        self.tell(json.dumps({"stage": "echo", "message": message}))

    def release(self):
        self.released = True


@pytest.fixture
def echo(monkeypatch):
    made = []

    async def take(_, tell):
        made.append(Echo(tell))
        return made[-1]

    monkeypatch.setattr("biasfree.lab._server.Pool.take", take)
    return made


async def talk(lab, **headers):
    own = {"Origin": lab.origin, **cookie(lab)}
    request = HTTPRequest(f"ws://127.0.0.1:{lab.port}/talk", headers={**own, **headers})
    CLIENTS.append(await websocket_connect(request))
    return CLIENTS[-1]


@served
async def test_requests_without_the_token_or_from_elsewhere_get_403(lab):
    host = f"127.0.0.1:{lab.port}"
    wrong = [
        {},
        {"Cookie": f"biasfree_lab_{lab.port}=wrong"},
        {**cookie(lab), "Host": "evil.example"},
        {**cookie(lab), "Host": f"localhost:{lab.port}"},
        {**cookie(lab), "Host": "127.0.0.1:1"},
        {**cookie(lab), "Origin": "http://evil.example"},
        {**cookie(lab), "Origin": f"http://{host}.evil.example"},
        {**cookie(lab), "Origin": "null"},
    ]
    for headers in wrong:
        for path in ("/", "/live.js", "/talk", "/?token=wrong"):
            assert (await status(lab, path, **headers))[0] == 403, (headers, path)
    assert (await status(lab, f"/live.js?token={lab.token}"))[0] == 403  # the first request only
    assert (await status(lab, f"/?token={lab.token}", Host="evil.example"))[0] == 403
    assert (await status(lab, **cookie(lab)))[0] == 200
    assert (await status(lab, **cookie(lab), Origin=lab.origin))[0] == 200


@served
async def test_the_token_of_the_first_request_becomes_a_cookie(lab):
    code, answer = await status(lab, f"/?token={lab.token}")
    assert (code, answer.headers["Location"]) == (302, "/")
    kept = answer.headers["Set-Cookie"]
    assert lab.token in kept
    assert "HttpOnly" in kept
    assert "SameSite=Strict" in kept
    assert lab.address("v1&leak=1") == f"{lab.origin}/?token={lab.token}#v1&leak=1"
    other = Lab()
    assert other.token != lab.token
    await other.close()


@served
async def test_every_answer_has_the_policy_and_only_files_of_the_page_are_served(lab):
    for path in PAGE.iterdir():
        code, answer = await status(lab, f"/{path.name}", **cookie(lab))
        assert code == 200
        assert answer.body == path.read_bytes()
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'self';")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "Server" not in answer.headers
    for place in (
        "/../_server.py",
        "/%2e%2e/_server.py",
        "/page/index.html",
        "//etc/passwd",
        "/_server.py",
    ):
        assert (await status(lab, place, **cookie(lab)))[0] == 404, place


def test_the_page_has_no_inline_code_and_names_no_other_host():
    text = (PAGE / "index.html").read_text()
    assert re.findall(r"<script(?![^>]* src=)|<style|style=|\son\w+=", text) == []
    for path in PAGE.iterdir():
        hosts = set(re.findall(r"https?://[^\s\"'`<>)]+", path.read_text()))
        assert hosts <= {"http://www.w3.org/2000/svg"}, path.name
        assert not re.search(r"\beval\(|new Function|innerHTML", path.read_text()), path.name


@served
async def test_the_socket_wants_token_origin_and_host(lab, echo):
    address = f"ws://127.0.0.1:{lab.port}/talk"
    for headers in (
        {"Origin": lab.origin},
        cookie(lab),
        {**cookie(lab), "Origin": "http://evil.example"},
        {**cookie(lab), "Origin": lab.origin, "Host": "evil.example"},
    ):
        with pytest.raises(HTTPClientError, match="403"):
            await websocket_connect(HTTPRequest(address, headers=headers))
    assert echo == []
    page = await talk(lab)
    await page.write_message('{"id": 1, "state": {}}')
    assert json.loads(str(await page.read_message()))["message"] == {"id": 1, "state": {}}


@served
async def test_messages_must_be_small_json_objects(lab, echo):
    page = await talk(lab)
    for wrong in ("nonsense", "[1]", "{}", '{"id": "x"}', '"' + "a" * 1000):
        await page.write_message(wrong)
        answer = json.loads(str(await page.read_message()))
        assert answer["text"] == "A message must be a JSON object with a whole number as its id."
    await page.write_message(json.dumps({"id": 1, "csv": "1" * LARGEST_MESSAGE}))
    assert await page.read_message() is None  # closed
    assert echo[0].released


@pytest.mark.usefixtures("echo")
@served
async def test_pages_are_counted(lab):
    pages = [await talk(lab) for _ in range(MOST_PAGES)]
    more = await talk(lab)
    assert "pages are open already" in str(await more.read_message())
    assert await more.read_message() is None
    pages[0].close()
    await asyncio.sleep(0.1)
    again = await talk(lab)
    await again.write_message('{"id": 1}')
    assert "echo" in str(await again.read_message())


@served
async def test_a_killed_process_is_replaced_and_those_of_a_closed_page_wait(lab):
    told: list[Any] = []
    process = await lab.processes.take(told.append)
    while not told:
        await asyncio.sleep(0.02)
    assert json.loads(told[0])["stage"] == "hello"
    first = process._child.pid
    os.kill(first, signal.SIGKILL)
    while len(told) < 3:
        await asyncio.sleep(0.02)
    assert "ended and is starting anew" in told[1]
    assert json.loads(told[2])["stage"] == "hello"
    process.release()
    again = await lab.processes.take(told.append)
    assert again is process
    assert json.loads(told[3])["stage"] == "hello"
    last = process._child.pid
    await lab.close()
    assert not Path(f"/proc/{last}").exists()


def test_the_newest_state_wins_and_files_do_not_disturb_it():
    inbox = Inbox()
    for number in range(3):
        inbox.put({"id": number, "state": {}})
    assert inbox.stop.is_set()
    inbox.put({"id": 9, "want": "npz"})
    assert inbox.take() == {"id": 9, "want": "npz"}
    assert inbox.take() == {"id": 2, "state": {}}
    assert not inbox.stop.is_set()
    inbox.put({"id": 10, "want": "python"})
    assert not inbox.stop.is_set()
    inbox.put({"cancel": True})
    assert inbox.stop.is_set()
    assert inbox.take()["id"] == 10


class Busy:
    """Stands for a session: computes until it is stopped."""

    def __init__(self, stop):
        self.stop = stop

    def answer(self, message):
        if message["rest"]:
            self.stop.wait(10)
            raise Halted


def test_a_run_that_takes_too_long_ends_with_a_sentence():
    stop = threading.Event()
    busy: Any = Busy(stop)
    last = in_time(busy, {"rest": True}, stop, 0.0)
    assert last is not None
    assert last["stage"] == "failed"
    assert last["text"].startswith(
        "The run was stopped after 0 s; the curve ends where it was. Shorten the horizon"
    )
    assert in_time(busy, {"rest": False}, stop, 60.0) is None


def test_ctrl_c_ends_the_command_and_its_processes():
    with lab_command("v9&x") as run:
        assert run.stdout is not None
        note, address = run.stdout.readline(), run.stdout.readline()
        assert note.startswith("The link is not of version v1")
        assert re.fullmatch(
            r"biasfree lab: http://127\.0\.0\.1:\d+/\?token=\S+#v1&preset=six_points\n", address
        )
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
        while not (pids := children.read_text().split()):
            time.sleep(0.02)
        run.send_signal(signal.SIGINT)
        assert run.wait(20) == 130
        assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []


def test_serve_says_what_is_wrong(monkeypatch):
    monkeypatch.setattr("biasfree.lab._serve.find_spec", lambda _: None)
    invalid(r"needs Tornado, which is not installed; run `pip install 'biasfree\[lab", serve, browser=False)


@served
async def test_serve_says_that_a_port_is_taken(lab):
    with pytest.raises(OSError, match=f"port {lab.port} of 127.0.0.1 cannot be used"):
        await asyncio.to_thread(serve, port=lab.port, browser=False)


def test_serve_opens_the_link_in_the_browser(monkeypatch, capsys):
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("biasfree.lab._server.Pool", lambda: SimpleNamespace(warm=int, close=_nothing))
    done = threading.Event()
    done.set()
    serve("http://127.0.0.1:5/#v1&preset=xor&leak=0.5", ended=done.is_set)
    assert opened[0] in capsys.readouterr().out
    assert opened[0].endswith("#v1&preset=xor&leak=0.5")


async def _nothing():
    pass
