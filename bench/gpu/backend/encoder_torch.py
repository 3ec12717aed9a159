"""A MiniLM-size encoder in plain PyTorch: 6 layers, 384 wide, 12 heads, random weights, half precision on a GPU."""

import queue
import threading

import torch
from torch import nn
from torch.nn import functional as F

LAYERS, WIDTH, HEADS, INNER, VOCABULARY = 6, 384, 12, 1536, 30522
SEQUENCE = 64
# Batches are padded up to the next of these: one CUDA graph each.
GRAPH_SIZES = [1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512]


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x):
        rows, length, _ = x.shape
        q, k, v = self.qkv(x).view(rows, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(rows, length, WIDTH)
        x = self.norm1(x + self.out(attended))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(SEQUENCE, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, tokens):
        x = self.norm(self.words(tokens % VOCABULARY) + self.places.weight)
        for layer in self.layers:
            x = layer(x)
        pooled = x.mean(dim=1).float()
        # The first number is the first token: a caller can tell its own answer from a neighbour's.
        return torch.cat([tokens[:, :1].float(), pooled[:, 1:]], dim=1)


class Slot:
    """Page-locked memory for one batch: the next one is filled while this one is on the GPU."""

    def __init__(self, most: int, on_gpu: bool):
        self.tokens = torch.empty(most, SEQUENCE, dtype=torch.int64, pin_memory=on_gpu)
        self.answers = torch.empty(most, WIDTH, dtype=torch.float32, pin_memory=on_gpu)


class TorchModel:
    def __init__(self, device: str, max_batch: int, graphs: bool):
        self.on_gpu = device.startswith("cuda")
        self.device = torch.device(device)
        torch.manual_seed(1)
        self.encoder = Encoder().eval().to(self.device)
        if self.on_gpu:
            self.encoder.half()
        self.max_batch = max_batch
        self.busy_ms = 0.0
        self.device_lock = threading.Lock()
        self.slots: queue.SimpleQueue[Slot] = queue.SimpleQueue()
        for _ in range(3):
            self.slots.put(Slot(max_batch, self.on_gpu))
        self.graphs = {}
        if self.on_gpu and graphs:
            self.capture()

    @property
    def name(self) -> str:
        return f"torch {torch.__version__} on {torch.cuda.get_device_name(0) if self.on_gpu else 'CPU'}, {'CUDA graphs' if self.graphs else 'eager'}"

    @torch.inference_mode()
    def capture(self):
        for size in [size for size in GRAPH_SIZES if size <= self.max_batch] or [self.max_batch]:
            tokens = torch.zeros(size, SEQUENCE, dtype=torch.int64, device=self.device)
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self.encoder(tokens)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                answers = self.encoder(tokens)
            self.graphs[size] = (graph, tokens, answers)
        torch.cuda.synchronize()

    @torch.inference_mode()
    def run(self, raw) -> bytes:
        count = len(raw) // (8 * SEQUENCE)
        if not 0 < count <= self.max_batch or len(raw) != count * 8 * SEQUENCE:
            raise ValueError(f"expected 1 to {self.max_batch} rows of {SEQUENCE} int64, got {len(raw)} bytes")
        slot = self.slots.get()
        try:
            slot.tokens[:count].copy_(torch.frombuffer(raw, dtype=torch.int64).view(count, SEQUENCE))
            with self.device_lock:
                self.on_device(slot, count)
            return slot.answers[:count].numpy().tobytes()
        finally:
            self.slots.put(slot)

    def on_device(self, slot: Slot, count: int):
        if not self.on_gpu:
            slot.answers[:count] = self.encoder(slot.tokens[:count])
            return
        started, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        started.record()
        size = next((size for size in self.graphs if size >= count), None)
        if size is None:
            answers = self.encoder(slot.tokens[:count].to(self.device, non_blocking=True))
        else:
            graph, tokens, answers = self.graphs[size]
            tokens[:count].copy_(slot.tokens[:count], non_blocking=True)
            graph.replay()
        slot.answers[:count].copy_(answers[:count], non_blocking=True)
        ended.record()
        ended.synchronize()
        self.busy_ms += started.elapsed_time(ended)
