"""A model that is ready to run: from the message of a batch to the frame of its response."""
from __future__ import annotations

import asyncio
import inspect
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from .errors import MAX_MESSAGE_CHARACTERS, BadResult, InvalidItem, ProtocolError, StartError, one_line, traceback_of
from .inputs import make_reader, write_input
from .loading import start_error
from .outputs import OutputWriter, RowError, check_rows, to_rows
from .signature import EXPECTED_HINTS, Hint, Parameters, Signature, Tensor
from .signature import parameters_of, tensor_from_hint, tensor_from_value
from .tensors import is_array
from .wire import Buffer, Message, build_frame


class Batch(NamedTuple):
    rows: int
    arguments: List[Any]
    invalid: Dict[int, InvalidItem]  # these rows are not passed to `predict`


class Model:
    """Wraps a function or an object with `predict`. Creating it runs the example, and may raise StartError."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self._predict: Callable[..., Any] = getattr(target, "predict", target)
        function = inspect.unwrap(getattr(self._predict, "__func__", self._predict))
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(type(self._predict), "__call__", None)
        )
        # The model creates its clients and locks on this loop, from its first call on.
        self.loop = asyncio.new_event_loop() if self.is_async else None
        parameters = parameters_of(self._predict)
        self.inputs, self.example = _inputs_of(target, parameters)
        self._call = _bind(self._predict, parameters, [tensor.name for tensor in self.inputs])
        self._readers = [(tensor.name, make_reader(tensor)) for tensor in self.inputs]
        self._specs = {tensor.name: (tensor.datatype, len(tensor.shape)) for tensor in self.inputs}
        self._example_shapes: List[List[int]] = []
        self._example_data: List[Any] = []
        if self.example is not None:
            self._write_example(self.example)
        self.outputs = self._learn_outputs(_signature_of(target), parameters.result)

    def ready(self, concurrency: int) -> List[Buffer]:
        """The `ready` frame, with the tensors of the example."""
        header = {
            "kind": "ready",
            "version": 1,
            "platform": "python",
            "concurrency": concurrency,
            "inputs": [tensor.describe() for tensor in self.inputs],
            "outputs": [tensor.describe() for tensor in self.outputs],
            "tensors": self._example_headers(),
        }
        return build_frame(header, self._example_data)

    def respond(self, message: Message) -> List[Buffer]:
        """Run a batch. An exception of the model, SystemExit too, is the response of the batch."""
        header = message.header
        try:
            batch = self._read(header["tensors"], message.buffer, message.offsets)
            return self._write(header, batch, self._call(batch.arguments))
        except ProtocolError:
            raise
        except BaseException as error:
            return _error_frame(header["id"], error)

    async def respond_async(self, message: Message) -> List[Buffer]:
        header = message.header
        try:
            batch = self._read(header["tensors"], message.buffer, message.offsets)
            return self._write(header, batch, await self._call(batch.arguments))
        except ProtocolError:
            raise
        except BaseException as error:
            return _error_frame(header["id"], error)

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
                hint = "" if self._is_declared else "; give the model an `example` or a `signature`"
                raise BadResult(f"returned a dict with {got}: expected the outputs {', '.join(missing)}{hint}")
            return [result[name] for name in names]
        if len(self.outputs) == 1:
            return [result]
        if isinstance(result, tuple) and len(result) == len(self.outputs):
            values = dict(zip((tensor.name for tensor in self.outputs), result))
            return [values[name] for name in names]
        expected = ", ".join(tensor.name for tensor in self.outputs)
        raise BadResult(f"returned an object of type {type(result).__name__}: expected a dict with the outputs {expected}")

    def _write_example(self, example: Dict[str, Any]) -> None:
        for tensor in self.inputs:
            try:
                shape, data = write_input(tensor, example[tensor.name])
            except Exception as error:
                raise StartError(f"the example of the input {tensor.name!r} does not fit {tensor}: {one_line(error)}") from None
            fits = all(size in (-1, got) for size, got in zip(tensor.shape, shape))
            if len(shape) != len(tensor.shape) or not fits:
                raise StartError(f"the example of the input {tensor.name!r} has the shape {shape}: expected {tensor.shape}")
            self._example_shapes.append(shape)
            self._example_data.append(data)
        counts = {shape[0] for shape in self._example_shapes}
        if len(counts) != 1 or 0 in counts:
            raise StartError("the example must have at least one row, and the same number of rows for each input")

    def _example_headers(self) -> List[Dict[str, Any]]:
        return [
            {"name": tensor.name, "datatype": tensor.datatype, "shape": shape, "bytes": len(data)}
            for tensor, shape, data in zip(self.inputs, self._example_shapes, self._example_data)
        ]

    def _run_data(self, tensors: List[Dict[str, Any]], data: List[Any]) -> Any:
        """Run `predict` on a copy of these tensors, as for a batch."""
        buffer = bytearray()
        offsets = []
        for item in data:
            offsets.append(len(buffer))
            buffer += item + bytes(-len(item) % 8)
        result = self._call(self._read(tensors, buffer, offsets).arguments)
        return self.loop.run_until_complete(result) if self.loop is not None else result

    def _learn_outputs(self, signature: Optional[Signature], hint: Optional[Hint]) -> List[Tensor]:
        """The declared outputs; otherwise those of the example, of a probe with zeros, or of the type hint."""
        declared = signature.outputs if signature else None
        self._is_declared = declared is not None or self.example is not None
        if hint and hint.kind == "unsupported":
            hint = None
        if self.example is not None:
            try:
                result = self._run_data(self._example_headers(), self._example_data)
            except BaseException as error:
                raise start_error("predict(example) failed", error) from None
            learned = declared or self._outputs_of(result, hint, self._example_shapes[0][0])
            self._writers = [OutputWriter(tensor) for tensor in learned]
            self.outputs = learned
            self._check_example(learned, result)
            return learned
        outputs = declared or self._probe(hint)
        is_guess = outputs is None
        if outputs is None:
            if hint and hint.kind == "dict":
                raise StartError("predict returns a dict: give the model an `example` or a `signature`, which name its outputs")
            numbers = all(tensor.datatype != "BYTES" for tensor in self.inputs)
            outputs = [tensor_from_hint("output", hint or (Hint("array") if numbers else None))]
        self._writers = [OutputWriter(tensor, is_guess) for tensor in outputs]
        return outputs

    def _outputs_of(self, result: Any, hint: Optional[Hint], rows: int) -> List[Tensor]:
        named = result if isinstance(result, dict) else {"output": result}
        outputs = []
        for name, value in named.items():
            value = value if is_array(value) else _rows_of_example(value)
            try:
                output = tensor_from_value(str(name), value, None if isinstance(result, dict) else hint)
            except (TypeError, ValueError) as error:
                raise StartError(f"predict(example) returned an output that has no datatype: {error}") from None
            if output.content != "json":
                _check_example_rows(len(value), rows)
            outputs.append(output)
        if not outputs:
            raise StartError("predict(example) returned an empty dict: expected at least one output")
        return outputs

    def _check_example(self, outputs: List[Tensor], result: Any) -> None:
        errors: Dict[int, RowError] = {}
        rows = self._example_shapes[0][0]
        try:
            for writer, value in zip(self._writers, self._values(result, [tensor.name for tensor in outputs])):
                writer.write(value, rows, errors)
        except BadResult as error:
            raise StartError(f"predict(example) {error}") from None
        for row, failed in sorted(errors.items()):
            raise StartError(f"predict(example) failed for row {row}: {failed.message}")

    def _probe(self, hint: Optional[Hint]) -> Optional[List[Tensor]]:
        """Learn the outputs of a model of numbers from one row of zeros, if it accepts that."""
        if hint and hint.kind not in ("array", "dict"):
            return None
        if any(tensor.datatype == "BYTES" for tensor in self.inputs):
            return None
        import numpy

        tensors, data = [], []
        for tensor in self.inputs:
            shape = [1, *(size if size >= 0 else 1 for size in tensor.shape[1:])]
            _, zeros = write_input(tensor, numpy.zeros(shape, bool))
            tensors.append({"name": tensor.name, "datatype": tensor.datatype, "shape": shape, "bytes": len(zeros)})
            data.append(zeros)
        try:
            outputs = self._outputs_of(self._run_data(tensors, data), hint, 1)
        except BaseException:
            return None
        # The sizes of one probe say nothing: only the number of dimensions is kept.
        return [Tensor(tensor.name, tensor.datatype, [-1] * len(tensor.shape), tensor.content) for tensor in outputs]


def _check_example_rows(count: int, rows: int) -> None:
    try:
        check_rows(count, rows)
    except BadResult as error:
        raise StartError(f"predict(example) {error}") from None


def _rows_of_example(value: Any) -> Any:
    try:
        return to_rows(value)
    except BadResult as error:
        raise StartError(f"predict(example) {error}") from None


def _signature_of(target: Any) -> Optional[Signature]:
    signature = getattr(target, "signature", None)
    if signature is not None and not isinstance(signature, Signature):
        raise StartError(f"the signature is an object of type {type(signature).__name__}: expected batchwise.Signature")
    return signature


def _inputs_of(target: Any, parameters: Parameters) -> Any:
    """The inputs, and the example as a dict by input name."""
    signature = _signature_of(target)
    example = getattr(target, "example", None)
    names = [tensor.name for tensor in signature.inputs] if signature else parameters.required
    if not names:
        if not parameters.takes_any_positional and not parameters.takes_any_keyword:
            raise StartError("predict has no parameter without a default: expected one for each input")
        names = [str(name) for name in example] if isinstance(example, dict) else ["input"]
    if example is not None and not isinstance(example, dict):
        if len(names) > 1:
            raise StartError(f"the example must be a dict with the inputs {', '.join(names)}")
        example = {names[0]: example}
    if example is not None and set(example) != set(names):
        raise StartError(f"the example has the inputs {', '.join(map(str, example))}: expected {', '.join(names)}")
    if signature:
        for tensor in signature.inputs:
            hint = parameters.hints.get(tensor.name)
            if tensor.content == "text" and hint and hint.kind == "bytes":
                tensor.content = "bytes"
        return signature.inputs, example
    inputs = []
    for name in names:
        hint = parameters.hints.get(name)
        if hint and hint.kind in ("unsupported", "dict"):
            kind = hint.datatype or "dict"
            raise StartError(f"the parameter {name!r} of predict receives a whole batch and has the type {kind}: {EXPECTED_HINTS}")
        try:
            inputs.append(tensor_from_value(name, example[name], hint) if example else tensor_from_hint(name, hint))
        except Exception as error:
            raise StartError(f"the example of the input {name!r}: {one_line(error)}", error) from None
    return inputs, example


def _bind(predict: Callable[..., Any], parameters: Parameters, names: List[str]) -> Callable[[List[Any]], Any]:
    """A function that passes the inputs to `predict` by position or by name."""
    required, positional = parameters.required, parameters.positional
    if len(names) == len(required) == len(positional) == 1:
        return lambda arguments: predict(arguments[0])
    if set(required) <= set(names) and (set(names) <= set(parameters.all) or parameters.takes_any_keyword):
        return lambda arguments: predict(**dict(zip(names, arguments)))
    if len(names) == len(positional) == len(required) or (not required and parameters.takes_any_positional):
        return lambda arguments: predict(*arguments)
    raise StartError(f"predict has the parameters {', '.join(required)}: expected the inputs {', '.join(names)}")


def _with_invalid_rows(value: Any, batch: Batch) -> List[Any]:
    """The results of the valid rows, with the error of each invalid row in its place."""
    results = iter(value if is_array(value) else to_rows(value))
    complete = [batch.invalid[row] if row in batch.invalid else next(results, None) for row in range(batch.rows)]
    if next(results, None) is not None or len(value) != batch.rows - len(batch.invalid):
        raise BadResult(f"returned {len(value)} rows for {batch.rows - len(batch.invalid)} rows of input")
    return complete


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
        return build_frame({**header, "code": "INVALID_ITEM", "message": str(error)[:MAX_MESSAGE_CHARACTERS]})
    if isinstance(error, BadResult):
        return build_frame({**header, "code": "BAD_RESULT", "message": f"predict {error}"[:MAX_MESSAGE_CHARACTERS]})
    header.update(code="HANDLER_FAILED", message=one_line(error), traceback=traceback_of(error))
    return build_frame(header)
