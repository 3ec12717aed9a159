"""The process of one model, started by `batchwise serve`: frames on an inherited socket."""
from __future__ import annotations

import argparse
import ctypes
import io
import os
import signal
import socket
import sys
import traceback
from typing import List, Optional

from .connection import Connection
from .errors import ProtocolError, StartError
from .executor import Executor
from .loading import load, split_reference, start_error
from .start import start_model
from .wire import Buffer, build_frame

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m batchwise")
    parser.add_argument("model", help="model.py or model.py:Name")
    parser.add_argument("--fd", type=int, required=True, help="file descriptor of a connected Unix stream socket")
    parser.add_argument("--concurrency", type=int, default=1, help="batches that run at the same time")
    options = parser.parse_args(arguments)
    if options.concurrency < 1:
        parser.error(f"--concurrency {options.concurrency}: expected 1 or more")
    try:
        sock = _inherit(options.fd)
    except OSError as error:
        parser.error(f"--fd {options.fd} is not a connected socket: {error}")
    _prepare_process()
    sys.argv = [split_reference(options.model)[0]]
    return _serve(sock, options.model, options.concurrency)


def _inherit(fd: int) -> socket.socket:
    sock = socket.socket(fileno=fd)
    os.set_inheritable(fd, False)
    sock.setblocking(True)
    # A forked child of the model must not hold the connection open when this process has ended.
    os.register_at_fork(after_in_child=sock.close)
    return sock


def _prepare_process() -> None:
    # Ctrl-C reaches every process of the terminal. The server decides when this one stops.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        try:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        except (OSError, AttributeError):
            pass  # the end of the stream ends the process as well
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)


def _serve(sock: socket.socket, reference: str, concurrency: int) -> int:
    executor = Executor(concurrency)

    def close(connection: Connection) -> None:
        executor.finish()

    connection = Connection(sock, executor.submit, close, _exit)
    connection.start_reading()
    try:
        model = start_model(load(reference))
    except BaseException as error:
        failed = start_error("the model cannot be started", error)
        connection.send(_failed_frame(failed))
        return 1
    connection.send(model.ready(concurrency))
    executor.run(model)
    try:
        model.close()
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _exit(connection: Connection, error: Optional[ProtocolError]) -> None:
    """End at once, whatever the model does: no result can be sent any more."""
    os._exit(0 if error is None else 1)


def _failed_frame(error: StartError) -> List[Buffer]:
    header = {"kind": "failed", "reason": error.reason, "message": str(error)}
    if error.traceback:
        header["traceback"] = error.traceback
    return build_frame(header)
