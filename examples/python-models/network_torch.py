"""The same with PyTorch, on a GPU if there is one."""
import batchwise
import torch
from torch.nn import Linear, ReLU, Sequential

network = Sequential(Linear(64, 128), ReLU(), Linear(128, 10))
model = batchwise.torch(network, example=torch.zeros(1, 64))
