"""A model that is ready to run: from the message of a batch to the frame of its response."""
from __future__ import annotations

import asyncio
import inspect
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from .errors import MAX_MESSAGE_CHARACTERS, BadResult, InvalidItem, ProtocolError, one_line, text_of, traceback_of
from .inputs import make_reader
from .outputs import OutputWriter, RowError, check_rows, to_rows
from .signature import Tensor
from .tensors import is_array
from .wire import Buffer, Message, build_frame


class Batch(NamedTuple):
    rows: int
    arguments: List[Any]
    invalid: Dict[int, InvalidItem]  # these rows are not passed to `predict`


class Example(NamedTuple):
    """The tensors of a request: their headers, and their data."""

    headers: List[Dict[str, Any]]
    data: List[bytes]


class Model:
    """Created by `start_model`. `call` passes a list of inputs to `predict`; with a loop it returns an awaitable."""

    def __init__(
        self,
        target: Any,
        call: Callable[[List[Any]], Any],
        loop: Optional[asyncio.AbstractEventLoop],
        inputs: List[Tensor],
    ) -> None:
        self.loop = loop
        self.inputs = inputs
        self.outputs: List[Tensor] = []
        self.example: Optional[Example] = None
        self._target = target
        self._call = call
        self._readers = [(tensor.name, make_reader(tensor)) for tensor in inputs]
        self._specs = {tensor.name: (tensor.datatype, len(tensor.shape)) for tensor in inputs}
        self._writers: List[OutputWriter] = []

    def set_outputs(self, outputs: List[Tensor], is_guess: bool) -> None:
        """`is_guess` says that the shapes are neither declared nor learned from an example."""
        self.outputs = outputs
        self._is_guess = is_guess
        self._writers = [OutputWriter(tensor, is_guess) for tensor in outputs]

    def ready(self, concurrency: int) -> List[Buffer]:
        """The `ready` frame, with the tensors of the example."""
        header = {
            "kind": "ready",
            "version": 1,
            "platform": "python",
            "concurrency": concurrency,
            "inputs": [tensor.describe() for tensor in self.inputs],
            "outputs": [tensor.describe() for tensor in self.outputs],
            "tensors": self.example.headers if self.example else [],
        }
        return build_frame(header, self.example.data if self.example else [])

    def respond(self, message: Message) -> List[Buffer]:
        """Run a batch. An exception of the model, SystemExit too, is the response of the batch."""
        header = message.header
        try:
            batch = self._read(header.get("tensors", ()), message.buffer, message.offsets)
            return self._write(header, batch, self._call(batch.arguments))
        except ProtocolError:
            raise
        except BaseException as error:
            return _error_frame(header["id"], error)

    async def respond_async(self, message: Message) -> List[Buffer]:
        header = message.header
        try:
            batch = self._read(header.get("tensors", ()), message.buffer, message.offsets)
            return self._write(header, batch, await self._call(batch.arguments))
        except ProtocolError:
            raise
        except BaseException as error:
            return _error_frame(header["id"], error)

    def run(self, example: Example) -> Any:
        """What `predict` returns for a copy of these tensors, read as those of a batch."""
        buffer = bytearray()
        offsets = []
        for data in example.data:
            offsets.append(len(buffer))
            buffer += data + bytes(-len(data) % 8)
        result = self._call(self._read(example.headers, buffer, offsets).arguments)
        return self.loop.run_until_complete(result) if self.loop is not None else result

    def check(self, result: Any, rows: int) -> Dict[int, RowError]:
        """Check a result as that of a batch; returns the errors of rows."""
        errors: Dict[int, RowError] = {}
        for writer, value in zip(self._writers, self._values(result, [tensor.name for tensor in self.outputs])):
            writer.write(value, rows, errors)
        return errors

    def close(self) -> None:
        """Call the optional `close` of the model."""
        close = getattr(self._target, "close", None)
        result = close() if callable(close) else None
        if self.loop is not None:
            if inspect.isawaitable(result):
                self.loop.run_until_complete(result)
            self.loop.close()

    def _read(self, tensors: Sequence[Dict[str, Any]], buffer: bytearray, offsets: List[int]) -> Batch:
        by_name = {tensor["name"]: index for index, tensor in enumerate(tensors)}
        invalid: Dict[int, InvalidItem] = {}
        arguments = []
        rows = -1
        for name, read in self._readers:
            index = by_name.get(name)
            if index is None:
                raise InvalidItem(f"the input {name!r} is missing; the batch has {', '.join(by_name) or 'no inputs'}")
            tensor = tensors[index]
            shape = tensor["shape"]
            if (tensor["datatype"], len(shape)) != self._specs[name]:
                raise InvalidItem(f"the input {name!r} is {tensor['datatype']} {shape}: expected {self._expected(name)}")
            if rows >= 0 and shape[0] != rows:
                raise InvalidItem(f"the input {name!r} has {shape[0]} rows, and another input {rows}")
            rows = shape[0]
            arguments.append(read(buffer, offsets[index], tensor, invalid))
        if invalid:
            keep = [row for row in range(rows) if row not in invalid]
            if not keep:
                raise next(iter(invalid.values()))
            arguments = [values[keep] if is_array(values) else [values[row] for row in keep] for values in arguments]
        return Batch(rows, arguments, invalid)

    def _expected(self, name: str) -> str:
        tensor = next(tensor for tensor in self.inputs if tensor.name == name)
        return f"{tensor.datatype} {tensor.shape}"

    def _write(self, header: Dict[str, Any], batch: Batch, result: Any) -> List[Buffer]:
        requested = header.get("outputs")
        writers = self._writers
        if requested and len(requested) < len(writers):
            writers = [writer for writer in writers if writer.name in requested]
        errors: Dict[int, RowError] = {}
        tensors = []
        body = []
        for writer, value in zip(writers, self._values(result, [writer.name for writer in writers])):
            if batch.invalid:
                value = _with_invalid_rows(value, batch)
            shape, data = writer.write(value, batch.rows, errors)
            tensor = writer.tensor
            tensors.append({"name": writer.name, "datatype": tensor.datatype, "shape": shape, "bytes": len(data)})
            body.append(data)
        return _result_frame(header["id"], tensors, errors, body)

    def _values(self, result: Any, names: List[str]) -> List[Any]:
        """The values of these outputs in what `predict` returned."""
        if isinstance(result, dict):
            missing = [name for name in names if name not in result]
            if missing:
                got = ", ".join(str(name) for name in result) or "nothing"
                hint = "; give the model an `example` or a `signature`" if self._is_guess else ""
                raise BadResult(f"returned a dict with {got}: expected the outputs {', '.join(missing)}{hint}")
            return [result[name] for name in names]
        if len(self.outputs) == 1:
            return [result]
        if isinstance(result, tuple) and len(result) == len(self.outputs):
            values = dict(zip((tensor.name for tensor in self.outputs), result))
            return [values[name] for name in names]
        expected = ", ".join(tensor.name for tensor in self.outputs)
        raise BadResult(f"returned an object of type {type(result).__name__}: expected a dict with the outputs {expected}")


def _with_invalid_rows(value: Any, batch: Batch) -> List[Any]:
    """The results of the valid rows, with the error of each invalid row in its place."""
    results = list(value if is_array(value) else to_rows(value))
    check_rows(len(results), batch.rows - len(batch.invalid))
    remaining = iter(results)
    return [batch.invalid[row] if row in batch.invalid else next(remaining) for row in range(batch.rows)]


def _result_frame(batch_id: Any, tensors: List[Any], errors: Dict[int, RowError], body: List[Any]) -> List[Buffer]:
    header: Dict[str, Any] = {"kind": "result", "id": batch_id, "tensors": tensors, "errors": []}
    if not errors:
        return build_frame(header, body)
    # All messages together must fit the header.
    for limit in (MAX_MESSAGE_CHARACTERS, 100):
        header["errors"] = [
            {"row": row, "code": error.code, "message": error.message[:limit]} for row, error in sorted(errors.items())
        ]
        try:
            return build_frame(header, body)
        except OverflowError:
            continue
    raise BadResult(f"{len(errors)} rows failed, too many for one message; the first: {errors[min(errors)].message}")


def _error_frame(batch_id: Any, error: BaseException) -> List[Buffer]:
    header = {"kind": "error", "id": batch_id}
    if isinstance(error, InvalidItem):
        return build_frame({**header, "code": "INVALID_ITEM", "message": text_of(error)[:MAX_MESSAGE_CHARACTERS]})
    if isinstance(error, BadResult):
        return build_frame({**header, "code": "BAD_RESULT", "message": f"predict {text_of(error)}"[:MAX_MESSAGE_CHARACTERS]})
    header.update(code="HANDLER_FAILED", message=one_line(error), traceback=traceback_of(error))
    return build_frame(header)
