"""A model that is ready to run: from the message of a batch to the frame of its response."""
from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from .errors import MAX_MESSAGE_CHARACTERS, BadResult, InvalidItem, ProtocolError, log, one_line, text_of, traceback_of
from .inputs import make_reader
from .open_outputs import Writer, make_writer
from .outputs import RowErrors, row_error
from .signature import Tensor
from .tensors import is_array
from .wire import MAX_HEADER_BYTES, Buffer, Message, build_frame


class Batch(NamedTuple):
    rows: int
    valid: Sequence[int]  # the rows that are passed to `predict`
    arguments: List[Any]  # an input each
    errors: RowErrors  # of the other rows

    @property
    def is_invalid(self) -> bool:
        """Whether no row can be passed to `predict`."""
        return bool(self.errors) and not self.valid


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
        self._specs = {tensor.name: tensor for tensor in inputs}
        self._writers: List[Writer] = []

    def set_outputs(self, outputs: List[Tensor], is_guess: bool) -> None:
        """`is_guess` says that the names are neither declared nor learned from a result."""
        self.outputs = outputs
        self._is_guess = is_guess
        self._writers = [make_writer(tensor) for tensor in outputs]

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
            return self._write(header, batch, self._no_results() if batch.is_invalid else self._call(batch.arguments))
        except ProtocolError:
            raise
        except BaseException as error:
            return _error_frame(header["id"], error)

    async def respond_async(self, message: Message) -> List[Buffer]:
        header = message.header
        try:
            batch = self._read(header.get("tensors", ()), message.buffer, message.offsets)
            return self._write(header, batch, self._no_results() if batch.is_invalid else await self._call(batch.arguments))
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

    def check(self, result: Any, rows: int) -> RowErrors:
        """Check a result as that of a batch; returns the errors of rows."""
        errors: RowErrors = {}
        for writer, value in zip(self._writers, self._values(result, [tensor.name for tensor in self.outputs])):
            writer.write(value, rows, range(rows), errors)
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
            spec = self._specs[name]
            is_datatype = spec.any_datatype or tensor["datatype"] == spec.datatype
            if not is_datatype or not (shape if spec.any_shape else len(shape) == len(spec.shape)):
                expected = f"{spec.datatype} {spec.shape}"
                raise InvalidItem(f"the input {name!r} is {tensor['datatype']} {shape}: expected {expected}")
            if rows >= 0 and shape[0] != rows:
                raise InvalidItem(f"the input {name!r} has {shape[0]} rows, and another input {rows}")
            rows = shape[0]
            arguments.append(read(buffer, offsets[index], tensor, invalid))
        if not invalid:
            return Batch(rows, range(rows), arguments, {})
        valid = [row for row in range(rows) if row not in invalid]
        arguments = [values[valid] if is_array(values) else [values[row] for row in valid] for values in arguments]
        return Batch(rows, valid, arguments, {row: row_error(error) for row, error in invalid.items()})

    def _write(self, header: Dict[str, Any], batch: Batch, result: Any) -> List[Buffer]:
        requested = header.get("outputs")
        writers = self._writers
        if requested and len(requested) < len(writers):
            writers = [writer for writer in writers if writer.name in requested]
        errors = batch.errors
        tensors = []
        body = []
        for writer, value in zip(writers, self._values(result, [writer.name for writer in writers])):
            datatype, shape, data = writer.write(value, batch.rows, batch.valid, errors)
            tensors.append({"name": writer.name, "datatype": datatype, "shape": shape, "bytes": len(data)})
            body.append(data)
        if errors:
            _log_exception(errors, batch.rows)
        return _result_frame(header["id"], tensors, errors, body)

    def _no_results(self) -> Dict[str, Any]:
        return {tensor.name: [] for tensor in self.outputs}

    def _values(self, result: Any, names: List[str]) -> List[Any]:
        """The values of these outputs in what `predict` returned."""
        if isinstance(result, Mapping):
            missing = [name for name in names if name not in result]
            if missing:
                # The keys are not quoted: they may be texts of clients, and each client of the batch sees the message.
                hint = "; give the model an `example` or a `signature`" if self._is_guess else ""
                raise BadResult(f"returned a dict without the outputs {', '.join(missing)}{hint}")
            return [result[name] for name in names]
        if len(self.outputs) == 1:
            return [result]
        if isinstance(result, tuple) and len(result) == len(self.outputs):
            values = dict(zip((tensor.name for tensor in self.outputs), result))
            return [values[name] for name in names]
        expected = ", ".join(tensor.name for tensor in self.outputs)
        raise BadResult(f"returned an object of type {type(result).__name__}: expected a dict with the outputs {expected}")


def _log_exception(errors: RowErrors, rows: int) -> None:
    """One traceback for the exceptions of all rows."""
    failed = sorted(row for row, error in errors.items() if error.exception)
    if failed:
        first = errors[failed[0]].exception
        assert first is not None
        log(f"batchwise: {len(failed)} of {rows} rows failed, the first one with:\n{traceback_of(first).rstrip()}")


def _result_frame(batch_id: Any, tensors: List[Any], errors: RowErrors, body: List[Any]) -> List[Buffer]:
    header: Dict[str, Any] = {"kind": "result", "id": batch_id, "tensors": tensors, "errors": []}
    if not errors:
        return build_frame(header, body)
    # The messages are cut until all of them fit the header.
    limit = min(MAX_MESSAGE_CHARACTERS, MAX_HEADER_BYTES // len(errors))
    while True:
        header["errors"] = [
            {"row": row, "code": error.code, "message": error.message[:limit]} for row, error in sorted(errors.items())
        ]
        try:
            return build_frame(header, body)
        except OverflowError:
            if limit == 0:
                # No message of a row is quoted: it may have the text of a client.
                raise BadResult(f"failed for {len(errors)} rows, whose errors do not fit one message") from None
        limit //= 2


def _error_frame(batch_id: Any, error: BaseException) -> List[Buffer]:
    header = {"kind": "error", "id": batch_id}
    if isinstance(error, InvalidItem):
        return build_frame({**header, "code": "INVALID_ITEM", "message": text_of(error)[:MAX_MESSAGE_CHARACTERS]})
    if isinstance(error, BadResult):
        return build_frame({**header, "code": "BAD_RESULT", "message": f"predict {text_of(error)}"[:MAX_MESSAGE_CHARACTERS]})
    header.update(code="HANDLER_FAILED", message=one_line(error), traceback=traceback_of(error))
    return build_frame(header)
