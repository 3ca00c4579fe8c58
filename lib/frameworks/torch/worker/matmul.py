"""Matrix products: the default call for x @ W, single entry points under force, quantized kernels."""
import contextlib


def switches(torch, spec):
    """TF32, reduced precision, determinism and the preferred library of the spec, restored on exit."""
    stack = contextlib.ExitStack()
    flags = spec.get("flags", {})

    def put(holder, name, value):
        if hasattr(holder, name):
            stack.callback(setattr, holder, name, getattr(holder, name))
            setattr(holder, name, value)

    put(torch.backends.cuda.matmul, "allow_tf32", bool(flags.get("tf32")))
    put(torch.backends.cuda.matmul, "allow_fp16_reduced_precision_reduction", bool(flags.get("reduced_precision")))
    put(torch.backends.cuda.matmul, "allow_bf16_reduced_precision_reduction", bool(flags.get("reduced_precision")))
    wanted = flags.get("deterministic") or "off"
    if wanted not in ("off", False):
        before, warn = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
        torch.use_deterministic_algorithms(True, warn_only=wanted == "warn_only")
        stack.callback(torch.use_deterministic_algorithms, before, warn_only=warn)
    return stack


def _activation(torch, spec):
    epilogue = spec.get("epilogue") or "none"
    if "relu" in epilogue:
        return torch.relu
    if "gelu" in epilogue:
        return lambda y: torch.nn.functional.gelu(y, approximate="tanh")

    def nothing(y):
        return y
    return nothing


def named(api, call):
    """The call with what a program would have written, for the report."""
    call.api = api
    return call


def _after(torch, spec, bias):
    """(text, function) of what follows a product that takes neither bias nor activation."""
    act = _activation(torch, spec)
    text = (" + bias" if bias is not None else "") + (f", then {spec['epilogue'].replace('bias+', '')}" if act.__name__ != "nothing" else "")
    return text, (lambda y: act(y + bias)) if bias is not None else act


def make_call(torch, tensors, spec):
    """What a program that writes x @ W (and a bias, and an activation) calls."""
    x, w, bias = tensors["x"], tensors["w"], tensors.get("bias")
    if bias is not None and w.dim() == 2:
        act = _activation(torch, spec)
        weight = w.t()  # linear stores (out, in); a view, so a transposed spec gives the usual layout
        flat = bias.reshape(-1) if bias.dim() > 1 and bias.numel() == bias.shape[-1] else bias
        return named("torch.nn.functional.linear(x, w.t(), bias)" + _after(torch, spec, None)[0], lambda: act(torch.nn.functional.linear(x, weight, flat)))
    text, after = _after(torch, spec, bias)
    return named("x @ w" + text, lambda: after(x @ w))


ENTRIES = {"mm": "torch-mm", "bmm": "torch-bmm", "mv": "torch-mv", "linear": "torch-linear", "addmm": "torch-addmm-lt", "int_mm": "torch-int-mm",
           "scaled_mm": "torch-scaled-mm"}


def entry_of(spec):
    """The entry point that the spec names, or that its types leave as the one of use; "" for an ordinary product."""
    named_call = (spec.get("extra") or {}).get("call")
    if named_call in ENTRIES:
        return ENTRIES[named_call]
    if named_call in ("matmul", "linear"):
        return ""
    x, w = str((spec.get("x") or {}).get("dtype")), str((spec.get("w") or {}).get("dtype"))
    if x == w == "s8":
        return "torch-int-mm"  # matmul of bytes gives bytes
    return "torch-scaled-mm" if x.startswith("f8") and w.startswith("f8") else ""


def forced_call(torch, backend, tensors, spec, kind):
    """One entry point alone; LookupError when it has no meaning for these operands (the message says why). `kind`: the result's type."""
    x, w, bias = tensors["x"], tensors["w"], tensors.get("bias")
    text, after = _after(torch, spec, bias)
    if backend in ("torch-matmul", "torch-cpu-blas"):
        return make_call(torch, tensors, spec)
    if backend == "torch-mm":
        if x.dim() == 2 and w.dim() == 2:
            return named("torch.mm(x, w)" + text, lambda: after(torch.mm(x, w)))
        if w.dim() != 2:
            raise LookupError("mm multiplies two matrices")
        return named("torch.mm(x.flatten(0, -2), w)" + text, lambda: after(torch.mm(x.flatten(0, -2), w).unflatten(0, x.shape[:-1])))
    if backend == "torch-bmm":
        if max(x.dim(), w.dim()) > 3:
            raise LookupError("bmm has one batch axis")
        batch = max(t.shape[0] if t.dim() == 3 else 1 for t in (x, w))
        whole = [t.expand(batch, *t.shape[-2:]) for t in (x, w)]
        lead = x.shape[:-2] if w.dim() == 2 else torch.broadcast_shapes(x.shape[:-2], w.shape[:-2])
        return named("torch.bmm(x, w)" + text, lambda: after(torch.bmm(*whole) if lead else torch.bmm(*whole)[0]))
    if backend == "torch-mv":
        if w.shape[-1] != 1:
            raise LookupError("mv needs one column")
        return named("torch.mv(x, w[:, 0])" + text, lambda: after(torch.mv(x, w[:, 0]).unsqueeze(-1)))
    if backend in ("torch-linear", "torch-addmm-lt"):
        if w.dim() != 2:
            raise LookupError(f"{backend} needs a 2-d weight")
        act = _activation(torch, spec)
        flat = None if bias is None else bias.reshape(-1)
        if backend == "torch-linear":
            return named("torch.nn.functional.linear(x, w.t(), bias)", lambda: act(torch.nn.functional.linear(x, w.t(), flat)))
        if bias is None:
            raise LookupError("addmm needs a bias")
        return named("torch.addmm(bias, x, w)", lambda: act(torch.addmm(flat, x, w)))
    if backend == "torch-mkldnn":
        if not torch.backends.mkldnn.is_available():
            raise LookupError("this torch was built without oneDNN")
        return make_call(torch, tensors, spec)
    if backend == "torch-int-mm":
        return named("torch._int_mm(x, w)", lambda: _entry(torch, "_int_mm")(x, w))
    if backend == "torch-scaled-mm":
        one = torch.ones((), dtype=torch.float32, device=x.device)
        return named("torch._scaled_mm(x, w, 1, 1)", lambda: _entry(torch, "_scaled_mm")(x, w, scale_a=one, scale_b=one, out_dtype=kind, bias=bias))
    raise LookupError(f"this worker has no backend {backend}")


def _entry(torch, name):
    """An entry point of torch, or LookupError: older releases lack some."""
    found = getattr(torch, name, None) or getattr(torch.ops.aten, name, None)
    if found is None:
        raise LookupError(f"torch {torch.__version__} has no {name}")
    return found


def _codes(torch, tensors, spec):
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
    codes = _codes(torch, tensors, spec).to(torch.float32)
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
            call = quantized_call(torch, name, tensors, spec, kind)
            call()
            return name, call, refusals
        except (LookupError, RuntimeError, TypeError, ValueError, NotImplementedError) as e:
            if type(e).__name__ == "OutOfMemoryError":
                raise
            refusals.append(f"{name} passed over: {str(e).strip(chr(39) + chr(34))[:500]}")
    raise LookupError("; ".join(refusals) or "no entry point is allowed")


def quantized_call(torch, backend, tensors, spec, kind):
    text, after = _after(torch, spec, tensors.get("bias"))
    finish = lambda y: after(y).to(kind)
    if backend == "torch-dequant":
        return named("x @ dequantize(w)" + text, lambda: finish(_plain(torch, tensors) @ dequantized(torch, tensors, spec)))
    if "group_index" in tensors:
        raise LookupError(f"{backend} knows no activation order")
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
    return named(api + text, lambda: finish(product()))


def _plain(torch, tensors):
    """x as numbers: 8-bit codes times their scale of each row."""
    x = tensors["x"]
    if "x_scales" not in tensors:
        return x
    scaled = x.to(torch.float32) * tensors["x_scales"].reshape(-1, 1)
    return scaled


def _one_scale_a_column(tensors, n, what):
    """Scales as (1, N); LookupError where the weight is scaled in groups along K."""
    scales = tensors["scales"]
    if scales.shape[0] != 1:
        raise LookupError(f"{what} takes one scale a column, this weight has {scales.shape[0]} groups")
    return scales.expand(1, n)


def _int8pack(torch, tensors, spec):
    if "zeros" in tensors:
        raise LookupError("_weight_int8pack_mm takes no zero points")
    x, codes = tensors["x"], _codes(torch, tensors, spec)
    scales = _one_scale_a_column(tensors, codes.shape[1], "_weight_int8pack_mm").reshape(-1).to(x.dtype).contiguous()
    if codes.numel() and codes.max() > 127:
        raise LookupError("_weight_int8pack_mm takes signed codes, these are unsigned")
    if x.dtype == torch.bfloat16 and codes.shape[0] % 8:
        raise LookupError("not run: with BF16 and a K that is no multiple of 8 the kernel ends the process by a segmentation fault")
    weight = codes.t().contiguous().to(torch.int8)
    entry = _entry(torch, "_weight_int8pack_mm")
    return "torch._weight_int8pack_mm(x, w, scales)", lambda: entry(x, weight, scales)


def _int_mm(torch, tensors):
    if "zeros" in tensors:
        raise LookupError("_int_mm takes no zero points")
    x, w = tensors["x"], tensors["w"]
    if x.dtype != torch.int8 or getattr(w, "dtype", None) != torch.int8 or "x_scales" not in tensors:
        raise LookupError("_int_mm takes signed 8-bit codes on both sides")
    scales = _one_scale_a_column(tensors, w.shape[-1], "_int_mm").to(torch.float32)
    rows = tensors["x_scales"].reshape(-1, 1)
    entry = _entry(torch, "_int_mm")
    return "torch._int_mm(x, w) * scales", lambda: entry(x, w).to(torch.float32) * rows * scales


def _scaled_mm(torch, tensors, kind):
    if "x_scales" not in tensors or not tensors["w"].is_floating_point():
        raise LookupError("_scaled_mm takes f8 on both sides")
    x, w = tensors["x"], tensors["w"]
    rows = tensors["x_scales"].reshape(-1, 1).contiguous()
    columns = _one_scale_a_column(tensors, w.shape[-1], "_scaled_mm").to(torch.float32).contiguous()
    entry = _entry(torch, "_scaled_mm")
    return "torch._scaled_mm(x, w, row scales, column scales)", lambda: entry(x, w, scale_a=rows, scale_b=columns, out_dtype=kind if kind.itemsize > 1 else torch.bfloat16)


def _tinygemm(torch, tensors, spec):
    quant = spec.get("quant") or {}
    if quant.get("bits") != 4:
        raise LookupError("_weight_int4pack_mm multiplies 4-bit weights")
    codes = _codes(torch, tensors, spec)
    zeros = tensors["zeros"].to(torch.float32) if "zeros" in tensors else None
    if (spec.get("w") or {}).get("dtype") == "s4":
        codes = codes + 8  # unsigned nibbles; the middle of the range is 8
        zeros = torch.full_like(tensors["scales"], 8, dtype=torch.float32) if zeros is None else zeros + 8
    n = codes.shape[1]
    scales = tensors["scales"].to(torch.float32)
    if zeros is None:
        zeros = torch.zeros_like(scales)
    # The kernel computes (code - 8) * scale + zero.
    shift = (8 - zeros) * scales
    x = tensors["x"]
    both = torch.stack((scales.expand(-1, n), shift.expand(-1, n)), dim=-1).to(x.dtype).contiguous()
    group = max(1, codes.shape[0] // scales.shape[0])
    weight = codes.t().contiguous().to(torch.int32)
    if x.device.type == "cpu":
        packed = _entry(torch, "_convert_weight_to_int4pack_for_cpu")(weight, 1)
        entry = _entry(torch, "_weight_int4pack_mm_for_cpu")
        return "torch._weight_int4pack_mm_for_cpu(x, w, group, scales and zeros)", lambda: entry(x, packed, group, both)
    pack, entry = _entry(torch, "_convert_weight_to_int4pack"), _entry(torch, "_weight_int4pack_mm")
    try:
        packed = pack((weight[:, ::2] << 4 | weight[:, 1::2]).to(torch.uint8), 8)
    except RuntimeError:  # before 2.5 the codes came unpacked
        packed = pack(weight, 8)
    return "torch._weight_int4pack_mm(x, w, group, scales and zeros)", lambda: entry(x, packed, group, both)


# aten operator -> backend, innermost first.
OPERATORS = [("aten::_weight_int8pack_mm", "torch-int8pack"), ("aten::_int_mm", "torch-int-mm"), ("aten::_scaled_mm", "torch-scaled-mm"), ("aten::_weight_int4pack_mm", "torch-tinygemm-int4"),
             ("aten::_weight_int4pack_mm_for_cpu", "torch-tinygemm-int4"), ("aten::bmm", "torch-bmm"), ("aten::baddbmm", "torch-bmm"),
             ("aten::addmm", "torch-addmm"), ("aten::mm", "torch-mm"), ("aten::mv", "torch-mv"), ("aten::addmv", "torch-mv"), ("aten::dot", "torch-dot")]


def ran_of(names, device="", library=None):
    """The backend that operator names, and on the processor the library's own lines, tell; "" when they do not."""
    told = ""
    for operator, backend in OPERATORS:
        if operator in names:
            told = backend
            break
    if device != "cpu" or told not in ("torch-mm", "torch-addmm", "torch-mv", "torch-dot", "torch-bmm"):
        # On a GPU addmm may end in either library; only the kernels say which.
        return "" if told == "torch-addmm" else told
    if library is None:
        return ""
    if any(call["name"] in ("onednn matmul", "onednn inner_product") for call in library):
        return "torch-mkldnn"
    return "torch-bmm" if told == "torch-bmm" else "torch-cpu-blas"
