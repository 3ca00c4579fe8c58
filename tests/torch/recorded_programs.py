#!/usr/bin/env python3
"""Programs recorded and diagnosed as their author would: three small ones, and real architectures of transformers with random
weights. Each on the torch that ran it, and against the rules of a GPU that is not here."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from torch_support import has, interpreters, report, require_torch, run, skip_without_headers

PROGRAMS = pathlib.Path(__file__).parent / "programs"
MODELS = ("bert", "gpt2", "llama", "t5", "whisper", "vit")
PYTHON = None
WITH_TRANSFORMERS = None


def version(python):
    text = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True).stdout
    return tuple(int(n) for n in text.split("+")[0].split(".")[:2])


class Recorded(unittest.TestCase):
    def record(self, python, *words):
        return self.recorded(python, *words)[:2]

    def recorded(self, python, *words):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "calls.jsonl")
        code, _, err = run("record", "-o", path, "--", python, *words)
        self.assertEqual(code, 0, err[-3000:])
        self.assertNotIn("left out", err)
        return path, [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()], err

    def diagnose(self, path, *options):
        code, seen, err = report("run", path, "--framework", "torch", *options)
        self.assertIn(code, (0, 5), err[-2000:])
        for case in seen["cases"]:
            self.assertFalse(case.get("problems"), case.get("problems"))
            rul = [f for f in case["findings"] + [f for c in case["candidates"] for f in c["findings"]] if f["id"].startswith("RUL")]
            rul = [f for f in rul if f["id"] != "RUL013"]  # cuDNN is not here to be asked: no disagreement
            self.assertFalse(rul, (case["title"], rul))
            for candidate in case["candidates"]:
                for attempt in candidate["attempts"]:
                    skip_without_headers(self, attempt)
                    self.assertNotIn(attempt["outcome"], ("off", "failed", "crashed", "timed-out"), (case["title"], candidate["backend"], attempt["error"]))
        return seen

    def selected(self, seen, op):
        return {case["decision"]["selected"] for case in seen["cases"] if case["spec"]["op"] == op}


class SmallPrograms(Recorded):
    def test_padding_mask(self):
        path, specs = self.record(PYTHON, str(PROGRAMS / "padding_mask.py"))
        attention = [s for s in specs if s["op"] == "sdpa"]
        self.assertEqual([s["extra"]["count"] for s in attention], [6])
        self.assertEqual(attention[0]["mask"]["shape"], [4, 1, 1, 128])
        self.assertTrue(attention[0]["extra"]["call_site"].startswith("padding_mask.py:"), attention[0]["extra"])
        here = self.diagnose(path, "--python", PYTHON)
        self.assertEqual(self.selected(here, "sdpa"), {"torch-cpu-flash"})
        gpu = self.diagnose(path, "--target", "h100-sxm", "--torch-version", "2.8.0")
        case = next(c for c in gpu["cases"] if c["spec"]["op"] == "sdpa")
        flash = next(c for c in case["candidates"] if c["backend"] == "torch-flash")
        self.assertIn("TFL005", [f["id"] for f in flash["findings"] if f["status"] == "unmet"])
        # Nothing misses the fast path there, and the padding still costs: the report names the place and what to do instead.
        told = gpu["recorded"][0]
        self.assertEqual(told["missed_calls"], 0)
        slowed = next(p for p in told["places"] if "TSD042" in p["why"])
        self.assertEqual((slowed["status"], slowed["calls"]), ("slowed", 6))
        self.assertTrue(slowed["where"].startswith("padding_mask.py:18"), slowed)
        self.assertIn("jagged", slowed["fix"])
        # On the processor that ran it nothing misses it: the bias that goes into the result is no copy of an operand.
        self.assertEqual(here["recorded"][0]["missed_calls"], 0, here["recorded"])

    def test_grouped_heads_and_a_long_context(self):
        path, specs = self.record(PYTHON, str(PROGRAMS / "grouped_long.py"))
        self.assertEqual(sum(s["extra"]["count"] for s in specs), 5)
        seen = self.diagnose(path, "--python", PYTHON)
        told = seen["recorded"][0]
        self.assertEqual((told["calls"], told["specs"]), (5, 5))
        if version(PYTHON) < (2, 9):  # the fused kernel of the processor learned grouped heads in 2.9
            self.assertEqual(self.selected(seen, "sdpa"), {"torch-math"})
            self.assertEqual((told["missed_calls"], told["missed_share"], told["missed_work_share"]), (5, 1, 1))
            place = told["places"][0]
            self.assertTrue(place["where"].startswith("grouped_long.py:"), place)
            self.assertIn("TCP", place["why"])
            self.assertIn("repeat", place["fix"])
        else:
            self.assertEqual(self.selected(seen, "sdpa"), {"torch-cpu-flash"})
            self.assertEqual(told["missed_calls"], 0)

    def test_grouped_heads_on_an_older_gpu(self):
        path, _ = self.record(PYTHON, str(PROGRAMS / "grouped_long.py"))
        code, text, err = run("run", path, "--framework", "torch", "--target", "t4", "--torch-version", "2.8.0")
        self.assertEqual(code, 0, err)
        told = text[text.index("recorded program"):]
        self.assertIn("grouped_long.py:10", told)
        for reason in ("torch-flash: TFL019", "torch-efficient: TEF029"):  # each fast backend has its own
            self.assertIn(reason, told)
        self.assertIn("change: repeat k and v to the heads of q", told)  # a change that was proven, even in a list

    def test_ragged_sequences(self):
        path, specs = self.record(PYTHON, str(PROGRAMS / "ragged.py"))
        attention = next(s for s in specs if s["op"] == "sdpa")
        self.assertEqual(attention["nested"], {"q_lengths": [7, 19, 33], "kv_lengths": [7, 19, 33]})
        self.assertEqual((attention["q"]["shape"], attention["extra"]["count"], attention["extra"]["nested_layout"]), ([3, 4, 33, 32], 2, "jagged"))
        rows = next(s for s in specs if s["extra"]["call_site"].startswith("ragged.py:13"))["x"]["shape"]
        self.assertEqual(rows, [59, 128])  # a layer multiplies the rows of all sequences together
        here = self.diagnose(path, "--python", PYTHON)
        self.assertEqual(self.selected(here, "sdpa"), {"torch-math"})  # the fused kernel of processors takes no ragged tensors
        case = next(c for c in here["cases"] if c["spec"]["op"] == "sdpa")
        self.assertEqual(next(a for c in case["candidates"] if c["backend"] == "torch-math" for a in c["attempts"])["outcome"], "matched")
        gpu = self.diagnose(path, "--target", "a100-40", "--torch-version", "2.8.0", "--ask", "none")  # cuDNN has no question about ragged lengths
        self.assertEqual(self.selected(gpu, "sdpa"), {"torch-efficient"})

    def test_autocast_around_a_compiled_model(self):
        path, specs = self.record(PYTHON, str(PROGRAMS / "autocast_step.py"))
        specs = [s for s in specs if s["flags"].get("autocast")]
        self.assertEqual({(s["mode"], s["flags"]["autocast"], s["requires_grad"]) for s in specs}, {("compiled", "bf16", True)})
        mixed = [s for s in specs if s["op"] == "gemm" and s["x"]["dtype"] != s["w"]["dtype"]]
        self.assertTrue(mixed)  # activations are in BF16 already, the weight is not
        gpu = self.diagnose(path, "--target", "h100-sxm", "--torch-version", "2.8.0")
        self.assertEqual(gpu["recorded"][0]["missed_calls"], 0, gpu["recorded"])
        self.assertEqual(self.selected(gpu, "sdpa"), {"torch-flash"})

    def test_a_compiled_call_counts_once_whatever_runs_its_graph(self):
        for python in interpreters():
            with self.subTest(python=python):
                _, specs, err = self.recorded(python, str(PROGRAMS / "compiled_backends.py"))
                # A line for each of the three calls and mode: one call in eager mode, one compilation for each backend.
                counts = sorted((s["op"], bool(s["extra"].get("hand_written")), s.get("mode", "eager"), s["extra"]["count"]) for s in specs)
                self.assertEqual(counts, sorted((op, written, mode, count) for op, written in (("gemm", False), ("sdpa", True), ("sdpa", False)) for mode, count in (("eager", 1), ("compiled", 3))))
                self.assertNotIn("Exception ignored", err)

    def test_what_the_recorder_cannot_see_is_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "native.py")
            program.write_text("import torch\nlayer = torch.nn.MultiheadAttention(64, 4, batch_first=True).eval()\nx = torch.randn(2, 20, 64)\n"
                               "with torch.no_grad():\n    layer(x, x, x, need_weights=False)\ntorch.mm(x[0], x[1].t())\n")
            out = os.path.join(folder, "calls.jsonl")
            code, _, err = run("record", "-o", out, "--", PYTHON, str(program))
        self.assertEqual(code, 0, err)
        self.assertIn("left out: 1 in the C++ path of MultiheadAttention", err)

    def test_attention_that_is_written_out(self):
        for python in interpreters():
            with self.subTest(python=python):
                self.written_out(*self.record(python, str(PROGRAMS / "written_out.py"), "compiled"), python)

    def written_out(self, path, specs, python):
        written = [s for s in specs if s.get("extra", {}).get("hand_written")]
        eager = {s["extra"]["call_site"].split(":")[1]: s for s in written if s.get("mode", "eager") == "eager"}
        self.assertEqual(len(eager), 7, [s["extra"] for s in specs])
        added, filled, folded, capped, grouped, decoded, wanted = (eager[line] for line in sorted(eager, key=int))
        self.assertEqual([s["extra"]["count"] for s in eager.values()], [2] * 7)
        self.assertEqual((added["mask"]["shape"], added["mask"]["content"][:8], added.get("scale")), ([2, 1, 1, 64], "padding:", None))
        self.assertEqual((filled["mask"]["dtype"], filled["mask"]["content"]), ("bool", "causal"))
        self.assertEqual((folded["q"]["shape"], folded["mask"]["content"], folded.get("scale")), ([2, 4, 64, 32], "causal", None))  # as the softmax sees the heads
        self.assertEqual((capped["extra"]["score_change"], capped["scale"], capped["k"]["strides"]), ("softcap", 1.0, [8192, 32, 128, 1]))
        for spec, rows in ((grouped, 64), (decoded, 1)):
            self.assertEqual((spec["q"]["shape"], spec["k"]["shape"], spec["v"]["shape"], spec["enable_gqa"], spec["scale"]), ([2, 4, rows, 32], [2, 2, 64, 32], [2, 2, 64, 32], True, 1.0))
        self.assertTrue(wanted["extra"]["attention_weights"])
        compiled = [s for s in written if s.get("mode") == "compiled"]
        self.assertEqual(sorted(s["mask"]["dtype"] for s in compiled), ["bool", "f32"])
        # What is no attention stays the products that it is, and no product of an attention stands beside it.
        batched = [s for s in specs if s["op"] == "gemm" and len(s["w"]["shape"]) > 2]
        self.assertEqual(sum(s["extra"]["count"] for s in batched), 2 + 4 + 4, [(s["x"]["shape"], s["extra"]) for s in batched])
        if python != PYTHON:
            return
        told = self.diagnose(path, "--python", python)["recorded"][0]
        places = {p["where"].split(":")[1].split(",")[0]: p for p in told["places"] if p["status"] == "fallback"}
        for spec, rule, change in ((added, "TSD027", "call torch.nn.functional.scaled_dot_product_attention"), (capped, "TSD026", "flex_attention"), (wanted, "TSD024", "weights")):
            place = places[spec["extra"]["call_site"].split(":")[1]]
            self.assertTrue(place["why"].startswith(rule), place)
            self.assertIn(change, place["fix"])
        self.assertIn("the call itself would be served by torch-cpu-flash, which matched when it was forced", places[added["extra"]["call_site"].split(":")[1]]["why"])
        gpu = self.diagnose(path, "--target", "h100-sxm", "--torch-version", "2.8.0")["recorded"][0]
        place = next(p for p in gpu["places"] if p["where"] == added["extra"]["call_site"])
        self.assertIn("TSD027", place["why"])
        self.assertIn("served by torch-efficient", place["why"])

    def test_transposed_weight(self):
        path, specs = self.record(PYTHON, str(PROGRAMS / "transposed_weight.py"))
        last, every = sorted(specs, key=lambda s: len(s["x"]["shape"]))
        self.assertEqual((last["extra"]["count"], every["extra"]["count"]), (3, 2))
        self.assertEqual(last["w"]["strides"], [1, 256])
        seen = self.diagnose(path, "--python", PYTHON)
        status = {len(c["spec"]["x"]["shape"]): c for c in seen["cases"]}
        self.assertEqual(status[2]["verdict"]["status"], "fast-path")
        self.assertFalse([v for k in status[2]["candidates"] for a in k["attempts"] for v in a["evidence"]["conversions"]])
        # Nothing is copied either, and the weight is multiplied once per sequence: the report says so, and what to do.
        self.assertEqual(status[3]["decision"]["selected"], "torch-bmm")
        batched = next(f for f in status[3]["findings"] if f["id"] == "TMM007" and f["status"] == "unmet")
        self.assertEqual(batched["level"], "slow")
        self.assertIn("contiguous", batched["fix"])
        gpu = self.diagnose(path, "--target", "t4", "--torch-version", "2.8.0")["recorded"][0]
        slowed = next(p for p in gpu["places"] if "TMM007" in p["why"])
        self.assertEqual((slowed["status"], slowed["calls"], gpu["missed_calls"]), ("slowed", 2, 0))
        self.assertTrue(slowed["where"].startswith("transposed_weight.py:14"), slowed)
        hopper = self.diagnose(path, "--target", "h100-sxm", "--torch-version", "2.8.0")["recorded"][0]
        self.assertIn("keeps the function, not the precision", next(p for p in hopper["places"] if "TMM025" in p["why"])["fix"])


class Architectures(Recorded):
    def test_each(self):
        if WITH_TRANSFORMERS is None:
            self.skipTest("skipped: no transformers beside a torch")
        for name in MODELS:
            with self.subTest(model=name):
                path, specs = self.record(WITH_TRANSFORMERS, str(PROGRAMS / "model.py"), name)
                self.assertTrue(any(s["op"] == "gemm" for s in specs))
                self.assertTrue(all("from model.py:" in s["extra"]["call_site"] for s in specs), [s["extra"] for s in specs][:3])
                here = self.diagnose(path, "--python", WITH_TRANSFORMERS)
                told = here["recorded"][0]
                self.assertEqual(told["calls"], sum(s["extra"]["count"] for s in specs))
                self.assertEqual(told["undetermined_calls"], 0, told)
                gpu = self.diagnose(path, "--target", "h100-sxm", "--torch-version", "2.8.0")
                self.assertEqual(gpu["recorded"][0]["calls"], told["calls"])
                self.assertEqual(gpu["recorded"][0]["undetermined_calls"], 0, gpu["recorded"][0])

    def test_eager_attention(self):
        if WITH_TRANSFORMERS is None:
            self.skipTest("skipped: no transformers beside a torch")
        for name in MODELS:
            with self.subTest(model=name):
                path, specs = self.record(WITH_TRANSFORMERS, str(PROGRAMS / "model.py"), name, "eager")
                attention = [s for s in specs if s["op"] == "sdpa"]
                self.assertEqual({s["extra"].get("hand_written") for s in attention}, {True})
                self.assertFalse([s for s in specs if s["op"] == "gemm" and len(s["w"]["shape"]) > 2])
                function, plain = self.record(WITH_TRANSFORMERS, str(PROGRAMS / "model.py"), name, "sdpa")
                calls = lambda all: sum(s["extra"]["count"] for s in all if s["op"] == "sdpa")
                self.assertEqual(calls(specs), calls(plain))  # the same attention, called or written out
                told = self.diagnose(path, "--python", WITH_TRANSFORMERS)["recorded"][0]
                self.assertEqual(told["missed_calls"], calls(specs), told)
                self.assertTrue(all(p["why"].startswith("TSD027") and 'attn_implementation="sdpa"' in p["fix"] for p in told["places"]), told)


if __name__ == "__main__":
    found = require_torch()
    PYTHON = found[0]
    WITH_TRANSFORMERS = next((p for p in interpreters() if has(p, "transformers")), None)
    if WITH_TRANSFORMERS is None:
        print("skipped: no transformers beside a torch")
    unittest.main()
