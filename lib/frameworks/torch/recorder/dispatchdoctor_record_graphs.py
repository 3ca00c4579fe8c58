"""Graphs that torch.compile captures, read for the calls in them before a backend gets them."""
import json
import os

import dispatchdoctor_record_specs as specs
import dispatchdoctor_record_store as store
import dispatchdoctor_record_written as written


def watch_compile(torch):
    """torch.compile with our look at each captured graph before the backend gets it."""
    if not hasattr(torch, "compile"):
        return
    original = torch.compile

    def compile(model=None, **kwargs):
        backend = kwargs.get("backend", "inductor")

        def look(graph, inputs, **more):
            _on_graph(torch, graph)
            if callable(backend):
                return _as_one_call(backend(graph, inputs, **more))
            from torch._dynamo.backends.registry import lookup_backend
            run = lookup_backend(backend)(graph, inputs, **more)
            return run if backend == "inductor" else _as_one_call(run)

        if kwargs.get("mode") or kwargs.get("options"):
            store.skipped["in torch.compile with its own settings"] += 1  # such settings belong to inductor itself
            return original(model, **kwargs)
        kwargs["backend"] = look
        return original(model, **kwargs)

    compile.__wrapped__ = original
    torch.compile = compile


def _as_one_call(run):
    """A backend may run the graph with the very functions that are recorded; its calls were read from the graph already."""
    def call(*args, **kwargs):
        before, store.inside.call = getattr(store.inside, "call", False), True
        try:
            return run(*args, **kwargs)
        finally:
            store.inside.call = before
    return call


PRODUCTS = ("matmul", "mm", "bmm", "__matmul__")
STEPS = {"add": "add", "iadd": "add", "__add__": "add", "mul": "mul", "imul": "mul", "truediv": "div", "div": "div", "masked_fill": "fill", "masked_fill_": "fill",
         "where": "where", "tanh": "tanh", "softmax": "softmax"}
PASSED = ("to", "float", "half", "bfloat16", "type", "type_as", "contiguous", "dropout", "view", "reshape")  # between softmax and product, and before it


def _name(node):
    return getattr(node.target, "__name__", str(node.target)) if node.op in ("call_function", "call_method") else ""


def _value(n):
    if isinstance(n, (tuple, list)):
        return type(n)(_value(part) for part in n)
    return n.meta.get("example_value") if hasattr(n, "meta") else n


def _site(node):
    lines = [l.strip() for l in (node.meta.get("stack_trace") or "").splitlines() if l.strip().startswith("File") and store.OWN not in l]
    parts = lines[-1].split('"') if lines else []
    return f"{os.path.basename(parts[1])}:{parts[2].split(',')[1].split()[-1]}" if len(parts) > 2 else "compiled"


def _written_out(torch, node):
    """(nodes of the two products, their scores) where this product ends an attention that the program writes out."""
    if _name(node) not in PRODUCTS:
        return None
    steps, at = [], node.args[0]
    while hasattr(at, "args") and (_name(at) in STEPS or _name(at) in PASSED):
        steps.append(at)
        shape = getattr(_value(at), "shape", None)
        inputs = [a for a in at.args if hasattr(a, "args") and getattr(_value(a), "shape", (0,))[-1:] == shape[-1:] and _value(a).numel() == _value(at).numel()]
        if not inputs:
            return None
        # Of two tensors of these extents the scores are those that were computed.
        at = next((a for a in inputs if _name(a) in STEPS or _name(a) in PRODUCTS or _name(a) in PASSED), inputs[0])
    if "softmax" not in [STEPS.get(_name(s)) for s in steps] or _name(at) not in PRODUCTS:
        return None
    scores = written.candidate(torch, _value(at.args[0]), _value(at.args[1]), None)
    if scores is None:
        return None
    written.begin(scores, _value(at))
    before = at
    for step in reversed(steps):
        args = [before if a is before else a for a in step.args]
        written.step(STEPS.get(_name(step), _name(step)), tuple(_value(a) for a in args), {k: _value(v) for k, v in step.kwargs.items()}, _value(step))
        scores.last = id(_value(step))
        before = step
    ended = written.ends(_value(node.args[0]))
    return None if ended is None else (at, ended)


@store.guard
def _on_graph(torch, graph):
    found = {}
    for node in graph.graph.nodes:
        if (pair := _written_out(torch, node)) is not None:
            found[pair[0]], found[node] = None, pair[1]
    for node in graph.graph.nodes:
        name, args, kwargs = _name(node), [_value(a) for a in node.args], {k: _value(v) for k, v in node.kwargs.items()}
        spec = None
        if node in found:
            spec = written.in_graph(torch, found[node], args[1]) if found[node] else None
        elif name == "scaled_dot_product_attention":
            given = dict(zip(("q", "k", "v", "mask", "dropout_p", "is_causal"), args))
            renamed = {"query": "q", "key": "k", "value": "v", "attn_mask": "mask"}
            given.update({renamed.get(k, k): v for k, v in kwargs.items()})
            spec = specs.sdpa_spec(torch, content="random", **given)
        elif name in PRODUCTS and len(args) >= 2:
            spec = specs.gemm_spec(torch, args[0], args[1])
        elif name == "linear" and len(args) >= 2:
            spec = specs.gemm_spec(torch, args[0], args[1].transpose(-1, -2), args[2] if len(args) > 2 else kwargs.get("bias"))
        elif name == "addmm" and len(args) >= 3:
            spec = specs.gemm_spec(torch, args[1], args[2], args[0])
        if spec:
            spec["mode"] = "compiled"
            store.keep(json.dumps(spec, sort_keys=True), _site(node), lambda: spec)
