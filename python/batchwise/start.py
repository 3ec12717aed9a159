"""Start a model: find its inputs, run its example, and learn its outputs."""
from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any, Callable, Dict, List, Optional, Tuple

from .batch import Example, Model
from .errors import BadResult, StartError, one_line
from .inputs import write_input
from .loading import start_error
from .outputs import check_rows, to_rows
from .signature import EXPECTED_HINTS, Hint, Parameters, Signature, Tensor
from .signature import parameters_of, tensor_from_hint, tensor_from_value
from .tensors import is_array
from .wire import MAX_BODY_BYTES


def start_model(target: Any) -> Model:
    """Make a function, or an object with `predict`, ready to run; raises StartError."""
    predict = getattr(target, "predict", target)
    parameters = parameters_of(predict)
    signature = _signature_of(target)
    inputs, values = _inputs_of(target, signature, parameters)
    # An async model creates its clients and locks on this loop, from its first call on.
    loop = asyncio.new_event_loop() if _is_async(predict) else None
    model = Model(target, _bind(predict, parameters, [tensor.name for tensor in inputs]), loop, inputs)
    declared = signature.outputs if signature else None
    hint = parameters.result
    if hint and hint.kind == "unsupported":
        hint = None
    if values is not None:
        model.example = _write_example(inputs, values)
        _run_example(model, model.example, declared, hint)
    elif declared:
        model.set_outputs(declared, is_guess=False)
    else:
        assumed = _probe(model, hint)
        model.set_outputs(assumed or _guess(model, hint), is_guess=assumed is None)
    return model


def _is_async(predict: Any) -> bool:
    function = inspect.unwrap(getattr(predict, "__func__", predict))
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(type(predict), "__call__", None))


def _signature_of(target: Any) -> Optional[Signature]:
    signature = getattr(target, "signature", None)
    if signature is not None and not isinstance(signature, Signature):
        raise StartError(f"the signature is an object of type {type(signature).__name__}: expected batchwise.Signature")
    return signature


def _inputs_of(
    target: Any, signature: Optional[Signature], parameters: Parameters
) -> Tuple[List[Tensor], Optional[Dict[str, Any]]]:
    """The inputs, and the example as a dict by input name."""
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


def _write_example(inputs: List[Tensor], values: Dict[str, Any]) -> Example:
    headers: List[Dict[str, Any]] = []
    body = []
    for tensor in inputs:
        try:
            shape, data = write_input(tensor, values[tensor.name])
        except Exception as error:
            raise StartError(f"the example of the input {tensor.name!r} does not fit {tensor}: {one_line(error)}") from None
        fits = all(size in (-1, got) for size, got in zip(tensor.shape, shape))
        if len(shape) != len(tensor.shape) or not fits:
            raise StartError(f"the example of the input {tensor.name!r} has the shape {shape}: expected {tensor.shape}")
        headers.append({"name": tensor.name, "datatype": tensor.datatype, "shape": shape, "bytes": len(data)})
        body.append(data)
    total = sum(len(data) + (-len(data) % 8) for data in body)
    if total > MAX_BODY_BYTES:
        raise StartError(f"the example has {total} bytes: expected at most 1 GiB")
    counts = {header["shape"][0] for header in headers}
    if len(counts) != 1 or 0 in counts:
        raise StartError("the example must have at least one row, and the same number of rows for each input")
    return Example(headers, body)


def _run_example(model: Model, example: Example, declared: Optional[List[Tensor]], hint: Optional[Hint]) -> None:
    try:
        result = model.run(example)
    except BaseException as error:
        raise start_error("predict(example) failed", error) from None
    rows = example.headers[0]["shape"][0]
    try:
        model.set_outputs(declared or _outputs_of(result, hint, rows), is_guess=False)
        errors = model.check(result, rows)
    except BadResult as error:
        raise StartError(f"predict(example) {error}") from None
    for row, failed in sorted(errors.items()):
        raise StartError(f"predict(example) failed for row {row}: {failed.message}")


def _outputs_of(result: Any, hint: Optional[Hint], rows: int) -> List[Tensor]:
    """The outputs with the names, datatypes and shapes of a result."""
    named = result if isinstance(result, Mapping) else {"output": result}
    outputs = []
    for name, value in named.items():
        value = value if is_array(value) else to_rows(value)
        try:
            output = tensor_from_value(str(name), value, None if isinstance(result, Mapping) else hint)
        except (TypeError, ValueError) as error:
            raise BadResult(f"returned an output that has no datatype: {error}") from None
        if output.content != "json":
            check_rows(len(value), rows)
        outputs.append(output)
    if not outputs:
        raise BadResult("returned an empty dict: expected at least one output")
    return outputs


def _probe(model: Model, hint: Optional[Hint]) -> Optional[List[Tensor]]:
    """The names of the outputs of a model of numbers, and an assumption of their datatypes, from one row of zeros.

    None if the model does not accept zeros.
    """
    has_other_inputs = any(tensor.datatype == "BYTES" for tensor in model.inputs)
    if has_other_inputs or (hint and hint.kind not in ("array", "dict")):
        return None
    import numpy

    zeros = {t.name: numpy.zeros([1, *(size if size >= 0 else 1 for size in t.shape[1:])], bool) for t in model.inputs}
    try:
        outputs = _outputs_of(model.run(_write_example(model.inputs, zeros)), hint, 1)
    except BaseException:
        return None
    datatype = hint.datatype if hint else None
    return [tensor if tensor.content == "json" else _assumption(tensor, datatype) for tensor in outputs]


def _assumption(tensor: Tensor, datatype: Optional[str]) -> Tensor:
    """Zeros may give another datatype and shape than real rows."""
    shape = [-1] * len(tensor.shape)
    return Tensor(tensor.name, tensor.datatype, shape, tensor.content, any_datatype=datatype is None, any_shape=True)


def _guess(model: Model, hint: Optional[Hint]) -> List[Tensor]:
    """The output that the type hint says; without one, an array for a model of numbers and JSON for any other."""
    if hint and hint.kind == "dict":
        raise StartError("predict returns a dict: give the model an `example` or a `signature`, which name its outputs")
    has_numbers = all(tensor.datatype != "BYTES" for tensor in model.inputs)
    return [tensor_from_hint("output", hint or (Hint("array") if has_numbers else None))]
