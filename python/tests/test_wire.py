"""Frames: every split of the bytes gives the same message, and every malformed frame is refused."""
from __future__ import annotations

import os
import random
import socket
import struct
import threading
from typing import Any, Dict, List

import pytest

from batchwise.errors import BadResult, ProtocolError
from batchwise.inputs import nest
from batchwise.tensors import ELEMENT_BYTES, join_elements, split_elements
from batchwise.wire import build_frame, read_message, send_parts


def received(data: bytes) -> Any:
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.sendall(data)
        writer.shutdown(socket.SHUT_WR)
        return read_message(reader)


def random_frame(rng: random.Random) -> Any:
    header: Dict[str, Any] = {"kind": "infer", "id": rng.randrange(1 << 40), "tensors": []}
    body: List[bytes] = []
    for index in range(rng.randrange(4)):
        datatype = rng.choice(list(ELEMENT_BYTES))
        shape = [rng.randrange(5) for _ in range(rng.randrange(1, 4))]
        count = 1
        for size in shape:
            count *= size
        if datatype == "BYTES":
            data = join_elements([os.urandom(rng.randrange(9)) for _ in range(count)])
        else:
            data = os.urandom(count * ELEMENT_BYTES[datatype])
        header["tensors"].append({"name": f"t{index} é", "datatype": datatype, "shape": shape, "bytes": len(data)})
        body.append(data)
    return header, body


@pytest.mark.parametrize("seed", range(60))
def test_a_frame_is_read_back_byte_by_byte(seed: int) -> None:
    rng = random.Random(seed)
    header, body = random_frame(rng)
    frame = b"".join(bytes(part) for part in build_frame(header, body))
    assert len(frame) % 8 == 0
    reader, writer = socket.socketpair()

    def write() -> None:
        position = 0
        while position < len(frame):
            size = rng.choice([1, 1, 3, 8, 17])
            writer.sendall(frame[position : position + size])
            position += size

    thread = threading.Thread(target=write)
    thread.start()
    message = read_message(reader)
    thread.join()
    reader.close()
    writer.close()
    assert message is not None and message.header == header
    for tensor, offset, data in zip(header["tensors"], message.offsets, body):
        assert offset % 8 == 0
        assert message.buffer[offset : offset + tensor["bytes"]] == data


@pytest.mark.parametrize("seed", range(10))
def test_a_stream_that_ends_within_a_frame_has_no_message(seed: int) -> None:
    rng = random.Random(seed)
    frame = b"".join(bytes(part) for part in build_frame(*random_frame(rng)))
    assert received(frame[: rng.randrange(len(frame))]) is None


def test_a_frame_larger_than_the_socket_buffer_arrives_complete() -> None:
    data = os.urandom(5_000_003)
    tensor = {"name": "x", "datatype": "UINT8", "shape": [len(data)], "bytes": len(data)}
    reader, writer = socket.socketpair()
    parts = build_frame({"tensors": [tensor, {**tensor, "name": "y"}]}, [memoryview(data), data])
    thread = threading.Thread(target=send_parts, args=(writer, parts))
    thread.start()
    message = read_message(reader)
    thread.join()
    assert message is not None
    for offset in message.offsets:
        assert message.buffer[offset : offset + len(data)] == data
    reader.close()
    writer.close()


def test_more_parts_than_one_call_takes_are_sent_in_several() -> None:
    data = [bytes([index % 256]) * (index % 13) for index in range(3000)]
    tensors = [{"name": str(index), "datatype": "UINT8", "shape": [len(d)], "bytes": len(d)} for index, d in enumerate(data)]
    reader, writer = socket.socketpair()
    thread = threading.Thread(target=send_parts, args=(writer, build_frame({"tensors": tensors}, data)))
    thread.start()
    message = read_message(reader)
    thread.join()
    assert message is not None
    assert [bytes(message.buffer[o : o + len(d)]) for o, d in zip(message.offsets, data)] == data
    reader.close()
    writer.close()


def raw(header: bytes, body: bytes = b"", magic: bytes = b"BWM1", header_bytes: int = -1, body_bytes: int = -1) -> bytes:
    header += b" " * (-len(header) % 8)
    lengths = (len(header) if header_bytes < 0 else header_bytes, len(body) if body_bytes < 0 else body_bytes)
    return struct.pack("<4sIQ", magic, *lengths) + header + body


MALFORMED = {
    "magic": (raw(b"{}", magic=b"BWM2"), "magic"),
    "header length not a multiple of 8": (raw(b"{}", header_bytes=7), "multiple of 8"),
    "header above 1 MiB": (raw(b"{}", header_bytes=(1 << 20) + 8), "from 8 to 1048576"),
    "body length not a multiple of 8": (raw(b"{}", b"1234567"), "multiple of 8"),
    # The limit of the body was checked only for what is sent.
    "body above 1 GiB": (raw(b"{}", body_bytes=(1 << 30) + 8), "at most 1073741824"),
    "no header": (raw(b""), "from 8 to 1048576"),
    "body without tensors": (raw(b"{}", bytes(8)), "8 bytes before the body"),
    "not JSON": (raw(b"{"), "invalid header"),
    "not UTF-8": (raw(b'"\xff"'), "invalid header"),
    "not an object": (raw(b"[]"), "invalid header"),
    "deeply nested": (raw(b"[" * 100_000), "invalid header"),
    "tensor longer than the body": (
        raw(b'{"tensors":[{"name":"x","datatype":"FP32","shape":[4],"bytes":16}]}', bytes(8)),
        "after the body",
    ),
    "length and shape differ": (
        raw(b'{"tensors":[{"name":"x","datatype":"FP32","shape":[1,3],"bytes":8}]}', bytes(8)),
        "its shape needs 12",
    ),
    "negative dimension": (
        raw(b'{"tensors":[{"name":"x","datatype":"FP32","shape":[-1,-2],"bytes":8}]}', bytes(8)),
        "expected integers from 0",
    ),
    "negative dimension of BYTES": (raw(b'{"tensors":[{"name":"x","datatype":"BYTES","shape":[-1],"bytes":0}]}'), "from 0"),
    "a dimension that is no integer": (raw(b'{"tensors":[{"name":"x","datatype":"FP32","shape":[2.0],"bytes":8}]}', bytes(8)), "from 0"),
    "a shape that is no list": (raw(b'{"tensors":[{"name":"x","datatype":"BYTES","shape":7,"bytes":0}]}'), "the shape 7"),
    # The second tensor of a name replaced the first one.
    "the same name twice": (
        raw(b'{"tensors":[' + b",".join([b'{"name":"x","datatype":"BYTES","shape":[0],"bytes":0}'] * 2) + b"]}"),
        "tensor 'x': expected a name of its own",
    ),
    "a name that is no text": (raw(b'{"tensors":[{"name":1,"datatype":"BYTES","shape":[0],"bytes":0}]}'), "tensor 1: expected a name"),
    "negative length": (raw(b'{"tensors":[{"name":"x","datatype":"BYTES","shape":[1],"bytes":-8}]}'), "-8 bytes: expected integers"),
    "unknown datatype": (raw(b'{"tensors":[{"name":"x","datatype":"FP31","shape":[1],"bytes":8}]}', bytes(8)), "FP31"),
}


def test_a_body_without_memory_is_a_protocol_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("batchwise.wire.MAX_BODY_BYTES", 1 << 62)
    with pytest.raises(ProtocolError, match="no memory"):
        received(raw(b"{}", body_bytes=1 << 62))


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_frame_is_a_protocol_error(name: str) -> None:
    data, expected = MALFORMED[name]
    with pytest.raises(ProtocolError, match=expected):
        received(data)


@pytest.mark.parametrize("seed", range(20))
def test_elements_are_read_back(seed: int) -> None:
    rng = random.Random(seed)
    elements = [os.urandom(rng.choice([0, 1, 3, 300])) for _ in range(rng.randrange(20))]
    data = join_elements(elements)
    assert split_elements(bytearray(b"12345678" + data), 8, len(data), len(elements)) == elements
    with pytest.raises(ProtocolError):
        split_elements(bytearray(data), 0, len(data), len(elements) + 1)
    if elements:
        with pytest.raises(ProtocolError):
            split_elements(bytearray(data), 0, len(data) - 1, len(elements))


def test_elements_are_nested_by_shape() -> None:
    assert nest(list("abcdef"), [3, 2]) == [["a", "b"], ["c", "d"], ["e", "f"]]
    assert nest(list("abcd"), [1, 2, 2]) == [[["a", "b"], ["c", "d"]]]
    assert nest([], [0, 2]) == []
    assert nest([], [2, 0, 3]) == [[], []]
    nested = nest([], [2, 2, 0])
    assert nested == [[[], []], [[], []]]
    assert len({id(item) for row in nested for item in row}) == 4


def test_a_body_has_at_most_1_gib() -> None:
    class Sized(bytes):
        def __len__(self) -> int:
            return size

    size = 1 << 30
    assert build_frame({}, [Sized()])
    size = (1 << 30) + 1
    with pytest.raises(BadResult, match="returned 1073741832 bytes: expected at most 1 GiB"):
        build_frame({}, [Sized()])
