#!/usr/bin/env python3
"""Whole runs of the program with a real PyTorch on the processor: attention and products, force, dropout, recording; and with
interpreters that have no torch, a broken one, or one that is too old."""
import json
import os
import pathlib
import sys
import tempfile
import unittest

from torch_support import report, require_torch, run

PYTHON = None


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
        self.assertEqual(forced["outcome"], "matched", forced)
        # Compiled under another switch before: its code must not have served this attempt.
        self.assertFalse([k for k in forced["evidence"]["kernels"] if "flash_attention" in k["name"]])

    def test_gpu_call_without_gpu_is_a_finding(self):
        code, seen, _ = report("sdpa", "--framework", "torch", "--target", "cuda:0", "--q", "1x2x32x16", "--dtype", "f16", "--python", PYTHON, env={"CUDA_VISIBLE_DEVICES": ""})
        self.assertTrue(ids(seen["cases"][0]) & {"ENV044", "ENV045"})
        self.assertIn(code, (0, 5))

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
                  "        matmul._entry = lambda torch, name: (_ for _ in ()).throw(LookupError(f'torch {torch.__version__} has no {name}'))\n"
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

    def test_too_old(self):
        _, case = self.case("__version__ = '1.13.1'\n")
        self.assertIn("ENV043", ids(case))

    def test_no_interpreter(self):
        code, seen, _ = report("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x2x32x16", "--python", "/nonexistent/python")
        self.assertIn("ENV040", ids(seen["cases"][0]))
        self.assertEqual(code, 5)


if __name__ == "__main__":
    PYTHON = require_torch()[0]
    unittest.main()
