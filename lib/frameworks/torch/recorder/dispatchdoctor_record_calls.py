"""The functions of torch that are recorded, and what is kept of a call of each."""
import math
import os
import sys

import dispatchdoctor_record_graphs as graphs
import dispatchdoctor_record_specs as specs
import dispatchdoctor_record_store as store
import dispatchdoctor_record_written as written


COMPILER = os.path.join("torch", "_dynamo", "")


def _generated():
    """The caller is code that a compiler wrote, whose graph was recorded already, or the compiler itself (2.8 tries functions as it starts)."""
    name = sys._getframe(2).f_code.co_filename
    return "torchinductor" in name or COMPILER in name


@store.guard
def _on_sdpa(torch, args, kwargs, frames):
    given = dict(zip(("query", "key", "value", "attn_mask", "dropout_p", "is_causal"), args))
    given.update(kwargs)
    q, k, v, mask = given["query"], given["key"], given["value"], given.get("attn_mask")
    if specs.traced(q):
        return
    lengths = (specs.jagged(q), specs.jagged(k))
    if lengths[0] is not None:
        v, q, k = specs.padded(torch, v, lengths[1]), specs.padded(torch, q, lengths[0]), specs.padded(torch, k, lengths[1])
    rest = [mask, given.get("dropout_p", 0.0), given.get("is_causal", False), given.get("scale"), given.get("enable_gqa", False)]
    content = None if mask is None else specs.class_of(torch, mask)
    key = ("sdpa", specs.key_of(q), specs.key_of(k), specs.key_of(v), None if mask is None else specs.key_of(mask), content, *rest[1:], lengths, specs.flags_key(torch, q.device.type))

    def make():
        spec = specs.sdpa_spec(torch, q, k, v, *rest)
        if lengths[0] is not None:
            spec["nested"] = {"q_lengths": list(lengths[0]), "kv_lengths": list(lengths[1])}
            spec["extra"] = {"nested_layout": "jagged"}
        return spec
    store.keep(key, frames, make)


def _product(torch, x, w, bias, frames):
    """Keeps a product and returns what take_back() takes; None where it ends an attention, which is kept instead."""
    ended = written.ends(x)
    if specs.traced(x):
        return None
    if ended is not None and x.dim() == w.dim() and written.finish(torch, ended, w, frames):
        return None
    x, w = (t.values() if t.is_nested and hasattr(t, "offsets") else t for t in (x, w))  # a layer works on the rows of all sequences together
    key = ("gemm", specs.key_of(x), specs.key_of(w), None if bias is None else specs.key_of(bias), specs.flags_key(torch, x.device.type))
    return store.keep(key, frames, lambda: specs.gemm_spec(torch, x, w, bias))


@store.guard
def _on_layer(torch, x, w, bias, frames):
    _product(torch, x, w, bias, frames)


@store.guard
def _on_product(torch, x, w, frames):
    """Returns the scores of a product that may begin an attention."""
    kept = _product(torch, x, w, None, frames)
    return None if kept is None else written.candidate(torch, x, w, kept)


@store.guard
def _on_sum(torch, args, kwargs, frames):
    """addmm and baddbmm: batched, the sum may be scores with a bias."""
    names = ("batch1", "batch2") if "batch1" in kwargs or "batch2" in kwargs else ("mat1", "mat2")
    bias, x, w = _arg(args, kwargs, 0, "input"), _arg(args, kwargs, 1, names[0]), _arg(args, kwargs, 2, names[1])
    kept = _product(torch, x, w, bias, frames)
    if kept is None or x.dim() != 3:
        return None
    return written.candidate(torch, x, w, kept, float(kwargs.get("alpha", 1)), bias if kwargs.get("beta", 1) else None)


@store.guard
def _on_einsum(torch, equation, operands, frames):
    """A product of two operands, as the batched product that einsum makes of it."""
    x, w = operands
    ended = written.ends(x)
    if specs.traced(x):
        return None
    left, _, result = equation.replace(" ", "").partition("->")
    a, b = left.split(",")
    if not result or len(set(a)) != len(a) or len(set(b)) != len(b) or "." in equation:
        raise ValueError("an einsum of another form")
    sizes = {**dict(zip(a, x.shape)), **dict(zip(b, w.shape))}
    groups = {"batch": [c for c in a if c in b and c in result], "k": [c for c in a if c in b and c not in result],
              "m": [c for c in a if c not in b], "n": [c for c in b if c not in a]}
    order = lambda t, names, parts: t.detach().permute([names.index(c) for g in parts for c in groups[g]])
    # Rows of two axes: grouped heads, with k and v once a group.
    grouped = len(groups["batch"]) == len(groups["m"]) == 2
    one_each = len(groups["k"]) == len(groups["n"]) == 1 and (len(groups["m"]) == 1 or grouped)
    shared = lambda t: t.unsqueeze(2) if grouped else t
    if ended is not None and one_each and a == "".join(groups["batch"] + groups["m"] + groups["k"]):
        if written.finish(torch, ended, shared(order(w, b, ("batch", "k", "n"))), frames):
            return None
    batch, k, m, n = (math.prod(sizes[c] for c in groups[g]) for g in ("batch", "k", "m", "n"))
    try:  # where the operand folds without a copy its strides are known
        x3, w3 = order(x, a, ("batch", "m", "k")).view(batch, m, k), order(w, b, ("batch", "k", "n")).view(batch, k, n)
    except RuntimeError:
        x3, w3 = x.new_empty(batch, m, k), w.new_empty(batch, k, n)
    kept = store.keep(("einsum", equation, specs.key_of(x), specs.key_of(w), specs.flags_key(torch, x.device.type)), frames, lambda: specs.gemm_spec(torch, x3, w3))
    if kept is None or not one_each or result != "".join(groups["batch"] + groups["m"] + groups["n"]):
        return None
    return written.candidate(torch, order(x, a, ("batch", "m", "k")), shared(order(w, b, ("batch", "k", "n"))), kept)


def patch(torch):
    functional = torch.nn.functional
    compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None) or (lambda: False)

    def replace(holder, name, before):
        original = getattr(holder, name)

        def call(*args, **kwargs):
            # What a recorded call does inside torch is part of that call. A tracer is asked about first: it must see none of our own state,
            # which it would hold the program's code to and compile it anew when that state changes.
            if compiling() or getattr(store.inside, "call", False) or _generated():
                return original(*args, **kwargs)
            begun = None
            try:
                begun = before(args, kwargs)
            except Exception:  # operands that only the call itself can judge
                store.skipped["not understood"] += 1
            store.inside.call = True
            try:
                result = original(*args, **kwargs)
            finally:
                store.inside.call = False
            if begun:
                written.begin(begun, result)
            return result

        call.__name__ = getattr(original, "__name__", name)
        call.__doc__ = getattr(original, "__doc__", None)
        call.__wrapped__ = original
        setattr(holder, name, call)
        _tell_script(original, call)

    replace(functional, "scaled_dot_product_attention", lambda a, k: _on_sdpa(torch, a, k, store.frames()))
    replace(functional, "linear", lambda a, k: _on_layer(torch, _arg(a, k, 0, "input"), _arg(a, k, 1, "weight").transpose(-1, -2), _arg(a, k, 2, "bias"), store.frames()))
    pair = lambda a, k: _on_product(torch, _arg(a, k, 0, "input"), a[1] if len(a) > 1 else k.get("other", k.get("mat2")), store.frames())
    for name in ("matmul", "mm", "bmm"):
        replace(torch, name, pair)
        replace(torch.Tensor, name, pair)
    replace(torch.Tensor, "__matmul__", pair)
    triple = lambda a, k: _on_sum(torch, a, k, store.frames())
    for name in ("addmm", "baddbmm"):
        replace(torch, name, triple)
        replace(torch.Tensor, name, triple)

    def skip_native(args, kwargs):
        store.skipped["in the C++ path of MultiheadAttention and TransformerEncoderLayer"] += 1

    for name in ("_native_multi_head_attention", "_transformer_encoder_layer_fwd"):
        if hasattr(torch, name):
            replace(torch, name, skip_native)
    replace(torch, "einsum", lambda a, k: len(a) == 3 and _on_einsum(torch, a[0], a[1:], store.frames()))
    written.watch(torch, compiling, _tell_script)
    graphs.watch_compile(torch)


def _tell_script(original, call):
    """torch.jit.script knows built-in functions by identity."""
    try:
        from torch.jit._builtins import _find_builtin, _register_builtin
        if known := _find_builtin(original):
            _register_builtin(call, known)
    except Exception:
        pass


def _arg(args, kwargs, index, name):
    return args[index] if len(args) > index else kwargs.get(name)


