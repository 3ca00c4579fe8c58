"""Records every attention and matrix-product call of a PyTorch program as spec lines for `dispatchdoctor run`.

Two ways in: `dispatchdoctor record -- python train.py`, or `import dispatchdoctor_record` as the first import with
DISPATCHDOCTOR_RECORD naming the output file. Shapes, strides, offsets, types and switches are written; of the data only the class of a
mask, of the environment nothing. Equal calls are folded into one line with a count and up to four call sites.
Calls inside torch.compile are taken from the captured graphs: they are marked compiled and their count is that of compilations.
"""
import atexit
import json
import os
import sys
import threading

MOST_LINES = 20000
MOST_SITES = 4
LARGEST_MASK = 1 << 22  # elements; a larger mask is classed by its corners only where that is enough

NAMES = {"torch.float64": "f64", "torch.float32": "f32", "torch.float16": "f16", "torch.bfloat16": "bf16", "torch.float8_e4m3fn": "f8_e4m3",
         "torch.float8_e5m2": "f8_e5m2", "torch.int8": "s8", "torch.uint8": "u8", "torch.bool": "bool", "torch.int32": "s32"}
OWN = os.path.abspath(__file__)
_lock = threading.Lock()
_found = {}  # canonical text of the spec -> [count, sites]
_skipped = {"types": 0, "full": 0, "failed": 0}
_state = {"torch": None, "done": False}
_inside = threading.local()


def _site():
    """file:line of the nearest frame outside torch and this file."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if os.path.abspath(name) != OWN and os.sep + "torch" + os.sep not in name and not name.startswith("<"):
            return f"{os.path.basename(name)}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"


def _generated():
    """The caller is code that a compiler wrote: its graph was recorded already."""
    return "torchinductor" in sys._getframe(2).f_code.co_filename


def _tensor(t):
    kind = NAMES.get(str(t.dtype))
    if kind is None:
        raise TypeError(str(t.dtype))
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


def mask_class(torch, m):
    """causal, padding:N, window:N, zeros or random; the data itself is never kept."""
    if m.numel() == 0 or m.numel() > LARGEST_MASK or m.dim() < 2:
        return "random"
    with torch.no_grad():
        open_ = m if m.dtype == torch.bool else m == 0
        if m.dtype != torch.bool:
            if bool((m == 0).all()):
                return "zeros"
            closed = m <= torch.finfo(m.dtype).min / 2
            if not bool((open_ | closed).all()):
                return "random"
        elif not bool(m.any()):
            return "zeros"
        flat = open_.reshape(-1, open_.shape[-2], open_.shape[-1])
        first = flat[0]
        rows, columns = first.shape
        if bool((flat == first).all()):
            index_i = torch.arange(rows, device=m.device).unsqueeze(1)
            index_j = torch.arange(columns, device=m.device).unsqueeze(0)
            if rows > 1 and bool((first == (index_j <= index_i)).all()):
                return "causal"
            tail = int(columns - first[0].sum())
            if bool((first == (index_j < columns - tail)).all()):
                return f"padding:{tail}"
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


def _keep(spec, site, count=1):
    if not spec:
        return
    key = json.dumps(spec, sort_keys=True)
    with _lock:
        entry = _found.get(key)
        if entry is None:
            if len(_found) >= MOST_LINES:
                _skipped["full"] += count
                return
            entry = _found[key] = [0, []]
        entry[0] += count
        if site not in entry[1] and len(entry[1]) < MOST_SITES:
            entry[1].append(site)


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
        except TypeError:
            _skipped["types"] += 1
        except Exception:
            _skipped["failed"] += 1
        finally:
            _inside.on = False
    return wrapped


@_guard
def _on_sdpa(torch, args, kwargs, site):
    names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
    given = dict(zip(names, args))
    given.update(kwargs)
    _keep(sdpa_spec(torch, given["query"], given["key"], given["value"], given.get("attn_mask"), given.get("dropout_p", 0.0),
                    given.get("is_causal", False), given.get("scale"), given.get("enable_gqa", False)), site)


@_guard
def _on_product(torch, x, w, bias, site):
    _keep(gemm_spec(torch, x, w, bias), site)


def _patch(torch):
    functional = torch.nn.functional
    compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None) or (lambda: False)

    def replace(holder, name, before):
        original = getattr(holder, name)

        def call(*args, **kwargs):
            if not compiling() and not _generated():
                before(args, kwargs)
            return original(*args, **kwargs)

        call.__name__ = getattr(original, "__name__", name)
        call.__doc__ = getattr(original, "__doc__", None)
        call.__wrapped__ = original
        setattr(holder, name, call)

    replace(functional, "scaled_dot_product_attention", lambda a, k: _on_sdpa(torch, a, k, _site()))
    replace(functional, "linear", lambda a, k: _on_product(torch, _arg(a, k, 0, "input"), _arg(a, k, 1, "weight").transpose(-1, -2), _arg(a, k, 2, "bias"), _site()))
    pair = lambda a, k: _on_product(torch, _arg(a, k, 0, "input"), a[1] if len(a) > 1 else k.get("other", k.get("mat2")), None, _site())
    for name in ("matmul", "mm", "bmm"):
        replace(torch, name, pair)
        replace(torch.Tensor, name, pair)
    replace(torch.Tensor, "__matmul__", pair)
    triple = lambda a, k: _on_product(torch, _arg(a, k, 1, "mat1"), _arg(a, k, 2, "mat2"), _arg(a, k, 0, "input"), _site())
    replace(torch, "addmm", triple)
    replace(torch.Tensor, "addmm", triple)
    _watch_compile(torch)


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
            return original(model, **kwargs)  # such settings belong to inductor itself: not looked at, said in the summary
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
            _keep(spec, site)


def _write():
    path = os.environ.get("DISPATCHDOCTOR_RECORD")
    if not path or _state["done"]:
        return
    _state["done"] = True
    with _lock:
        rows = sorted(_found.items(), key=lambda r: -r[1][0])
    lines = []
    for key, (count, sites) in rows:
        spec = json.loads(key)
        spec["extra"] = {"count": count, "call_site": ", ".join(sites)}
        lines.append(json.dumps(spec) + "\n")
    # Further processes of the program add to the same file; one write each, so that lines stay whole.
    with open(path, "a", encoding="utf-8") as f:
        f.write("".join(lines))
    calls = sum(r[1][0] for r in rows)
    left = ", ".join(f"{n} {why}" for why, n in (("of an unsupported type", _skipped["types"]), ("past the limit of lines", _skipped["full"]),
                                                  ("not understood", _skipped["failed"])) if n)
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
        _patch(torch)
        atexit.register(_write)


if os.environ.get("DISPATCHDOCTOR_RECORD"):
    if "torch" in sys.modules:
        start(sys.modules["torch"])
    else:
        sys.meta_path.insert(0, _Finder())
