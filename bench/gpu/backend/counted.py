"""A model whose batches are counted, for whoever wants to know how large they were and how busy the device was."""

import threading
from collections import Counter

ROW_BYTES = 8 * 64


class Counted:
    def __init__(self, model):
        self.model = model
        self.sizes: Counter[int] = Counter()
        self.lock = threading.Lock()

    def run(self, raw) -> bytes:
        with self.lock:
            self.sizes[len(raw) // ROW_BYTES] += 1
        return self.model.run(raw)

    def report(self) -> dict:
        with self.lock:
            sizes = dict(self.sizes)
        return {"busy_ms": self.model.busy_ms, "batches": sum(sizes.values()), "items": sum(size * count for size, count in sizes.items()), "sizes": sizes}
