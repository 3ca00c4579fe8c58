"""One layer of a decoder with grouped heads over a long context: first the prompt, then a few tokens from the cache."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)
HEADS, KV_HEADS, SIZE, PROMPT, STEPS = 16, 4, 64, 1024, 4


def attend(q, k, v, causal):
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)


with torch.no_grad():
    keys, values = torch.randn(1, KV_HEADS, PROMPT, SIZE), torch.randn(1, KV_HEADS, PROMPT, SIZE)
    attend(torch.randn(1, HEADS, PROMPT, SIZE), keys, values, True)
    for _ in range(STEPS):
        keys = torch.cat((keys, torch.randn(1, KV_HEADS, 1, SIZE)), 2)
        values = torch.cat((values, torch.randn(1, KV_HEADS, 1, SIZE)), 2)
        attend(torch.randn(1, HEADS, 1, SIZE), keys, values, False)
