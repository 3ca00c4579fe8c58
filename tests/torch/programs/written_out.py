"""Attention as programs write it out, one spelling a function; and products with a softmax near them that are no attention.
With the word "compiled" two of the spellings are compiled as well."""
import math
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(0)
BATCH, HEADS, LENGTH, SIZE = 2, 4, 64, 32
q, k, v = (torch.randn(BATCH, LENGTH, HEADS * SIZE).view(BATCH, LENGTH, HEADS, SIZE).transpose(1, 2) for _ in range(3))
padding = torch.zeros(BATCH, 1, 1, LENGTH)
padding[1, ..., 50:] = torch.finfo(torch.float32).min
triangle = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
x = torch.randn(2, 20, 64)


def added_mask():
    return torch.softmax(q @ k.transpose(-2, -1) * SIZE**-0.5 + padding, -1) @ v


def masked_fill():
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(SIZE)
    scores = scores.masked_fill(~triangle, float("-inf"))
    return F.dropout(F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype), p=0.1, training=False) @ v


def folded_heads():
    q3, k3, v3 = (t.reshape(BATCH * HEADS, LENGTH, SIZE) for t in (q, k, v))
    scores = torch.baddbmm(torch.zeros(1, 1, 1).expand(BATCH * HEADS, LENGTH, LENGTH), q3, k3.transpose(1, 2), beta=0, alpha=SIZE**-0.5)
    weights = torch.where(triangle, scores.view(BATCH, HEADS, LENGTH, LENGTH), torch.tensor(-1e9)).softmax(-1)
    return torch.bmm(weights.view(BATCH * HEADS, LENGTH, LENGTH), v3)


def soft_cap():
    scores = torch.einsum("bhid,bhjd->bhij", q, k)
    return torch.einsum("bhij,bhjd->bhid", (50 * torch.tanh(scores / 50)).softmax(dim=-1), v)


def grouped_heads():  # k and v once for two heads, as five axes
    grouped, keys, values = q.reshape(BATCH, 2, 2, LENGTH, SIZE) * SIZE**-0.5, k[:, :2, None], v[:, :2, None]
    return (grouped @ keys.transpose(-2, -1)).softmax(-1) @ values


def grouped_einsum():
    scores = torch.einsum("bghqd,bgkd->bghqk", q[:, :, -1:].unflatten(1, (2, 2)), k[:, ::2])
    return torch.einsum("bghqk,bgkd->bghqd", scores.softmax(-1), v[:, ::2])


def weights_wanted():
    return torch.nn.MultiheadAttention(64, 4, batch_first=True)(x, x, x)[0]


def router():  # a layer before the softmax
    return torch.nn.Linear(64, 8)(x).softmax(-1) @ torch.randn(2, 8, 16)


def other_axis():
    scores = q @ k.transpose(-2, -1)
    return scores.softmax(-2) @ v


def something_between():
    scores = q @ k.transpose(-2, -1)
    torch.mm(x[0], x[1].t())
    return scores.softmax(-1) @ v


with torch.no_grad():
    for call in (added_mask, masked_fill, folded_heads, soft_cap, grouped_heads, grouped_einsum, weights_wanted, router, other_axis, something_between):
        for _ in range(2):
            call()
    if "compiled" in sys.argv:
        torch.compile(added_mask, backend="aot_eager", fullgraph=True)()
        torch.compile(masked_fill, backend="aot_eager", fullgraph=True)()
