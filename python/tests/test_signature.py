"""Every form of a signature, as `ready` reports it."""
from __future__ import annotations

import typing
from typing import Any, Dict, List, Optional, Sequence

import pytest

import batchwise
from batchwise.start import start_model
from batchwise.errors import StartError

np = pytest.importorskip("numpy")
npt = pytest.importorskip("numpy.typing")

JSON = ("BYTES", [-1], "json")
TEXT = ("BYTES", [-1], "text")


def describe(target: Any) -> Any:
    model = start_model(target)
    forms = [
        {tensor.name: (tensor.datatype, tensor.shape, *([tensor.content] if tensor.content else [])) for tensor in tensors}
        for tensors in (model.inputs, model.outputs)
    ]
    return forms[0], forms[1]


def doubled(x: np.ndarray) -> np.ndarray:
    return x * 2


def labels(x: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    raise ValueError("expected 4 columns")


def unknown(x: np.ndarray) -> npt.NDArray[np.floating]:
    raise ValueError("expected 4 columns")


def learned(x: np.ndarray):
    return x.sum(axis=1) > 0


def upper(texts: List[str]) -> Sequence[str]:
    return [text.upper() for text in texts]


def raw(data: List[bytes]) -> List[bytes]:
    return data


def values(items: List[Dict[str, int]]) -> List[float]:
    return [1.0 for _ in items]


def untyped(items):
    return items


def several(ids: npt.NDArray[np.int64], texts: List[str], top: int = 3) -> np.ndarray:
    return ids


def optional(items: Optional[List[str]]) -> Any:
    return items


def unresolved(x: np.ndarray, other: "Missing") -> List[str]:  # type: ignore[name-defined]  # noqa: F821
    return []


def annotated(x: typing.Annotated[npt.NDArray[np.float64], "rows"]) -> List[str]:
    return []


def strings(x: np.ndarray):
    return np.array(["a"] * len(x))


HINTS = [
    (doubled, {"x": ("FP32", [-1, -1])}, {"output": ("FP32", [-1, -1])}),
    (labels, {"x": ("INT64", [-1, -1])}, {"output": ("INT32", [-1, -1])}),
    (unknown, {"x": ("FP32", [-1, -1])}, {"output": ("FP32", [-1, -1])}),
    (learned, {"x": ("FP32", [-1, -1])}, {"output": ("BOOL", [-1])}),
    (strings, {"x": ("FP32", [-1, -1])}, {"output": TEXT}),
    (upper, {"texts": TEXT}, {"output": TEXT}),
    (raw, {"data": ("BYTES", [-1], "bytes")}, {"output": ("BYTES", [-1], "bytes")}),
    (values, {"items": JSON}, {"output": JSON}),
    (untyped, {"items": JSON}, {"output": JSON}),
    (several, {"ids": ("INT64", [-1, -1]), "texts": TEXT}, {"output": ("FP32", [-1, -1])}),
    (optional, {"items": JSON}, {"output": JSON}),
    (unresolved, {"x": ("FP32", [-1, -1]), "other": JSON}, {"output": TEXT}),
    (annotated, {"x": ("FP64", [-1, -1])}, {"output": TEXT}),
    (len, {"obj": JSON}, {"output": JSON}),
]


@pytest.mark.parametrize("target, inputs, outputs", HINTS, ids=lambda value: getattr(value, "__name__", ""))
def test_type_hints(target: Any, inputs: Any, outputs: Any) -> None:
    assert describe(target) == (inputs, outputs)


def with_example(target: Any, example: Any) -> Any:
    class Wrapper:
        predict = staticmethod(target)

    Wrapper.example = example  # type: ignore[attr-defined]
    return Wrapper()


EXAMPLES = [
    (doubled, np.zeros((2, 3)), ("FP64", [-1, 3]), ("FP64", [-1, 3])),
    (doubled, [[1.5, 2.5]], ("FP32", [-1, 2]), ("FP32", [-1, 2])),
    (doubled, [[1, 2]], ("INT64", [-1, 2]), ("INT64", [-1, 2])),
    (learned, np.zeros((2, 3), "f2"), ("FP16", [-1, 3]), ("BOOL", [-1])),
    (lambda x: x, np.zeros((2, 1, 4), "u1"), ("UINT8", [-1, 1, 4]), ("UINT8", [-1, 1, 4])),
    (lambda x: x, np.array(["a", "bc"]), TEXT, TEXT),
    (lambda x: x, np.array([["a", "bc"]]), ("BYTES", [-1, 2], "text"), JSON),
    (lambda x: x, ["a", "b"], TEXT, TEXT),
    (lambda x: x, [b"a"], ("BYTES", [-1], "bytes"), ("BYTES", [-1], "bytes")),
    (lambda x: x, ["a", 1], JSON, JSON),
    (lambda x: np.array([len(text) for text in x]), ["a", "b"], TEXT, ("INT64", [-1])),
    (values, [{"a": 1}], JSON, JSON),
]


@pytest.mark.parametrize("target, example, expected_input, expected_output", EXAMPLES)
def test_an_example_gives_datatypes_and_shapes(target: Any, example: Any, expected_input: Any, expected_output: Any) -> None:
    inputs, outputs = describe(with_example(target, example))
    assert list(inputs.values()) == [expected_input]
    assert outputs == {"output": expected_output}


def test_an_example_names_the_outputs_of_a_dict() -> None:
    @batchwise.model(example={"a": np.zeros((2, 3), "f4"), "b": np.zeros((2, 1), "i4")})
    def predict(a, b):  # type: ignore[no-untyped-def]
        return {"sum": a + b, "first": a[:, 0], "names": ["x", "y"]}

    assert describe(predict) == (
        {"a": ("FP32", [-1, 3]), "b": ("INT32", [-1, 1])},
        {"sum": ("FP64", [-1, 3]), "first": ("FP32", [-1]), "names": TEXT},
    )


def test_a_hint_with_a_dtype_wins_over_the_example() -> None:
    @batchwise.model(example=np.zeros((1, 2)))
    def predict(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        assert x.dtype == np.float32
        return x.astype(np.float64)

    assert describe(predict) == ({"x": ("FP32", [-1, 2])}, {"output": ("FP32", [-1, 2])})


def test_an_explicit_signature() -> None:
    @batchwise.model
    class Declared:
        signature = batchwise.Signature(
            inputs=[batchwise.Tensor("ids", "INT64", [-1, 128]), batchwise.Tensor("meta", "BYTES", content="json")],
            outputs=[batchwise.Tensor("scores", np.float32, [-1, 3])],
        )

        def predict(self, ids, meta):  # type: ignore[no-untyped-def]
            raise AssertionError("a model with declared outputs and no example is not run at the start")

    assert describe(Declared()) == ({"ids": ("INT64", [-1, 128]), "meta": JSON}, {"scores": ("FP32", [-1, 3])})


def test_a_signature_without_outputs_learns_them() -> None:
    @batchwise.model(signature=batchwise.Signature([batchwise.Tensor("x", "FP32", [-1, 4])]))
    def predict(x):  # type: ignore[no-untyped-def]
        assert x.shape == (1, 4)
        return {"a": x, "b": x[:, 0].astype("i4")}

    assert describe(predict)[1] == {"a": ("FP32", [-1, -1]), "b": ("INT32", [-1])}


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (("x", "FP32", [4]), "expected -1 as dimension 0"),
        (("x", "FP32", []), "expected -1 as dimension 0"),
        (("x", "FP32", [-1], "json"), "with BYTES"),
        (("x", "BYTES", [-1], "xml"), "'text', 'bytes' or 'json'"),
        (("x", "BYTES", [-1, 2], "json"), "the shape \\[-1\\]"),
        (("x", "complex64", [-1]), "no datatype"),
    ],
)
def test_an_invalid_tensor_is_refused(arguments: Any, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        batchwise.Tensor(*arguments)


def test_an_invalid_signature_is_refused() -> None:
    tensor = batchwise.Tensor("x", "FP32")
    with pytest.raises(ValueError, match="used twice"):
        batchwise.Signature([tensor, tensor])
    with pytest.raises(ValueError, match="at least one"):
        batchwise.Signature([])


def single(text: str) -> str:
    return text


def mapping(x: np.ndarray) -> Dict[str, np.ndarray]:
    raise ValueError("expected 4 columns")


def no_parameters() -> None:
    pass


ERRORS = [
    (single, "the parameter 'text' of predict receives a whole batch and has the type str: expected np.ndarray"),
    (mapping, "predict returns a dict: give the model an `example` or a `signature`"),
    (no_parameters, "predict has no parameter without a default"),
    (with_example(lambda x: x[:3], np.zeros((4, 2))), "returned 3 rows for 4 rows of input: expected one result per row"),
    (with_example(lambda x: [1], [1, 2]), "returned 1 row for 2 rows of input: expected one result per row"),
    (with_example(lambda x: x.sum(), np.zeros((4, 2))), "'output' is a single value"),
    (with_example(lambda x: None, np.zeros((4, 2))), "predict\\(example\\) returned an object of type NoneType"),
    (with_example(lambda x: x.astype(complex), np.zeros((4, 2))), "no datatype"),
    (with_example(lambda x: {}, np.zeros((4, 2))), "empty dict"),
    (with_example(lambda x: 1 / 0, np.zeros((4, 2))), "predict\\(example\\) failed: ZeroDivisionError"),
    (with_example(lambda x: [batchwise.InvalidItem("bad")], ["a"]), "failed for row 0: bad"),
    (with_example(lambda x: [float("nan")], ["a"]), "failed for row 0: .*not JSON"),
    (with_example(lambda x: x, []), "at least one row"),
    (with_example(lambda x: x, {"y": [1]}), "the example has the inputs y: expected x"),
    (with_example(lambda x, y: x, [1]), "must be a dict with the inputs x, y"),
    (with_example(lambda x, y: x, {"x": [1], "y": [1, 2]}), "same number of rows"),
    (with_example(labels, [["a"]]), "the example of the input 'x'"),
    (with_example(upper, [1]), "does not fit"),
]


@pytest.mark.parametrize("target, expected", ERRORS)
def test_what_cannot_be_served_is_refused_at_the_start(target: Any, expected: str) -> None:
    with pytest.raises(StartError, match=expected):
        start_model(target)


def test_parameters_that_do_not_fit_the_signature_are_refused() -> None:
    tensors = [batchwise.Tensor("x", "FP32"), batchwise.Tensor("y", "FP32")]

    @batchwise.model(signature=batchwise.Signature(tensors))
    def predict(a, b, c):  # type: ignore[no-untyped-def]
        pass

    with pytest.raises(StartError, match="predict has the parameters a, b, c: expected the inputs x, y"):
        start_model(predict)


def test_an_example_that_does_not_fit_the_signature_is_refused() -> None:
    @batchwise.model(example=np.zeros((1, 3)), signature=batchwise.Signature([batchwise.Tensor("x", "FP32", [-1, 4])]))
    def predict(x):  # type: ignore[no-untyped-def]
        return x

    with pytest.raises(StartError, match="shape \\[1, 3\\]: expected \\[-1, 4\\]"):
        start_model(predict)


def test_a_signature_of_another_type_is_refused() -> None:
    @batchwise.model(signature={"inputs": []})  # type: ignore[arg-type]
    def predict(x):  # type: ignore[no-untyped-def]
        return x

    with pytest.raises(StartError, match="object of type dict: expected batchwise.Signature"):
        start_model(predict)
