"""Serve Python models behind Batchwise, which sends each batch as one message.

    import numpy as np

    class Model:
        example = np.zeros((1, 4), np.float32)

        def predict(self, rows: np.ndarray) -> np.ndarray:
            return rows.sum(axis=1)

`batchwise serve model.py` runs this file in its own process. `batchwise.serve(Model, "/run/model.sock")`
serves it from a process of your own. Importing this package does not import numpy.
"""
# `python -m batchwise` imports this file first. Old interpreters must be able to parse it, so that
# __main__.py can report the version that is needed.
import sys

__version__ = "0.1.0"

if sys.version_info >= (3, 9):
    from .errors import InvalidItem
    from .loading import model
    from .serving import Server, serve
    from .signature import Signature, Tensor

__all__ = [
    "InvalidItem",
    "Server",
    "Signature",
    "Tensor",
    "__version__",
    "model",
    "serve",
]
