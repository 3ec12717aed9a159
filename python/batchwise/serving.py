"""Serve a model on a Unix socket, from a process of the user's own."""
from __future__ import annotations

import os
import signal
import socket
import stat
import sys
import threading
import time
import urllib.parse
from types import FrameType
from typing import Any, Dict, List, Optional, Union

from .connection import Connection
from .errors import ProtocolError
from .executor import Executor
from .loading import instantiate
from .start import start_model

SEND_TIMEOUT_SECONDS = 30.0  # a client that does not read its results must not block the model
# After a stop, open connections accept batches until they have had none for IDLE_SECONDS: the server sends the next
# batch as soon as it has the last response. Under full load this does not happen, and the server loses the batches
# that it sends after FINISH_SECONDS.
IDLE_SECONDS = 0.1
FINISH_SECONDS = 5.0
MAX_PATH_BYTES = 107  # sun_path of Linux has 108 bytes, with the final zero

Path = Union[str, "os.PathLike[str]"]


class Server:
    """Serves a class, object or function on a Unix socket: `with batchwise.Server(model, path): ...`

    All connections share the model; `concurrency` batches run at the same time. `start` and `close` may be
    called from any thread.
    """

    def __init__(self, model: Any, path: Path, concurrency: int = 1) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}: expected 1 or more")
        self.path = os.fspath(path)
        _check_path(self.path)
        self._model = start_model(instantiate(model))
        self._executor = Executor(concurrency)
        self._ready = self._model.ready(concurrency)
        self._lock = threading.Condition()
        self._connections: Dict[Connection, None] = {}
        self._thread: Optional[threading.Thread] = None
        self._stop = threading.Event()

    def start(self) -> None:
        """Listen, and run batches in a thread."""
        self._listen()
        self._thread = threading.Thread(target=self._run, name="batchwise-server")
        self._thread.start()

    def close(self) -> None:
        """Stop listening, finish the batches received, and call `close` of the model."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> "Server":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _listen(self) -> None:
        _remove_stale(self.path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)  # so that the socket is never open to other users
        try:
            listener.bind(self.path)
        except OSError as error:
            listener.close()
            raise OSError(error.errno, error.strerror, self.path) from None
        finally:
            os.umask(mask)
        listener.listen()
        threading.Thread(target=self._accept, args=(listener,), name="batchwise-accept", daemon=True).start()
        threading.Thread(target=self._finish, args=(listener,), name="batchwise-finish", daemon=True).start()

    def _run(self) -> None:
        try:
            self._executor.run(self._model)
        finally:
            self._model.close()

    def _finish(self, listener: socket.socket) -> None:
        """A thread, because a signal handler must not wait for the locks of the thread that it interrupts."""
        self._stop.wait()
        try:
            os.unlink(self.path)
        except OSError:
            pass
        try:
            listener.shutdown(socket.SHUT_RDWR)  # ends accept() in the other thread
        except OSError:
            pass
        listener.close()
        end = time.monotonic() + FINISH_SECONDS
        while self._copy_connections() and time.monotonic() < end:
            for connection in self._copy_connections():
                connection.finish_if_idle(IDLE_SECONDS)
            with self._lock:
                self._lock.wait_for(lambda: not self._connections, IDLE_SECONDS / 2)
        for connection in self._copy_connections():
            connection.drain()
        with self._lock:
            self._lock.wait_for(lambda: not self._connections)
        self._executor.finish()

    def _accept(self, listener: socket.socket) -> None:
        while not self._stop.is_set():
            try:
                accepted, _ = listener.accept()
            except OSError:
                if self._stop.is_set():
                    return
                time.sleep(0.1)  # too many open files, for example: connections are accepted again later
                continue
            connection = Connection(accepted, self._executor.submit, Connection.drain, self._end)
            with self._lock:
                self._connections[connection] = None
            if self._stop.is_set():
                connection.shut_down()
            try:
                connection.limit_sends(SEND_TIMEOUT_SECONDS)
                # Sending takes as long as the client wants: it is done by the thread of the connection.
                connection.start_reading(list(self._ready))
            except (OSError, RuntimeError):  # RuntimeError: no more threads
                self._end(connection, None)

    def _end(self, connection: Connection, error: Optional[ProtocolError]) -> None:
        connection.shut_down()
        with self._lock:
            self._connections.pop(connection, None)
            self._lock.notify_all()

    def _copy_connections(self) -> List[Connection]:
        with self._lock:
            return list(self._connections)


def serve(model: Any, path: Path = "model.sock", concurrency: int = 1) -> None:
    """Serve a class, object or function on a Unix socket until SIGINT or SIGTERM.

    `predict` runs on the calling thread if `concurrency` is 1. The first signal finishes the batches received;
    the second one ends the process.
    """
    server = Server(model, path, concurrency)
    previous: Dict[int, Any] = {}

    def stop(number: int, frame: Optional[FrameType]) -> None:
        restore()
        server._stop.set()

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            previous[number] = signal.signal(number, stop)
    try:
        server._listen()
        url = "unix://" + urllib.parse.quote(os.path.abspath(server.path))
        print(f"Ready: batchwise serve {url}", file=sys.stderr, flush=True)
        server._run()
    finally:
        restore()  # first: the handler must not run within set()
        server._stop.set()


def _check_path(path: str) -> None:
    length = len(os.fsencode(path))
    if length > MAX_PATH_BYTES:
        raise ValueError(f"the socket path has {length} bytes: expected at most {MAX_PATH_BYTES} ({path})")


def _remove_stale(path: str) -> None:
    """Remove the socket file of a process that has ended."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise FileExistsError(f"{path} exists and is not a socket")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None
    raise FileExistsError(f"another process listens on {path}")
