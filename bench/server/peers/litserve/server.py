"""LitServe: one API server process and one inference worker; requests are batched in the worker."""

import os
import signal
import sys

import litserve as ls
import numpy as np

from digits import Digits


class DigitsAPI(ls.LitAPI):
    def setup(self, device: str) -> None:
        self._model = Digits()

    def decode_request(self, request: dict) -> np.ndarray:
        return np.asarray(request["instances"], dtype=np.float32).reshape(-1, 64)

    def batch(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        return inputs

    def predict(self, requests: list[np.ndarray]) -> list[np.ndarray]:
        rows = self._model.predict(np.concatenate(requests))
        return np.split(rows, np.cumsum([len(request) for request in requests[:-1]]))

    def unbatch(self, output: list[np.ndarray]) -> list[np.ndarray]:
        return output

    def encode_response(self, output: np.ndarray) -> dict:
        return {"predictions": output.tolist()}


if __name__ == "__main__":
    # LitServe stops its processes on SIGINT; SIGTERM alone would leave them behind. They need no such handler.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))
    api = DigitsAPI(max_batch_size=64, batch_timeout=0.005, api_path="/predict")
    server = ls.LitServer(api, accelerator="cpu", workers_per_device=1, fast_queue=True)
    server.run(
        host="127.0.0.1",
        port=int(sys.argv[1]),
        num_api_servers=1,
        log_level="warning",
        generate_client_file=False,
    )
