"""The modes besides eager: a call under torch.compile with what became of it, and one recorded into a CUDA graph."""
import re


def graphs_compiled(torch):
    from torch._dynamo.utils import counters
    return int(counters["stats"].get("unique_graphs", 0))


def compiled(torch, call, plan):
    """(compiled call, its first result, what the generated code calls, notes): graphs, breaks, and what became of attention."""
    import logging

    import torch._dynamo as dynamo
    from torch._dynamo.utils import counters
    logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)  # it speaks of a toolkit that nothing here needs
    dynamo.reset()
    notes = []
    try:
        explained = dynamo.explain(call)()
        notes.append(f"graphs {explained.graph_count}, breaks {explained.graph_break_count}")
        for reason in (explained.break_reasons or [])[:4]:
            notes.append(f"break: {str(getattr(reason, 'reason', reason))[:300]}")
        for graph in explained.graphs[:2]:
            targets = [str(n.target) for n in graph.graph.nodes if n.op == "call_function"]
            notes.append("captured calls: " + ", ".join(targets[:12]))
    except Exception as e:
        notes.append(f"graph inspection failed: {type(e).__name__}: {str(e)[:200]}")
    dynamo.reset()
    counters.clear()
    call = torch.compile(call, fullgraph=False)
    result, more, kernels = generated(torch, call)
    notes += more
    plan.graphs = graphs_compiled(torch)
    if plan.is_attention and kernels:
        notes.append(attention_in(kernels))
    patterns = int(counters["inductor"].get("fuse_attention", 0))
    if patterns:
        notes.append(f"attention pattern fused {patterns} times by the compiler")
    return call, result, kernels, notes


def attention_in(kernels):
    """What became of attention in the generated code, told from that code alone."""
    whole = [k["name"] for k in kernels if "_scaled_dot_product_" in k["name"] or "flex_attention" in k["name"]]
    if whole:
        return "attention stays one call: " + ", ".join(whole)
    return "attention decomposed: " + ", ".join(k["name"] for k in kernels[:8])


def generated(torch, call):
    """Runs a compiled call for the first time: (result, notes, the library calls and generated kernels of its code)."""
    try:
        from torch._inductor.utils import run_and_get_code
    except ImportError:
        return call(), ["this torch cannot show generated code"], []
    result, codes = run_and_get_code(call)
    kernels = []
    for code in codes:
        for line in code.splitlines():
            text = line.strip()
            if text.startswith("#"):
                continue
            for name in re.findall(r"extern_kernels\.\w+|torch\.ops\.(?:aten|mkldnn)\.\w+|\bcpp_fused_\w+|\btriton_\w+_fused_\w+", text):
                detail = "generated" if name.startswith(("cpp_fused_", "triton_")) else "library call that remains"
                entry = {"name": name, "detail": detail, "origin": "inductor", "count": 1}
                if entry not in kernels:
                    kernels.append(entry)
    return result, [] if kernels else ["no kernel found in the generated code"], kernels


def captured(torch, call, device):
    """Warm-up on a side stream, capture, replay. Returns (replayed result, notes)."""
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream(device).wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = call()
    result.zero_()
    return graph, result
