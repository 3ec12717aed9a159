"""Serve Python models behind Batchwise, which sends each batch as one message.

    import numpy as np

    class Model:
        example = np.zeros((1, 4), np.float32)

        def predict(self, rows: np.ndarray) -> np.ndarray:
            return rows.sum(axis=1)

`batchwise serve model.py` runs this file in its own process. `batchwise.serve(Model, "/run/model.sock")`
serves it from a process of your own. Importing this package does not import numpy.
"""
# `python -m batchwise` imports this file first, so it must stay small: old interpreters must be able to parse
# it, to report the version that is needed, and it must import nothing while the working directory, with files
# that may have the name of a standard module, is on sys.path.
__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .errors import InvalidItem
    from .loading import model
    from .serving import Server, serve
    from .signature import Signature, Tensor
    from .wrappers import keras, sklearn, torch, transformers

_MODULES = {
    "InvalidItem": "errors",
    "Server": "serving",
    "Signature": "signature",
    "Tensor": "signature",
    "keras": "wrappers",
    "model": "loading",
    "serve": "serving",
    "sklearn": "wrappers",
    "torch": "wrappers",
    "transformers": "wrappers",
}

__all__ = [
    "InvalidItem",
    "Server",
    "Signature",
    "Tensor",
    "__version__",
    "keras",
    "model",
    "serve",
    "sklearn",
    "torch",
    "transformers",
]


def __getattr__(name):  # type: ignore[no-untyped-def]
    # PEP 562: a public name is imported when it is first used.
    if name not in _MODULES:
        raise AttributeError("module 'batchwise' has no attribute %r" % name)
    import importlib

    value = getattr(importlib.import_module("." + _MODULES[name], __name__), name)
    globals()[name] = value
    return value
