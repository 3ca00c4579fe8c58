"""scaled_dot_product_attention under allow and force. One call function per attempt; who ran is told from operator names."""
import contextlib
import itertools
import math
import warnings

# backend -> (SDPBackend name, flag of the old context manager)
BACKENDS = {"torch-flash": ("FLASH_ATTENTION", "enable_flash"), "torch-efficient": ("EFFICIENT_ATTENTION", "enable_mem_efficient"),
            "torch-cudnn": ("CUDNN_ATTENTION", "enable_cudnn"), "torch-math": ("MATH", "enable_math"),
            "torch-cpu-flash": ("FLASH_ATTENTION", "enable_flash")}
CHOICES = {0: "torch-math", 1: "torch-flash", 2: "torch-efficient", 3: "torch-cudnn", 4: "torch-overrideable", -1: "none"}
# The innermost operator tells the backend; order matters only in that math is looked for last.
OPERATORS = [("aten::_scaled_dot_product_flash_attention_for_cpu", "torch-cpu-flash"), ("aten::_scaled_dot_product_flash_attention", "torch-flash"),
             ("aten::_scaled_dot_product_efficient_attention", "torch-efficient"), ("aten::_scaled_dot_product_cudnn_attention", "torch-cudnn"),
             ("aten::_scaled_dot_product_fused_attention_overrideable", "torch-overrideable"),
             ("aten::_scaled_dot_product_attention_math", "torch-math")]


def restrict(torch, names):
    """Context in which only these backends may serve the call; with several, in this order where torch can."""
    wanted = [BACKENDS[n] for n in names if n in BACKENDS]
    if hasattr(torch.nn, "attention") or _has_attention_module():
        from torch.nn.attention import SDPBackend, sdpa_kernel
        members = []
        for name, _ in wanted:
            member = getattr(SDPBackend, name, None)
            if member is None:
                raise LookupError(f"this torch has no SDPBackend.{name}")
            if member not in members:
                members.append(member)
        if len(members) > 1:
            try:
                return sdpa_kernel(members, set_priority=True)
            except TypeError:  # set_priority came with 2.6
                return sdpa_kernel(members)
        return sdpa_kernel(members)
    flags = {flag for _, flag in wanted}
    known = ["enable_flash", "enable_math", "enable_mem_efficient"]
    if flags - set(known):
        raise LookupError(f"this torch has no switch {sorted(flags - set(known))[0]}")
    return torch.backends.cuda.sdp_kernel(**{k: k in flags for k in known})


def _has_attention_module():
    try:
        import torch.nn.attention  # noqa: F401
    except ImportError:
        return False
    return True


def flags_context(torch, spec):
    """The switches of the spec (flags.enabled), for the default call."""
    enabled = spec.get("flags", {}).get("enabled", {})
    off = [k for k in ("flash", "efficient", "cudnn", "math") if enabled.get(k) is False]
    stack = contextlib.ExitStack()
    setters = {"flash": "enable_flash_sdp", "efficient": "enable_mem_efficient_sdp", "math": "enable_math_sdp", "cudnn": "enable_cudnn_sdp"}
    for name in off:
        setter = getattr(torch.backends.cuda, setters[name], None)
        if setter is not None:
            setter(False)
            stack.callback(setter, True)
    return stack


def ran_of(names):
    for operator, backend in OPERATORS:
        if operator in names:
            return backend
    return "torch-math" if "aten::bmm" in names or "aten::matmul" in names else ""


def answers(torch, tensors, spec):
    """What torch's own queries say before the call: rows of the protocol's `answers`. A query that this torch lacks, or that fails
    with these operands, says nothing; nor is anything asked about ragged tensors, whose choice is made in Python."""
    if spec.get("nested"):
        return []
    return choice(torch, tensors, spec) + can_use(torch, tensors, spec)


def choice(torch, tensors, spec):
    query = getattr(torch, "_fused_sdp_choice", None)
    if query is None:
        return []
    args = arguments(torch, tensors, spec)
    kwargs = {"scale": args["scale"]}
    if spec.get("enable_gqa"):
        kwargs["enable_gqa"] = True
    try:
        number = int(query(tensors["q"], tensors["k"], tensors["v"], args["attn_mask"], args["dropout_p"], args["is_causal"], **kwargs))
    except Exception:  # operands that the call itself will refuse, with its own words
        return []
    name = CHOICES.get(number, f"number {number}")
    if name == "torch-flash" and tensors["q"].device.type == "cpu":
        name = "torch-cpu-flash"
    return [{"backend": name, "query": "_fused_sdp_choice", "answer": "chosen", "text": ""}]


def can_use(torch, tensors, spec):
    """can_use_* with the reasons that torch warns; CUDA alone has these queries."""
    if tensors["q"].device.type != "cuda" or not hasattr(torch.backends.cuda, "SDPAParams"):
        return []
    args = arguments(torch, tensors, spec)
    fields = [tensors["q"], tensors["k"], tensors["v"], args["attn_mask"], args["dropout_p"], args["is_causal"]]
    try:
        params = torch.backends.cuda.SDPAParams(*fields, bool(spec.get("enable_gqa")))
    except TypeError:  # before 2.5 without grouped heads
        params = torch.backends.cuda.SDPAParams(*fields)
    rows = []
    for backend, name in (("torch-flash", "can_use_flash_attention"), ("torch-efficient", "can_use_efficient_attention"),
                          ("torch-cudnn", "can_use_cudnn_attention")):
        query = getattr(torch.backends.cuda, name, None)
        if query is None:
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yes = query(params, debug=True)
            except Exception:
                continue
        reasons = "; ".join(str(w.message).split("(Triggered")[0].strip() for w in caught)
        rows.append({"backend": backend, "query": name, "answer": "yes" if yes else "no", "text": reasons[:2000]})
    return rows


def arguments(torch, tensors, spec):
    mask = tensors.get("mask")
    causal = bool(spec.get("is_causal"))
    q, k = tensors["q"], tensors["k"]
    if causal and spec.get("causal_align") == "bottom-right" and q.shape[-2] != k.shape[-2]:
        # is_causal of torch is aligned to the top left; the other alignment needs a mask.
        rows, columns = q.shape[-2], k.shape[-2]
        lower = torch.ones(rows, columns, dtype=torch.bool, device=q.device).tril(columns - rows)
        mask = lower if mask is None else (mask & lower if mask.dtype == torch.bool else mask.masked_fill(~lower, -math.inf))
        causal = False
    return {"attn_mask": mask, "dropout_p": float(spec.get("dropout_p") or 0.0), "is_causal": causal, "scale": spec.get("scale")}


def ragged(torch, tensors, spec):
    """q, k and v as nested tensors (B, H, ragged, D) of the layout asked for: the rows of every sequence up to its length."""
    nested = spec["nested"]
    jagged = (spec.get("extra") or {}).get("nested_layout") == "jagged"
    if jagged and not hasattr(torch, "jagged"):
        raise LookupError(f"torch {torch.__version__} has no jagged layout")
    lengths = {"q": nested["q_lengths"], "k": nested["kv_lengths"], "v": nested["kv_lengths"]}
    out, offsets = {}, {}
    for role, rows in lengths.items():
        dense = tensors[role].detach()
        sequences = [dense[i, :, :n].contiguous() for i, n in enumerate(rows)]
        if jagged:  # the ragged axis comes first there, and sequences of equal lengths have to share their offsets
            starts = offsets.setdefault(tuple(rows), torch.tensor([0] + list(itertools.accumulate(rows)), device=dense.device))
            values = torch.cat([t.transpose(0, 1) for t in sequences]).requires_grad_(bool(spec.get("requires_grad")))
            out[role] = torch.nested.nested_tensor_from_jagged(values, starts).transpose(1, 2)
        else:
            out[role] = torch.nested.nested_tensor(sequences, requires_grad=bool(spec.get("requires_grad")))
    return out


def make_call(torch, tensors, spec):
    shape = tensors["q"].shape[:-1] + tensors["v"].shape[-1:]
    ends = (spec.get("nested") or {}).get("q_lengths")
    operands = ragged(torch, tensors, spec) if ends else tensors
    q, k, v = operands["q"], operands["k"], operands["v"]
    args = arguments(torch, tensors, spec)
    if args["scale"] is None:
        del args["scale"]
    if spec.get("enable_gqa"):
        args["enable_gqa"] = True
    given = "".join(f", {n}={a}" for n, a in args.items() if n != "attn_mask" and a) + ("" if args["attn_mask"] is None else ", attn_mask=mask")
    call = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, **args)
    call.api = f"torch.nn.functional.scaled_dot_product_attention(q, k, v{given})"

    def dense(result):
        """What lies beyond the end of a sequence is zero, as in the reference."""
        out = torch.zeros(shape, dtype=result.dtype, device=result.device)
        jagged = hasattr(result, "offsets")
        for i, sequence in enumerate((result.transpose(1, 2) if jagged else result).unbind()):
            rows = sequence.detach().transpose(0, 1) if jagged else sequence.detach()
            out[i, :, :rows.shape[1]] = rows
        return out
    if ends:
        call.api += " with nested tensors"
        call.finish = dense
    return call


def math_with_keep(torch, tensors, spec):
    """The math form with the parent's keep mask, the only form of torch that takes one."""
    q, k, v = tensors["q"], tensors["k"], tensors["v"]
    args = arguments(torch, tensors, spec)
    keep = tensors["dropout_keep"].to(torch.bool)
    scale = {} if args["scale"] is None else {"scale": args["scale"]}
    if args["attn_mask"] is not None and args["attn_mask"].dtype == torch.bool:
        # The inner operator adds its mask; the outer one would have turned it into numbers.
        args["attn_mask"] = torch.zeros(args["attn_mask"].shape, dtype=q.dtype, device=q.device).masked_fill(~args["attn_mask"], -math.inf)
    call = lambda: torch.ops.aten._scaled_dot_product_attention_math(q, k, v, args["attn_mask"], args["dropout_p"], args["is_causal"], keep, **scale)[0]
    call.api = "torch.ops.aten._scaled_dot_product_attention_math with the given dropout mask"
    return call
