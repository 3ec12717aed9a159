"""mosec: the web server is Rust; one worker process gets the batches and does the JSON."""

import msgspec
import numpy as np
from mosec import Server, Worker

from digits import Digits


class DigitsWorker(Worker):
    def __init__(self) -> None:
        super().__init__()
        self._model = Digits()

    # The JSON that mosec does by default is indented, which costs about a quarter of the requests.
    def deserialize(self, data: bytes) -> np.ndarray:
        return np.asarray(msgspec.json.decode(data)["instances"], dtype=np.float32).reshape(-1, 64)

    def forward(self, data: list[np.ndarray]) -> list[np.ndarray]:
        rows = self._model.predict(np.concatenate(data))
        return np.split(rows, np.cumsum([len(request) for request in data[:-1]]))

    def serialize(self, data: np.ndarray) -> bytes:
        return msgspec.json.encode({"predictions": data.tolist()})


if __name__ == "__main__":
    server = Server()
    server.append_worker(DigitsWorker, num=1, max_batch_size=64, max_wait_time=5, route="/predict")
    server.run()
