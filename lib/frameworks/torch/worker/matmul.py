"""Matrix products: the default call for x @ W, and single entry points under force."""
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


def after(torch, spec, bias):
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
        return named("torch.nn.functional.linear(x, w.t(), bias)" + after(torch, spec, None)[0], lambda: act(torch.nn.functional.linear(x, weight, flat)))
    text, rest = after(torch, spec, bias)
    return named("x @ w" + text, lambda: rest(x @ w))


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
    text, rest = after(torch, spec, bias)
    if backend in ("torch-matmul", "torch-cpu-blas"):
        return make_call(torch, tensors, spec)
    if backend == "torch-mm":
        if x.dim() == 2 and w.dim() == 2:
            return named("torch.mm(x, w)" + text, lambda: rest(torch.mm(x, w)))
        if w.dim() != 2:
            raise LookupError("mm multiplies two matrices")
        return named("torch.mm(x.flatten(0, -2), w)" + text, lambda: rest(torch.mm(x.flatten(0, -2), w).unflatten(0, x.shape[:-1])))
    if backend == "torch-bmm":
        if max(x.dim(), w.dim()) > 3:
            raise LookupError("bmm has one batch axis")
        batch = max(t.shape[0] if t.dim() == 3 else 1 for t in (x, w))
        whole = [t.expand(batch, *t.shape[-2:]) for t in (x, w)]
        lead = x.shape[:-2] if w.dim() == 2 else torch.broadcast_shapes(x.shape[:-2], w.shape[:-2])
        return named("torch.bmm(x, w)" + text, lambda: rest(torch.bmm(*whole) if lead else torch.bmm(*whole)[0]))
    if backend == "torch-mv":
        if w.shape[-1] != 1:
            raise LookupError("mv needs one column")
        return named("torch.mv(x, w[:, 0])" + text, lambda: rest(torch.mv(x, w[:, 0]).unsqueeze(-1)))
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
        return named("torch._int_mm(x, w)", lambda: entry(torch, "_int_mm")(x, w))
    if backend == "torch-scaled-mm":
        one = torch.ones((), dtype=torch.float32, device=x.device)
        return named("torch._scaled_mm(x, w, 1, 1)", lambda: entry(torch, "_scaled_mm")(x, w, scale_a=one, scale_b=one, out_dtype=kind, bias=bias))
    raise LookupError(f"this worker has no backend {backend}")


def entry(torch, name):
    """An entry point of torch, or LookupError: older releases lack some."""
    found = getattr(torch, name, None) or getattr(torch.ops.aten, name, None)
    if found is None:
        raise LookupError(f"torch {torch.__version__} has no {name}")
    return found


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
