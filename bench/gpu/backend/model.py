"""The encoder as a Python model: `batchwise serve model.py`. MODEL_ARGS has the arguments of main.py."""

import os

import numpy as np
from numpy.typing import NDArray

SEQUENCE, WIDTH = 64, 384
ROW_BYTES = 8 * SEQUENCE


class MiniLM:
    example = np.zeros((1, SEQUENCE), np.int64)

    def __init__(self):
        arguments = os.environ.get("MODEL_ARGS", "").split()
        if "--small" in arguments:
            from encoder_numpy import NumpyModel

            self.model = NumpyModel(512)
        else:
            from encoder_torch import TorchModel

            device = arguments[arguments.index("--device") + 1] if "--device" in arguments else "cuda"
            self.model = TorchModel(device, 512, "--no-graphs" not in arguments)

    def predict(self, input_ids: NDArray[np.int64]):
        answers = self.model.run(input_ids.reshape(-1).view(np.uint8).data)
        return {"embedding": np.frombuffer(answers, np.float32).reshape(-1, WIDTH)}
