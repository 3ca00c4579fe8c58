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
import weakref

MOST_LINES = 20000
MOST_SITES = 4
LARGEST_MASK = 1 << 22  # elements; a larger mask is classed by its corners only where that is enough

NAMES = {"torch.float64": "f64", "torch.float32": "f32", "torch.float16": "f16", "torch.bfloat16": "bf16", "torch.float8_e4m3fn": "f8_e4m3",
         "torch.float8_e5m2": "f8_e5m2", "torch.int8": "s8", "torch.uint8": "u8", "torch.bool": "bool", "torch.int32": "s32"}
OWN = os.path.abspath(__file__)
PLACES = ("site-packages", "dist-packages")
_lock = threading.Lock()
_found = {}  # cheap key of a call -> [spec, count, sites]
_skipped = {"of an unsupported type or device": 0, "past the limit of lines": 0, "not understood": 0, "in torch.compile with its own settings": 0}
_state = {"torch": None, "root": os.sep, "done": False}  # root: the folder of torch's own files
_inside = threading.local()
_kinds = {}   # code object -> "torch", "package" or "program"
_masks = {}   # id of a mask -> (weak reference, version, class): one mask serves every layer


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


class Unsupported(TypeError):
    pass


def _key(t):
    """What two calls must share to be one line; cheap, since every call pays for it."""
    return (t.shape, t.stride(), t.storage_offset(), t.dtype, t.device, t.requires_grad, t.data_ptr() & 15)


def _tensor(t):
    kind = NAMES.get(str(t.dtype))
    if kind is None or t.device.type not in ("cpu", "cuda"):
        raise Unsupported(str(t.dtype))
    out = {"shape": [int(n) for n in t.shape], "dtype": kind}
    strides = [int(n) for n in t.stride()]
    if not t.is_contiguous() or _odd(t):
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


def _odd(t):
    """Strides of size-1 axes that a contiguous tensor would not have: they decide paths and are kept."""
    expected = 1
    for n, s in zip(reversed(t.shape), reversed(t.stride())):
        if s != expected:
            return True
        expected *= max(int(n), 1)
    return False


def _class_of(torch, m):
    """mask_class, once for a tensor that nobody wrote to since."""
    known = _masks.get(id(m))
    version = m._version
    if known and known[0]() is m and known[1] == version:
        return known[2]
    found = mask_class(torch, m)
    if len(_masks) > 1000:
        _masks.clear()
    _masks[id(m)] = (weakref.ref(m), version, found)
    return found


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


def _flags(torch, device):
    cuda = torch.backends.cuda
    enabled = {"flash": cuda.flash_sdp_enabled(), "efficient": cuda.mem_efficient_sdp_enabled(), "math": cuda.math_sdp_enabled(),
               "cudnn": cuda.cudnn_sdp_enabled() if hasattr(cuda, "cudnn_sdp_enabled") else True}
    strict = torch.are_deterministic_algorithms_enabled()
    warn = strict and torch.is_deterministic_algorithms_warn_only_enabled()
    out = {"deterministic": "warn_only" if warn else "strict" if strict else "off",
           "tf32": bool(getattr(cuda.matmul, "allow_tf32", False)), "enabled": enabled}
    try:
        if torch.is_autocast_enabled() if device == "cuda" else torch.is_autocast_cpu_enabled():
            kind = torch.get_autocast_gpu_dtype() if device == "cuda" else torch.get_autocast_cpu_dtype()
            out["autocast"] = NAMES.get(str(kind))
    except Exception:
        pass
    return out


def _context(torch, t):
    device = t.device.type
    context = {"framework": "torch", "torch": torch.__version__.split("+")[0], "target": "cpu" if device == "cpu" else f"{device}:{t.device.index or 0}"}
    if torch.version.cuda:
        context["cuda"] = torch.version.cuda
    return context


def _flags_key(torch, device):
    """The switches, as one cheap value."""
    cuda = torch.backends.cuda
    autocast = torch.is_autocast_enabled() if device == "cuda" else torch.is_autocast_cpu_enabled()
    return (cuda.flash_sdp_enabled(), cuda.mem_efficient_sdp_enabled(), cuda.math_sdp_enabled(), not hasattr(cuda, "cudnn_sdp_enabled") or cuda.cudnn_sdp_enabled(),
            torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled(), autocast and str(torch.get_autocast_gpu_dtype() if device == "cuda" else torch.get_autocast_cpu_dtype()),
            torch.is_grad_enabled())


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


def sdpa_spec(torch, q, k, v, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False, classes=True):
    spec = {"op": "sdpa", "q": _tensor(q), "k": _tensor(k), "v": _tensor(v), "is_causal": bool(is_causal), "dropout_p": float(dropout_p),
            "requires_grad": bool(torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad)),
            "flags": _flags(torch, q.device.type), "context": _context(torch, q)}
    if scale is not None:
        spec["scale"] = float(scale)
    if enable_gqa:
        spec["enable_gqa"] = True
    if mask is not None:
        m = _tensor(mask)
        spec["mask"] = {"dtype": m["dtype"], "shape": m["shape"], "content": mask_class(torch, mask) if classes else "random"}
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
    spec = {"op": "gemm", "x": _tensor(x), "w": _tensor(w), "flags": _flags(torch, x.device.type), "context": _context(torch, x),
            "requires_grad": bool(torch.is_grad_enabled() and (x.requires_grad or w.requires_grad))}
    spec["flags"].pop("enabled", None)
    if bias is not None:
        spec["bias"] = _tensor(bias)
        spec["epilogue"] = "bias"
    return spec


def _guard(function):
    """A recorder that fails must not fail the program."""
    def wrapped(*args, **kwargs):
        if getattr(_inside, "on", False):
            return
        _inside.on = True
        try:
            function(*args, **kwargs)
        except Unsupported:
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
    rest = [mask, given.get("dropout_p", 0.0), given.get("is_causal", False), given.get("scale"), given.get("enable_gqa", False)]
    content = None if mask is None else _class_of(torch, mask)
    key = ("sdpa", _key(q), _key(k), _key(v), None if mask is None else _key(mask), content, *rest[1:], _flags_key(torch, q.device.type))
    _keep(key, frames, lambda: sdpa_spec(torch, q, k, v, *rest))


@_guard
def _on_product(torch, x, w, bias, frames):
    key = ("gemm", _key(x), _key(w), None if bias is None else _key(bias), _flags_key(torch, x.device.type))
    _keep(key, frames, lambda: gemm_spec(torch, x, w, bias))


@_guard
def _on_einsum(torch, equation, operands, frames):
    """A product of two operands, as the batched product that einsum makes of it."""
    x, w = operands
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
    _keep(("einsum", equation, _key(x), _key(w), _flags_key(torch, x.device.type)), frames, lambda: gemm_spec(torch, x3, w3))


def _patch(torch):
    functional = torch.nn.functional
    compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None) or (lambda: False)

    def replace(holder, name, before):
        original = getattr(holder, name)

        def call(*args, **kwargs):
            if not compiling() and not _generated():
                try:
                    before(args, kwargs)
                except Exception:  # operands that only the call itself can judge
                    _skipped["not understood"] += 1
            return original(*args, **kwargs)

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
            spec = sdpa_spec(torch, classes=False, **given)
        elif name in ("matmul", "mm", "bmm", "__matmul__") and len(args) >= 2:
            spec = gemm_spec(torch, args[0], args[1])
        elif name == "linear" and len(args) >= 2:
            spec = gemm_spec(torch, args[0], args[1].transpose(-1, -2), args[2] if len(args) > 2 else kwargs.get("bias"))
        elif name == "addmm" and len(args) >= 3:
            spec = gemm_spec(torch, args[1], args[2], args[0])
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
        spec["extra"] = {"count": count, "call_site": ", ".join(sites[:MOST_SITES])}
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
