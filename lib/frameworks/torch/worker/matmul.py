"""Matrix products: the default call for x @ W, single entry points under force, quantized kernels."""
import contextlib

ENTRY = {"torch-matmul", "torch-mm", "torch-bmm", "torch-mv", "torch-linear", "torch-addmm-lt", "torch-mkldnn", "torch-int-mm", "torch-scaled-mm",
         "torch-tinygemm-int4"}


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
    return lambda y: y


def make_call(torch, tensors, spec):
    """What a program that writes x @ W (and a bias, and an activation) calls."""
    x, w, bias = tensors["x"], tensors["w"], tensors.get("bias")
    act = _activation(torch, spec)
    if bias is not None and w.dim() == 2:
        weight = w.t()  # linear stores (out, in); a view, so a transposed spec gives the usual layout
        return lambda: act(torch.nn.functional.linear(x, weight, bias.reshape(-1) if bias.dim() > 1 and bias.numel() == bias.shape[-1] else bias))
    if bias is not None:
        return lambda: act(x @ w + bias)
    return lambda: act(x @ w)


def forced_call(torch, backend, tensors, spec):
    """One entry point alone; LookupError when it has no meaning for these operands (the message says why)."""
    x, w, bias = tensors["x"], tensors["w"], tensors.get("bias")
    act = _activation(torch, spec)
    plus = (lambda y: y + bias) if bias is not None else (lambda y: y)
    if backend in ("torch-matmul", "torch-cpu-blas"):
        return make_call(torch, tensors, spec)
    if backend == "torch-mm":
        return lambda: act(plus(torch.mm(x, w)))
    if backend == "torch-bmm":
        return lambda: act(plus(torch.bmm(x, w)))
    if backend == "torch-mv":
        if w.shape[-1] != 1:
            raise LookupError("mv needs one column")
        return lambda: act(plus(torch.mv(x, w[:, 0]).unsqueeze(-1)))
    if backend in ("torch-linear", "torch-addmm-lt"):
        if w.dim() != 2:
            raise LookupError(f"{backend} needs a 2-d weight")
        if backend == "torch-linear":
            return lambda: act(torch.nn.functional.linear(x, w.t(), None if bias is None else bias.reshape(-1)))
        if bias is None:
            raise LookupError("addmm needs a bias")
        return lambda: act(torch.addmm(bias.reshape(-1), x, w))
    if backend == "torch-mkldnn":
        if not torch.backends.mkldnn.is_available():
            raise LookupError("this torch was built without oneDNN")
        return make_call(torch, tensors, spec)
    if backend == "torch-int-mm":
        return lambda: torch._int_mm(x, w)
    if backend == "torch-scaled-mm":
        one = torch.ones((), dtype=torch.float32, device=x.device)
        kind = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}.get(spec.get("out_dtype") or "bf16")
        return lambda: torch._scaled_mm(x, w, scale_a=one, scale_b=one, out_dtype=kind, bias=bias)
    raise LookupError(f"this worker has no backend {backend}")


def _codes(torch, tensors, spec):
    """Weight codes as int32 of shape (K, N), whatever their packing in the file (low nibble first)."""
    w = tensors["w"]
    if not hasattr(w, "dd_shape"):
        return w.to(torch.int32)
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
    return (codes * scales[index]).to(tensors["x"].dtype)


def quantized_call(torch, backend, tensors, spec):
    x = tensors["x"]
    act = _activation(torch, spec)
    if backend in ("", "torch-matmul", "torch-dequant"):
        bias = tensors.get("bias")
        plus = (lambda y: y + bias) if bias is not None else (lambda y: y)
        return lambda: act(plus(x @ dequantized(torch, tensors, spec)))
    if backend == "torch-int-mm" or backend == "torch-scaled-mm":
        return forced_call(torch, backend, tensors, spec)
    if backend == "torch-tinygemm-int4":
        return _tinygemm(torch, tensors, spec)
    raise LookupError(f"this worker has no quantized backend {backend}")


def _tinygemm(torch, tensors, spec):
    quant = spec.get("quant") or {}
    if quant.get("bits") != 4:
        raise LookupError("tinygemm multiplies 4-bit weights")
    if "group_index" in tensors:
        raise LookupError("tinygemm knows no activation order")
    codes = _codes(torch, tensors, spec)
    zeros = tensors["zeros"].to(torch.float32) if "zeros" in tensors else None
    if (spec.get("w") or {}).get("dtype") == "s4":
        codes = codes + 8  # unsigned nibbles; the middle of the range is 8
        zeros = torch.full_like(tensors["scales"], 8, dtype=torch.float32) if zeros is None else zeros + 8
    scales = tensors["scales"].to(torch.float32)
    if zeros is None:
        zeros = torch.zeros_like(scales)
    # The kernel computes (code - 8) * scale + zero.
    shift = (8 - zeros) * scales
    both = torch.stack((scales, shift), dim=-1).to(tensors["x"].dtype).contiguous()
    group = max(1, codes.shape[0] // scales.shape[0])
    x = tensors["x"]
    weight = codes.t().contiguous().to(torch.int32)
    if x.device.type == "cpu" and hasattr(torch.ops.aten, "_convert_weight_to_int4pack_for_cpu"):
        packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(weight, 1)
        return lambda: torch.ops.aten._weight_int4pack_mm_for_cpu(x, packed, group, both)
    if x.device.type == "cuda":
        n = weight.shape[0]
        nibbles = (weight[:, ::2] << 4 | weight[:, 1::2]).to(torch.uint8)
        try:
            packed = torch._convert_weight_to_int4pack(nibbles, 8)
        except RuntimeError:  # before 2.5 the codes came unpacked
            packed = torch._convert_weight_to_int4pack(weight, 8)
        del n
        return lambda: torch._weight_int4pack_mm(x, packed, group, both)
    raise LookupError("this torch has no packed 4-bit product for this device")


# aten operator -> backend, innermost first.
OPERATORS = [("aten::_int_mm", "torch-int-mm"), ("aten::_scaled_mm", "torch-scaled-mm"), ("aten::_weight_int4pack_mm", "torch-tinygemm-int4"),
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
