"""The encoder behind mosec: a row of tokens at the end of the request, the bytes of its embedding in the response."""

import os

import numpy as np
from model import ROW_BYTES, WIDTH, MiniLM
from mosec import Server, Worker


class Encoder(Worker):
    def __init__(self) -> None:
        super().__init__()
        self.model = MiniLM().model

    def deserialize(self, data: bytes) -> bytes:
        return data[-ROW_BYTES:]

    def forward(self, data: list[bytes]) -> list[bytes]:
        answers = self.model.run(b"".join(data))
        size = 4 * WIDTH
        return [answers[at : at + size] for at in range(0, len(answers), size)]

    def serialize(self, data: bytes) -> bytes:
        return data


if __name__ == "__main__":
    server = Server()
    server.append_worker(
        Encoder,
        num=int(os.environ["WORKERS"]),
        max_batch_size=int(os.environ["MAX_BATCH"]),
        max_wait_time=int(os.environ["MAX_WAIT_MS"]),
        route="/v2/models/minilm/infer",
    )
    server.run()
