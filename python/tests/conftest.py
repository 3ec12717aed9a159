"""A model process over a socket pair, as the server starts it."""
from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import textwrap
import threading
import types
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import pytest

from batchwise.start import start_model
from batchwise.loading import choose, instantiate
from batchwise.tensors import join_elements, split_elements
from batchwise.wire import Message, build_frame, read_message, send_parts

PACKAGE = Path(__file__).resolve().parent.parent
TIMEOUT_SECONDS = 60.0


def texts(name: str, values: List[Any]) -> Tuple[Dict[str, Any], bytes]:
    """A BYTES tensor of str, bytes, or other values as JSON."""
    items = [v.encode() if isinstance(v, str) else v if isinstance(v, bytes) else json.dumps(v).encode() for v in values]
    data = join_elements(items)
    return {"name": name, "datatype": "BYTES", "shape": [len(values)], "bytes": len(data)}, data


def jsons(name: str, values: List[Any]) -> Tuple[Dict[str, Any], bytes]:
    return texts(name, [json.dumps(value) for value in values])


def numbers(name: str, array: Any) -> Tuple[Dict[str, Any], bytes]:
    from batchwise.tensors import datatype_of

    header = {"name": name, "datatype": datatype_of(array.dtype), "shape": list(array.shape), "bytes": array.nbytes}
    return header, array.tobytes()


def infer(batch_id: int, *tensors: Tuple[Dict[str, Any], bytes], outputs: Optional[List[str]] = None) -> List[Any]:
    header: Dict[str, Any] = {"kind": "infer", "id": batch_id, "tensors": [header for header, _ in tensors]}
    if outputs is not None:
        header["outputs"] = outputs
    return build_frame(header, [data for _, data in tensors])


def value_of(message: Message, index: int = 0) -> Any:
    """An output of a result: a numpy array, or a list of bytes."""
    tensor = message.header["tensors"][index]
    offset = message.offsets[index]
    if tensor["datatype"] == "BYTES":
        count = 1
        for size in tensor["shape"]:
            count *= size
        return split_elements(message.buffer, offset, tensor["bytes"], count)
    import numpy

    from batchwise.tensors import numpy_dtype

    return numpy.frombuffer(message.buffer[offset : offset + tensor["bytes"]], numpy_dtype(tensor["datatype"])).reshape(
        tensor["shape"]
    )


class ModelProcess:
    def __init__(self, directory: Path, arguments: List[str]) -> None:
        self.socket, child = socket.socketpair()
        self.socket.settimeout(TIMEOUT_SECONDS)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "batchwise", *arguments, "--fd", str(child.fileno())],
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONUNBUFFERED": ""},
            pass_fds=[child.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        child.close()

    def send(self, parts: List[Any]) -> None:
        send_parts(self.socket, parts)

    def receive(self) -> Message:
        message = read_message(self.socket)
        assert message is not None, self.process.communicate(timeout=TIMEOUT_SECONDS)
        return message

    def infer(self, *tensors: Tuple[Dict[str, Any], bytes], outputs: Optional[List[str]] = None) -> Message:
        self.send(infer(1, *tensors, outputs=outputs))
        return self.receive()

    def close(self) -> str:
        """Close as the server does; returns the standard output."""
        self.send(build_frame({"kind": "close"}))
        assert read_message(self.socket) is None
        output, errors = self.process.communicate(timeout=TIMEOUT_SECONDS)
        assert self.process.returncode == 0, errors
        return output


class InlineModel:
    """The same messages without a process, for tests of single batches."""

    def __init__(self, source: str) -> None:
        module = types.ModuleType("model")
        sys.modules["model"] = module  # as dataclasses need it
        exec(compile(textwrap.dedent(source), "model.py", "exec"), vars(module))
        self.model = start_model(instantiate(choose(module, None, "model.py")))

    def receive(self) -> Message:
        return parsed(self.model.ready(1))

    def infer(self, *tensors: Tuple[Dict[str, Any], bytes], outputs: Optional[List[str]] = None) -> Message:
        return parsed(self.model.respond(parsed(infer(1, *tensors, outputs=outputs))))


def parsed(parts: List[Any]) -> Message:
    reader, writer = socket.socketpair()
    with reader, writer:
        thread = threading.Thread(target=send_parts, args=(writer, parts))
        thread.start()
        message = read_message(reader)
        thread.join()
    assert message is not None
    return message


@pytest.fixture
def inline() -> Any:
    return InlineModel


@pytest.fixture
def start(tmp_path: Path) -> Any:
    """Start a model file given by its source."""
    processes = []

    def start_model(source: str, *options: str, name: str = "", file: str = "model.py") -> ModelProcess:
        (tmp_path / file).write_text(textwrap.dedent(source))
        process = ModelProcess(tmp_path, [file + name, *options])
        processes.append(process)
        return process

    yield start_model
    for process in processes:
        process.socket.close()
        process.process.kill()
        process.process.communicate()
