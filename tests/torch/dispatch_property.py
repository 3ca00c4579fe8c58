#!/usr/bin/env python3
"""The rules of a torch version against that torch, on the processor: random calls, each run under the dispatcher's own
choice and with each backend forced. Any disagreement, in either direction, fails the test.
Usage: dispatch_property.py [COUNT [SEED]]"""
import json
import os
import random
import sys
import tempfile

from torch_support import report, require_torch

FUSED = "aten::_scaled_dot_product_flash_attention_for_cpu"


def tensor(rng, shape, dtype, odd):
    out = {"shape": shape, "dtype": dtype}
    if odd == "bshd" and len(shape) == 4:
        b, h, t, d = shape
        out["strides"] = [t * h * d, d, h * d, 1]
    elif odd == "last":  # the head axis is not dense
        strides, step = [], 2
        for extent in reversed(shape):
            strides.insert(0, step)
            step *= max(extent, 1)
        out["strides"] = strides
    elif odd == "offset":
        out["offset"] = rng.choice([1, 3, 8])
    return out


def call(rng):
    heads = rng.choice([1, 2, 3, 4])
    batch, q_len, kv_len, size = rng.choice([1, 2, 3]), rng.choice([1, 2, 5, 16, 33]), rng.choice([1, 3, 16, 17, 40]), rng.choice([1, 4, 8, 15, 16, 32, 64])
    if rng.random() < 0.4:
        kv_len = q_len
    if rng.random() < 0.04:
        q_len = 0
    dtype = rng.choice(["f32", "f32", "f64", "bf16", "f16"])
    rank3 = rng.random() < 0.08
    lead = [batch] if rank3 else [batch, heads]
    kv_lead = list(lead)
    grouped = not rank3 and rng.random() < 0.15 and heads > 1
    if grouped:
        kv_lead[1] = rng.choice([n for n in range(1, heads + 1) if heads % n == 0])
    v_size = size if rng.random() < 0.85 else rng.choice([4, 8, 24])
    odd = lambda: rng.choice([None, None, None, "bshd", "bshd", "last", "offset"]) if rng.random() < 0.5 else None
    spec = {"op": "sdpa", "q": tensor(rng, lead + [q_len, size], dtype, odd()), "k": tensor(rng, kv_lead + [kv_len, size], dtype, odd()),
            "v": tensor(rng, kv_lead + [kv_len, v_size], dtype, odd()), "context": {"framework": "torch", "target": "cpu"}, "seed": rng.randrange(1 << 30)}
    if grouped:
        spec["enable_gqa"] = rng.random() < 0.8 or kv_lead[1] not in (1, heads)
    kind = rng.random()
    if kind < 0.25:
        spec["is_causal"] = True
    elif kind < 0.6:
        full = [batch, 1 if rank3 else heads, q_len, kv_len]
        shape = rng.choice([full[2:], full[1:], full, [1, 1] + full[2:], [batch, 1, 1, kv_len], [1, kv_len]])
        if rank3 and len(shape) > 3:
            shape = full[2:]
        if rank3 and len(shape) == 3:
            shape = [batch, q_len, kv_len]
        spec["mask"] = {"dtype": rng.choice(["bool", dtype]), "shape": shape, "content": "random"}
        if rng.random() < 0.1 and spec["mask"]["dtype"] != "bool":
            spec["mask"]["requires_grad"] = True
            spec["requires_grad"] = True
    if rng.random() < 0.15:
        spec["scale"] = rng.choice([0.5, 0.125, 1.0])
    if rng.random() < 0.05:
        spec["dropout_p"] = 0.25
    if rng.random() < 0.1:
        spec["requires_grad"] = True
    if rng.random() < 0.05:
        spec["flags"] = {"enabled": {"flash": False}}
    return spec


def disagreements(case):
    out = [f for f in case["findings"] if f["id"] in ("RUL001", "RUL002", "RUL003") and f["status"] == "unmet"]
    for candidate in case["candidates"]:
        out += [dict(f, backend=candidate["backend"]) for f in candidate["findings"] if f["id"] in ("RUL001", "RUL002") and f["status"] == "unmet"]
    return out


def check(python, count, seed):
    rng = random.Random(seed)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False) as f:
        for _ in range(count):
            f.write(json.dumps(call(rng)) + "\n")
    code, seen, err = report("run", f.name, "--python", python, env={"OMP_NUM_THREADS": "1"})
    cases = seen["cases"]
    with open(f.name) as lines:
        specs = lines.read().splitlines()
    ran, wrong, unread, operators_lie, off = {}, [], [], [], []
    for case, line in zip(cases, specs):
        if case.get("problems"):
            unread.append((case["problems"][0], line))
            continue
        allow = [(c["backend"], a) for c in case["candidates"] for a in c["attempts"] if a["policy"] == "allow"]
        for backend, attempt in allow:
            names = [o["name"].strip() for o in attempt["evidence"]["operators"]]
            if attempt["outcome"] in ("matched", "off", "mistrusted") or names:
                ran[backend] = ran.get(backend, 0) + 1
                if (FUSED in names) != (backend == "torch-cpu-flash"):
                    operators_lie.append((backend, names, line))
            else:
                ran[attempt["outcome"]] = ran.get(attempt["outcome"], 0) + 1
        off += [(c["backend"], line) for c in case["candidates"] for a in c["attempts"] if a["outcome"] == "off"]
        for finding in disagreements(case):
            errors = [(c["backend"], a["error"]["text"][:160]) for c in case["candidates"] for a in c["attempts"] if a.get("error")]
            wrong.append((finding["id"], finding.get("backend", ""), finding["seen"], line, errors))
    version = next((f["value"] for c in cases for f in c["facts"] if f["name"] == "torch_version"), "?")
    print(f"torch {version}: {len(cases)} calls, {ran}, {len(unread)} not accepted as specs, {len(wrong)} disagreements, {len(off)} off")
    for what in unread[:3] + wrong[:40] + operators_lie[:5] + off[:5]:
        print("  ", *what)
    if version == "?":
        print(err[-1500:])
        return False
    enough = ran.get("torch-cpu-flash", 0) >= count // 10 and ran.get("torch-math", 0) >= count // 10 and len(unread) <= count // 10
    if not enough:
        print("   the calls are not varied enough to prove anything")
    return enough and not wrong and not operators_lie and not off


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 520
    start = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    results = [check(python, wanted, start) for python in require_torch()]
    sys.exit(0 if all(results) else 1)
