"""Frames of the model protocol, version 1: docs/reference/wire.md, section "Model processes"."""
from __future__ import annotations

import json
import os
import socket
import struct
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Union

from .errors import BadResult, ProtocolError
from .tensors import ELEMENT_BYTES

MAGIC = b"BWM1"
PREFIX = struct.Struct("<4sIQ")
MAX_HEADER_BYTES = 1 << 20
MAX_BODY_BYTES = 1 << 30
IOV_MAX: int = os.sysconf("SC_IOV_MAX") if "SC_IOV_MAX" in getattr(os, "sysconf_names", {}) else 16

Buffer = Union[bytes, bytearray, memoryview]

# One encoder for all frames: json.dumps builds a new one for each call with options.
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_ZEROS = [bytes(-length % 8) for length in range(8)]


class Message(NamedTuple):
    header: Dict[str, Any]
    buffer: bytearray
    offsets: List[int]  # where the data of each tensor starts in the buffer


def read_message(sock: socket.socket) -> Optional[Message]:
    """Read one frame; None at the end of the stream, also within a frame."""
    prefix = bytearray(PREFIX.size)
    if not _fill(sock, prefix):
        return None
    magic, header_bytes, body_bytes = PREFIX.unpack(prefix)
    if magic != MAGIC:
        raise ProtocolError(f"expected the magic {MAGIC!r}, got {bytes(magic)!r}")
    if header_bytes % 8 or not 0 < header_bytes <= MAX_HEADER_BYTES:
        raise ProtocolError(f"header of {header_bytes} bytes: expected a multiple of 8, from 8 to {MAX_HEADER_BYTES}")
    if body_bytes % 8 or body_bytes > MAX_BODY_BYTES:
        raise ProtocolError(f"body of {body_bytes} bytes: expected a multiple of 8, at most {MAX_BODY_BYTES}")
    try:
        # The allocator aligns the buffer at 16 bytes and the header length is a multiple of 8,
        # so each tensor is aligned and is used in place.
        buffer = bytearray(header_bytes + body_bytes)
    except MemoryError:
        raise ProtocolError(f"no memory for a body of {body_bytes} bytes") from None
    if not _fill(sock, buffer):
        return None
    try:
        header = json.loads(buffer[:header_bytes])
        offsets = _tensor_offsets(header.get("tensors", ()), header_bytes, len(buffer))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ProtocolError(f"invalid header: {type(error).__name__}: {error}") from None
    return Message(header, buffer, offsets)


def _tensor_offsets(tensors: Sequence[Dict[str, Any]], start: int, end: int) -> List[int]:
    offsets = []
    names = set()
    for tensor in tensors:
        name, shape, length = tensor["name"], tensor["shape"], tensor["bytes"]
        if not isinstance(name, str) or name in names:
            raise ValueError(f"tensor {name!r}: expected a name of its own")
        names.add(name)
        if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in (length, *shape)):
            raise ValueError(f"tensor {name!r} has the shape {shape} and {length} bytes: expected integers from 0")
        element_bytes = ELEMENT_BYTES[tensor["datatype"]]
        expected = element_bytes
        for size in shape:
            expected *= size
        if element_bytes and length != expected:
            raise ValueError(f"tensor {name!r} has {length} bytes, its shape needs {expected}")
        offsets.append(start)
        start += length + (-length % 8)
    if start != end:
        raise ValueError(f"the tensors end {abs(end - start)} bytes {'before' if start < end else 'after'} the body")
    return offsets


def _fill(sock: socket.socket, buffer: bytearray) -> bool:
    """Receive until the buffer is full; False at the end of the stream."""
    view = memoryview(buffer)
    received = 0
    while received < len(buffer):
        try:
            count = sock.recv_into(view[received:], 0, socket.MSG_WAITALL)
        except ConnectionError:
            return False
        if count == 0:
            return False
        received += count
    return True


def build_frame(header: Dict[str, Any], body: Sequence[Buffer] = ()) -> List[Buffer]:
    """The parts of a frame, for `send_parts`. The items of `body` are views of single bytes."""
    text = _encode(header).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER_BYTES:
        raise OverflowError(f"header of {len(text)} bytes: expected at most {MAX_HEADER_BYTES}")
    parts: List[Buffer] = [text]
    body_bytes = 0
    for data in body:
        length = len(data)
        if length:
            parts.append(data)
        if length % 8:
            parts.append(_ZEROS[length % 8])
        body_bytes += length + (-length % 8)
    if body_bytes > MAX_BODY_BYTES:
        raise BadResult(f"returned {body_bytes} bytes: expected at most 1 GiB")
    parts[0] = PREFIX.pack(MAGIC, len(text), body_bytes) + text
    return parts


def send_parts(sock: socket.socket, parts: List[Buffer]) -> None:
    """Send all parts without copying them."""
    first = 0
    while first < len(parts):
        sent = sock.sendmsg(parts[first : first + IOV_MAX])
        while first < len(parts) and sent >= len(parts[first]):
            sent -= len(parts[first])
            first += 1
        if sent:
            parts[first] = memoryview(parts[first])[sent:]
