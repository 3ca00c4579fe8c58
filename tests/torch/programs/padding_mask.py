"""A text encoder layer as many write it: padding becomes an additive mask that says of every query what only keys need."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
BATCH, HEADS, LENGTH, SIZE = 4, 8, 128, 64
lengths = torch.tensor([128, 96, 80, 100])
project = [torch.nn.Linear(HEADS * SIZE, HEADS * SIZE) for _ in range(4)]


def padding_mask(lengths):
    closed = torch.arange(LENGTH)[None, :] >= lengths[:, None]
    return torch.zeros(BATCH, 1, 1, LENGTH).masked_fill(closed[:, None, None, :], torch.finfo(torch.float32).min)


def layer(x, mask):
    q, k, v = (p(x).view(BATCH, LENGTH, HEADS, SIZE).transpose(1, 2) for p in project[:3])
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return project[3](out.transpose(1, 2).reshape(BATCH, LENGTH, HEADS * SIZE))


with torch.no_grad():
    x = torch.randn(BATCH, LENGTH, HEADS * SIZE)
    mask = padding_mask(lengths)
    for _ in range(6):
        x = layer(x, mask)
