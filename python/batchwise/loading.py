"""Find the model: import its file, choose the class, object or function, and create it."""
from __future__ import annotations

import functools
import importlib.util
import inspect
import os
import sys
from types import ModuleType
from typing import Any, Dict, List, Optional, Tuple, TypeVar

from . import errors
from .errors import StartError, missing_module, one_line
from .signature import Signature

T = TypeVar("T")

# A model file of this name would be imported in the place of the package.
PACKAGES = ("batchwise", "joblib", "keras", "numpy", "pandas", "sklearn", "tensorflow", "torch", "transformers")


def model(
    target: Optional[T] = None, *, example: Any = None, signature: Optional[Signature] = None
) -> Any:
    """Declare the example or the signature of a function or class: `@batchwise.model(example=...)`."""

    def declare(declared: T) -> T:
        if example is not None:
            setattr(declared, "example", example)
        if signature is not None:
            setattr(declared, "signature", signature)
        return declared

    return declare if target is None else declare(target)


def split_reference(reference: str) -> Tuple[str, Optional[str]]:
    """`model.py:Name` as its two parts."""
    path, separator, name = reference.rpartition(":")
    if separator and name.isidentifier() and not os.path.exists(reference):
        return path, name
    return reference, None


def load(reference: str) -> Any:
    """Import the file of `model.py[:Name]` and return its model."""
    path, name = split_reference(reference)
    module = import_file(path)
    target = choose(module, name, path)
    if name is None:
        errors.log(f"batchwise: the model of {path} is {_description(module, target)}")
    return instantiate(target)


def import_file(path: str) -> ModuleType:
    absolute = os.path.abspath(path)
    file = os.path.basename(path)
    stem = os.path.splitext(file)[0]
    if not os.path.isfile(absolute):
        raise StartError(f"{path} does not exist (working directory {os.getcwd()})")
    if stem in PACKAGES or stem in sys.modules or stem in getattr(sys, "stdlib_module_names", ()):
        raise StartError(f"the file {file} hides the Python module {stem}: give the file another name")
    errors.model_directory = os.path.dirname(absolute)
    sys.path.insert(0, errors.model_directory)
    spec = importlib.util.spec_from_file_location(stem, absolute)
    if spec is None or spec.loader is None:
        raise StartError(f"{path} is not a Python file: expected a name that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[stem] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise StartError(f"{os.path.basename(error.filename or file)}, line {error.lineno}: {error.msg}", error) from None
    except SystemExit as error:
        raise StartError(f"the import called sys.exit({error.code!r}){_line(error, absolute)}", error) from None
    except BaseException as error:
        raise start_error("the import failed", error, _line(error, absolute)) from None
    return module


def start_error(what: str, error: BaseException, where: str = "") -> StartError:
    """A failed start because of an exception in the model."""
    if isinstance(error, StartError):
        return error
    if isinstance(error, ModuleNotFoundError) and error.name:
        return StartError(missing_module(error.name) + where, error, "environment")
    return StartError(f"{what}: {one_line(error)}{where}", error)


def _line(error: BaseException, path: str) -> str:
    line = None
    frames = error.__traceback__
    while frames is not None:
        if frames.tb_frame.f_code.co_filename == path:
            line = frames.tb_lineno
        frames = frames.tb_next
    return f" ({os.path.basename(path)}, line {line})" if line else ""


def choose(module: ModuleType, name: Optional[str], path: str) -> Any:
    """The object called `name`; otherwise `model`, `Model`, or the only class, object or function.

    An object of a library is not chosen if the file also has a function, which may call it.
    """
    members: Dict[str, Any] = {key: value for key, value in vars(module).items() if not key.startswith("_")}
    own = {key: value for key, value in members.items() if getattr(value, "__module__", None) == module.__name__}
    classes = [key for key, value in own.items() if inspect.isclass(value) and _has_predict(value)]
    functions = [key for key, value in own.items() if inspect.isfunction(value)]
    objects = [key for key, value in members.items() if not inspect.isclass(value) and _has_predict(value)]
    if name is not None:
        if not hasattr(module, name):
            raise StartError(f"{path} has no {name}.{_candidates(path, classes + objects + functions)}")
        return getattr(module, name)
    for default in ("model", "Model"):
        if default in members and not inspect.ismodule(members[default]):
            return _unambiguous(module, path, default, functions)
    for candidates in (classes, objects, functions):
        if len(candidates) == 1:
            return _unambiguous(module, path, candidates[0], functions)
        if len(candidates) > 1:
            raise StartError(f"{path} has several models.{_candidates(path, candidates)}")
    raise StartError(f"{path} has no model: expected a class with a predict method, or a function")


def _unambiguous(module: ModuleType, path: str, name: str, functions: List[str]) -> Any:
    """The object called `name`, unless it may be the estimator or network that a function of the file calls."""
    target = getattr(module, name)
    kind = type(target)
    is_own = kind.__module__ == module.__name__ and _has_predict(target)
    is_code = inspect.isclass(target) or inspect.isroutine(target) or isinstance(target, functools.partial)
    if not functions or is_own or is_code or kind.__module__ == "batchwise.wrappers":
        return target
    shown = f"function{'s' if len(functions) > 1 else ''} {', '.join(functions)}"
    raise StartError(
        f"{path} has the object {name} ({kind.__name__}) and the {shown}.{_candidates(path, [name, *functions])}"
        ". Or begin the other names with _"
    )


def _description(module: ModuleType, target: Any) -> str:
    name = next(name for name, value in vars(module).items() if value is target and not name.startswith("_"))
    if inspect.isclass(target):
        return f"the class {name}"
    return f"the function {name}" if inspect.isroutine(target) else f"the object {name} ({type(target).__name__})"


def _candidates(path: str, candidates: List[str]) -> str:
    if not candidates:
        return " Expected a class with a predict method, or a function"
    return f" Choose one: {', '.join(f'{path}:{name}' for name in candidates)}"


def _has_predict(target: Any) -> bool:
    return callable(getattr(target, "predict", None))


def instantiate(target: Any) -> Any:
    """An object of a class; wrap the models of known libraries; refuse what cannot predict."""
    if inspect.isclass(target):
        try:
            target = target()
        except BaseException as error:
            name = target.__name__
            raise start_error(f"{name}() failed, called without arguments", error) from None
    wrapped = _wrap(target)
    if not _has_predict(wrapped) and not callable(wrapped):
        kind = type(wrapped).__name__
        raise StartError(f"the model is an object of type {kind}: expected a class or object with a predict method, or a function")
    return wrapped


def _wrap(target: Any) -> Any:
    from . import wrappers

    for base in type(target).__mro__:
        library = base.__module__.partition(".")[0]
        if (library, base.__name__) == ("sklearn", "BaseEstimator"):
            return wrappers.sklearn(target)
        if (library, base.__name__) == ("keras", "Model"):
            return wrappers.keras(target)
        if (library, base.__name__) == ("transformers", "Pipeline"):
            return wrappers.transformers(target)
        if (library, base.__name__) == ("torch", "Module") and not _has_predict(target):
            raise StartError("the model is a torch module: write model = batchwise.torch(module, example=...)")
    return target
