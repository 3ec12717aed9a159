"""BentoML: one worker; requests are batched by the adaptive dispatcher of a batchable API."""

from typing import Annotated

import bentoml
import numpy as np
from bentoml.validators import DType

from digits import Digits


@bentoml.service(workers=1, logging={"access": {"enabled": False}})
class DigitsService:
    def __init__(self) -> None:
        self._model = Digits()

    @bentoml.api(route="/predict", batchable=True, max_batch_size=64, max_latency_ms=1000)
    def predict(self, instances: Annotated[np.ndarray, DType("float32")]) -> np.ndarray:
        return self._model.predict(instances)
