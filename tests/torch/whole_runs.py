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


class SickTorch(unittest.TestCase):
    def case(self, body):
        with tempfile.TemporaryDirectory() as folder:
            if body is not None:
                os.mkdir(os.path.join(folder, "torch"))
                pathlib.Path(folder, "torch", "__init__.py").write_text(body)
            code, seen, _ = report("sdpa", "--framework", "torch", "--target", "cpu", "--q", "1x2x32x16", "--python", sys.executable,
                                   env={"PYTHONPATH": folder, "PYTHONNOUSERSITE": "1"})
            return code, seen["cases"][0]

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
