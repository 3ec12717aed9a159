"""Models of real libraries, each only if it is installed."""
from __future__ import annotations

import contextlib
import json
import pickle
import sys
import types
from pathlib import Path
from typing import Any, List

import pytest
from conftest import InlineModel, jsons, numbers, texts, value_of

import batchwise
from batchwise.start import start_model
from batchwise.loading import instantiate
from batchwise.wrappers import _load_torch_script


class Served(InlineModel):
    def __init__(self, target: Any) -> None:
        self.model = start_model(instantiate(target))
        self.inputs = [(t.name, t.datatype, t.shape) for t in self.model.inputs]
        self.outputs = [(t.name, t.datatype, t.shape) for t in self.model.outputs]


def iris() -> Any:
    pytest.importorskip("sklearn")
    from sklearn.datasets import load_iris
    from sklearn.linear_model import LogisticRegression

    x, y = load_iris(return_X_y=True)
    return LogisticRegression(max_iter=1000).fit(x, y), x.astype("f4")


def test_sklearn_classifier() -> None:
    estimator, x = iris()
    served = Served(batchwise.sklearn(estimator))
    assert served.inputs == [("rows", "FP32", [-1, 4])]
    assert served.outputs == [("output", "INT64", [-1])]
    assert value_of(served.infer(numbers("rows", x))).tolist() == estimator.predict(x).tolist()


def test_sklearn_estimator_without_a_wrapper() -> None:
    estimator, _ = iris()
    assert Served(estimator).inputs == [("rows", "FP32", [-1, 4])]


def test_sklearn_method_and_dtype() -> None:
    estimator, x = iris()
    served = Served(batchwise.sklearn(estimator, method="predict_proba", dtype="float64"))
    assert (served.inputs[0][1], served.outputs) == ("FP64", [("output", "FP64", [-1, 3])])
    message = served.infer(numbers("rows", x.astype("f8")))
    assert value_of(message) == pytest.approx(estimator.predict_proba(x.astype("f8")))
    with pytest.raises(ValueError, match="LogisticRegression has no method 'score_all'"):
        batchwise.sklearn(estimator, method="score_all")


@pytest.mark.parametrize("name", ["iris.joblib", "iris.pkl"])
def test_sklearn_file_beside_the_model(start: Any, tmp_path: Path, name: str) -> None:
    estimator, x = iris()
    if name.endswith(".joblib"):
        pytest.importorskip("joblib").dump(estimator, tmp_path / name)
    else:
        (tmp_path / name).write_bytes(pickle.dumps(estimator))
    process = start(f"import batchwise, os\nos.chdir('/')\nclassifier = batchwise.sklearn({name!r})")
    process.receive()
    assert value_of(process.infer(numbers("rows", x[:2]))).tolist() == [0, 0]


def test_sklearn_text_pipeline_with_labels() -> None:
    pytest.importorskip("sklearn")
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(TfidfVectorizer(), MultinomialNB()).fit(["good day", "bad night"], ["good", "bad"])
    for wrapped in (batchwise.sklearn(pipeline), batchwise.sklearn(pipeline, input=List[str])):
        served = Served(wrapped)
        assert served.inputs == [("rows", "BYTES", [-1])]
        assert served.outputs == [("output", "BYTES", [-1])]
        assert value_of(served.infer(texts("rows", ["a bad day, bad", "good"]))) == [b"bad", b"good"]


def test_sklearn_pipeline_of_dicts() -> None:
    pytest.importorskip("sklearn")
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(DictVectorizer(), LinearRegression()).fit([{"x": 1}, {"x": 2}], [2, 4])
    served = Served(batchwise.sklearn(pipeline))
    assert float(value_of(served.infer(jsons("rows", [{"x": 3}])))[0]) == pytest.approx(6)


def test_sklearn_pipeline_of_columns() -> None:
    pytest.importorskip("sklearn")
    pandas = pytest.importorskip("pandas")
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    frame = pandas.DataFrame({"size": [1.0, 2.0, 3.0], "town": ["a", "b", "a"]})
    columns = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    pipeline = make_pipeline(columns, LinearRegression()).fit(frame, [1, 2, 3])
    served = Served(batchwise.sklearn(pipeline, input=dict))
    assert float(value_of(served.infer(jsons("rows", [{"town": "b", "size": 2.0}])))[0]) == pytest.approx(2)


# `list()` of a DataFrame is its column names: see test_batch.py.
def test_sklearn_pipeline_with_pandas_output() -> None:
    pytest.importorskip("sklearn")
    pandas = pytest.importorskip("pandas")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 0.0, 3.0], "c": [1.0, 1.0, 4.0]})
    pipeline = make_pipeline(StandardScaler()).set_output(transform="pandas").fit(frame)
    expected = pipeline.transform(frame).to_numpy()
    served = Served(batchwise.sklearn(pipeline, method="transform"))
    assert value_of(served.infer(numbers("rows", frame.to_numpy("f4")))) == pytest.approx(expected, abs=1e-6)
    served = Served(batchwise.sklearn(pipeline, method="transform", input=dict))
    values = value_of(served.infer(jsons("rows", frame.to_dict("records"))))
    assert json.loads(values[2]) == pytest.approx(dict(zip("abc", expected[2])))


def test_a_class_of_the_saving_script_is_explained(start: Any, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    (tmp_path / "custom.pkl").write_bytes(b"c__main__\nCustom\n.")
    message = start("import batchwise\nmodel = batchwise.sklearn('custom.pkl')").receive().header["message"]
    assert "defined in the script that saved custom.pkl: move it to a module" in message


@pytest.mark.parametrize("call, package", [("sklearn('m.pkl')", "scikit-learn"), ("torch(None, example=0)", "torch")])
def test_a_missing_library_names_its_package(start: Any, call: str, package: str) -> None:
    hidden = "import sys, importlib.abc\nclass Hide(importlib.abc.MetaPathFinder):\n  def find_spec(self, name, *_):\n"
    hidden += "    if name in ('sklearn', 'torch'): raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
    header = start(f"{hidden}sys.meta_path.insert(0, Hide())\nimport batchwise\nmodel = batchwise.{call}").receive().header
    assert header["reason"] == "environment"
    assert f"-m pip install {package} " in header["message"]


def test_torch_module() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout(0.9))
    served = Served(batchwise.torch(module, example=torch.zeros(1, 4), device="cpu"))
    assert served.inputs == [("input", "FP32", [-1, 4])]
    assert served.outputs == [("output", "FP32", [-1, 3])]
    x = torch.randn(5, 4)
    assert value_of(served.infer(numbers("input", x.numpy()))) == pytest.approx(module.eval()(x).detach().numpy())


def test_torch_outputs_and_keyword_inputs() -> None:
    torch = pytest.importorskip("torch")

    class Pair(torch.nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, ids: Any, mask: Any, as_dict: bool = False) -> Any:
            return ids.bfloat16() * mask, mask

    class Named(torch.nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, x: Any) -> Any:
            return {"logits": x * 2, "hidden": None}

    example = {"ids": torch.ones(2, 3, dtype=torch.int64), "mask": torch.ones(2, 1)}
    served = Served(batchwise.torch(Pair(), example=example))
    assert served.inputs == [("ids", "INT64", [-1, 3]), ("mask", "FP32", [-1, 1])]
    assert served.outputs == [("output_0", "FP32", [-1, 3]), ("output_1", "FP32", [-1, 1])]
    assert Served(batchwise.torch(Named(), example=torch.ones(1, 2))).outputs == [("logits", "FP32", [-1, 2])]


def test_torch_script_file_and_a_module_without_a_wrapper(start: Any, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 1)), str(tmp_path / "linear.pt"))
    process = start("import batchwise\nmodel = batchwise.torch('linear.pt', example=[[1.0, 2.0]])")
    assert process.receive().header["outputs"] == [{"name": "output", "datatype": "FP32", "shape": [-1, 1]}]
    header = start("import torch\nmodel = torch.nn.Linear(2, 1)").receive().header
    assert "write model = batchwise.torch(module, example=...)" in header["message"]


def test_torch_explains_what_it_cannot_load(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save(torch.nn.Linear(2, 1), str(tmp_path / "full.pt"))
    with pytest.raises(ValueError, match="full.pt is not TorchScript"):
        batchwise.torch(tmp_path / "full.pt", example=torch.zeros(1, 2))
    with pytest.raises(TypeError, match="expected a torch.nn.Module, got an object of type .*Dict"):
        batchwise.torch(torch.nn.Linear(2, 1).state_dict(), example=torch.zeros(1, 2))


class FakeTorch(types.ModuleType):
    """The functions of torch that the wrapper uses, on numpy. torch itself is not on the machine of the tests."""

    def __init__(self) -> None:
        super().__init__("torch")
        self.float32, self.bfloat16 = "float32", "bfloat16"
        self.cuda = types.SimpleNamespace(is_available=lambda: False)
        self.nn = types.SimpleNamespace(Module=FakeModule)
        self.Tensor = FakeTensor
        self.inference_mode = contextlib.nullcontext
        self.device = str

    def as_tensor(self, value: Any) -> "FakeTensor":
        return value if isinstance(value, FakeTensor) else FakeTensor(__import__("numpy").asarray(value))

    def from_numpy(self, array: Any) -> "FakeTensor":
        return FakeTensor(array)


class FakeTensor:
    def __init__(self, array: Any, dtype: str = "", device: str = "cpu") -> None:
        self.array, self.dtype, self.device = array, dtype or str(array.dtype), device

    def to(self, device: str) -> "FakeTensor":
        return FakeTensor(self.array, self.dtype, device)

    def cpu(self) -> "FakeTensor":
        return self.to("cpu")

    def detach(self) -> "FakeTensor":
        return self

    def float(self) -> "FakeTensor":
        return FakeTensor(self.array.astype("f4"))

    def numpy(self) -> Any:
        if self.dtype == "bfloat16" or self.device != "cpu":
            raise TypeError("numpy has no such array")
        return self.array


class FakeModule:
    is_training = True

    def to(self, device: str) -> "FakeModule":
        self.device = device
        return self

    def eval(self) -> "FakeModule":
        self.is_training = False
        return self

    def __call__(self, *tensors: Any, **named: Any) -> Any:
        assert not self.is_training
        assert all(tensor.device == self.device for tensor in (*tensors, *named.values()))
        return self.forward(*tensors, **named)  # type: ignore[attr-defined]


@pytest.fixture
def fake_torch(monkeypatch: pytest.MonkeyPatch) -> FakeTorch:
    pytest.importorskip("numpy")
    library = FakeTorch()
    monkeypatch.setitem(sys.modules, "torch", library)
    return library


def test_a_stand_in_of_torch_runs_on_its_device(fake_torch: FakeTorch) -> None:
    import numpy as np

    class Double(FakeModule):
        def forward(self, x: Any) -> Any:
            return FakeTensor(x.array * 2, device=x.device)

    for device, available in (("cpu", False), ("cuda", True)):
        fake_torch.cuda.is_available = lambda: available  # noqa: B023
        module = Double()
        served = Served(batchwise.torch(module, example=np.zeros((1, 4), "f4")))
        assert module.device == device
        assert (served.inputs, served.outputs) == ([("input", "FP32", [-1, 4])], [("output", "FP32", [-1, 4])])
        x = np.arange(8, dtype="f4").reshape(2, 4)
        assert value_of(served.infer(numbers("input", x))).tolist() == (x * 2).tolist()


def test_a_stand_in_of_torch_has_named_inputs_and_several_outputs(fake_torch: FakeTorch) -> None:
    import numpy as np

    class Pair(FakeModule):
        def forward(self, ids: Any, mask: Any, as_dict: bool = False) -> Any:
            return FakeTensor(ids.array * mask.array, "bfloat16"), mask

    class Named(FakeModule):
        def forward(self, x: Any) -> Any:
            return {"logits": x, "hidden": None}

    example = {"ids": np.ones((2, 3), "i8"), "mask": np.ones((2, 1), "f4")}
    served = Served(batchwise.torch(Pair(), example=example))
    assert served.inputs == [("ids", "INT64", [-1, 3]), ("mask", "FP32", [-1, 1])]
    assert served.outputs == [("output_0", "FP32", [-1, 3]), ("output_1", "FP32", [-1, 1])]
    assert Served(batchwise.torch(Named(), example=np.ones((1, 2), "f4"))).outputs == [("logits", "FP32", [-1, 2])]
    with pytest.raises(TypeError, match="expected a torch.nn.Module, got an object of type dict"):
        batchwise.torch({}, example=np.zeros((1, 2)))


# The message of torch for such a file: "PytorchStreamReader failed locating file constants.pkl".
def test_a_file_of_torch_save_is_explained_without_torch() -> None:
    def load(file: str, map_location: Any) -> Any:
        raise RuntimeError(f"{map_location}: file not found" if "other" in file else "PytorchStreamReader failed locating file")

    library = types.SimpleNamespace(jit=types.SimpleNamespace(load=load))
    with pytest.raises(ValueError) as raised:
        _load_torch_script(library, "/models/full.pt", "cpu")
    assert str(raised.value) == (
        "full.pt is not TorchScript. If torch.save wrote it, load it and pass the module: "
        "module = torch.load('full.pt', weights_only=False); model = batchwise.torch(module, example=...)"
    )
    with pytest.raises(RuntimeError, match="^cpu: file not found$"):
        _load_torch_script(library, "/models/other.pt", "cpu")


# Keras 3.5 raises ValueError for `input` and `output` of a Sequential that has not been called: see test_keras_model.
def test_keras_attributes_that_raise_are_not_needed() -> None:
    np = pytest.importorskip("numpy")

    class Sequential:
        inputs = [types.SimpleNamespace(name="x", dtype="float32", shape=(None, 2))]
        outputs = [types.SimpleNamespace(name="y", dtype="float32", shape=(None, 2))]

        @property
        def input(self) -> Any:
            raise ValueError("The layer sequential has never been called and thus has no defined input.")

        output = input

        def predict_on_batch(self, x: Any) -> Any:
            return x * 2

    served = Served(batchwise.keras(Sequential()))
    assert served.outputs == [("output", "FP32", [-1, 2])]
    assert value_of(served.infer(numbers("x", np.ones((1, 2), "f4")))).tolist() == [[2, 2]]


def test_keras_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keras = pytest.importorskip("keras")
    np = pytest.importorskip("numpy")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    served = Served(model)
    assert [input[1:] for input in served.inputs] == [("FP32", [-1, 4])]
    assert served.outputs == [("output", "FP32", [-1, 3])]
    x = np.random.default_rng(1).random((5, 4), np.float32)
    message = served.infer(numbers(served.inputs[0][0], x))
    assert value_of(message) == pytest.approx(np.asarray(model(x)), abs=1e-5)
    model.save(tmp_path / "dense.keras")
    assert Served(batchwise.keras(tmp_path / "dense.keras")).outputs == served.outputs


def test_keras_model_with_several_inputs_and_outputs() -> None:
    keras = pytest.importorskip("keras")
    np = pytest.importorskip("numpy")
    a, b = keras.Input((None,), name="a", dtype="int32"), keras.Input((2,), name="b")
    total = keras.layers.Dense(1, name="total")(b)
    for structure, outputs in (([a, b], [total, b]), ({"a": a, "b": b}, {"total": total, "b": b})):
        served = Served(batchwise.keras(keras.Model(structure, outputs)))
        assert served.inputs == [("a", "INT32", [-1, -1]), ("b", "FP32", [-1, 2])]
        assert [output[1:] for output in served.outputs] == [("FP32", [-1, 1]), ("FP32", [-1, 2])]
        message = served.infer(numbers("a", np.ones((3, 5), "i4")), numbers("b", np.ones((3, 2), "f4")))
        assert message.header["kind"] == "result", message.header
        assert value_of(message, 1).shape == (3, 2)


def test_keras_subclass_needs_an_example() -> None:
    keras = pytest.importorskip("keras")
    np = pytest.importorskip("numpy")

    class Double(keras.Model):  # type: ignore[name-defined, misc]
        def call(self, x: Any) -> Any:
            return x * 2

    with pytest.raises(ValueError, match="pass an example to batchwise.keras"):
        batchwise.keras(Double())
    assert Served(batchwise.keras(Double(), example=np.ones((1, 2), "f4"))).outputs == [("output", "FP32", [-1, 2])]


def fake_pipeline(texts: List[str], batch_size: int = 1) -> Any:
    if any("bad" in text for text in texts):
        raise ValueError("the text is bad")
    return [{"label": text, "batch_size": batch_size} for text in texts]


def test_transformers_pipeline_blames_only_the_failing_text() -> None:
    served = Served(batchwise.transformers(fake_pipeline))
    assert value_of(served.infer(texts("texts", ["a", "b"])))[1] == b'{"label":"b","batch_size":2}'
    message = served.infer(texts("texts", ["a", "bad", "c"]))
    assert message.header["errors"] == [{"row": 1, "code": "HANDLER_FAILED", "message": "ValueError: the text is bad"}]
    assert value_of(message)[2] == b'{"label":"c","batch_size":1}'


def test_transformers_pipeline_without_a_padding_token() -> None:
    def pipeline(texts: List[str], batch_size: int) -> Any:
        return [batch_size for _ in texts]

    pipeline.tokenizer = types.SimpleNamespace(pad_token=None)  # type: ignore[attr-defined]
    assert value_of(Served(batchwise.transformers(pipeline)).infer(texts("texts", ["a", "b"]))) == [b"1", b"1"]


def test_a_real_transformers_pipeline(tmp_path: Path) -> None:
    library = pytest.importorskip("transformers")
    pytest.importorskip("torch")
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "day"]))
    config = library.BertConfig(
        vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, num_labels=2
    )
    pipeline = library.pipeline(
        "text-classification",
        model=library.BertForSequenceClassification(config),
        tokenizer=library.BertTokenizer(str(tmp_path / "vocab.txt")),
        device="cpu",
    )
    served = Served(pipeline)  # wrapped by its type
    values = value_of(served.infer(texts("texts", ["good day", "bad", "good day good day"])))
    assert [set(json.loads(value)) for value in values] == [{"label", "score"}] * 3
