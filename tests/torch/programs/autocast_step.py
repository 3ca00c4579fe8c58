"""Training steps as many write them: FP32 weights, autocast around a compiled model."""
import torch
import torch.nn.functional as F

torch.manual_seed(0)


class Block(torch.nn.Module):
    def __init__(self, size=128, heads=4):
        super().__init__()
        self.heads, self.norm = heads, torch.nn.LayerNorm(size)
        self.qkv, self.out = torch.nn.Linear(size, 3 * size), torch.nn.Linear(size, size)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


model = Block()
step = torch.compile(model, backend="aot_eager")  # graphs as inductor gets them, without its code generation
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = step(torch.randn(2, 64, 128)).float().pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
