"""A small stand-in in numpy, for trying the whole way where there is neither PyTorch nor a GPU."""

import threading
import time

import numpy as np

SEQUENCE, WIDTH, INNER, VOCABULARY = 64, 384, 16, 1000


class NumpyModel:
    name = f"numpy {np.__version__}, a stand-in for the encoder"

    def __init__(self, max_batch: int):
        random = np.random.default_rng(1)
        self.words = random.standard_normal((VOCABULARY, INNER), dtype=np.float32)
        self.out = random.standard_normal((INNER, WIDTH), dtype=np.float32)
        self.max_batch = max_batch
        self.busy_ms = 0.0
        self.device_lock = threading.Lock()

    def run(self, raw) -> bytes:
        tokens = np.frombuffer(raw, dtype=np.int64).reshape(-1, SEQUENCE)
        if not 0 < len(tokens) <= self.max_batch:
            raise ValueError(f"expected 1 to {self.max_batch} rows of {SEQUENCE} int64, got {len(raw)} bytes")
        with self.device_lock:
            started = time.perf_counter()
            answers = np.tanh(self.words[tokens % VOCABULARY].mean(axis=1) @ self.out)
            answers[:, 0] = tokens[:, 0]
            self.busy_ms += 1000 * (time.perf_counter() - started)
        return answers.tobytes()
