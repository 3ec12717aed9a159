"""One connection to a server: a thread that receives messages, and a lock around writes."""
from __future__ import annotations

import select
import socket
import struct
import threading
import time
from typing import Callable, List, Optional

from .errors import ProtocolError, log
from .wire import Buffer, Message, read_message, send_parts


class Connection:
    """`on_close` is called for the `close` message, `on_end` once at the end of the stream or at a protocol error."""

    def __init__(
        self,
        sock: socket.socket,
        submit: Callable[["Connection", Message], None],
        on_close: Callable[["Connection"], None],
        on_end: Callable[["Connection", Optional[ProtocolError]], None],
    ) -> None:
        self.socket = sock
        self._submit = submit
        self._on_close = on_close
        self._on_end = on_end
        self._write_lock = threading.Lock()
        self._state_lock = threading.Lock()
        self._pending = 0  # batches without a response
        self._idle_since = time.monotonic()
        self._is_finishing = False
        self._is_draining = False
        self._has_close = False
        self.has_ended = False  # responses can no longer be sent

    def start_reading(self, first: Optional[List[Buffer]] = None) -> None:
        """Receive in a thread of its own, so that the next batch is here while the current one runs.

        The thread sends the frame `first` before it receives.
        """
        threading.Thread(target=self._read, args=(first,), name="batchwise-reader", daemon=True).start()

    def limit_sends(self, seconds: float) -> None:
        """End the connection if the peer takes no bytes for this time. Receiving has no limit."""
        whole = int(seconds)
        timeval = struct.pack("@ll", whole, int((seconds - whole) * 1_000_000))
        self.socket.setblocking(True)  # the timeouts of Python apply to both directions
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)

    def send(self, parts: List[Buffer]) -> None:
        try:
            with self._write_lock:
                send_parts(self.socket, parts)
        except OSError:
            self._end(None)

    def respond(self, parts: List[Buffer]) -> None:
        """Send the response of a batch."""
        self.send(parts)
        with self._state_lock:
            self._pending -= 1
            self._idle_since = time.monotonic()
        self._shut_down_if_drained()

    def finish_if_idle(self, seconds: float) -> None:
        """Stop receiving if no batch has been pending for this time and no data has arrived.

        This does not lose a batch that arrives at the same moment: the thread that receives reads all data before
        the end of the stream, and the connection is shut down after the last response.
        """
        with self._state_lock:
            if self._pending > 0 or time.monotonic() - self._idle_since < seconds or self._has_data():
                return
            self._is_finishing = True
        try:
            self.socket.shutdown(socket.SHUT_RD)
        except OSError:
            pass

    def drain(self) -> None:
        """Accept no more batches, and shut the connection down after the last response."""
        with self._state_lock:
            self._is_draining = True
        self._shut_down_if_drained()

    def fail(self, error: ProtocolError) -> None:
        log(f"batchwise: protocol error: {error}; the connection is closed")
        self._end(error)

    def _read(self, first: Optional[List[Buffer]]) -> None:
        if first is not None:
            self.send(first)
        try:
            while True:
                message = read_message(self.socket)
                if message is None:
                    break
                self._receive(message)
        except ProtocolError as error:
            self.fail(error)
            return
        except OSError:
            pass
        if self._is_finishing and not self.has_ended:
            self.drain()  # `finish_if_idle` ended the stream: responses may still be sent
        else:
            self._end(None)

    def _receive(self, message: Message) -> None:
        kind = message.header.get("kind")
        if kind == "infer":
            if not isinstance(message.header.get("id"), int):
                raise ProtocolError("`infer` without an id")
            if self._has_close:
                raise ProtocolError("`infer` after `close`")
            with self._state_lock:
                if self._is_draining:
                    return
                self._pending += 1
            self._submit(self, message)
        elif kind == "close":
            self._has_close = True
            self._on_close(self)
        else:
            raise ProtocolError(f"expected a message of kind infer or close, got {kind!r}")

    def _has_data(self) -> bool:
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return bool(poll.poll(0))

    def _shut_down_if_drained(self) -> None:
        with self._state_lock:
            if not self._is_draining or self._pending > 0:
                return
        self.shut_down()
        self._end(None)

    def shut_down(self) -> None:
        """End the stream for both sides. The file descriptor is closed with the last reference to the socket."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def _end(self, error: Optional[ProtocolError]) -> None:
        with self._state_lock:
            if self.has_ended:
                return
            self.has_ended = True
        self._on_end(self, error)
