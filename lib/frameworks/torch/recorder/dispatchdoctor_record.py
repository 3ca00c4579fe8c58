"""Records every attention and matrix-product call of a PyTorch program as spec lines for `dispatchdoctor run`.

Two ways in: `dispatchdoctor record -- python train.py`, or `import dispatchdoctor_record` as the first import with
DISPATCHDOCTOR_RECORD naming the output file. Shapes, strides, offsets, types and switches are written; of the data only the class of a
mask, of the environment nothing. Equal calls are folded into one line with a count and up to four call sites.
Calls inside torch.compile are taken from the captured graphs: they are marked compiled and their count is that of compilations.
"""
import atexit
import json
import math
import os
import sys
import threading

import dispatchdoctor_record_specs as specs

MOST_LINES = 20000
MOST_SITES = 4


OWN = os.path.abspath(__file__)
PLACES = ("site-packages", "dist-packages")
_lock = threading.Lock()
_found = {}  # cheap key of a call -> [spec, count, sites]
_skipped = {"of an unsupported type or device": 0, "past the limit of lines": 0, "not understood": 0, "in torch.compile with its own settings": 0,
            "in the C++ path of MultiheadAttention and TransformerEncoderLayer": 0}
_state = {"torch": None, "root": os.sep, "done": False}  # root: the folder of torch's own files
_inside = threading.local()
_kinds = {}   # code object -> "torch", "package" or "program"


def _kind_of(code):
    kind = _kinds.get(code)
    if kind is None:
        name = code.co_filename
        if name in ("<string>", "<stdin>"):
            kind = "program"
        elif os.path.abspath(name) == OWN or name.startswith("<") or name.startswith(_state["root"]):
            kind = "torch"
        else:
            kind = "package" if any(os.sep + p + os.sep in name for p in PLACES) or name.startswith(sys.base_prefix + os.sep + "lib") else "program"
        _kinds[code] = kind
    return kind


def _frames():
    """(code, line) of the nearest frame outside torch, of the module behind it where that is a helper's file, and of the nearest frame
    in the program itself; each may be missing."""
    frame = sys._getframe(2)
    near = module = own = None
    while frame is not None:
        code = frame.f_code
        kind = _kind_of(code)
        if kind == "program":
            own = (code, frame.f_lineno)
            break
        if kind != "torch":
            if near is None:
                near = (code, frame.f_lineno)
            elif module is None and code.co_name == "forward" and code.co_filename != near[0].co_filename:
                module = (code, frame.f_lineno)
        frame = frame.f_back
    return near, module, own


def _site(frames):
    """file:line, and for a call inside a package where the program entered it."""
    places = [f"{os.path.basename(code.co_filename)}:{line}" for code, line in filter(None, frames)]
    return " from ".join(places) or "?"


def _generated():
    """The caller is code that a compiler wrote: its graph was recorded already."""
    return "torchinductor" in sys._getframe(2).f_code.co_filename


def _keep(key, frames, make):
    """Counts a call; its spec is made at its first."""
    with _lock:
        entry = _found.get(key)
        if entry is None:
            if len(_found) >= MOST_LINES:
                _skipped["past the limit of lines"] += 1
                return
            entry = _found[key] = [make(), 0, []]
        entry[1] += 1
        if frames not in entry[2] and len(entry[2]) < MOST_SITES:
            entry[2].append(frames)


def _guard(function):
    """A recorder that fails must not fail the program."""
    def wrapped(*args, **kwargs):
        if getattr(_inside, "on", False):
            return
        _inside.on = True
        try:
            function(*args, **kwargs)
        except specs.Unsupported:
            _skipped["of an unsupported type or device"] += 1
        except Exception:
            _skipped["not understood"] += 1
        finally:
            _inside.on = False
    return wrapped


@_guard
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
    _keep(key, frames, make)


@_guard
def _on_product(torch, x, w, bias, frames):
    if specs.traced(x):
        return
    x, w = (t.values() if t.is_nested and hasattr(t, "offsets") else t for t in (x, w))  # a layer works on the rows of all sequences together
    key = ("gemm", specs.key_of(x), specs.key_of(w), None if bias is None else specs.key_of(bias), specs.flags_key(torch, x.device.type))
    _keep(key, frames, lambda: specs.gemm_spec(torch, x, w, bias))


@_guard
def _on_einsum(torch, equation, operands, frames):
    """A product of two operands, as the batched product that einsum makes of it."""
    x, w = operands
    if specs.traced(x):
        return
    left, _, result = equation.replace(" ", "").partition("->")
    a, b = left.split(",")
    if not result or len(set(a)) != len(a) or len(set(b)) != len(b) or "." in equation:
        raise ValueError("an einsum of another form")
    sizes = {**dict(zip(a, x.shape)), **dict(zip(b, w.shape))}
    groups = {"batch": [c for c in a if c in b and c in result], "k": [c for c in a if c in b and c not in result],
              "m": [c for c in a if c not in b], "n": [c for c in b if c not in a]}
    batch, k, m, n = (math.prod(sizes[c] for c in groups[g]) for g in ("batch", "k", "m", "n"))
    order = lambda t, names, parts: t.detach().permute([names.index(c) for g in parts for c in groups[g]])
    try:  # where the operand folds without a copy its strides are known
        x3, w3 = order(x, a, ("batch", "m", "k")).view(batch, m, k), order(w, b, ("batch", "k", "n")).view(batch, k, n)
    except RuntimeError:
        x3, w3 = x.new_empty(batch, m, k), w.new_empty(batch, k, n)
    _keep(("einsum", equation, specs.key_of(x), specs.key_of(w), specs.flags_key(torch, x.device.type)), frames, lambda: specs.gemm_spec(torch, x3, w3))


def _patch(torch):
    functional = torch.nn.functional
    compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None) or (lambda: False)

    def replace(holder, name, before):
        original = getattr(holder, name)

        def call(*args, **kwargs):
            # What a recorded call does inside torch is part of that call.
            if getattr(_inside, "call", False) or compiling() or _generated():
                return original(*args, **kwargs)
            try:
                before(args, kwargs)
            except Exception:  # operands that only the call itself can judge
                _skipped["not understood"] += 1
            _inside.call = True
            try:
                return original(*args, **kwargs)
            finally:
                _inside.call = False

        call.__name__ = getattr(original, "__name__", name)
        call.__doc__ = getattr(original, "__doc__", None)
        call.__wrapped__ = original
        setattr(holder, name, call)
        _tell_script(original, call)

    replace(functional, "scaled_dot_product_attention", lambda a, k: _on_sdpa(torch, a, k, _frames()))
    replace(functional, "linear", lambda a, k: _on_product(torch, _arg(a, k, 0, "input"), _arg(a, k, 1, "weight").transpose(-1, -2), _arg(a, k, 2, "bias"), _frames()))
    pair = lambda a, k: _on_product(torch, _arg(a, k, 0, "input"), a[1] if len(a) > 1 else k.get("other", k.get("mat2")), None, _frames())
    for name in ("matmul", "mm", "bmm"):
        replace(torch, name, pair)
        replace(torch.Tensor, name, pair)
    replace(torch.Tensor, "__matmul__", pair)
    triple = lambda a, k: _on_product(torch, _arg(a, k, 1, "mat1"), _arg(a, k, 2, "mat2"), _arg(a, k, 0, "input"), _frames())
    replace(torch, "addmm", triple)
    replace(torch.Tensor, "addmm", triple)
    replace(torch, "baddbmm", triple)
    replace(torch.Tensor, "baddbmm", triple)
    def skip_native(args, kwargs):
        _skipped["in the C++ path of MultiheadAttention and TransformerEncoderLayer"] += 1

    for name in ("_native_multi_head_attention", "_transformer_encoder_layer_fwd"):
        if hasattr(torch, name):
            replace(torch, name, skip_native)
    replace(torch, "einsum", lambda a, k: len(a) == 3 and _on_einsum(torch, a[0], a[1:], _frames()))
    _watch_compile(torch)


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


def _watch_compile(torch):
    """torch.compile with our look at each captured graph before the backend gets it."""
    if not hasattr(torch, "compile"):
        return
    original = torch.compile

    def compile(model=None, **kwargs):
        backend = kwargs.get("backend", "inductor")

        def look(graph, inputs, **more):
            _on_graph(torch, graph)
            if callable(backend):
                return backend(graph, inputs, **more)
            from torch._dynamo.backends.registry import lookup_backend
            return lookup_backend(backend)(graph, inputs, **more)

        if kwargs.get("mode") or kwargs.get("options"):
            _skipped["in torch.compile with its own settings"] += 1  # such settings belong to inductor itself
            return original(model, **kwargs)
        kwargs["backend"] = look
        return original(model, **kwargs)

    compile.__wrapped__ = original
    torch.compile = compile


@_guard
def _on_graph(torch, graph):
    for node in graph.graph.nodes:
        if node.op not in ("call_function", "call_method"):
            continue
        name = getattr(node.target, "__name__", str(node.target))
        value = lambda n: n.meta.get("example_value") if hasattr(n, "meta") else n
        args = [value(a) for a in node.args]
        kwargs = {k: value(v) for k, v in node.kwargs.items()}
        site = "compiled"
        trace = node.meta.get("stack_trace") or ""
        lines = [l.strip() for l in trace.splitlines() if l.strip().startswith("File") and OWN not in l]
        if lines:
            parts = lines[-1].split('"')
            site = f"{os.path.basename(parts[1])}:{parts[2].split(',')[1].split()[-1]}" if len(parts) > 2 else site
        spec = None
        if name == "scaled_dot_product_attention":
            given = dict(zip(("q", "k", "v", "mask", "dropout_p", "is_causal"), args))
            renamed = {"query": "q", "key": "k", "value": "v", "attn_mask": "mask"}
            given.update({renamed.get(k, k): v for k, v in kwargs.items()})
            spec = specs.sdpa_spec(torch, classes=False, **given)
        elif name in ("matmul", "mm", "bmm", "__matmul__") and len(args) >= 2:
            spec = specs.gemm_spec(torch, args[0], args[1])
        elif name == "linear" and len(args) >= 2:
            spec = specs.gemm_spec(torch, args[0], args[1].transpose(-1, -2), args[2] if len(args) > 2 else kwargs.get("bias"))
        elif name == "addmm" and len(args) >= 3:
            spec = specs.gemm_spec(torch, args[1], args[2], args[0])
        if spec:
            spec["mode"] = "compiled"
            _keep(json.dumps(spec, sort_keys=True), site, lambda: spec)


def _write():
    path = os.environ.get("DISPATCHDOCTOR_RECORD")
    if not path or _state["done"]:
        return
    _state["done"] = True
    rows = {}
    with _lock:
        for spec, count, sites in _found.values():
            # Keys are finer than specs (which data a pointer belongs to): what reads the same is one line.
            row = rows.setdefault(json.dumps(spec, sort_keys=True), [0, []])
            row[0] += count
            row[1] += [s for s in (at if isinstance(at, str) else _site(at) for at in sites) if s not in row[1]]
    lines = []
    for key, (count, sites) in sorted(rows.items(), key=lambda r: -r[1][0]):
        spec = json.loads(key)
        spec["extra"] = {**spec.get("extra", {}), "count": count, "call_site": ", ".join(sites[:MOST_SITES])}
        lines.append(json.dumps(spec) + "\n")
    # Further processes of the program add to the same file; one write each, so that lines stay whole.
    with open(path, "a", encoding="utf-8") as f:
        f.write("".join(lines))
    calls = sum(count for count, _ in rows.values())
    left = ", ".join(f"{n} {why}" for why, n in _skipped.items() if n)
    print(f"dispatchdoctor record: {calls} calls in {len(rows)} specs -> {path}{'; left out: ' + left if left else ''}", file=sys.stderr)


class _Finder:
    """Patches torch right after the program's own import of it, whenever that comes."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        import importlib.util
        spec = importlib.util.find_spec("torch")
        if spec is None or spec.loader is None:
            return None
        loader = spec.loader
        execute = loader.exec_module

        def exec_module(module):
            execute(module)
            start(module)

        loader.exec_module = exec_module
        return spec


def start(torch):
    if _state["torch"] is None:
        _state["torch"] = torch
        _state["root"] = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
        _patch(torch)
        atexit.register(_write)


if os.environ.get("DISPATCHDOCTOR_RECORD"):
    if "torch" in sys.modules:
        start(sys.modules["torch"])
    else:
        sys.meta_path.insert(0, _Finder())
