"""Models of known libraries: each function returns an object with `predict` and a `signature` or `example`."""
from __future__ import annotations

import importlib
import os
import pickle
import sys
from typing import Any, Callable, Dict, List, Optional

from .errors import missing_module
from .signature import Signature, Tensor, read_hint, tensor_from_hint, tensor_from_value


class Wrapped:
    """A model of a library. The inputs are declared; outputs that are not are learned from the example."""

    def __init__(self, predict: Callable[..., Any], signature: Signature, example: Any = None) -> None:
        self.predict = predict
        self.signature = signature
        self.example = example


def sklearn(model: Any, method: str = "predict", dtype: Any = "float32", input: Any = None) -> Wrapped:
    """An estimator, or the path of one saved by joblib (`.joblib`) or pickle, relative to the calling file.

    An estimator of numbers receives an array of `dtype`; a text pipeline (its first step is a vectorizer)
    receives list[str]; any other one receives the JSON values of the rows. `input` sets this: `np.ndarray`,
    `list[str]`, `list`, or `dict` for a pandas.DataFrame with one column per key.
    """
    _import("sklearn")
    estimator = _load(model, _caller_directory()) if isinstance(model, (str, os.PathLike)) else model
    predict = getattr(estimator, method, None)
    if not callable(predict):
        raise ValueError(f"{type(estimator).__name__} has no method {method!r}")
    features = getattr(estimator, "n_features_in_", None)
    if input is None:
        first = estimator.steps[0][1] if hasattr(estimator, "steps") else estimator
        input = list if features is None else "array"
        input = List[str] if hasattr(first, "build_analyzer") else input
    if input is dict:
        columns = getattr(estimator, "feature_names_in_", None)
        frame = _import("pandas").DataFrame
        tensor = Tensor("rows", "BYTES", [-1], "json")
        return Wrapped(lambda rows: predict(frame(rows, columns=columns)), Signature([tensor]))
    hint = None if input == "array" else read_hint(input)
    if input == "array" or (hint and hint.kind == "array"):
        example = _import("numpy").zeros((1, features or 1), dtype)
        tensor = Tensor("rows", dtype, [-1, features or -1])
        return Wrapped(predict, Signature([tensor]), example if features else None)
    tensor = tensor_from_hint("rows", hint)
    return Wrapped(predict, Signature([tensor]), ["example"] if tensor.content == "text" else None)


def torch(module: Any, example: Any, device: Any = None) -> Wrapped:
    """A module, or the path of a TorchScript file relative to the calling file.

    `example` is a tensor or array with a batch dimension, or a dict of them, whose names are the keyword
    arguments of the module. `device` is cuda if available, else cpu. The result may be a tensor, a tuple
    (output_0, output_1, ...) or a dict of tensors.
    """
    library = _import("torch")
    target = library.device(device or ("cuda" if library.cuda.is_available() else "cpu"))
    if isinstance(module, (str, os.PathLike)):
        module = _load_torch_script(library, os.path.join(_caller_directory(), os.fspath(module)), target)
    if not isinstance(module, library.nn.Module):
        raise TypeError(
            f"expected a torch.nn.Module, got an object of type {type(module).__name__}. A state dict needs its module: "
            "module.load_state_dict(state_dict), then batchwise.torch(module, example=...)"
        )
    module = module.to(target).eval()
    is_named = isinstance(example, dict)
    arrays = {
        name: library.as_tensor(value).detach().cpu().numpy()
        for name, value in (example if is_named else {"input": example}).items()
    }

    def array(tensor: Any) -> Any:
        tensor = tensor.detach().cpu()
        return (tensor.float() if tensor.dtype == library.bfloat16 else tensor).numpy()

    def predict(**inputs: Any) -> Any:
        tensors = {name: library.from_numpy(value).to(target) for name, value in inputs.items()}
        with library.inference_mode():
            result = module(**tensors) if is_named else module(*tensors.values())
        if isinstance(result, library.Tensor):
            return array(result)
        named = result.items() if hasattr(result, "items") else ((f"output_{i}", v) for i, v in enumerate(result))
        return {name: array(value) for name, value in named if isinstance(value, library.Tensor)}

    return Wrapped(predict, Signature([tensor_from_value(name, value, None) for name, value in arrays.items()]), arrays)


def _load_torch_script(library: Any, file: str, target: Any) -> Any:
    try:
        return library.jit.load(file, map_location=target)
    except RuntimeError as error:
        if "PytorchStreamReader" not in str(error):
            raise
        name = os.path.basename(file)
        raise ValueError(
            f"{name} is not TorchScript. If torch.save wrote it, load it and pass the module: "
            f"module = torch.load({name!r}, weights_only=False); "
            "model = batchwise.torch(module, example=...)"
        ) from None


def keras(model: Any, example: Any = None) -> Wrapped:
    """A model, or the path of a saved one relative to the calling file.

    Inputs and outputs are those of the model. A model without declared inputs needs an `example`: an array
    with a batch dimension, or a dict of them by input name.
    """
    if isinstance(model, (str, os.PathLike)):
        model = _import("keras").saving.load_model(os.path.join(_caller_directory(), os.fspath(model)))
    numpy = _import("numpy")
    if example is None and not _keras_attribute(model, "inputs"):
        raise ValueError(f"{type(model).__name__} does not declare its inputs: pass an example to batchwise.keras")
    if example is None:
        tensors = [_keras_tensor(_plain_name(tensor.name), tensor) for tensor in model.inputs]
        if all(size > 0 for tensor in tensors for size in tensor.shape[1:]):
            dtypes = [str(getattr(tensor.dtype, "name", tensor.dtype)) for tensor in model.inputs]
            example = {t.name: numpy.zeros([1, *t.shape[1:]], dtype) for t, dtype in zip(tensors, dtypes)}
    else:
        arrays = example if isinstance(example, dict) else {"input": example}
        example = {name: numpy.asarray(value) for name, value in arrays.items()}
        tensors = [tensor_from_value(name, value, None) for name, value in example.items()]
    # A model with several inputs takes a dict or a list, as it was built.
    takes_dict = isinstance(_keras_attribute(model, "input"), dict)

    def predict(**inputs: Any) -> Any:
        arguments: Any = inputs if takes_dict else list(inputs.values())
        # Compiled once for all batch sizes, and the same call for every backend of Keras.
        result = model.predict_on_batch(arguments if takes_dict or len(inputs) > 1 else arguments[0])
        if isinstance(result, (list, tuple)):
            return dict(zip(names, result)) if len(names) == len(result) else _numbered(result)
        return result

    names = list(_keras_attribute(model, "output_names") or [])
    return Wrapped(predict, Signature(tensors, _keras_outputs(model, names)), example)


def _keras_outputs(model: Any, names: List[str]) -> Optional[List[Tensor]]:
    outputs = _keras_attribute(model, "outputs")
    if not outputs or any(tensor.shape[:1] != (None,) for tensor in outputs):
        return None
    structure = _keras_attribute(model, "output")
    if isinstance(structure, dict):
        return [_keras_tensor(name, tensor) for name, tensor in structure.items()]
    if len(outputs) == 1:
        return [_keras_tensor("output", outputs[0])]
    return [_keras_tensor(name, tensor) for name, tensor in zip(names, outputs)]


def _keras_attribute(model: Any, name: str) -> Any:
    """None if the model has no such attribute yet: keras 3.5 raises ValueError for a Sequential without a call."""
    try:
        return getattr(model, name, None)
    except ValueError:
        return None


def _keras_tensor(name: str, tensor: Any) -> Tensor:
    dtype = str(getattr(tensor.dtype, "name", tensor.dtype))
    shape = [-1, *(-1 if size is None else size for size in tuple(tensor.shape)[1:])]
    return Tensor(name, "FP32" if dtype == "bfloat16" else dtype, shape)


def _plain_name(name: str) -> str:
    return name.partition(":")[0]  # `input_1:0` in Keras 2


def _numbered(values: Any) -> Dict[str, Any]:
    return {f"output_{index}": value for index, value in enumerate(values)}


def transformers(pipeline: Any, **options: Any) -> Wrapped:
    """A pipeline that takes texts, or the name of its task: `batchwise.transformers('sentiment-analysis')`.

    A row is a text; its result is the JSON value that the pipeline returns for it. `options` are passed to
    `transformers.pipeline` with the name of a task.
    """
    if isinstance(pipeline, str):
        pipeline = _import("transformers").pipeline(pipeline, **options)
    # Texts of different lengths in one batch need a padding token.
    tokenizer = getattr(pipeline, "tokenizer", None)
    can_pad = tokenizer is None or getattr(tokenizer, "pad_token", None) is not None

    def one(text: str) -> Any:
        try:
            return pipeline([text])[0]
        except Exception as error:
            return error

    def predict(texts: List[str]) -> List[Any]:
        try:
            return list(pipeline(texts, batch_size=len(texts) if can_pad else 1))
        except Exception:
            # One by one, so that a text that fails does not fail the others.
            return [one(text) for text in texts]

    inputs = [Tensor("texts", "BYTES", [-1])]
    return Wrapped(predict, Signature(inputs, [Tensor("output", "BYTES", [-1], "json")]))


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        raise ModuleNotFoundError(missing_module(name), name=name) from None


def _caller_directory() -> str:
    """The directory of the file that called the wrapper."""
    file = sys._getframe(2).f_globals.get("__file__")
    return os.path.dirname(os.path.abspath(file)) if file else os.getcwd()


def _load(path: Any, directory: str) -> Any:
    file = os.path.join(directory, os.fspath(path))
    try:
        if file.endswith(".joblib"):
            return _import("joblib").load(file)
        with open(file, "rb") as stream:
            return pickle.load(stream)
    except AttributeError as error:
        if "__main__" not in str(error):
            raise
        raise AttributeError(
            f"{error}. It was defined in the script that saved {os.path.basename(file)}: "
            "move it to a module that both files import, and save the model again"
        ) from None
