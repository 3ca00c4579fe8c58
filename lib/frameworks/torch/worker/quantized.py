"""Products with packed or quantized weights: torch's own entry points, fastest first, and the weight written out."""
import matmul


def codes_of(torch, tensors, spec):
    """Weight codes as int32 of shape (K, N), whatever their packing in the file (low nibble first)."""
    w = tensors["w"]
    if not hasattr(w, "dd_shape"):
        return w if w.is_floating_point() else w.to(torch.int32)
    k, n = w.dd_shape[-2:]
    flat = torch.stack((w & 15, w >> 4), dim=-1).reshape(-1)[:k * n].to(torch.int32)
    if (spec.get("w") or {}).get("dtype") == "s4":
        flat = torch.where(flat > 7, flat - 16, flat)
    strides = (spec.get("w") or {}).get("strides")
    if strides:
        return torch.as_strided(flat, (k, n), strides[-2:], (spec.get("w") or {}).get("offset") or 0)
    if spec.get("trans_w"):
        return flat.reshape(n, k).t()
    return flat.reshape(k, n)


def dequantized(torch, tensors, spec):
    """(K, N) weights in the type of x, from codes, scales, zero points and group index."""
    codes = codes_of(torch, tensors, spec).to(torch.float32)
    k = codes.shape[0]
    scales = tensors["scales"].to(torch.float32)
    groups = scales.shape[0]
    if "group_index" in tensors:
        index = tensors["group_index"].long()
    else:
        index = torch.arange(k, device=codes.device) // max(1, -(-k // groups))
    if "zeros" in tensors:
        codes = codes - tensors["zeros"].to(torch.float32)[index]
    x = tensors["x"]
    return (codes * scales[index]).to(x.dtype if "x_scales" not in tensors else torch.float32)


# Entry points for packed weights, fastest first. torch itself chooses none of them: the program (or torchao) has to.
QUANTIZED = ("torch-tinygemm-int4", "torch-int8pack", "torch-int-mm", "torch-scaled-mm")


def entry_points(spec, device):
    """Those that may serve this spec at all, whatever their limits; the dequantized product is always the last."""
    quant, x, w = spec.get("quant") or {}, (spec.get("x") or {}).get("dtype"), (spec.get("w") or {}).get("dtype")
    out = []
    if quant.get("bits") == 4:
        out = ["torch-tinygemm-int4"]
    elif quant.get("bits") == 8 and x == "s8" and w == "s8":
        out = ["torch-int-mm"]
    elif quant.get("bits") == 8 and str(x).startswith("f8") and str(w).startswith("f8"):
        out = ["torch-scaled-mm"]
    elif quant.get("bits") == 8 and device == "cpu":
        out = ["torch-int8pack"]
    return out + ["torch-dequant"]


def first_that_runs(torch, names, tensors, spec, kind):
    """(name, call, reasons): the first entry point that takes the call. Each refusal is kept with its own words."""
    refusals = []
    for name in names:
        try:
            call = call_of(torch, name, tensors, spec, kind)
            call()
            return name, call, refusals
        except (LookupError, RuntimeError, TypeError, ValueError, NotImplementedError) as e:
            if type(e).__name__ == "OutOfMemoryError":
                raise
            refusals.append(f"{name} passed over: {str(e).strip(chr(39) + chr(34))[:500]}")
    raise LookupError("; ".join(refusals) or "no entry point is allowed")


def call_of(torch, backend, tensors, spec, kind):
    text, rest = matmul.after(torch, spec, tensors.get("bias"))
    finish = lambda y: rest(y).to(kind)
    if backend == "torch-dequant":
        return matmul.named("x @ dequantize(w)" + text, lambda: finish(_plain(torch, tensors) @ dequantized(torch, tensors, spec)))
    if "group_index" in tensors:
        raise LookupError(f"{backend} knows no activation order")
    if backend.startswith("torchao-"):
        import layers
        api, product = layers.layer(torch, backend, tensors, spec, kind)
        return matmul.named(api + text, lambda: finish(product()))
    if backend == "torch-tinygemm-int4":
        api, product = _tinygemm(torch, tensors, spec)
    elif backend == "torch-int8pack":
        api, product = _int8pack(torch, tensors, spec)
    elif backend == "torch-int-mm":
        api, product = _int_mm(torch, tensors)
    elif backend == "torch-scaled-mm":
        api, product = _scaled_mm(torch, tensors, kind)
    else:
        raise LookupError(f"this worker has no quantized backend {backend}")
    return matmul.named(api + text, lambda: finish(product()))


def _plain(torch, tensors):
    """x as numbers: 8-bit codes times their scale of each row."""
    x = tensors["x"]
    if "x_scales" not in tensors:
        return x
    scaled = x.to(torch.float32) * tensors["x_scales"].reshape(-1, 1)
    return scaled


def one_scale_a_column(tensors, n, what):
    """Scales as (1, N); LookupError where the weight is scaled in groups along K."""
    scales = tensors["scales"]
    if scales.shape[0] != 1:
        raise LookupError(f"{what} takes one scale a column, this weight has {scales.shape[0]} groups")
    return scales.expand(1, n)


def _int8pack(torch, tensors, spec):
    if "zeros" in tensors:
        raise LookupError("_weight_int8pack_mm takes no zero points")
    x, codes = tensors["x"], codes_of(torch, tensors, spec)
    scales = one_scale_a_column(tensors, codes.shape[1], "_weight_int8pack_mm").reshape(-1).to(x.dtype).contiguous()
    if codes.numel() and codes.max() > 127:
        raise LookupError("_weight_int8pack_mm takes signed codes, these are unsigned")
    if x.dtype == torch.bfloat16 and codes.shape[0] % 8:
        raise LookupError("not run: with BF16 and a K that is no multiple of 8 the kernel ends the process by a segmentation fault")
    weight = codes.t().contiguous().to(torch.int8)
    entry = matmul.entry(torch, "_weight_int8pack_mm")
    return "torch._weight_int8pack_mm(x, w, scales)", lambda: entry(x, weight, scales)


def _int_mm(torch, tensors):
    if "zeros" in tensors:
        raise LookupError("_int_mm takes no zero points")
    x, w = tensors["x"], tensors["w"]
    if x.dtype != torch.int8 or getattr(w, "dtype", None) != torch.int8 or "x_scales" not in tensors:
        raise LookupError("_int_mm takes signed 8-bit codes on both sides")
    scales = one_scale_a_column(tensors, w.shape[-1], "_int_mm").to(torch.float32)
    rows = tensors["x_scales"].reshape(-1, 1)
    entry = matmul.entry(torch, "_int_mm")
    return "torch._int_mm(x, w) * scales", lambda: entry(x, w).to(torch.float32) * rows * scales


def _scaled_mm(torch, tensors, kind):
    if "x_scales" not in tensors or not tensors["w"].is_floating_point():
        raise LookupError("_scaled_mm takes f8 on both sides")
    x, w = tensors["x"], tensors["w"]
    rows = tensors["x_scales"].reshape(-1, 1).contiguous()
    columns = one_scale_a_column(tensors, w.shape[-1], "_scaled_mm").to(torch.float32).contiguous()
    entry = matmul.entry(torch, "_scaled_mm")
    return "torch._scaled_mm(x, w, row scales, column scales)", lambda: entry(x, w, scale_a=rows, scale_b=columns, out_dtype=kind if kind.itemsize > 1 else torch.bfloat16)


def tiny_operands(torch, tensors, spec):
    """(x, packed weight, group, scales and zeros, (N, K)) as the packed 4-bit product of this device wants them."""
    codes = codes_of(torch, tensors, spec)
    zeros = tensors["zeros"].to(torch.float32) if "zeros" in tensors else None
    if (spec.get("w") or {}).get("dtype") == "s4":
        codes = codes + 8  # unsigned nibbles; the middle of the range is 8
        zeros = torch.full_like(tensors["scales"], 8, dtype=torch.float32) if zeros is None else zeros + 8
    k, n = codes.shape
    scales = tensors["scales"].to(torch.float32)
    if zeros is None:
        zeros = torch.zeros_like(scales)
    # The kernel computes (code - 8) * scale + zero.
    shift = (8 - zeros) * scales
    x = tensors["x"]
    both = torch.stack((scales.expand(-1, n), shift.expand(-1, n)), dim=-1).to(x.dtype).contiguous()
    group = max(1, k // scales.shape[0])
    weight = codes.t().contiguous().to(torch.int32)
    if x.device.type == "cpu":
        packed = matmul.entry(torch, "_convert_weight_to_int4pack_for_cpu")(weight, 1)
    else:
        pack = matmul.entry(torch, "_convert_weight_to_int4pack")
        try:
            packed = pack((weight[:, ::2] << 4 | weight[:, 1::2]).to(torch.uint8), 8)
        except RuntimeError:  # before 2.5 the codes came unpacked
            packed = pack(weight, 8)
    return x, packed, group, both, (n, k)


def _tinygemm(torch, tensors, spec):
    if (spec.get("quant") or {}).get("bits") != 4:
        raise LookupError("_weight_int4pack_mm multiplies 4-bit weights")
    x, packed, group, both, _ = tiny_operands(torch, tensors, spec)
    name = "_weight_int4pack_mm_for_cpu" if x.device.type == "cpu" else "_weight_int4pack_mm"
    product = matmul.entry(torch, name)
    return f"torch.{name}(x, w, group, scales and zeros)", lambda: product(x, packed, group, both)
