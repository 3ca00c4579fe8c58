"""One attempt: load inputs, build the call, run it in the mode asked for, write the output, record what ran."""
import contextlib
import re
import statistics
import time
import warnings

import attention
import evidence
import gradients
import matmul
import modes
import quantized
import tensors as files
import written_out

REFUSALS = ("No available kernel", "no available kernel", "No viable backend", "Invalid backend", "not supported", "NOT_SUPPORTED", "is not implemented", "expect ",
            "not implemented for", "Expected", "expected", "must", "should", "requires", "only support", "Only support", "CUBLAS_STATUS", "cannot")


def device_of(torch, spec):
    """The device of the spec; without one the first GPU that torch can use, else the processor."""
    target = (spec.get("context") or {}).get("target") or ""
    if (target.startswith("cuda") or not target) and torch.cuda.is_available():
        return torch.device(target or "cuda:0")
    return torch.device("cpu")


def unavailable(code, text):
    return {"outcome": "unavailable", "error": {"code": code, "text": text, "source": "torch worker"}}


def refused(error):
    text, code = str(error).strip(), type(error).__name__
    # torch.compile wraps the operator's own error into a page about tracing.
    inner = re.search(r"got (\w+)\((['\"])(.*?)\2\)", text) if code == "TorchRuntimeError" else None
    if inner:
        code, text = inner.group(1), inner.group(3) + " (while torch.compile traced the call)"
    # The compiler that Inductor starts says why behind a page of command line; it refuses no call, it lacks something.
    compiler = re.search(r"^.*?((?:fatal )?error: .*)$", text, re.MULTILINE) if "C++ compile error" in text else None
    if compiler:
        advice = " (install Python's headers, python3-dev)" if "Python.h" in compiler.group(1) else ""
        text = f"the C++ compiler that torch.compile starts: {compiler.group(1)}{advice}\n{text}"
    kind = "refused" if not compiler and any(part in text for part in REFUSALS) else "failed"
    return {"outcome": kind, "error": {"code": code, "text": text[:4000], "source": "torch"}}


class Plan:
    """What to call, and under which switches."""

    def __init__(self, torch, job):
        self.torch = torch
        self.job = job
        self.spec = job["spec"]
        self.device = device_of(torch, self.spec)
        self.tensors = files.load(torch, job["inputs"], self.device)
        self.is_attention = self.spec.get("op") == "sdpa"
        self.written_out = job.get("policy") != "force" and written_out.asked(self.spec)
        self.notes = []
        self.layer = ""
        self.kind = files.dtype(torch, job["output"]["dtype"])
        self.size = self.tensors["q" if self.is_attention else "x"].element_size()
        self.train = bool(self.spec.get("requires_grad"))
        if self.train:
            for role in ("q", "k", "v") if self.is_attention else ("x", "w"):
                if self.tensors[role].is_floating_point():
                    self.tensors[role].requires_grad_(True)
        if self.is_attention and self.tensors.get("mask") is not None and (self.spec.get("mask") or {}).get("requires_grad"):
            self.tensors["mask"].requires_grad_(True)

    def ran_of(self, names, library):
        if self.is_attention:
            told = attention.ran_of(names)
            return written_out.NAME if self.written_out and told in ("", "torch-math") and names else told
        told = matmul.ran_of(names, self.device.type, library)
        # A packed kernel is told by its operator; without one the weight was written out and multiplied.
        return told if not self.spec.get("quant") or told in quantized.QUANTIZED or not names else "torch-dequant"

    def call(self):
        torch, spec, backend = self.torch, self.spec, self.job.get("backend") or ""
        force = self.job.get("policy") == "force"
        if self.written_out:
            self.notes += written_out.notes_of(spec)
            return written_out.make_call(torch, self.tensors, spec)
        if self.is_attention:
            if float(spec.get("dropout_p") or 0) > 0 and force and backend == "torch-math" and "dropout_keep" in self.tensors:
                return attention.math_with_keep(torch, self.tensors, spec)
            return attention.make_call(torch, self.tensors, spec)
        if spec.get("quant"):
            if force:
                return quantized.call_of(torch, backend, self.tensors, spec, self.kind)
            names = self.job.get("allowed") or quantized.entry_points(spec, self.device.type)
            name, call, refusals = quantized.first_that_runs(torch, names, self.tensors, spec, self.kind)
            self.notes += ["torch chooses no kernel for packed weights by itself: entry points were tried in order"] + refusals
            self.layer = name if name.startswith("torchao-") else ""  # its operators are torch's
            return call
        entry = backend if force else matmul.entry_of(spec)
        return matmul.forced_call(torch, entry, self.tensors, spec, self.kind) if entry else matmul.make_call(torch, self.tensors, spec)

    @contextlib.contextmanager
    def switches(self):
        torch, spec = self.torch, self.spec
        with contextlib.ExitStack() as stack:
            stack.enter_context(matmul.switches(torch, spec))
            if not self.train:
                stack.enter_context(torch.no_grad())
            autocast = (spec.get("flags") or {}).get("autocast")
            if autocast:
                stack.enter_context(torch.autocast(self.device.type, dtype=files.dtype(torch, autocast)))
            if self.is_attention:
                stack.enter_context(attention.flags_context(torch, spec))
                if self.job.get("policy") == "force":
                    stack.enter_context(attention.restrict(torch, [self.job["backend"]]))
                elif self.job.get("allowed"):
                    stack.enter_context(attention.restrict(torch, self.job["allowed"]))
            elif self.job.get("policy") == "force" and self.job.get("backend") in ("torch-mkldnn", "torch-cpu-blas"):
                if hasattr(torch.backends.mkldnn, "flags"):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # it speaks of switches that are not touched here
                        stack.enter_context(torch.backends.mkldnn.flags(enabled=self.job["backend"] == "torch-mkldnn"))
            yield


def synchronise(torch, device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def with_backward(torch, plan, call):
    roles = [r for r in ("q", "k", "v", "x", "w") if r in plan.tensors and plan.tensors[r].requires_grad]

    def whole():
        result = call()
        torch.autograd.grad(result, [plan.tensors[r] for r in roles], torch.ones_like(result), allow_unused=True)
        return result
    return whole


# Device kernels that only one attention backend launches.
KERNELS = (("flash_fwd", "torch-flash"), ("flash_attncute", "torch-flash"), ("fmha_cutlassF", "torch-efficient"), ("cudnn", "torch-cudnn"))


def ran_without_operators(plan, generated_names, device_kernels, library, mode):
    """The backend of a compiled or captured call, from generated code or device kernels alone; "" when they do not tell."""
    if mode == "compiled":
        names = ["aten::" + n["name"].rsplit(".", 1)[-1] for n in generated_names]
        told = plan.ran_of(names, library)
        fused = plan.is_attention and told in ("", "torch-math")
        slow = written_out.NAME if plan.written_out else "torch-math"
        return slow if fused and names else told
    if not plan.is_attention:
        return ""
    for part, backend in KERNELS:
        if any(part in k["name"] for k in device_kernels):
            return backend
    return written_out.NAME if plan.written_out and device_kernels else ""


def measure(torch, call, device, bench):
    def once():
        synchronise(torch, device)
        start = time.perf_counter()
        call()
        synchronise(torch, device)
        return time.perf_counter() - start

    recent = []
    limit = time.perf_counter() + bench.get("max_seconds", 5.0)
    while time.perf_counter() < limit:
        recent = (recent + [once()])[-3:]
        if len(recent) == 3 and max(recent) <= 1.05 * min(recent):
            break
    runs, begin = [], time.perf_counter()
    while (len(runs) < bench.get("min_runs", 10) or time.perf_counter() - begin < bench.get("min_seconds", 0.2)) and time.perf_counter() < limit:
        runs.append(once())
    if not runs:
        return None
    runs.sort()
    quarter = len(runs) // 4
    median = statistics.median(runs)
    spread = (runs[-1 - quarter] - runs[quarter]) / median if median > 0 else 0.0
    return {"runs": len(runs), "median": median, "minimum": runs[0], "spread": spread, "noise": "quiet" if spread < 0.1 else "noisy"}


def compare_gradients(torch, plan, result):
    """(rows of the protocol's gradients, notes). Every tensor that asks for a gradient is compared."""
    roles = [r for r in (("q", "k", "v") if plan.is_attention else ("x", "w")) if plan.tensors[r].requires_grad]
    if plan.spec.get("nested"):
        return [], ["gradients of ragged tensors are not compared"]
    if result.numel() == 0:
        return [], ["backward: the result is empty"]
    if not roles or not result.requires_grad:
        return [], ["backward: no gradient flows"]
    weight = gradients.weight_of(torch, result)
    found = torch.autograd.grad(result, [plan.tensors[r] for r in roles], weight.to(result.dtype), allow_unused=True)
    got = {"d" + r: g for r, g in zip(roles, found) if g is not None}
    if plan.is_attention and float(plan.spec.get("dropout_p") or 0) > 0:
        return [], ["backward ran; with dropout its gradients are not compared"]
    if not plan.is_attention and (plan.spec.get("epilogue") or "none") not in ("none", "bias"):
        return [], ["backward ran; gradients through an activation are not compared"]
    roundoff = gradients.roundoff_of(torch, plan, result)
    weight = weight.to(result.dtype).double()
    if plan.is_attention:
        reference = gradients.attention(torch, plan, attention.arguments(torch, plan.tensors, plan.spec), weight, roundoff)
    else:
        reference = gradients.product(torch, plan, weight, roundoff)
    if reference is None:
        return [], ["backward ran; its reference would take too long, so its gradients are not compared"]
    return gradients.compare(torch, got, *reference), ["backward reference: explicit formulas in f64; limit from the terms of each element"]


def run(torch, job):
    spec = job["spec"]
    target = (spec.get("context") or {}).get("target") or ""
    if target.startswith("cuda") and not torch.cuda.is_available():
        why = "this torch is a CPU-only build" if torch.version.cuda is None else "torch sees no CUDA device (driver missing or not usable)"
        return unavailable("no-cuda", why)
    mode = job.get("mode", "eager")
    plan = Plan(torch, job)
    if mode == "captured" and plan.device.type != "cuda":
        return unavailable("no-graph", "CUDA graphs need a CUDA device; the call runs on the CPU")
    answers = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            out = execute(torch, job, plan, mode, answers)
        except (RuntimeError, TypeError, ValueError, NotImplementedError, AssertionError) as e:
            if type(e).__name__ == "OutOfMemoryError":
                raise
            out = refused(e)
        except LookupError as e:
            out = unavailable(getattr(e, "code", "no-such-backend"), str(e).strip("'\""))
    if answers:
        out["answers"] = answers
    own_mask = spec.get("op") == "sdpa" and float(spec.get("dropout_p") or 0) > 0 and not (job.get("policy") == "force" and job.get("backend") == "torch-math")
    if own_mask and out["outcome"] == "matched":
        out.update(unavailable("dropout-not-comparable", "it ran; torch draws its own keep mask here, so the result cannot be compared (only forced torch-math takes a given one)"))
    notes = out.setdefault("evidence", {}).setdefault("notes", [])
    for w in caught:
        text = str(w.message).split("(Triggered internally")[0].strip()
        # The switch is the worker's own (see import_torch).
        if text and "warning: " + text[:1000] not in notes and "force_disable_caches" not in text and len(notes) < 50:
            notes.append("warning: " + text[:1000])
    return out


def execute(torch, job, plan, mode, answers):
    notes, kernels, rows = [], [], []
    with plan.switches():
        call = plan.call()
        api, finish = getattr(call, "api", ""), getattr(call, "finish", lambda result: result)
        notes += plan.notes
        if plan.is_attention and not plan.written_out:
            answers += attention.answers(torch, plan.tensors, plan.spec)
        if mode == "compiled":
            call, result, kernels, more = modes.compiled(torch, call, plan)
            notes += more
        synchronise(torch, plan.device)
        start = time.perf_counter()
        if mode == "captured":
            graph, result = modes.captured(torch, call, plan.device)
            call = graph.replay
            call()
        else:
            result = call()
        synchronise(torch, plan.device)
        seconds = time.perf_counter() - start
        whole = call
        if plan.train and mode == "captured":
            notes.append("backward: not part of a captured call")
        elif plan.train:
            rows, more = compare_gradients(torch, plan, result)
            notes += more
            whole = with_backward(torch, plan, call) if result.requires_grad and not plan.spec.get("nested") else call
        _, seen = evidence.profile(torch, whole, plan.device, plan.size)
        # A fused attention kernel calls no library that could tell more.
        fused = plan.is_attention and plan.ran_of(evidence.names(seen), None) == "torch-cpu-flash"
        library = [] if fused else evidence.library_calls(torch, whole, plan.device)
        seen["library_calls"] = library or []
        timing = measure(torch, whole, plan.device, job["bench"]) if job.get("bench") else None
    if (plan.spec.get("flags") or {}).get("autocast"):
        for c in seen["conversions"]:
            c["kind"] = "autocast " + c["kind"] if c["kind"] == "cast" else c["kind"]
    if not plan.is_attention:
        evidence.tell_results(seen["conversions"], result, [plan.tensors["x"], plan.tensors["w"]])
    if mode == "compiled":
        notes.append(f"recompiles {modes.graphs_compiled(torch) - plan.graphs} in the calls after the first")
    ran = plan.ran_of(evidence.names(seen), library) if mode == "eager" else ran_without_operators(plan, kernels, seen["kernels"], library, mode)
    ran = plan.layer or ran
    forced = job.get("backend") if job.get("policy") == "force" else ""
    told = (plan.is_attention and mode != "captured") or (forced in ("torch-mkldnn", "torch-cpu-blas") and mode != "captured")
    seen["kernels"] = kernels + seen["kernels"]
    seen["notes"] = notes + seen["notes"]
    seen["api"] = api
    if forced and told and ran and ran != forced:
        return {"outcome": "refused", "evidence": seen,
                "error": {"code": "fell-back", "text": f"{forced} was asked for, {ran} served the call", "source": "torch worker"}}
    files.write(torch, job["output"], finish(result))
    out = {"outcome": "matched", "seconds": seconds, "ran": ran, "evidence": seen}
    if rows:
        out["gradients"] = rows
    if timing:
        out["timing"] = timing
    return out
