"""Attention as a program writes it out: two products with a softmax between. What such a program runs by default, in place of the call
of the attention function; the backends are forced through that function all the same, so that the two stand side by side."""
import math

import attention

NAME = "torch-written-out"
ASKED_BY = ("hand_written", "attention_weights", "score_change")


def asked(spec):
    """The layer above leaves the attention function for its own products."""
    extra = spec.get("extra") or {}
    return spec.get("op") == "sdpa" and not spec.get("nested") and any(str(extra.get(name, "false")).lower() not in ("false", "none") for name in ASKED_BY)


def notes_of(spec):
    change = (spec.get("extra") or {}).get("score_change", "none")
    return [] if change == "none" else [f"what the program does to its scores besides a mask ({change}) is no part of the spec, and is not run"]


def make_call(torch, tensors, spec):
    args = attention.arguments(torch, tensors, spec)
    q, k, v, mask = tensors["q"], tensors["k"], tensors["v"], args["attn_mask"]
    scale = 1.0 / math.sqrt(max(q.shape[-1], 1)) if args["scale"] is None else args["scale"]
    lower = None
    if args["is_causal"]:
        lower = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
    grouped = spec.get("enable_gqa") and q.dim() == 4 and q.shape[1] != k.shape[1]
    dropout = args["dropout_p"]

    def call():
        keys, values = k, v
        if grouped:
            keys, values = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
        scores = q @ keys.transpose(-2, -1) * scale
        if lower is not None:
            scores = scores.masked_fill(~lower, -math.inf)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
        weights = torch.softmax(scores, -1, dtype=torch.float32).to(q.dtype) if scores.dtype in (torch.float16, torch.bfloat16) else torch.softmax(scores, -1)
        if dropout > 0:
            weights = torch.nn.functional.dropout(weights, dropout)
        return weights @ values

    masked = "" if mask is None and lower is None else ".masked_fill(…)" if mask is None or mask.dtype == torch.bool else " + mask"
    call.api = f"torch.softmax(q @ k.transpose(-2, -1) * {scale:.6g}{masked}, -1) @ v, as the program writes it"
    return call
