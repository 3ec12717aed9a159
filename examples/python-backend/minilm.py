"""An encoder of MiniLM's size in PyTorch, with random weights: what it costs is what is of interest here."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional

LAYERS, WIDTH, HEADS, INNER, WORDS, POSITIONS = 6, 384, 12, 1536, 30522, 512


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)

    def forward(self, x, mask):
        rows, length, _ = x.shape
        heads = self.qkv(x).view(rows, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(heads[0], heads[1], heads[2], attn_mask=mask)
        x = self.norm_1(x + self.out(seen.transpose(1, 2).reshape(rows, length, WIDTH)))
        return self.norm_2(x + self.down(functional.gelu(self.up(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.positions = nn.Embedding(WORDS, WIDTH), nn.Embedding(POSITIONS, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, tokens):
        is_word = tokens != 0  # 0 pads
        x = self.norm(self.words(tokens) + self.positions.weight[: tokens.shape[1]])
        mask = is_word[:, None, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        weight = is_word[:, :, None].to(x.dtype)
        mean = (x * weight).sum(1) / weight.sum(1).clamp(min=1)
        return functional.normalize(mean.float(), dim=1)


class MiniLm:
    name = 'minilm'
    platform = 'pytorch'
    inputs = {'input_ids': ('INT64', [-1, -1])}
    outputs = {'embedding': ('FP32', [-1, WIDTH])}

    def __init__(self):
        torch.manual_seed(7)
        self.device = 'cuda' if torch.cuda.is_available() else 'cpu'
        self.encoder = Encoder().eval().to(self.device)
        if self.device == 'cuda':
            self.encoder.half()
        self.run(input_ids=np.ones((2, 64), np.int64))  # the first run loads and tunes

    @torch.inference_mode()
    def run(self, input_ids):
        length = input_ids.shape[1]
        if length > POSITIONS:
            raise ValueError(f'input_ids: expected at most {POSITIONS} tokens, got {length}')
        if input_ids.size and not (0 <= input_ids.min() and input_ids.max() < WORDS):
            raise ValueError(f'input_ids: expected tokens from 0 to {WORDS - 1}')
        # Copied, because PyTorch wants memory that it may write to, and what came with a message is not.
        tokens = torch.from_numpy(input_ids.copy()).to(self.device)
        return {'embedding': self.encoder(tokens).cpu().numpy()}
