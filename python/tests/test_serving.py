"""`batchwise.serve` and `batchwise.Server` on a Unix socket."""
from __future__ import annotations

import errno
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest
from conftest import PACKAGE, TIMEOUT_SECONDS, infer, jsons, value_of

import batchwise
from batchwise.wire import build_frame, read_message, send_parts


@pytest.fixture
def path() -> Iterator[str]:
    # A short directory: a socket path has at most 107 bytes.
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        yield os.path.join(directory, "model.sock")


def connect(path: str) -> socket.socket:
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.settimeout(TIMEOUT_SECONDS)
    client.connect(path)
    ready = read_message(client)
    assert ready is not None and ready.header["kind"] == "ready"
    return client


def ask(client: socket.socket, batch_id: int, values: List[Any]) -> Any:
    send_parts(client, infer(batch_id, jsons("items", values)))
    message = read_message(client)
    assert message is not None and message.header["id"] == batch_id
    return value_of(message)


def echo(items):  # type: ignore[no-untyped-def]
    return items


def test_two_connections_share_one_model(path: str) -> None:
    class Counter:
        count = 0
        closed = False

        def predict(self, items):  # type: ignore[no-untyped-def]
            self.count += 1
            return [self.count for _ in items]

        def close(self) -> None:
            self.closed = True

    model = Counter()
    with batchwise.Server(model, path):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        first, second = connect(path), connect(path)
        assert ask(first, 1, [0]) == [b"1"]
        assert ask(second, 1, [0, 0]) == [b"2", b"2"]
        # A protocol error ends only its own connection.
        first.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert read_message(first) is None
        assert ask(second, 2, [0]) == [b"3"]
        send_parts(second, build_frame({"kind": "close"}))
        assert read_message(second) is None
        third = connect(path)
        assert ask(third, 1, [0]) == [b"4"]
        assert not model.closed
    assert model.closed
    assert not os.path.exists(path)
    assert read_message(third) is None
    for client in (first, second, third):
        client.close()


def test_a_connection_that_ends_does_not_disturb_the_others(path: str) -> None:
    entered, leave = threading.Event(), threading.Event()

    def predict(items):  # type: ignore[no-untyped-def]
        if items == ["block"]:
            entered.set()
            assert leave.wait(TIMEOUT_SECONDS)
        return items

    with batchwise.Server(predict, path):
        first, second = connect(path), connect(path)
        send_parts(first, infer(1, jsons("items", ["block"])))
        assert entered.wait(TIMEOUT_SECONDS)
        first.close()
        leave.set()
        assert ask(second, 1, [1]) == [b"1"]
        second.close()


# The batches of a connection that has ended were run although no response can be sent.
@pytest.mark.parametrize("is_async", [False, True])
def test_the_batches_of_a_connection_that_has_ended_are_skipped(path: str, is_async: bool) -> None:
    entered, leave, ended = threading.Event(), threading.Event(), threading.Event()
    seen: List[Any] = []

    def run(items):  # type: ignore[no-untyped-def]
        seen.extend(items)
        if items == ["block"]:
            entered.set()
            assert ended.wait(TIMEOUT_SECONDS)
            assert leave.wait(TIMEOUT_SECONDS)
        return items

    async def run_async(items):  # type: ignore[no-untyped-def]
        return run(items)

    class Server(batchwise.Server):
        def _end(self, connection: Any, error: Any) -> None:
            super()._end(connection, error)
            ended.set()

    with Server(run_async if is_async else run, path):
        first, second = connect(path), connect(path)
        send_parts(first, infer(1, jsons("items", ["block"])))
        assert entered.wait(TIMEOUT_SECONDS)
        for batch_id in range(2, 5):
            send_parts(first, infer(batch_id, jsons("items", ["stale"])))
        first.close()
        leave.set()
        assert ask(second, 1, [1]) == [b"1"]
        second.close()
    assert seen == ["block", 1]


# The accept thread sent `ready`: a client that does not read stopped it when the frame exceeds the socket buffer.
def test_a_client_that_never_reads_does_not_block_the_others(path: str) -> None:
    class Large:
        example = ["x" * 8_000_000]

        def predict(self, items: List[str]) -> List[str]:
            return items

    with batchwise.Server(Large, path):
        silent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        silent.connect(path)
        connect(path).close()
        silent.close()


# A client that sends batches and reads no result blocked the thread of the model for ever.
def test_a_send_that_makes_no_progress_ends_its_connection(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("batchwise.serving.SEND_TIMEOUT_SECONDS", 0.2)
    entered = threading.Event()

    def predict(items):  # type: ignore[no-untyped-def]
        if items == ["large"]:
            entered.set()
            return ["x" * 8_000_000]
        return items

    with batchwise.Server(predict, path):
        silent, other = connect(path), connect(path)
        send_parts(silent, infer(1, jsons("items", ["large"])))
        assert entered.wait(TIMEOUT_SECONDS)
        assert ask(other, 1, [1]) == [b"1"]
        silent.close()
        other.close()


# The accept thread ended at its first error.
def test_connections_are_accepted_after_too_many_open_files(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    accept = socket.socket.accept
    calls: List[int] = []

    def flaky(listener: socket.socket) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise OSError(errno.EMFILE, "Too many open files")
        return accept(listener)

    monkeypatch.setattr(socket.socket, "accept", flaky)
    with batchwise.Server(echo, path):
        connect(path).close()
    assert len(calls) >= 2


# An exception outside the model ended only its worker thread, and the batches had no response.
@pytest.mark.parametrize("kind", ["main thread", "threads", "async"])
def test_an_exception_in_a_worker_ends_the_process(kind: str) -> None:
    source = f"""
import asyncio
from batchwise.executor import Executor
class Connection:
    has_ended = False
    def respond(self, parts):
        pass
class Model:
    loop = asyncio.new_event_loop() if {kind == "async"} else None
    def respond(self, message):
        raise RuntimeError("escaped")
    async def respond_async(self, message):
        raise RuntimeError("escaped")
executor = Executor({1 if kind == "main thread" else 2})
executor.submit(Connection(), None)
try:
    executor.run(Model())
except RuntimeError:
    print("the process continues")
"""
    environment: Dict[str, str] = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    ended = subprocess.run([sys.executable, "-c", source], env=environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "RuntimeError: escaped" in ended.stderr


def test_close_finishes_the_batches_received(path: str) -> None:
    entered, leave = threading.Event(), threading.Event()

    def predict(items):  # type: ignore[no-untyped-def]
        entered.set()
        assert leave.wait(TIMEOUT_SECONDS)
        return items

    server = batchwise.Server(predict, path)
    server.start()
    client = connect(path)
    send_parts(client, infer(1, jsons("items", [1])))
    assert entered.wait(TIMEOUT_SECONDS)
    closing = threading.Thread(target=server.close)
    closing.start()
    leave.set()
    message = read_message(client)
    assert message is not None and value_of(message) == [b"1"]
    assert read_message(client) is None
    closing.join()
    client.close()


# A stop ended the queue of the model at once: batches that arrived on open connections afterwards had no response.
@pytest.mark.parametrize("is_async", [False, True])
def test_batches_that_arrive_during_the_stop_are_answered(path: str, is_async: bool) -> None:
    entered, leave = threading.Event(), threading.Event()

    def run(items):  # type: ignore[no-untyped-def]
        entered.set()
        assert leave.wait(TIMEOUT_SECONDS)
        return items

    async def run_async(items):  # type: ignore[no-untyped-def]
        return run(items)

    server = batchwise.Server(run_async if is_async else run, path)
    server.start()
    client, idle = connect(path), connect(path)
    send_parts(client, infer(1, jsons("items", [1])))
    assert entered.wait(TIMEOUT_SECONDS)
    closing = threading.Thread(target=server.close)
    closing.start()
    assert read_message(idle) is None  # a connection without a batch ends at once
    for batch_id in (2, 3):
        send_parts(client, infer(batch_id, jsons("items", [batch_id])))
    leave.set()
    for batch_id in (1, 2, 3):
        message = read_message(client)
        assert message is not None and value_of(message) == [str(batch_id).encode()]
    assert read_message(client) is None
    closing.join()
    client.close()
    idle.close()


def test_a_client_that_always_has_a_batch_does_not_prevent_the_stop(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("batchwise.serving.FINISH_SECONDS", 0.1)
    server = batchwise.Server(echo, path)
    server.start()
    client = connect(path)
    answered = threading.Event()

    def load() -> None:
        send_parts(client, infer(0, jsons("items", [0])))
        try:
            for batch_id in range(1, 1 << 30):
                send_parts(client, infer(batch_id, jsons("items", [batch_id])))
                if read_message(client) is None:
                    return
                answered.set()
        except OSError:
            pass

    thread = threading.Thread(target=load)
    thread.start()
    assert answered.wait(TIMEOUT_SECONDS)
    server.close()
    thread.join()
    client.close()


def test_a_drained_connection_after_close_sends_its_responses_first(path: str) -> None:
    with batchwise.Server(echo, path):
        client = connect(path)
        for batch_id in range(4):
            send_parts(client, infer(batch_id, jsons("items", [batch_id])))
        send_parts(client, build_frame({"kind": "close"}))
        for batch_id in range(4):
            message = read_message(client)
            assert message is not None and message.header["id"] == batch_id
        assert read_message(client) is None
        client.close()


def test_concurrency_over_two_connections(path: str) -> None:
    barrier = threading.Barrier(2)

    def predict(items):  # type: ignore[no-untyped-def]
        barrier.wait(TIMEOUT_SECONDS)
        return items

    with batchwise.Server(predict, path, concurrency=2):
        clients = [connect(path), connect(path)]
        for client in clients:
            send_parts(client, infer(1, jsons("items", [1])))
        for client in clients:
            message = read_message(client)
            assert message is not None and message.header["kind"] == "result"
            client.close()


def test_an_async_function_is_served(path: str) -> None:
    async def predict(items):  # type: ignore[no-untyped-def]
        return items

    with batchwise.Server(predict, path, concurrency=2):
        client = connect(path)
        assert ask(client, 1, [1]) == [b"1"]
        client.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_runs_on_the_main_thread_until_a_signal(path: str, number: int) -> None:
    source = f"""
import batchwise, threading
class Model:
    def predict(self, items):
        return [threading.current_thread() is threading.main_thread() for _ in items]
    def close(self):
        print("closed", flush=True)
print(batchwise.serve(Model, {path!r}), flush=True)
"""
    source = "print('starting', flush=True)\n" + source.replace("class Model:", "class Model:\n    def __init__(self): pass")
    process = subprocess.Popen(
        [sys.executable, "-c", source], env={**os.environ, "PYTHONPATH": str(PACKAGE)}, stdout=subprocess.PIPE, text=True
    )
    try:
        while not os.path.exists(path):
            assert process.poll() is None
        client = None
        while client is None:  # the file exists before the socket listens
            try:
                client = connect(path)
            except ConnectionRefusedError:
                continue
        assert ask(client, 1, [0]) == [b"true"]
        process.send_signal(number)
        assert read_message(client) is None
        assert process.communicate(timeout=TIMEOUT_SECONDS)[0] == "starting\nclosed\nNone\n"
        assert process.returncode == 0
        client.close()
    finally:
        process.kill()
        process.wait()


def test_a_stale_socket_file_is_replaced(path: str) -> None:
    stale = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stale.bind(path)
    stale.close()
    with batchwise.Server(echo, path):
        connect(path).close()


def test_a_path_in_use_is_refused(path: str) -> None:
    with batchwise.Server(echo, path):
        with pytest.raises(FileExistsError, match="another process listens on"):
            batchwise.serve(echo, path)
        connect(path).close()
    Path(path).write_text("data")
    with pytest.raises(FileExistsError, match="exists and is not a socket"):
        batchwise.serve(echo, path)
    assert Path(path).read_text() == "data"


# The error of bind() has no path.
def test_an_error_of_the_socket_names_its_path() -> None:
    with pytest.raises(FileNotFoundError, match="'/nowhere/model.sock'"):
        batchwise.serve(echo, "/nowhere/model.sock")


def test_invalid_arguments_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match="the socket path has 108 bytes: expected at most 107"):
        batchwise.serve(echo, "/" + "é" * 53 + "x")
    with pytest.raises(ValueError, match="concurrency is 0: expected 1 or more"):
        batchwise.serve(echo, path, concurrency=0)
