#!/usr/bin/env python3
"""Whole runs of the program with a real PyTorch on the processor: attention and products, force, dropout, recording; and with
interpreters that have no torch, a broken one, or one that is too old."""
import json
import os
import pathlib
import signal
import sys
import tempfile
import threading
import unittest

from torch_support import interpreters, report, require_torch, run, skip_without_headers, with_torchao

PYTHON = None
WITH_TORCHAO = None


def attempts(case):
    return {(c["backend"], a["policy"], a["mode"]): a for c in case["candidates"] for a in c["attempts"]}


def ids(case):
    return {f["id"] for f in case["findings"] if f["status"] == "unmet"}


class RealTorch(unittest.TestCase):
    def test_default_call_takes_the_fused_kernel(self):
        code, seen, _ = report("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x2x32x16", "--causal", "--python", PYTHON)
        case = seen["cases"][0]
        self.assertEqual(code, 0)
        self.assertEqual(case["verdict"]["status"], "fast-path")
        self.assertEqual(case["decision"]["selected"], "torch-cpu-flash")
        names = [o["name"].strip() for o in attempts(case)[("torch-cpu-flash", "allow", "eager")]["evidence"]["operators"]]
        self.assertIn("aten::_scaled_dot_product_flash_attention_for_cpu", names)
        self.assertEqual(attempts(case)[("torch-math", "force", "eager")]["outcome"], "matched")

    def test_a_refusal_has_the_rules_name(self):
        code, seen, _ = report("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x2x32x16", "--v", "1x2x32x8", "--python", PYTHON)
        case = seen["cases"][0]
        self.assertEqual(code, 0)
        self.assertEqual(case["verdict"]["status"], "fallback")
        refused = attempts(case)[("torch-cpu-flash", "force", "eager")]
        self.assertEqual(refused["outcome"], "refused")
        self.assertTrue(any("TCP015" in note for note in refused["evidence"]["notes"]), refused)

    def test_force_that_is_refused_exits_3(self):
        code, _, _ = report("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x2x32x16", "--v", "1x2x32x8", "--force", "torch-cpu-flash", "--python", PYTHON)
        self.assertEqual(code, 3)

    def test_product_shows_operator_and_library(self):
        code, seen, _ = report("gemm", "--framework", "torch", "--target", "cpu", "--x", "32x64", "--w", "64x48", "--python", PYTHON)
        case = seen["cases"][0]
        self.assertEqual(code, 0)
        allow = next(a for (_, policy, _), a in attempts(case).items() if policy == "allow")
        self.assertEqual(allow["outcome"], "matched")
        self.assertIn("aten::mm", [o["name"].strip() for o in allow["evidence"]["operators"]])
        self.assertTrue(allow["evidence"]["library_calls"])

    def test_modes_side_by_side(self):
        code, seen, _ = report("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x2x32x16", "--causal", "--mode", "eager,compiled,captured", "--python", PYTHON)
        case = seen["cases"][0]
        self.assertEqual(code, 0)
        lines = [line for line in case["verdict"]["because"] if line.startswith("mode ")]
        self.assertEqual([line.split()[1] for line in lines], ["eager:", "compiled:", "captured:"])
        self.assertIn("unavailable", lines[2])
        forced = attempts(case)[("torch-math", "force", "compiled")]
        skip_without_headers(self, forced)
        self.assertEqual(forced["outcome"], "matched", forced)
        # Compiled under another switch before: its code must not have served this attempt.
        self.assertFalse([k for k in forced["evidence"]["kernels"] if "flash_attention" in k["name"]])

    def test_modes_of_a_product(self):
        code, seen, _ = report("gemm", "--framework", "torch", "--target", "cpu", "--x", "64x64", "--w", "64x64", "--bias", "--mode", "compiled,eager", "--require", "fast", "--python", PYTHON)
        case = seen["cases"][0]
        self.assertEqual(code, 0, case["verdict"])
        # The bias is copied into the result, which here has the shape of either operand: that is no hidden copy of one.
        self.assertEqual((case["verdict"]["status"], case["decision"]["selected"]), ("fast-path", "torch-cpu-blas"))
        lines = [line for line in case["verdict"]["because"] if line.startswith("mode")]
        self.assertEqual([line.split(":")[0] for line in lines], ["mode compiled", "mode eager", "modes agree"], lines)
        self.assertIn("addmm", lines[2])
        # oneDNN switched on by force does not make it serve, compiled or not: the library's own lines tell.
        self.assertEqual({attempts(case)[("torch-mkldnn", "force", mode)]["outcome"] for mode in ("eager", "compiled")}, {"refused"})
        self.assertFalse([f for c in case["candidates"] for f in c["findings"] if f["id"] == "RUL002" and f["status"] == "unmet"])
        # Frames of the compiler's wrapper are no operators, so the first operator stands at the left.
        names = [o["name"] for o in attempts(case)[("torch-cpu-blas", "allow", "compiled")]["evidence"]["operators"]]
        self.assertEqual(names[0], names[0].strip())

    def test_an_error_under_torch_compile_is_told_in_the_operators_words(self):
        _, seen, _ = report("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x2x32x16", "--v", "1x2x32x8", "--force", "torch-cpu-flash", "--mode", "compiled", "--python", PYTHON)
        error = attempts(seen["cases"][0])[("torch-cpu-flash", "force", "compiled")]["error"]
        self.assertIn("o available kernel", error["text"])
        self.assertLess(len(error["text"].splitlines()), 2, error)

    def test_autocast_is_run_and_compared_in_the_type_that_it_computes_in(self):
        for words, backend in ((("gemm", "--x", "32x64", "--w", "64x48", "--bias"), None), (("gemm", "--x", "32x64", "--w", "64x48", "--dtype", "bf16:f32"), None),
                               (("sdpa", "--q", "1x2x32x16", "--causal"), "torch-cpu-flash"), (("sdpa", "--q", "1x2x32x16", "--mask", "float:32x32", "--mask-content", "causal"), "torch-cpu-flash")):
            with self.subTest(call=" ".join(words)):
                code, seen, err = report(*words, "--autocast", "bf16", "--framework", "torch", "--target", "cpu", "--python", PYTHON)
                case = seen["cases"][0]
                self.assertEqual(code, 0, case["verdict"])
                self.assertFalse([f for f in case["findings"] + [f for c in case["candidates"] for f in c["findings"]] if f["id"].startswith(("RUL", "NUM", "TMM002")) and f["status"] == "unmet"])
                allow = next(a for (_, policy, _), a in attempts(case).items() if policy == "allow")
                self.assertEqual(allow["outcome"], "matched", allow["error"])
                if backend:
                    self.assertEqual(case["decision"]["selected"], backend)
                # The casts were asked for: they are shown, and they are no hidden work.
                self.assertFalse([c for c in allow["evidence"]["conversions"] if c["kind"] == "cast"], allow["evidence"]["conversions"])

    def test_ragged_tensors(self):
        for layout in ("jagged", "strided"):
            with self.subTest(layout=layout):
                code, seen, _ = report("sdpa", "--q", "3x4x33x32", "--k", "3x4x8x32", "--nested", "7,19,33/5,6,8", "--extra", f"nested_layout={layout}", "--framework", "torch", "--target", "cpu", "--python", PYTHON)
                case = seen["cases"][0]
                self.assertEqual((code, case["decision"]["selected"]), (0, "torch-math"), case["verdict"])
                self.assertEqual(attempts(case)[("torch-math", "force", "eager")]["outcome"], "matched")
                self.assertEqual(attempts(case)[("torch-cpu-flash", "force", "eager")]["outcome"], "refused")
                self.assertFalse({i for i in ids(case) if i.startswith("RUL")}, case["findings"])

    def test_gpu_call_without_gpu_is_a_finding(self):
        code, seen, _ = report("sdpa", "--framework", "torch", "--target", "cuda:0", "--q", "1x2x32x16", "--dtype", "f16", "--python", PYTHON, env={"CUDA_VISIBLE_DEVICES": ""})
        self.assertTrue(ids(seen["cases"][0]) & {"ENV044", "ENV045"})
        # What is installed is known all the same: only the rules of that version ask for what is not.
        self.assertIn("torch_version", [f["name"] for f in seen["cases"][0]["facts"]])
        self.assertNotIn("TFL011", [f["id"] for c in seen["cases"][0]["candidates"] for f in c["findings"]])
        self.assertEqual((code, seen["cases"][0]["verdict"]["status"]), (5, "undetermined"))
        self.assertIn("no GPU can be used here", seen["cases"][0]["verdict"]["summary"])

    def test_the_gpu_half_of_the_two_layers_without_gpu_is_not_run(self):
        specs = pathlib.Path(__file__).parents[2] / "configs" / "specs" / "two-layers.jsonl"
        code, seen, _ = report("run", str(specs), "--python", PYTHON, env={"CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual((code, seen["summary"]["tested"]), (5, 0), seen["summary"])
        for case in seen["cases"]:
            self.assertEqual((case["spec"]["context"]["target"], case["verdict"]["status"]), ("cuda:0", "undetermined"))
            self.assertTrue(ids(case) & {"ENV044", "ENV045"})
            self.assertFalse([b for b in attempts(case) if "cpu" in b[0]], case["repro"])

    def test_record_then_run(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program.py")
            program.write_text("import torch\nq = torch.randn(1, 2, 16, 8)\nw = torch.randn(24, 8)\nfor _ in range(3):\n"
                               "    torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)\n"
                               "torch.nn.functional.scaled_dot_product_attention(q, q, torch.randn(1, 2, 16, 4))\n"
                               "torch.nn.functional.linear(q, w)\nraise SystemExit(7)\n")
            out = os.path.join(folder, "calls.jsonl")
            code, _, err = run("record", "-o", out, "--", PYTHON, str(program))
            self.assertEqual(code, 7, err)
            specs = [json.loads(line) for line in pathlib.Path(out).read_text().splitlines()]
            self.assertEqual(sorted(s["extra"]["count"] for s in specs), [1, 1, 3])
            self.assertTrue(all("program.py:" in s["extra"]["call_site"] for s in specs))
            code, text, err = run("run", out, "--framework", "torch", "--python", PYTHON)
            self.assertEqual(code, 0, text + err)
            self.assertIn("recorded program: 5 calls", text)
            self.assertIn("program.py:6", text)


    def test_training_compares_gradients(self):
        for op in (("sdpa", "--q", "1x2x32x16", "--causal"), ("gemm", "--x", "32x64", "--w", "64x48")):
            code, seen, _ = report(*op, "--train", "--framework", "torch", "--target", "cpu", "--python", PYTHON)
            self.assertEqual(code, 0)
            ran = [a for a in attempts(seen["cases"][0]).values() if a["outcome"] == "matched"]
            self.assertTrue(ran)
            for attempt in ran:
                names = [g["tensor"] for g in attempt["comparison"]["gradients"]]
                self.assertEqual(names, ["dq", "dk", "dv"] if op[0] == "sdpa" else ["dx", "dw"])
                self.assertFalse([g for g in attempt["comparison"]["gradients"] if g["mismatched"] or g["error"] > g["limit"]])

    def test_a_gradient_that_is_off_is_found(self):
        # A torch whose backward pass is wrong by one per cent in one tensor; the forward result stays right.
        broken = ("import sys\nclass Find:\n    def find_spec(self, name, path=None, target=None):\n        if name != 'attempt': return None\n"
                  "        import torch\n        right = torch.autograd.grad\n"
                  "        torch.autograd.grad = lambda *a, **k: tuple(g * 1.01 if i == 1 else g for i, g in enumerate(right(*a, **k)))\n"
                  "        return None\nsys.meta_path.insert(0, Find())\n")
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "sitecustomize.py").write_text(broken)
            code, seen, _ = report("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x2x32x16", "--train", "--python", PYTHON, env={"PYTHONPATH": folder})
        self.assertEqual(code, 1)
        case = seen["cases"][0]
        self.assertEqual(case["verdict"]["status"], "wrong-result")
        forced = attempts(case)[("torch-math", "force", "eager")]
        self.assertEqual(forced["outcome"], "off")
        self.assertEqual([g["tensor"] for g in forced["comparison"]["gradients"] if g["mismatched"]], ["dk"])
        self.assertIn("NUM006", [f["id"] for c in case["candidates"] for f in c["findings"]])

    def test_its_own_choice_is_asked(self):
        _, seen, _ = report("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x2x32x16", "--python", PYTHON)
        fused = next(c for c in seen["cases"][0]["candidates"] if c["backend"] == "torch-cpu-flash")
        self.assertEqual([(a["query"], a["answer"]) for a in fused["answers"]], [("_fused_sdp_choice", "chosen")])

    def test_layers_one_under_the_other(self):
        _, text, _ = run("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x2x32x16", "--force", "torch-math", "--python", PYTHON)
        lines = [line.strip() for line in text.splitlines()]
        at = [next(i for i, line in enumerate(lines) if line.startswith(part)) for part in ("api ", "operators ", "library ", "kernels ")]
        self.assertEqual(at, sorted(at), text)
        self.assertIn("scaled_dot_product_attention(q, k, v)", lines[at[0]])

    def test_attention_that_is_written_out_is_run_as_written(self):
        code, seen, _ = report("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x4x32x16", "--causal", "--extra", "hand_written=true", "--mode", "eager,compiled", "--python", PYTHON)
        case = seen["cases"][0]
        self.assertEqual((code, case["verdict"]["status"], case["decision"]["selected"]), (0, "fallback", "torch-written-out"))
        self.assertIn("torch is not asked: TSD027", case["verdict"]["summary"])
        self.assertIn("the call itself would be served by torch-cpu-flash, which matched when it was forced", case["verdict"]["because"])
        ran = attempts(case)
        self.assertEqual({ran[(b, p, "eager")]["outcome"] for b, p in (("torch-written-out", "allow"), ("torch-cpu-flash", "force"), ("torch-math", "force"))}, {"matched"})
        self.assertNotIn(("torch-written-out", "force", "eager"), ran)
        names = [o["name"].strip() for o in ran[("torch-written-out", "allow", "eager")]["evidence"]["operators"]]
        self.assertNotIn("aten::scaled_dot_product_attention", names)
        self.assertIn("aten::softmax", names)
        self.assertFalse({i for i in ids(case) if i.startswith("RUL")}, case["findings"])
        code, seen, _ = report("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x4x32x16", "--v", "1x4x32x8", "--extra", "hand_written=true", "--require", "fast", "--python", PYTHON)
        self.assertEqual(code, 3)
        self.assertTrue(any("served by torch-math" in b and "torch-cpu-flash: TCP015" in b for b in seen["cases"][0]["verdict"]["because"]), seen["cases"][0]["verdict"])

    def test_an_order_on_the_processor_is_said_to_do_nothing(self):
        for python in interpreters():
            with self.subTest(python=python):
                _, seen, _ = report("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x2x32x16", "--order", "torch-math,torch-cpu-flash", "--python", python)
                case = seen["cases"][0]
                self.assertEqual(case["decision"]["selected"], "torch-cpu-flash")
                self.assertEqual(attempts(case)[("torch-cpu-flash", "allow", "eager")]["outcome"], "matched")
                self.assertIn("TSD043", ids(case))
        _, seen, _ = report("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x2x32x16", "--python", PYTHON)
        self.assertNotIn("TSD043", ids(seen["cases"][0]))

    def test_a_worker_that_is_killed_or_stopped_costs_one_attempt(self):
        # The signal comes from outside, in the middle of the second attempt of the first of two calls.
        hold = ("import sys\nclass Find:\n    def find_spec(self, name, path=None, target=None):\n        if name != 'attempt': return None\n"
                "        import attention, os, time\n        restrict = attention.restrict\n"
                "        def held(torch, names):\n            mark = os.environ['HELD']\n"
                "            if names == ['torch-cpu-flash'] and not os.path.exists(mark):\n"
                "                with open(mark + '.new', 'w') as f: f.write(str(os.getpid()))\n                os.rename(mark + '.new', mark)\n                time.sleep(600)\n"
                "            return restrict(torch, names)\n        attention.restrict = held\n        return None\nsys.meta_path.insert(0, Find())\n")
        for number, outcome, options in ((signal.SIGKILL, "crashed", ()), (signal.SIGSTOP, "timed-out", ("--timeout", "30"))):
            with self.subTest(signal=number.name), tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "sitecustomize.py").write_text(hold)
                specs = pathlib.Path(folder, "specs.txt")
                specs.write_text("sdpa --q 1x2x32x16 --causal\nsdpa --q 1x2x16x8\n")
                mark = pathlib.Path(folder, "held")
                done = threading.Event()

                def end_it():
                    while not mark.exists() and not done.wait(0.05):
                        pass
                    if mark.exists():
                        os.kill(int(mark.read_text()), number)

                thread = threading.Thread(target=end_it)
                thread.start()
                try:
                    code, seen, err = report("run", str(specs), "--framework", "torch", "--target", "cpu", "--python", PYTHON, *options, env={"PYTHONPATH": folder, "HELD": str(mark)})
                finally:
                    done.set()
                    thread.join()
                self.assertEqual(code, 4, err)
                first, second = (attempts(case) for case in seen["cases"])
                self.assertEqual(first[("torch-cpu-flash", "force", "eager")]["outcome"], outcome)
                self.assertIn("SIGKILL" if number == signal.SIGKILL else "within 30", json.dumps(first[("torch-cpu-flash", "force", "eager")]["error"]))
                self.assertEqual(first[("torch-cpu-flash", "allow", "eager")]["outcome"], "matched")
                self.assertEqual(first[("torch-math", "force", "eager")]["outcome"], "matched")
                self.assertEqual({a["outcome"] for a in second.values()}, {"matched"})
                self.assertFalse([p for p in pathlib.Path("/proc").glob("[0-9]*") if p.name == mark.read_text()])

    def test_packed_weights(self):
        def selected(*words):
            code, seen, err = report("gemm", *words, "--framework", "torch", "--target", "cpu", "--python", PYTHON)
            case = seen["cases"][0]
            self.assertFalse(case.get("problems"), err)
            outcomes = {a["outcome"] for c in case["candidates"] for a in c["attempts"]}
            self.assertFalse(outcomes & {"off", "failed", "crashed"}, (words, [(c["backend"], a["outcome"], a["error"]) for c in case["candidates"] for a in c["attempts"]]))
            found = [f for f in case["findings"] + [f for c in case["candidates"] for f in c["findings"]] if f["id"].startswith("RUL")]
            self.assertFalse(found, (words, found))
            operators = [o["name"].strip() for c in case["candidates"] for a in c["attempts"] if a["policy"] == "allow" for o in a["evidence"]["operators"]]
            return code, case["decision"]["selected"], case["verdict"]["status"], operators
        code, which, status, operators = selected("--x", "4x128", "--w", "128x64", "--dtype", "bf16", "--quant", "w4a16:group=32:zero")
        self.assertEqual((code, which, status), (0, "torch-tinygemm-int4", "fast-path"))
        self.assertIn("aten::_weight_int4pack_mm_for_cpu", operators)
        code, which, status, operators = selected("--x", "4x128", "--w", "128x24", "--dtype", "bf16", "--quant", "w4a16:group=32")  # N is no multiple of 16
        self.assertEqual((code, which, status), (0, "torch-dequant", "fallback"))
        self.assertEqual(selected("--x", "4x128", "--w", "128x64", "--dtype", "bf16", "--quant", "w8a16:group=channel")[:3], (0, "torch-int8pack", "fast-path"))
        # This one ends the process in the releases seen: named by a rule, and not run.
        self.assertEqual(selected("--x", "4x100", "--w", "100x64", "--dtype", "bf16", "--quant", "w8a16:group=channel")[:3], (0, "torch-dequant", "fallback"))
        code, which, status, operators = selected("--x", "4x100", "--w", "100x30", "--dtype", "s8:s8", "--quant", "w8a8:group=channel")
        self.assertEqual((code, which, status), (0, "torch-int-mm", "fast-path"))
        self.assertIn("aten::_int_mm", operators)
        self.assertEqual(selected("--x", "4x128", "--w", "128x64", "--dtype", "s8", "--out-dtype", "s32")[:3], (0, "torch-int-mm", "fast-path"))
        code, which, status, operators = selected("--x", "4x128", "--w", "128x64", "--dtype", "f8_e4m3", "--out-dtype", "bf16")
        self.assertEqual((code, which), (0, "torch-scaled-mm"))
        self.assertIn("aten::_scaled_mm", operators)

    def test_an_entry_point_that_is_not_there(self):
        hidden = ("import sys\nclass Find:\n    def find_spec(self, name, path=None, target=None):\n        if name != 'attempt': return None\n"
                  "        import torch\n        del torch._int_mm\n        import matmul\n"
                  "        matmul.entry = lambda torch, name: (_ for _ in ()).throw(LookupError(f'torch {torch.__version__} has no {name}'))\n"
                  "        return None\nsys.meta_path.insert(0, Find())\n")
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "sitecustomize.py").write_text(hidden)
            _, seen, _ = report("gemm", "--x", "4x128", "--w", "128x64", "--dtype", "s8:s8", "--quant", "w8a8:group=channel", "--framework", "torch", "--target", "cpu",
                                "--python", PYTHON, env={"PYTHONPATH": folder})
        case = seen["cases"][0]
        self.assertEqual(case["decision"]["selected"], "torch-dequant")
        forced = attempts(case)[("torch-int-mm", "force", "eager")]
        self.assertEqual(forced["outcome"], "unavailable")
        self.assertIn("has no _int_mm", forced["error"]["text"])

    def with_numpy(self, body):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "numpy"))
            pathlib.Path(folder, "numpy", "__init__.py").write_text(body)
            code, seen, _ = report("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x2x32x16", "--python", PYTHON, env={"PYTHONPATH": folder})
        return code, seen["cases"][0]

    def test_no_numpy(self):
        code, case = self.with_numpy("raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')\n")
        self.assertEqual(code, 0, case["findings"])
        self.assertEqual(case["decision"]["selected"], "torch-cpu-flash")

    def test_numpy_that_is_broken(self):
        # Some releases cannot be imported beside it: then that is the finding, with numpy's own words.
        code, case = self.with_numpy("raise ImportError('numpy is broken')\n")
        if code == 0:
            self.assertEqual(case["decision"]["selected"], "torch-cpu-flash")
        else:
            self.assertIn("numpy is broken", next(f["seen"] for f in case["findings"] if f["id"] == "ENV042"))


class Torchao(unittest.TestCase):
    """Layers of torchao with the codes of the spec; without torchao these are skipped, and say so."""

    def forced(self, *words, mode="eager"):
        if WITH_TORCHAO is None:
            self.skipTest("skipped: no torchao beside a torch")
        code, seen, err = report("gemm", *words, "--framework", "torch", "--target", "cpu", "--mode", mode, "--python", WITH_TORCHAO)
        case = seen["cases"][0]
        self.assertFalse(case.get("problems"), err)
        self.assertFalse([f for f in case["findings"] if f["id"] in ("ENV046", "RUL003")], case["findings"])
        return {key: a for key, a in attempts(case).items() if key[0].startswith("torchao-")}, case

    def operators(self, attempt):
        return {o["name"].strip() for o in attempt["evidence"]["operators"]}

    def test_layers_with_the_codes_of_the_spec(self):
        for words, name, operator in ((("--x", "4x128", "--w", "128x64", "--dtype", "bf16", "--quant", "w4a16:group=32:zero"), "torchao-int4", "aten::_weight_int4pack_mm_for_cpu"),
                                      (("--x", "4x128", "--w", "128x64", "--dtype", "s8:s8", "--quant", "w8a8:group=channel"), "torchao-int8", "aten::_int_mm"),
                                      (("--x", "4x128", "--w", "128x64", "--dtype", "f8_e4m3:f8_e4m3", "--quant", "w8a8:group=channel"), "torchao-float8", "aten::_scaled_mm")):
            with self.subTest(layer=name):
                found, _ = self.forced(*words)
                attempt = found[(name, "force", "eager")]
                self.assertEqual(attempt["outcome"], "matched", attempt["error"])
                self.assertIn(operator, self.operators(attempt))

    def test_int8_weights_are_written_out_in_eager_mode(self):
        found, case = self.forced("--x", "4x128", "--w", "128x64", "--dtype", "bf16", "--quant", "w8a16:group=channel")
        attempt = found[("torchao-int8", "force", "eager")]
        self.assertEqual(attempt["outcome"], "matched", attempt["error"])
        self.assertTrue([c for c in attempt["evidence"]["conversions"] if c["kind"] == "cast" and "128x64" in c["what"]], attempt["evidence"]["conversions"])
        self.assertEqual(case["decision"]["selected"], "torch-int8pack")  # torchao is above torch, not a choice of its own

    def test_under_a_policy(self):
        words = ("--x", "4x128", "--w", "128x64", "--dtype", "bf16", "--quant", "w4a16:group=32:zero")
        for policy in (("--force", "torchao-int4"), ("--allow", "torchao-int4")):
            with self.subTest(policy=policy[0]):
                _, case = self.forced(*words, *policy)
                self.assertEqual((case["decision"]["selected"], case["verdict"]["status"]), ("torchao-int4", "fast-path"), case["verdict"])

    def test_one_that_does_not_fit_is_a_finding(self):
        # A torchao of another time: it is there, and wants a name of torch that is not.
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "torchao"))
            pathlib.Path(folder, "torchao", "__init__.py").write_text("from torch.nn.functional import a_name_of_another_release\n")
            meta = pathlib.Path(folder, "torchao-0.99.0.dist-info")
            meta.mkdir()
            (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: torchao\nVersion: 0.99.0\n")
            code, seen, _ = report("gemm", "--x", "4x128", "--w", "128x64", "--dtype", "bf16", "--quant", "w4a16:group=32:zero", "--framework", "torch", "--target", "cpu",
                                   "--python", PYTHON, env={"PYTHONPATH": folder})
        case = seen["cases"][0]
        self.assertEqual((code, case["decision"]["selected"]), (0, "torch-tinygemm-int4"))
        self.assertEqual(attempts(case)[("torchao-int4", "force", "eager")]["outcome"], "unavailable")
        told = next(f for f in case["findings"] if f["id"] == "ENV047")
        self.assertIn("torchao 0.99.0 cannot be imported", told["seen"])
        self.assertIn("a_name_of_another_release", told["seen"])

    def test_none_is_a_note(self):
        if WITH_TORCHAO == PYTHON:
            self.skipTest("skipped: every torch here has torchao")
        _, seen, _ = report("gemm", "--x", "4x128", "--w", "128x64", "--dtype", "bf16", "--quant", "w4a16:group=32:zero", "--framework", "torch", "--target", "cpu", "--python", PYTHON)
        self.assertEqual([f["level"] for f in seen["cases"][0]["findings"] if f["id"] == "ENV046"], ["note"])


class SickTorch(unittest.TestCase):
    def case(self, body, env=None):
        with tempfile.TemporaryDirectory() as folder:
            if body is not None:
                os.mkdir(os.path.join(folder, "torch"))
                pathlib.Path(folder, "torch", "__init__.py").write_text(body)
            code, seen, _ = report("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x2x32x16", "--python", sys.executable,
                                   env={"PYTHONPATH": folder, "PYTHONNOUSERSITE": "1", **(env or {})})
            return code, seen["cases"][0]

    def test_import_that_hangs(self):
        code, case = self.case("import time\ntime.sleep(600)\n", {"DISPATCHDOCTOR_START_SECONDS": "3"})
        self.assertIn("ENV040", ids(case))
        self.assertIn("3 s", next(f["seen"] for f in case["findings"] if f["id"] == "ENV040"))
        self.assertEqual(code, 5)

    def test_import_that_prints(self):
        # Not even lines that look like answers may pass for them.
        code, case = self.case("import os\nfor fd in (1, 2):\n    os.write(fd, b'{\"dd\":\"hello\",\"protocol\":99}\\n' + bytes(range(256)) * 400)\nprint('x' * 100000)\n"
                               "raise ImportError('after all that')\n")
        self.assertIn("ENV042", ids(case))
        self.assertEqual(code, 5)

    def test_import_that_leaves(self):
        for body in ("raise SystemExit(0)\n", "import os\nos._exit(0)\n", "raise KeyboardInterrupt\n"):
            code, case = self.case(body)
            self.assertTrue({"ENV040", "ENV042"} & ids(case), (body, case["findings"]))
            self.assertEqual(code, 5)

    def test_versions_that_are_none(self):
        for version in ("''", "'banana'", "None", "5", "'2'", "'٢.٨.0'", "b'2.8.0'", "'2.' + '9' * 4000"):
            code, case = self.case(f"__version__ = {version}\n")
            self.assertIn("ENV042", ids(case), version)
            self.assertEqual(code, 5, version)

    def test_a_version_and_nothing_behind_it(self):
        code, case = self.case("__version__ = '2.8.0a0+gitabcdef'\n")
        self.assertIn("ENV042", ids(case))
        self.assertIn("has no", next(f["seen"] for f in case["findings"] if f["id"] == "ENV042"))
        self.assertEqual(code, 5)

    def test_import_that_fails(self):
        code, case = self.case("raise ImportError('libcudart.so.12: cannot open shared object file')\n")
        self.assertIn("ENV042", ids(case))
        self.assertEqual(code, 5)

    def test_import_that_crashes(self):
        code, case = self.case("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
        self.assertIn("ENV040", ids(case))
        self.assertEqual(code, 5)

    def test_one_that_is_no_python(self):
        # A name with a space in it, and print-out of many lines: the reason stays one line, and stands first.
        with tempfile.TemporaryDirectory(suffix=" with a space") as folder:
            program = pathlib.Path(folder, "not python")
            program.write_text("#!/bin/sh\nprintf 'I am\\n\\n  no python\\n'\nexit 3\n")
            program.chmod(0o755)
            code, text, _ = run("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x2x32x16", "--python", str(program))
        self.assertEqual(code, 5)
        verdict = next(line for line in text.splitlines() if line.startswith("verdict"))
        self.assertIn("not run (ENV040", verdict)
        self.assertIn("it printed: I am no python", text)

    def test_too_old(self):
        _, case = self.case("__version__ = '1.13.1'\n")
        self.assertIn("ENV043", ids(case))

    def test_no_interpreter(self):
        code, seen, _ = report("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x2x32x16", "--python", "/nonexistent/python")
        self.assertIn("ENV040", ids(seen["cases"][0]))
        self.assertEqual(code, 5)


if __name__ == "__main__":
    PYTHON = require_torch()[0]
    WITH_TORCHAO = with_torchao()
    if WITH_TORCHAO is None:
        print("skipped: no torchao beside a torch")
    unittest.main()
