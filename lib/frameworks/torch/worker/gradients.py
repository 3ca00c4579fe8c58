"""Backward passes held against explicit formulas in f64, element by element.

The gradients are those of sum(result * weight) with a fixed weight. Nothing of torch's autograd or of its attention goes into the
reference: only products, exponentials and sums in f64. The limit of an element follows its own sum: `roundoff * (|terms| summed)`,
with a factor for the roundings on the way, so that cancellation is allowed for and a wrong factor or a missing term is not.
"""
import math

FACTOR = 2.0            # four roundings of half a unit: scores, probabilities, their gradient, the result
ROW_ELEMENTS = 1 << 22  # scores held at a time
MOST_WORK = 1 << 36     # multiplications; past this the reference would take minutes


def weight_of(torch, result):
    """Signs and sizes differ between neighbours, so that swapped or missing elements show."""
    index = torch.arange(result.numel(), device=result.device, dtype=torch.float64)
    return (torch.sin(index * 0.7548776662466927 + 0.25) + 0.25).reshape(result.shape)


def roundoff_of(torch, plan, result):
    kinds = [result.dtype] + [t.dtype for t in plan.tensors.values() if t.is_floating_point()]
    worst = max(torch.finfo(k).eps for k in kinds)
    flags = plan.spec.get("flags") or {}
    if flags.get("tf32") and result.device.type == "cuda" and result.dtype == torch.float32:
        worst = max(worst, 2.0 ** -10)
    return worst


def factor(roundoff, length):
    """16-bit types are summed in f32; wider ones in themselves, where the roundings of a long sum add up as the root of its length."""
    return FACTOR if roundoff > 1e-4 else FACTOR * (2 + math.sqrt(length) / 4)


def compare(torch, got, wanted, limits):
    """Rows of the protocol's `gradients`."""
    out = []
    for name, g in got.items():
        error = (g.detach().double() - wanted[name]).abs()
        over = ~(error <= limits[name])  # NaN is over every limit
        bad = int(over.sum())
        if error.numel() == 0:
            continue
        ratio = torch.where(over & ~torch.isfinite(error), torch.full_like(error, math.inf), error / limits[name].clamp_min(1e-300))
        at = int(ratio.reshape(-1).argmax())
        shown = float(error.reshape(-1)[at])
        out.append({"tensor": name, "mismatched": bad, "total": error.numel(), "error": shown if math.isfinite(shown) else 1e308,
                    "limit": float(limits[name].reshape(-1)[at])})
    return out


def product(torch, plan, weight, roundoff):
    """dx = weight · wᵀ, dw = xᵀ · weight of a plain product, batch axes summed where an operand was broadcast."""
    x, w = plan.tensors["x"].detach().double(), plan.tensors["w"].detach().double()
    wanted, limits = {}, {}
    for name, value, size, like in (("dx", weight @ w.transpose(-1, -2), weight.abs() @ w.abs().transpose(-1, -2), x),
                                    ("dw", x.transpose(-1, -2) @ weight, x.abs().transpose(-1, -2) @ weight.abs(), w)):
        length = w.shape[-1] if name == "dx" else x.shape[-2]
        wanted[name] = value.sum_to_size(like.shape)
        limits[name] = factor(roundoff, length) * roundoff * size.sum_to_size(like.shape) + 1e-300
    return wanted, limits


def attention(torch, plan, arguments, weight, roundoff):
    """dq, dk, dv by the formulas of the softmax product, one head and a block of rows at a time; None when it would take too long."""
    q, k, v = (plan.tensors[r].detach().double() for r in ("q", "k", "v"))
    lead = weight.shape[:-2]
    rows, columns = q.shape[-2], k.shape[-2]
    heads = math.prod(lead)
    if heads * rows * columns * (q.shape[-1] + v.shape[-1]) > MOST_WORK:
        return None
    shapes = {"dq": q.shape, "dk": k.shape, "dv": v.shape}
    if plan.spec.get("enable_gqa"):
        k, v = (t.repeat_interleave(q.shape[-3] // t.shape[-3], -3) for t in (k, v))
    q, k, v = (t.expand(*lead, *t.shape[-2:]).reshape(heads, *t.shape[-2:]) for t in (q, k, v))
    out_weight = weight.reshape(heads, *weight.shape[-2:])
    mask = arguments["attn_mask"]
    if mask is not None:
        mask = mask.detach().expand(*lead, rows, columns).reshape(heads, rows, columns)
    scale = arguments["scale"] if arguments["scale"] is not None else 1 / math.sqrt(max(q.shape[-1], 1))
    sums = {n: torch.zeros_like(t) for n, t in (("dq", q), ("dk", k), ("dv", v))}
    sizes = {n: torch.zeros_like(t) for n, t in sums.items()}
    step = max(1, ROW_ELEMENTS // max(columns, 1))
    for h in range(heads):
        for first in range(0, rows, step):
            part = slice(first, min(first + step, rows))
            scores = scale * (q[h, part] @ k[h].t())
            reach = scale * (q[h, part].abs() @ k[h].abs().t())  # what rounding of the scores is relative to
            if arguments["is_causal"]:
                i = torch.arange(part.start, part.stop, device=q.device).unsqueeze(1)
                scores = scores.masked_fill(torch.arange(columns, device=q.device) > i, -math.inf)
            if mask is not None:
                m = mask[h, part]
                scores = scores.masked_fill(~m, -math.inf) if m.dtype == torch.bool else scores + m.double()
            p = torch.softmax(scores, -1).nan_to_num(0.0)  # a row without keys attends to nothing
            g = out_weight[h, part]
            dp = g @ v[h].t()
            inner = (p * dp).sum(-1, keepdim=True)
            ds = p * (dp - inner)
            size_dp = g.abs() @ v[h].abs().t()
            # Errors of p come from the scores (relative to their reach), those of dp and of the row sum from their own terms.
            size_p = p * (1 + reach)
            size_ds = size_p * (size_dp + (p * size_dp).sum(-1, keepdim=True))
            sums["dv"][h] += p.t() @ g
            sizes["dv"][h] += size_p.t() @ g.abs()
            sums["dq"][h, part] = scale * (ds @ k[h])
            sizes["dq"][h, part] = scale * (size_ds @ k[h].abs())
            sums["dk"][h] += scale * (ds.t() @ q[h, part])
            sizes["dk"][h] += scale * (size_ds.t() @ q[h, part].abs())
    wanted, limits = {}, {}
    for name in sums:
        shape = shapes[name]

        def fold(t):
            t = t.reshape(*lead, *t.shape[-2:])
            if plan.spec.get("enable_gqa") and name != "dq":  # the heads of one group add up
                t = t.reshape(*t.shape[:-3], shape[-3], -1, *t.shape[-2:]).sum(-3)
            return t.sum_to_size(shape)

        wanted[name] = fold(sums[name])
        limits[name] = factor(roundoff, max(rows, columns, q.shape[-1], v.shape[-1])) * roundoff * fold(sizes[name]) + 1e-300
    return wanted, limits
