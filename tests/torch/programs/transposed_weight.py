"""Products with a weight that is tied to an embedding: once as a transposed view, which costs nothing, and once with
activations whose batch and time axes were swapped, so that the weight is multiplied once for every sequence."""
import torch

torch.manual_seed(0)
embedding = torch.nn.Embedding(1000, 256)
hidden = torch.randn(32, 16, 256)  # time, batch, features

with torch.no_grad():
    for _ in range(3):
        logits = hidden[-1] @ embedding.weight.t()
    swapped = hidden.transpose(0, 1)
    for _ in range(2):
        every = swapped @ embedding.weight.t()
