"""One function compiled for backends that run its graph in three ways: as it was captured, with a callable of the program's own, and as
operators. Each is called three times; the last call is in eager mode."""
import torch
import torch.nn.functional as F


def step(x, w):
    y = x @ w
    y = torch.softmax(y @ y.transpose(-1, -2) * 0.125, -1) @ y
    return F.scaled_dot_product_attention(y, y, y)


x, w = torch.randn(2, 4, 32, 64), torch.randn(64, 64)
with torch.no_grad():
    for backend in ("eager", lambda graph, inputs: graph.forward, "aot_eager"):
        torch.compiler.reset()
        fast = torch.compile(step, backend=backend)
        for _ in range(3):
            fast(x, w)
    step(x, w)
