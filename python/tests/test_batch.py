"""Single batches: what reaches `predict`, and how its result or its exception is reported."""
from __future__ import annotations

import re
from typing import Any

import pytest
from conftest import PACKAGE, jsons, numbers, texts, value_of


def test_json_values_are_passed_and_returned(inline: Any) -> None:
    model = inline(
        """
        import dataclasses
        @dataclasses.dataclass
        class Point:
            x: int
        def predict(items):
            assert isinstance(items, list)
            return [Point(item["x"]) if isinstance(item, dict) else item for item in items]
        """
    )
    assert model.receive().header["inputs"] == [{"name": "items", "datatype": "BYTES", "shape": [-1], "content": "json"}]
    message = model.infer(jsons("items", [{"x": 1}, None, [1.5, "é"], True]))
    assert value_of(message) == [b'{"x":1}', b"null", '[1.5,"é"]'.encode(), b"true"]


@pytest.mark.parametrize("code", ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"])
def test_every_datatype_of_numbers(inline: Any, code: str) -> None:
    np = pytest.importorskip("numpy")
    model = inline(
        f"""
        import numpy as np
        class Model:
            example = np.zeros((1, 3), "{code}")
            def predict(self, x):
                assert x.flags.writeable and x.flags.aligned and x.dtype == "{code}"
                return x[:, ::-1]
        """
    )
    model.receive()
    x = np.arange(12).reshape(4, 3).astype(code)
    message = model.infer(numbers("x", x))
    assert np.array_equal(value_of(message), x[:, ::-1])
    assert value_of(message).dtype == x.dtype
    assert value_of(model.infer(numbers("x", x[:0]))).shape == (0, 3)


ROWS = """
    import batchwise
    def predict(items):
        results = []
        for item in items:
            if item == "invalid": results.append(batchwise.InvalidItem("no good"))
            elif item == "error": results.append(KeyError("k"))
            elif item == "nan": results.append(float("nan"))
            elif item == "object": results.append(object())
            elif item == "surrogate": results.append("\\ud800")
            else: results.append(item)
        return results
"""


def test_a_row_fails_alone(inline: Any) -> None:
    model = inline(ROWS)
    model.receive()
    message = model.infer(jsons("items", [1, "invalid", "error", 2, "nan", "object", "surrogate", 3]))
    assert [(error["row"], error["code"]) for error in message.header["errors"]] == [
        (1, "INVALID_ITEM"),
        (2, "HANDLER_FAILED"),
        (4, "BAD_RESULT"),
        (5, "BAD_RESULT"),
        (6, "BAD_RESULT"),
    ]
    texts_of = [error["message"] for error in message.header["errors"]]
    assert texts_of[:2] == ["no good", "KeyError: 'k'"]
    assert "type object has no JSON form" in texts_of[3]
    values = value_of(message)
    assert [values[index] for index in (0, 3, 7)] == [b"1", b"2", b"3"]


def test_the_errors_of_many_rows_fit_the_header(inline: Any) -> None:
    model = inline("import batchwise\ndef predict(items): return [batchwise.InvalidItem('x' * 1000) for _ in items]")
    model.receive()
    errors = model.infer(jsons("items", [0] * 5000)).header["errors"]
    assert len(errors) == 5000 and errors[0]["message"] == "x" * 100
    header = model.infer(jsons("items", [0] * 50_000)).header
    assert (header["kind"], header["code"]) == ("error", "BAD_RESULT")
    assert "50000 rows failed" in header["message"]


def test_invalid_json_and_text_fail_their_row(inline: Any) -> None:
    model = inline(
        """
        from typing import List
        def predict(items: list, names: List[str]) -> list:
            return [[item, name] for item, name in zip(items, names)]
        """
    )
    model.receive()
    message = model.infer(texts("items", ["1", "{", "3"]), texts("names", ["a", "b", b"\xff"]))
    assert [(error["row"], error["code"]) for error in message.header["errors"]] == [(1, "INVALID_ITEM"), (2, "INVALID_ITEM")]
    assert value_of(message)[0] == b'[1,"a"]'
    message = model.infer(texts("items", ["1,2", "3"]), texts("names", ["a", "b"]))  # "[1,2,3]" together
    assert [error["row"] for error in message.header["errors"]] == [0]
    header = model.infer(texts("items", ["{"]), texts("names", ["a"])).header
    assert (header["kind"], header["code"]) == ("error", "INVALID_ITEM")


def test_invalid_rows_beside_numbers(inline: Any) -> None:
    np = pytest.importorskip("numpy")
    model = inline(
        """
        import numpy as np
        from typing import List
        def predict(items: list, x: np.ndarray) -> np.ndarray:
            return x + len(items)
        """
    )
    model.receive()
    message = model.infer(texts("items", ["{", "1", "2"]), numbers("x", np.arange(6, dtype="f4").reshape(3, 2)))
    assert [error["row"] for error in message.header["errors"]] == [0]
    assert value_of(message).tolist() == [[0, 0], [4, 5], [6, 7]]


BATCH_ERRORS = {
    "an exception": ("raise ValueError('text')", "HANDLER_FAILED", "^ValueError: text$"),
    "InvalidItem": ("raise batchwise.InvalidItem('no good')", "INVALID_ITEM", "^no good$"),
    "sys.exit": ("sys.exit(1)", "HANDLER_FAILED", "^SystemExit: 1$"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", "HANDLER_FAILED", "^KeyboardInterrupt$"),
    "recursion": ("return model(items)", "HANDLER_FAILED", "^RecursionError: "),
    "too few rows": ("return items[1:]", "BAD_RESULT", "^predict returned 1 row for 2 rows of input: expected one result"),
    "nothing": ("pass", "BAD_RESULT", "object of type NoneType: expected a list or array with one result per row"),
    "a dict": ("return {'a': items}", "BAD_RESULT", "dict with a: expected the outputs output; give the model"),
    "a text": ("return 'ab'", "BAD_RESULT", "object of type str"),
}


@pytest.mark.parametrize("case", BATCH_ERRORS)
def test_a_batch_that_fails_does_not_end_the_model(inline: Any, case: str) -> None:
    body, code, expected = BATCH_ERRORS[case]
    model = inline(f"import sys, batchwise\ndef model(items):\n  if items == [1]: return items\n  {body}")
    model.receive()
    header = model.infer(jsons("items", [1, 2])).header
    assert (header["kind"], header["id"], header["code"]) == ("error", 1, code)
    assert re.search(expected, header["message"]), header["message"]
    if code == "HANDLER_FAILED":
        assert "model.py" in header["traceback"] and str(PACKAGE) not in header["traceback"]
    assert model.infer(jsons("items", [1])).header["kind"] == "result"


NUMBER_RESULTS = {
    "float64": ("return x.astype('f8')", None),
    "a list": ("return [row.tolist() for row in x]", None),
    "not contiguous": ("return np.asfortranarray(x)", None),
    "big-endian": ("return x.astype('>f4')", None),
    "an array-like": ("return type('A', (), {'__array__': lambda self, *a, **k: x})()", None),
    "complex": ("return x.astype(complex)", "expected FP32, got the numpy type complex128"),
    "strings": ("return x.astype(str)", "expected FP32, got BYTES, which cannot be converted safely"),
    "rows": ("return x[1:]", "predict returned 1 row for 2 rows of input"),
    "columns": ("return x[:, 1:]", r"output 'y': expected the shape \[-1, 3\], got \[2, 2\]$"),
    "rank": ("return x[:, 0]", r"expected the shape \[-1, 3\], got \[2\]"),
    "ragged": ("return [[1, 2, 3], [1]]", "do not form an array|cannot be converted"),
    "a single value": ("return x.sum()", "single value"),
    "other names": ("return {'z': x}", "dict with z: expected the outputs y$"),
}


@pytest.mark.parametrize("case", NUMBER_RESULTS)
def test_results_are_checked_against_the_signature(inline: Any, case: str) -> None:
    np = pytest.importorskip("numpy")
    body, expected = NUMBER_RESULTS[case]
    model = inline(
        f"""
        import numpy as np, batchwise
        class Model:
            signature = batchwise.Signature(
                inputs=[batchwise.Tensor("x", "FP32", [-1, 3])], outputs=[batchwise.Tensor("y", "FP32", [-1, 3])])
            def predict(self, x):
                {body}
        """
    )
    assert model.receive().header["kind"] == "ready"
    x = np.arange(6, dtype="f4").reshape(2, 3)
    message = model.infer(numbers("x", x))
    if expected is None:
        assert value_of(message).tolist() == x.tolist()
    else:
        assert message.header["code"] == "BAD_RESULT"
        assert re.search(expected, message.header["message"]), message.header["message"]


def test_integers_are_converted_only_without_loss(inline: Any) -> None:
    np = pytest.importorskip("numpy")
    model = inline(
        """
        import numpy as np, batchwise
        signature = batchwise.Signature([batchwise.Tensor("x", "INT64")], [batchwise.Tensor("y", "UINT8")])
        @batchwise.model(signature=signature)
        def predict(x): return x
        """
    )
    model.receive()
    assert value_of(model.infer(numbers("x", np.array([0, 255])))).tolist() == [0, 255]
    assert "expected UINT8, got INT64" in model.infer(numbers("x", np.array([0, 256]))).header["message"]
    assert "expected UINT8, got INT64" in model.infer(numbers("x", np.array([-1]))).header["message"]
    narrow = inline(
        """
        import numpy as np, batchwise
        signature = batchwise.Signature([batchwise.Tensor("x", "INT64")], [batchwise.Tensor("y", "INT32")])
        @batchwise.model(signature=signature)
        def predict(x): return x
        """
    )
    assert value_of(narrow.infer(numbers("x", np.array([-5])))).tolist() == [-5]
    assert "expected INT32, got INT64" in narrow.infer(numbers("x", np.array([1 << 31]))).header["message"]


def test_a_list_of_numbers_may_have_failed_rows(inline: Any) -> None:
    np = pytest.importorskip("numpy")
    model = inline(
        """
        import numpy as np, batchwise
        def predict(x: np.ndarray) -> np.ndarray:
            return [batchwise.InvalidItem("negative") if row[0] < 0 else row for row in x]
        """
    )
    model.receive()
    message = model.infer(numbers("x", np.array([[1, 2], [-1, 0], [3, 4]], "f4")))
    assert message.header["errors"] == [{"row": 1, "code": "INVALID_ITEM", "message": "negative"}]
    assert value_of(message).tolist() == [[1, 2], [0, 0], [3, 4]]
    message = model.infer(numbers("x", np.array([[-1, 0]], "f4")))
    assert [error["row"] for error in message.header["errors"]] == [0]


def test_several_outputs_as_a_tuple_and_strings_of_two_dimensions(inline: Any) -> None:
    model = inline(
        """
        import batchwise
        T = batchwise.Tensor
        @batchwise.model(signature=batchwise.Signature([T("x", "BYTES", [-1, 2])], [T("a", "BYTES", [-1, 2]), T("b", "BYTES")]))
        def predict(x):
            return [[p[1], p[0]] if p[0] != "bad" else 1 for p in x], [b"raw"] * len(x)
        """
    )
    model.receive()
    header, data = texts("x", ["a", "b", "bad", "d"])
    message = model.infer(({**header, "shape": [2, 2]}, data))
    assert value_of(message) == [b"b", b"a", b"", b""]
    assert value_of(message, 1) == [b"raw", b"raw"]
    assert message.header["errors"] == [{"row": 1, "code": "BAD_RESULT", "message": "output 'a': expected the shape [-1, 2]"}]


def test_an_input_that_does_not_fit_is_an_invalid_item(inline: Any) -> None:
    model = inline("from typing import List\ndef upper(texts: List[str]): return texts")
    model.receive()
    assert "'texts' is missing" in model.infer(texts("other", ["a"])).header["message"]
    header, data = texts("texts", ["a", "b"])
    assert "expected BYTES [-1]" in model.infer(({**header, "shape": [1, 2]}, data)).header["message"]
