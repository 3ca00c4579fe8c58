"""What ran below one call: operators and kernels from torch.profiler, conversions told from them."""
import os

CASTS = {"aten::to", "aten::_to_copy", "aten::copy_"}
PADS = {"aten::constant_pad_nd", "aten::pad"}
COPIES = {"aten::contiguous", "aten::clone", "aten::repeat_interleave", "aten::expand"}
PRODUCTS = ("aten::addmm", "aten::addmm_", "aten::mm", "aten::bmm", "aten::baddbmm", "aten::addmv", "aten::addmv_", "aten::_scaled_mm")  # they copy the bias or the product into the result
SYNCS = {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize"}
LAUNCHES = ("cudaLaunchKernel", "cuLaunchKernel", "cudaGraphLaunch")
MOST = 200
# Neither computes nor moves data: shown only where a call does nothing else.
VIEWS = {"aten::" + n for n in ("as_strided", "view", "_unsafe_view", "expand", "transpose", "t", "permute", "reshape", "_reshape_alias", "unsqueeze", "squeeze",
                                "select", "slice", "narrow", "detach", "alias", "resolve_conj", "resolve_neg", "empty", "empty_like", "empty_strided", "scalar_tensor",
                                "to", "lift_fresh", "result_type", "is_nonzero", "item", "_local_scalar_dense", "flatten", "unflatten", "unbind", "size", "stride",
                                "sym_size", "sym_stride", "sym_numel", "sym_is_contiguous", "_nested_get_values", "_nested_get_offsets", "_nested_view_from_jagged")}
DEEPEST = 4  # sdpa, its math form, matmul, bmm: the product below attention is still shown


class _Quiet:
    """Kineto writes to the descriptor behind standard error; the parent would keep that as print-out of the attempt."""

    def __enter__(self):
        self.saved = os.dup(2)
        self.null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(self.null, 2)

    def __exit__(self, *_):
        os.dup2(self.saved, 2)
        os.close(self.saved)
        os.close(self.null)


class _Printed:
    """What libraries print on descriptor 1 while it is open. The worker's own answers go elsewhere."""

    def __enter__(self):
        import tempfile
        self.file = tempfile.TemporaryFile()
        self.saved = os.dup(1)
        _flush()
        os.dup2(self.file.fileno(), 1)
        return self

    def __exit__(self, *_):
        _flush()
        os.dup2(self.saved, 1)
        os.close(self.saved)
        self.file.seek(0)
        self.lines = self.file.read(1 << 20).decode("utf-8", "replace").splitlines()
        self.file.close()


def _flush():
    import ctypes
    ctypes.CDLL(None).fflush(None)


def library_calls(torch, call, device):
    """Calls of oneDNN and MKL during one run on the processor, in their own verbose lines; None where torch cannot tell."""
    if device.type != "cpu":
        return []
    switches = [m.verbose for m in (torch.backends.mkldnn, torch.backends.mkl) if hasattr(m, "verbose")]
    if not switches or not torch.backends.mkldnn.is_available():
        return None
    import contextlib
    try:
        with _Printed() as printed, contextlib.ExitStack() as stack:
            for verbose in switches:
                stack.enter_context(verbose(1))
            call()
    except (RuntimeError, OSError):
        return None
    found = {}
    for line in printed.lines:
        parts = line.split(",")
        if line.startswith("MKL_VERBOSE ") and "(" in line:
            name, detail = "mkl " + line[len("MKL_VERBOSE "):].split("(")[0].strip(), ""
        elif parts[0] in ("onednn_verbose", "dnnl_verbose") and "exec" in parts:
            at = parts.index("exec")
            name = "onednn " + (parts[at + 2] if len(parts) > at + 2 else "?")
            detail = " ".join(parts[at + 3:-1])[:400]
        else:
            continue
        if name.startswith("mkl Intel") or name.startswith("mkl oneMKL"):
            continue
        key = (name, detail)
        found[key] = found.get(key, 0) + 1
    return [{"name": n, "detail": d, "origin": "library log", "count": c} for (n, d), c in found.items()][:MOST]


def profile(torch, call, device, size):
    """Runs `call` once under the profiler; returns (result, evidence). `size`: bytes of an element of the call's operands."""
    from torch.profiler import ProfilerActivity
    activities = [ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with _Quiet():
        with torch.profiler.profile(activities=activities, record_shapes=True) as profiler:
            result = call()
            if device.type == "cuda":
                torch.cuda.synchronize()
        events = list(profiler.events())
    return result, summarise(events, device, size)


def _is_operator(name):
    return "::" in name


def _depth(event):
    """(operators above this one, those of them that are shown): frames of compiled code are no operators."""
    above, parent = [], event.cpu_parent
    while parent is not None:
        if _is_operator(parent.name):
            above.append(parent.name)
        parent = parent.cpu_parent
    return len(above), sum(1 for name in above if name not in VIEWS)


def _shapes(event):
    shapes = [s for s in (getattr(event, "input_shapes", None) or []) if s]
    return " ".join("x".join(str(n) for n in s) for s in shapes[:4] if all(isinstance(n, int) for n in s))


def _bytes(event, size):
    shapes = [s for s in (getattr(event, "input_shapes", None) or []) if s]
    n = 1
    for extent in shapes[0] if shapes else []:
        if not isinstance(extent, int):
            return 0
        n *= extent
    return n * size if shapes else 0


def _kernels_of(events):
    """(name, count, seconds) of device activities, in order of first start."""
    found = {}
    for e in events:
        if str(e.device_type).endswith("CPU"):
            continue
        seconds = max(e.time_range.end - e.time_range.start, 0) * 1e-6
        count, total = found.get(e.name, (0, 0.0))
        found[e.name] = (count + 1, total + seconds)
    return found


def summarise(events, device, size):
    cpu = [e for e in events if str(e.device_type).endswith("CPU")]
    operators, views, conversions, syncs = [], [], [], []
    for e in cpu:
        if e.name in SYNCS:
            syncs.append({"name": e.name, "origin": "profiler", "count": 1})
            continue
        if not _is_operator(e.name):
            continue
        depth, shown = _depth(e)
        into = views if e.name in VIEWS else operators
        if (depth <= DEEPEST if into is operators else depth == 0) and len(into) < MOST:
            into.append({"name": "  " * shown + e.name, "detail": _shapes(e), "origin": "profiler", "count": 1,
                              "seconds": e.cpu_time_total * 1e-6})
        parent = e.cpu_parent.name if e.cpu_parent else ""
        what = f"{e.name} in {parent or 'the call'} {_shapes(e)}".rstrip()
        if e.name == "aten::_to_copy":
            conversions.append({"kind": "cast", "what": what, "bytes": _bytes(e, max(size, 4))})  # to f32 in every case seen
        elif e.name in PADS:
            conversions.append({"kind": "padding", "what": what, "bytes": _bytes(e, size)})
        elif e.name in ("aten::clone", "aten::repeat_interleave") or (e.name == "aten::copy_" and parent not in CASTS | COPIES):
            conversions.append({"kind": "copy", "what": what, "bytes": _bytes(e, size)})
    operators = operators or views
    conversions = [c for c in conversions if c["bytes"]]  # those of single numbers say nothing
    kernels = [{"name": name, "origin": "profiler", "count": count, "seconds": seconds} for name, (count, seconds) in _kernels_of(events).items()]
    notes = []
    if device.type == "cuda" and not kernels:
        notes.append("the profiler recorded no device activity (CUPTI missing or not permitted): kernels are unknown")
    return {"operators": operators, "library_calls": [], "kernels": kernels[:MOST], "conversions": conversions[:MOST], "syncs": syncs, "notes": notes}


def tell_results(conversions, result, operands):
    """Conversions of the result (scales, its type) are no hidden work on the operands; told by shape, where the shapes differ."""
    text = lambda shape: "x".join(str(n) for n in shape)
    for c in conversions:
        if any(c["what"].startswith("aten::copy_ in " + p + " ") for p in PRODUCTS):  # operands are made contiguous by clones
            c["kind"] = "result copy"
    own = text(result.shape)
    if own in [text(getattr(t, "dd_shape", t.shape)) for t in operands]:
        return
    for c in conversions:
        if c["what"].endswith(" " + own) and not c["kind"].startswith("result"):
            c["kind"] = "result " + c["kind"]


def names(evidence):
    return [o["name"].strip() for o in evidence["operators"]]
