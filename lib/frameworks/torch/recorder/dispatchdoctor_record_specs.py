"""Specs from tensors and switches: what a call is, without any of its data but the class of a mask."""
import types
import weakref

NAMES = {"torch.float64": "f64", "torch.float32": "f32", "torch.float16": "f16", "torch.bfloat16": "bf16", "torch.float8_e4m3fn": "f8_e4m3",
         "torch.float8_e5m2": "f8_e5m2", "torch.int8": "s8", "torch.uint8": "u8", "torch.bool": "bool", "torch.int32": "s32"}
LARGEST_MASK = 1 << 22  # elements; a larger mask is classed by its corners only where that is enough
_masks = {}   # id of a mask -> (weak reference, version, class): one mask serves every layer


class Unsupported(TypeError):
    pass


def traced(t):
    """A compiler runs the program's lines with stand-ins: no call of the program, and its graph is recorded already."""
    return type(t).__name__ in ("FakeTensor", "FunctionalTensor")


def jagged(t):
    """Lengths of the sequences of a jagged tensor; None of an ordinary one. Nested tensors of the older layout have no single extent."""
    if not t.is_nested:
        return None
    if not hasattr(t, "offsets"):
        raise Unsupported("nested tensors of the strided layout")
    return tuple(int(n) for n in t.offsets().diff().tolist())


def padded(torch, t, lengths):
    """A stand-in of the extents of the longest sequence: jagged tensors are recorded as that shape with their lengths."""
    extents = [max(lengths, default=0) if not isinstance(n, int) else n for n in t.shape]
    flat = torch.empty(0, dtype=t.dtype, device=t.device)
    strides, step = [], 1
    for n in reversed(extents):
        strides.insert(0, step)
        step *= max(n, 1)
    return types.SimpleNamespace(shape=tuple(extents), dtype=t.dtype, device=t.device, requires_grad=t.requires_grad, stride=lambda: tuple(strides), storage_offset=lambda: 0,
                                 data_ptr=lambda: 0, element_size=flat.element_size, is_contiguous=lambda: True)


def key_of(t):
    """What two calls must share to be one line; cheap, since every call pays for it."""
    return (t.shape, t.stride(), t.storage_offset(), t.dtype, t.device, t.requires_grad, t.data_ptr() & 15)


def tensor_of(t):
    kind = NAMES.get(str(t.dtype))
    if kind is None or t.device.type not in ("cpu", "cuda"):
        raise Unsupported(str(t.dtype))
    out = {"shape": [int(n) for n in t.shape], "dtype": kind}
    strides = [int(n) for n in t.stride()]
    if not t.is_contiguous() or odd(t):
        out["strides"] = strides
    offset = int(t.storage_offset())
    try:
        # The pointer within its allocation decides alignment; the storage itself starts aligned unless it is a view of foreign memory.
        size = t.element_size()
        beyond = t.data_ptr() - offset * size
        extra = beyond % 16 // size if beyond else 0  # 16 bytes is what vector loads and dispatch rules look at
        offset += int(extra)
    except Exception:
        pass
    if offset:
        out["offset"] = offset % (1 << 20)
    return out


def odd(t):
    """Strides of size-1 axes that a contiguous tensor would not have: they decide paths and are kept."""
    expected = 1
    for n, s in zip(reversed(t.shape), reversed(t.stride())):
        if s != expected:
            return True
        expected *= max(int(n), 1)
    return False


def class_of(torch, m, closed=False):
    """mask_class, once for a tensor that nobody wrote to since. `closed`: a mask that is true where a key does not count."""
    known = _masks.get(id(m))
    version = m._version
    if known and known[0]() is m and known[1:3] == (version, closed):
        return known[3]
    found = mask_class(torch, ~m if closed else m)
    if len(_masks) > 1000:
        _masks.clear()
    _masks[id(m)] = (weakref.ref(m), version, closed, found)
    return found


def joined(torch, masks, dtype):
    """(one mask, its class) of several (mask, class) that all hold, in a type that the attention function takes."""
    if not masks:
        return None, None
    kinds = {c for _, c in masks if c != "zeros"}
    content = "zeros" if not kinds else kinds.pop() if len(kinds) == 1 else "random"
    first = masks[0][0]
    kept = all(m.dtype == first.dtype for m, _ in masks) and first.dtype in (torch.bool, torch.float32, dtype)
    if len(masks) == 1 and kept:
        return first, content
    shape = torch.broadcast_shapes(*(m.shape for m, _ in masks))
    return first.new_empty(shape, dtype=first.dtype if kept else dtype), content


def mask_class(torch, m):
    """causal, padding:N, window:N, zeros or random; the data itself is never kept. Sequences that are padded each on its own are told by
    the longest padding."""
    if m.numel() == 0 or m.numel() > LARGEST_MASK or m.dim() < 2:
        return "random"
    with torch.no_grad():
        open_ = m if m.dtype == torch.bool else m == 0
        if m.dtype != torch.bool:
            if bool(open_.all()):
                return "zeros"
            closed = m <= torch.finfo(m.dtype).min / 2
            if not bool((open_ | closed).all()):
                return "random"
        elif not bool(m.any()):
            return "zeros"
        rows, columns = open_.shape[-2:]
        flat = open_.reshape(-1, rows, columns)
        index_i, index_j = torch.arange(rows, device=m.device).unsqueeze(1), torch.arange(columns, device=m.device)
        lengths = flat[:, 0].sum(-1)
        if bool((flat == (index_j < lengths[:, None, None])).all()):
            return f"padding:{columns - int(lengths.min())}"
        first = flat[0]
        if bool((flat == first).all()):
            if rows > 1 and bool((first == (index_j <= index_i)).all()):
                return "causal"
            width = int(first[0].sum()) - 1
            if width >= 0 and bool((first == ((index_i - index_j).abs() <= width)).all()):
                return f"window:{width}"
    return "random"


def _autocast(torch, device):
    """The type that autocast computes in, None where it is off."""
    if hasattr(torch, "get_autocast_dtype"):  # since 2.4; the older questions warn there, which costs more than all the rest
        return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
    if device == "cuda":
        return torch.get_autocast_gpu_dtype() if torch.is_autocast_enabled() else None
    return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None


def flags_of(torch, device):
    cuda = torch.backends.cuda
    enabled = {"flash": cuda.flash_sdp_enabled(), "efficient": cuda.mem_efficient_sdp_enabled(), "math": cuda.math_sdp_enabled(),
               "cudnn": cuda.cudnn_sdp_enabled() if hasattr(cuda, "cudnn_sdp_enabled") else True}
    strict = torch.are_deterministic_algorithms_enabled()
    warn = strict and torch.is_deterministic_algorithms_warn_only_enabled()
    out = {"deterministic": "warn_only" if warn else "strict" if strict else "off",
           "tf32": bool(getattr(cuda.matmul, "allow_tf32", False)), "enabled": enabled}
    try:
        if (kind := _autocast(torch, device)) is not None:
            out["autocast"] = NAMES.get(str(kind))
    except Exception:
        pass
    return out


def context_of(torch, t):
    device = t.device.type
    context = {"framework": "torch", "torch": torch.__version__.split("+")[0], "target": "cpu" if device == "cpu" else f"{device}:{t.device.index or 0}"}
    if torch.version.cuda:
        context["cuda"] = torch.version.cuda
    return context


def flags_key(torch, device):
    """The switches, as one cheap value."""
    cuda = torch.backends.cuda
    return (cuda.flash_sdp_enabled(), cuda.mem_efficient_sdp_enabled(), cuda.math_sdp_enabled(), not hasattr(cuda, "cudnn_sdp_enabled") or cuda.cudnn_sdp_enabled(),
            torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled(), _autocast(torch, device),
            torch.is_grad_enabled())


def sdpa_spec(torch, q, k, v, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False, content=None):
    spec = {"op": "sdpa", "q": tensor_of(q), "k": tensor_of(k), "v": tensor_of(v), "is_causal": bool(is_causal), "dropout_p": float(dropout_p),
            "requires_grad": bool(torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad)),
            "flags": flags_of(torch, q.device.type), "context": context_of(torch, q)}
    if scale is not None:
        spec["scale"] = float(scale)
    if enable_gqa:
        spec["enable_gqa"] = True
    if mask is not None:
        m = tensor_of(mask)
        spec["mask"] = {"dtype": m["dtype"], "shape": m["shape"], "content": content or mask_class(torch, mask)}
        if "strides" in m:
            spec["mask"]["strides"] = m["strides"]
        if mask.requires_grad:
            spec["mask"]["requires_grad"] = True
    return spec


def gemm_spec(torch, x, w, bias=None):
    """x (…, M, K) and w (…, K, N) as they reach the product."""
    if x.dim() < 2 or w.dim() < 2:
        x = x.reshape(1, -1) if x.dim() < 2 else x
        w = w.reshape(-1, 1) if w.dim() < 2 else w
    spec = {"op": "gemm", "x": tensor_of(x), "w": tensor_of(w), "flags": flags_of(torch, x.device.type), "context": context_of(torch, x),
            "requires_grad": bool(torch.is_grad_enabled() and (x.requires_grad or w.requires_grad))}
    spec["flags"].pop("enabled", None)
    if bias is not None:
        spec["bias"] = tensor_of(bias)
        spec["epilogue"] = "bias"
    return spec
