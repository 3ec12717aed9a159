"""The inputs and outputs of a model: declared, read from type hints, or learned from an example."""
from __future__ import annotations

import collections.abc
import inspect
import typing
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from .errors import StartError
from .tensors import ELEMENT_BYTES, datatype_of, is_array

EXPECTED_HINTS = "expected np.ndarray, NDArray[...], list[str], list[bytes] or another list"


class Tensor:
    """An input or output.

    `datatype` is a name of the Open Inference Protocol or a numpy dtype. Dimension 0 of `shape` counts the
    rows of the batch and is -1. A BYTES tensor has elements of type `str` (`content='text'`, the default),
    `bytes` (`content='bytes'`), or any JSON value (`content='json'`).

    With `any_datatype` or `any_shape`, each batch has its own; what is declared is an assumption for clients.
    """

    __slots__ = ("name", "datatype", "shape", "content", "any_datatype", "any_shape")

    def __init__(
        self,
        name: str,
        datatype: Any,
        shape: Sequence[int] = (-1,),
        content: Optional[str] = None,
        any_datatype: bool = False,
        any_shape: bool = False,
    ) -> None:
        known = isinstance(datatype, str) and datatype in ELEMENT_BYTES
        self.name = name
        self.datatype: str = datatype if known else datatype_of(datatype)
        self.shape = [int(dimension) for dimension in shape]
        self.content = content or ("text" if self.datatype == "BYTES" else None)
        self.any_datatype = any_datatype
        self.any_shape = any_shape
        if not self.shape or self.shape[0] != -1:
            raise ValueError(f"{self}: expected -1 as dimension 0, which counts the rows of the batch")
        if self.content not in (("text", "bytes", "json") if self.datatype == "BYTES" else (None,)):
            raise ValueError(f"{self}: expected content 'text', 'bytes' or 'json' with BYTES, and none otherwise")
        if self.content == "json" and len(self.shape) != 1:
            raise ValueError(f"{self}: expected the shape [-1] with JSON content")

    def describe(self) -> Dict[str, Any]:
        """The form of the tensor in `ready`."""
        description: Dict[str, Any] = {"name": self.name, "datatype": self.datatype, "shape": self.shape}
        if self.content == "json":
            description["content"] = "json"
        for flag in ("any_datatype", "any_shape"):
            if getattr(self, flag):
                description[flag] = True
        return description

    @property
    def is_open(self) -> bool:
        return self.any_datatype or self.any_shape

    def __repr__(self) -> str:
        content = f", content={self.content!r}" if self.content else ""
        return f"Tensor({self.name!r}, {self.datatype!r}, {self.shape}{content})"


class Signature:
    """The inputs and outputs of a model. Without `outputs`, they are learned like those of a model without a signature."""

    def __init__(self, inputs: Sequence[Tensor], outputs: Optional[Sequence[Tensor]] = None) -> None:
        self.inputs = list(inputs)
        self.outputs = list(outputs) if outputs is not None else None
        for tensors in (self.inputs, self.outputs or []):
            names = [tensor.name for tensor in tensors]
            if len(set(names)) != len(names):
                raise ValueError(f"a name is used twice: {', '.join(names)}")
        if not self.inputs or self.outputs == []:
            raise ValueError("a signature needs at least one input and one output")

    def __repr__(self) -> str:
        return f"Signature(inputs={self.inputs}, outputs={self.outputs})"


class Hint(NamedTuple):
    """A type hint. `kind` is array, text, bytes, json, dict or unsupported; `datatype` is that of NDArray[...]."""

    kind: str
    datatype: Optional[str] = None


class Parameters(NamedTuple):
    required: List[str]
    all: List[str]
    positional: List[str]  # required ones that may be passed by position
    takes_any_positional: bool
    takes_any_keyword: bool
    hints: Dict[str, Hint]
    result: Optional[Hint]


def parameters_of(predict: Callable[..., Any]) -> Parameters:
    try:
        parameters = list(inspect.signature(predict).parameters.values())
    except (TypeError, ValueError):  # implemented in C, without a signature
        return Parameters([], [], [], True, False, {}, None)
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    required = [p for p in named if p.default is p.empty]
    raw = _hints_of(predict)
    hints = {name: read_hint(hint) for name, hint in raw.items()}
    return Parameters(
        required=[p.name for p in required],
        all=[p.name for p in named],
        positional=[p.name for p in required if p.kind is not p.KEYWORD_ONLY],
        takes_any_positional=any(p.kind is p.VAR_POSITIONAL for p in parameters),
        takes_any_keyword=any(p.kind is p.VAR_KEYWORD for p in parameters),
        hints={name: hint for name, hint in hints.items() if name != "return" and hint is not None},
        result=hints.get("return"),
    )


def _hints_of(predict: Callable[..., Any]) -> Dict[str, Any]:
    function = inspect.unwrap(getattr(predict, "__func__", predict))
    if not inspect.isroutine(function):
        function = getattr(type(function), "__call__", function)
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception:
        pass
    # One hint that cannot be evaluated (an import under TYPE_CHECKING, say) must not hide the others.
    hints = {}
    for name, hint in getattr(function, "__annotations__", {}).items():
        try:
            hints[name] = eval(hint, getattr(function, "__globals__", {})) if isinstance(hint, str) else hint
        except Exception:
            continue
    return hints


_SEQUENCES = (
    list,
    tuple,
    collections.abc.Sequence,
    collections.abc.MutableSequence,
    collections.abc.Iterable,
    collections.abc.Collection,
)


def read_hint(hint: Any) -> Optional[Hint]:
    """What a type hint says; None if it says nothing."""
    alias = typing.get_origin(hint) or hint
    if hasattr(alias, "__value__"):  # `type Rows = list[str]`, and NDArray of newer versions of numpy
        return read_hint(alias.__value__[typing.get_args(hint)] if typing.get_args(hint) else alias.__value__)
    if typing.get_origin(hint) is getattr(typing, "Annotated", None):
        return read_hint(typing.get_args(hint)[0])
    if hint in (Any, object, inspect.Parameter.empty) or isinstance(hint, str):
        return None
    origin = typing.get_origin(hint) or hint
    arguments = typing.get_args(hint)
    if getattr(origin, "__name__", "") == "ndarray" and str(getattr(origin, "__module__", "")).startswith("numpy"):
        scalar = next(iter(typing.get_args(arguments[1])), None) if len(arguments) > 1 else None
        try:
            # A type variable or an abstract scalar such as np.floating has no datatype.
            return Hint("array", datatype_of(scalar)) if _is_concrete(scalar) else Hint("array")
        except (TypeError, ValueError) as error:
            raise StartError(f"the type hint {hint} is not supported: {error}") from None
    if origin in _SEQUENCES:
        kinds = {str: "text", bytes: "bytes"}
        items = {argument for argument in arguments if argument is not Ellipsis}
        return Hint(kinds.get(items.pop(), "json") if len(items) == 1 else "json")
    if origin is typing.Union or type(hint).__name__ in ("UnionType", "TypeVar"):
        return Hint("json")
    if isinstance(origin, type) and issubclass(origin, collections.abc.Mapping):
        return Hint("dict")
    return Hint("unsupported", getattr(hint, "__name__", None) or str(hint))


def _is_concrete(scalar: Any) -> bool:
    return isinstance(scalar, type) and (scalar.__module__ != "numpy" or not scalar.__subclasses__())


def tensor_from_hint(name: str, hint: Optional[Hint]) -> Tensor:
    """An input or output without an example. A hint of an array does not say the shape, and often not the datatype."""
    kind = hint.kind if hint else "json"
    if hint and kind == "array":
        return Tensor(name, hint.datatype or "FP32", [-1, -1], any_datatype=hint.datatype is None, any_shape=True)
    return Tensor(name, "BYTES", [-1], kind)


def tensor_from_value(name: str, value: Any, hint: Optional[Hint]) -> Tensor:
    """An input or output with the datatype and shape of an example. Dimension 0 counts rows."""
    kind = hint.kind if hint else None
    if kind == "array" and not is_array(value):
        import numpy

        value = numpy.asarray(value)
        # Python numbers have no size: floats are FP32, as for the hint alone.
        if value.dtype == numpy.float64:
            value = value.astype(numpy.float32)
    if is_array(value) and kind != "json":
        import numpy

        array = numpy.asarray(value)
        if array.ndim == 0:
            raise ValueError(f"{name!r} is a single value: expected one per row")
        if kind is None and array.dtype.kind == "O" and not all(isinstance(item, str) for item in array.flat):
            return Tensor(name, "BYTES", [-1], "json")  # the columns of a DataFrame have different types, for example
        datatype = (hint.datatype if hint and kind == "array" else None) or datatype_of(array.dtype)
        return Tensor(name, datatype, [-1, *array.shape[1:]], "bytes" if array.dtype.kind == "S" else None)
    if kind is None and isinstance(value, (list, tuple)) and value:
        if all(isinstance(item, str) for item in value):
            kind = "text"
        elif all(isinstance(item, bytes) for item in value):
            kind = "bytes"
    return Tensor(name, "BYTES", [-1], kind if kind in ("text", "bytes") else "json")
