"""Sequences of unlike lengths as jagged tensors: one projection, one attention, no padding anywhere."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
HEADS, SIZE = 4, 32
sequences = [torch.randn(n, HEADS * SIZE) for n in (7, 19, 33)]
project = torch.nn.Linear(HEADS * SIZE, HEADS * SIZE)

with torch.no_grad():
    x = torch.nested.nested_tensor(sequences, layout=torch.jagged)
    for _ in range(2):
        q = project(x).unflatten(-1, (HEADS, SIZE)).transpose(1, 2)
        F.scaled_dot_product_attention(q, q, q)
