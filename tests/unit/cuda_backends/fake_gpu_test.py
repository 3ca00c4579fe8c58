#!/usr/bin/env python3
"""Whole runs of the program over the fake driver, CUPTI and NVML: what a user sees, with each fault in its place."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BINARY, DRIVER, TOOLS, CUDNN = (os.environ.get(n, "") for n in ("DD_BINARY", "DD_FAKE_DRIVER", "DD_FAKE_TOOLS", "DD_FAKE_CUDNN_DIR"))
CALL = ("sdpa", "--q", "1x1x8x32", "--dtype", "f16", "--target", "cuda:0")


def run(*words, tools=True, **env):
    folders = DRIVER + (":" + TOOLS if tools else "")
    return subprocess.run([BINARY, *words], capture_output=True, text=True, timeout=300, env={**os.environ, "DD_LIB_DIR": folders, **env})


def diagnose(*words, tools=True, **env):
    done = run(*words, "--format", "json", tools=tools, **env)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)["cases"][0]


def candidate(case, name):
    return next(c for c in case["candidates"] if c["backend"] == name)


def attempts(case, name, mode):
    return [a for a in candidate(case, name)["attempts"] if a["mode"] == mode]


def ids(case, name):
    return {f["id"]: f for f in candidate(case, name)["findings"]}


def with_cudnn(*words, **env):
    """The same with the stand-in of cuDNN in its place."""
    return diagnose(*words, DD_LIB_DIR=":".join((CUDNN, DRIVER, TOOLS)), **env)


@unittest.skipUnless(CUDNN, "this build has no cudnn-frontend")
class FakeCudnn(unittest.TestCase):
    def test_cudnn_serves_and_its_answer_is_in_the_report(self):
        code, case = with_cudnn(*CALL, "--mode", "eager,captured")
        self.assertEqual(code, 0)
        self.assertEqual((case["decision"]["selected"], case["verdict"]["status"]), ("cudnn", "fast-path"))
        c = candidate(case, "cudnn")
        self.assertEqual({(a["mode"], a["outcome"]) for a in c["attempts"]}, {("eager", "matched"), ("captured", "matched")})
        asked = c["asked"]
        self.assertEqual((asked["version"], asked["device"], asked["order"]), ("9.19.0", "simulated device", [2, 1]))
        self.assertEqual([(e["id"], e["accepted"]) for e in asked["engines"]], [(0, False), (1, True), (2, True)])
        self.assertIn("takes no such tensors", asked["engines"][0]["reason"])
        self.assertEqual([k["name"] for k in c["attempts"][0]["evidence"]["kernels"]], ["library_kernel"])

    def test_a_refusal_that_no_rule_foresaw_is_a_finding(self):
        code, case = with_cudnn(*CALL, DD_FAKE_CUDNN="no-engine")
        self.assertEqual(code, 0)
        self.assertNotEqual(case["decision"]["selected"], "cudnn")
        a = attempts(case, "cudnn", "eager")[0]
        self.assertEqual((a["outcome"], a["error"]["code"], a["error"]["source"]), ("refused", "no-engine", "cuDNN"))
        self.assertEqual(ids(case, "cudnn")["RUL001"]["status"], "unmet")
        self.assertEqual(len(candidate(case, "cudnn")["asked"]["engines"]), 3)

    def test_under_force_the_refusal_is_the_librarys_own(self):
        code, case = with_cudnn(*CALL, "--force", "cudnn", DD_FAKE_CUDNN="graph-refused")
        self.assertEqual(code, 3)
        self.assertIn("told to refuse the graph", attempts(case, "cudnn", "eager")[0]["error"]["text"])
        code, case = with_cudnn("sdpa", "--q", "1x1x8x32", "--dtype", "f64", "--target", "cuda:0", "--force", "cudnn")
        self.assertEqual(code, 3)
        self.assertIn("CUD003", ids(case, "cudnn"))

    def test_what_spoils_the_context_is_told_as_the_drivers_error(self):
        _, case = with_cudnn(*CALL, "--deny", "cuda-flash,cuda-naive,cuda-math", DD_FAKE_CUDA="illegal")
        a = attempts(case, "cudnn", "eager")[0]
        self.assertEqual((a["outcome"], a["error"]["code"], a["error"]["source"]), ("failed", "CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA driver"))

    def test_a_workspace_that_cannot_be_had(self):
        code, case = with_cudnn(*CALL, DD_FAKE_CUDNN="huge-workspace")
        self.assertEqual(code, 4)
        self.assertEqual(attempts(case, "cudnn", "eager")[0]["outcome"], "out-of-memory")


class FakeGpu(unittest.TestCase):
    def test_traced_captured_and_the_same_kernels(self):
        code, case = diagnose(*CALL, "--mode", "eager,captured")
        self.assertEqual(code, 0)
        self.assertEqual(case["verdict"]["grade"], "traced")
        flash = candidate(case, "cuda-flash")
        self.assertEqual(flash["grade"], "traced")
        for mode in ("eager", "captured"):
            a = attempts(case, "cuda-flash", mode)[0]
            self.assertEqual(a["outcome"], "matched")
            self.assertEqual([(k["name"], k["origin"]) for k in a["evidence"]["kernels"]], [("dd_flash_plain_f16_32", "CUPTI")])
        self.assertIn("the same kernels as in eager mode", attempts(case, "cuda-flash", "captured")[0]["evidence"]["notes"])
        self.assertFalse({i for i in ids(case, "cuda-flash") if i.startswith("EVD")})
        facts = {f["name"]: f for f in case["facts"]}
        self.assertEqual(facts["gpu.name"]["value"], "simulated device")
        self.assertEqual(facts["gpu.name"]["provenance"], "library")
        self.assertEqual(facts["gpu.sm_clock"]["value"], 1755)
        self.assertEqual(facts["gpu.sm_clock"]["provenance"], "measured")
        self.assertEqual(facts["gpu.mig"]["value"], False)

    def test_timing_is_the_devices_and_stands_beside_its_limits(self):
        code, case = diagnose(*CALL, "--bench", "--deny", "cuda-naive", DD_FAKE_CUDA="h200", DD_FAKE_NVML="throttled")
        self.assertEqual(code, 0)
        t = attempts(case, "cuda-flash", "eager")[0]["timing"]
        self.assertTrue(t["method"].startswith("device events around the launches"), t)
        self.assertGreaterEqual(t["runs"], 10)
        self.assertGreater(t["tflops"], 0)
        self.assertEqual(t["limit_tflops"], 989)
        self.assertEqual(t["limit_gbytes_per_second"], 4800)
        self.assertEqual(t["throttle"], "power cap, thermal slowdown by the driver")
        self.assertEqual(ids(case, "cuda-flash")["EVD094"]["status"], "unmet")

    def test_a_blocked_call_that_is_run_all_the_same_is_refused_before_it_can_fault(self):
        for words, rule, seen in ((("--q", "1x2x16x100"), "CFL003", "q.shape[3] is 100"), (("--q", "1x2x16x64", "--q-offset", "1"), "CFL005", "q starts 2 bytes past"),
                                  (("--q", "1x2x64x32", "--q-strides", "4224x2112x33x1"), "CFL006", "q.strides[2] is 33 elements")):
            _, case = diagnose("sdpa", *words, "--dtype", "f16", "--target", "cuda:0", "--force", "cuda-flash", "--run-blocked")
            a = attempts(case, "cuda-flash", "eager")[0]
            self.assertEqual((a["outcome"], a["error"]["code"], a["error"]["source"]), ("refused", "form", "own code"))
            self.assertIn(seen, a["error"]["text"])
            found = ids(case, "cuda-flash")
            self.assertIn(rule, found)
            self.assertNotIn("RUL001", found)

    def test_a_result_that_lies_oddly_is_served(self):
        for words in (("--out-offset", "1"), ("--out-strides", "4224x2112x33x1"), ("--out-strides", "4096x2048x1x64"), ("--out-strides", "8192x4096x64x2")):
            _, case = diagnose("sdpa", "--q", "1x2x64x32", *words, "--dtype", "f16", "--target", "cuda:0", "--force", "cuda-flash")
            self.assertEqual(attempts(case, "cuda-flash", "eager")[0]["outcome"], "matched", words)

    def test_what_the_rules_say_of_a_result_is_what_the_runs_do(self):
        attention, product, weights = ("sdpa", "--q", "1x2x64x32"), ("gemm", "--m", "64", "--n", "64", "--k", "64"), ("gemm", "--m", "2", "--n", "64", "--k", "64", "--quant", "w8a16")
        for call, backend, rule in (((*attention, "--out-strides", "4096x2048x1x64"), "cuda-math", "CMT009"), ((*attention, "--out-strides", "5120x2560x40x1"), "cuda-math", None),
                                    ((*product, "--out-strides", "1x64"), "cuda-wmma", None), ((*product, "--out-strides", "160x2"), "cuda-wmma", None),
                                    ((*weights, "--out-strides", "1x2"), "cuda-packed", None), ((*weights, "--out-strides", "1x2"), "cuda-dequant", "CDQ012"),
                                    ((*weights, "--out-strides", "80x1"), "cuda-dequant", None), (("sdpa", "--q", "1x2x0x32"), "cuda-flash", "CFL012"),
                                    (("gemm", "--m", "0", "--n", "64", "--k", "64"), "cuda-wmma", "CWM011"),
                                    (("gemm", "--m", "1", "--n", "0", "--k", "64", "--quant", "w8a16"), "cuda-packed", "CPK008")):
            _, case = diagnose(*call, "--dtype", "f16", "--target", "cuda:0", "--force", backend)
            found, tried = ids(case, backend), attempts(case, backend, "eager")
            self.assertNotIn("RUL001", found, call)
            if rule:
                self.assertIn(rule, found, call)
                self.assertEqual([(a["outcome"], a["error"]["code"]) for a in tried], [("blocked", rule)], call)
            else:
                self.assertEqual([a["outcome"] for a in tried], ["matched"], call)

    def test_without_cupti_a_finding_says_what_to_do(self):
        code, case = diagnose(*CALL, "--mode", "eager,captured", tools=False)
        self.assertEqual(code, 0)
        self.assertEqual(case["verdict"]["grade"], "ran")
        finding = next(f for f in case["findings"] if f["id"] == "ENV027")
        self.assertEqual(finding["status"], "unmet")
        self.assertIn("--lib-dir", finding["fix"])
        self.assertNotIn("EVD090", ids(case, "cuda-flash"))  # one cause, one finding
        self.assertEqual(attempts(case, "cuda-flash", "eager")[0]["evidence"]["recording"], "missing")
        graph = attempts(case, "cuda-flash", "captured")[0]["evidence"]["kernels"]
        self.assertEqual([(k["name"], k["origin"]) for k in graph], [("dd_flash_plain_f16_32", "graph")])

    def test_recording_that_is_not_permitted(self):
        code, case = diagnose(*CALL, DD_FAKE_CUPTI="not-permitted")
        self.assertEqual(code, 0)
        self.assertIn("not-permitted", ids(case, "cuda-flash")["EVD090"]["seen"])

    def test_a_kernel_that_was_not_seen(self):
        _, case = diagnose(*CALL, DD_FAKE_CUPTI="blind")
        self.assertIn("EVD091", ids(case, "cuda-flash"))
        self.assertEqual(candidate(case, "cuda-flash")["grade"], "ran")

    def test_a_call_that_cannot_be_captured(self):
        code, case = diagnose(*CALL, "--mode", "eager,captured", DD_FAKE_CUDA="no-capture")
        self.assertEqual(code, 0)  # the mode asked for first works
        a = attempts(case, "cuda-flash", "captured")[0]
        self.assertEqual((a["outcome"], a["error"]["code"]), ("refused", "cannot-capture"))
        found = ids(case, "cuda-flash")
        self.assertIn("EVD092", found)
        self.assertNotIn("RUL001", found)

    def test_a_result_that_the_replay_did_not_write(self):
        code, case = diagnose(*CALL, "--mode", "captured", DD_FAKE_CUDA="escapes")
        self.assertEqual(code, 1)
        self.assertEqual(case["verdict"]["status"], "wrong-result")
        self.assertIn("NUM002", ids(case, "cuda-flash"))

    def test_other_kernels_in_the_graph(self):
        _, case = diagnose(*CALL, "--mode", "eager,captured", tools=False, DD_FAKE_CUDA="other-kernels")
        finding = ids(case, "cuda-flash")["EVD093"]
        self.assertIn("other_kernel(float*)", finding["seen"])

    def test_a_hang_costs_its_attempt_alone(self):
        code, case = diagnose(*CALL, "--timeout", "2", "--deny", "cuda-naive", DD_FAKE_CUDA="hang")
        self.assertEqual(code, 4)
        self.assertEqual({a["outcome"] for a in candidate(case, "cuda-flash")["attempts"]}, {"timed-out"})

    def test_memory_that_is_not_there(self):
        code, case = diagnose(*CALL, DD_FAKE_CUDA="oom")
        self.assertEqual(code, 4)
        self.assertEqual(attempts(case, "cuda-flash", "eager")[0]["outcome"], "out-of-memory")

    def test_a_spoiled_context_is_gone_with_its_worker(self):
        with tempfile.TemporaryDirectory() as folder:
            code, case = diagnose(*CALL, DD_FAKE_CUDA="illegal-once", DD_FAKE_ONCE=os.path.join(folder, "once"))
        outcomes = [a["outcome"] for c in case["candidates"] for a in c["attempts"]]
        self.assertEqual(outcomes.count("failed"), 1, outcomes)
        self.assertIn("matched", outcomes)
        failed = next(a for c in case["candidates"] for a in c["attempts"] if a["outcome"] == "failed")
        self.assertEqual(failed["error"]["code"], "CUDA_ERROR_ILLEGAL_ADDRESS")

    def test_a_recorded_device_can_be_a_target(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "gpu.json")
            done = run("devices", "--record", path, DD_FAKE_CUDA="h200", DD_FAKE_NVML="mig")
            self.assertEqual(done.returncode, 0, done.stderr)
            profile = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
            self.assertEqual(profile["name"], "nvidia-h200")
            self.assertEqual(profile["fields"]["compute_capability"]["value"], 90)
            self.assertIn("driver", profile["fields"]["sm_count"]["source"])
            self.assertIn("profile h200", profile["fields"]["flops_f16"]["source"])
            self.assertEqual(profile["fields"]["memory_bandwidth"]["value"], 2 * 3201000 * 1000 * 768)
            self.assertEqual((profile["recorded"]["driver"], profile["recorded"]["mig"], profile["recorded"]["ecc"]), ("580.65.06", "on", "on"))
            self.assertTrue(profile["recorded"]["cudnn_device"])  # why cuDNN says nothing: it is not in these folders
            try:
                import jsonschema
            except ImportError:
                print("jsonschema is not here: the profile was not held against its schema", file=sys.stderr)
            else:
                schema = pathlib.Path(os.environ["DD_SOURCE_DIR"], "configs/schemas/device.schema.json").read_text(encoding="utf-8")
                jsonschema.validate(profile, json.loads(schema))
            done = run("gemm", "--m", "64", "--n", "64", "--k", "64", "--dtype", "f16", "--target", path, "--format", "json")
            case = json.loads(done.stdout)["cases"][0]
            self.assertEqual({f["name"]: f["value"] for f in case["facts"]}["sm_count"], 132, done.stderr)

    def test_a_gpu_that_is_here_is_shown_with_its_state(self):
        done = run("devices", "cuda:0", DD_FAKE_CUDA="h200", DD_FAKE_NVML="mig")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"sm_count +132 +driver, asked on")
        self.assertRegex(done.stdout, r"\n  mig +on\n")
        self.assertRegex(done.stdout, r"\n  clocks +SM 1755 MHz")
        fields = json.loads(run("devices", "cuda", "--format", "json", DD_FAKE_CUDA="h200").stdout)[0]["fields"]
        self.assertEqual(fields["compute_capability"]["value"], 90)
        done = run("devices", "cuda:7", DD_FAKE_CUDA="h200")
        self.assertEqual(done.returncode, 5)
        self.assertIn("there is no device 7", done.stderr)

    def test_facts_are_those_of_the_device_named(self):
        for target, known in (("cuda", True), ("cuda:0", True), ("cuda:1", False)):
            case = json.loads(run("sdpa", "--q", "1x2x16x16", "--dtype", "f16", "--target", target, "--format", "json", DD_FAKE_CUDA="h200").stdout)["cases"][0]
            self.assertEqual("compute_capability" in {f["name"] for f in case["facts"]}, known, target)

    def test_without_a_device_nothing_is_recorded(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("devices", "--record", os.path.join(folder, "gpu.json"), DD_FAKE_CUDA="no-device")
            self.assertEqual(done.returncode, 5)
            self.assertTrue(done.stderr)
            self.assertEqual(os.listdir(folder), [])

    def test_a_damaged_recorded_part_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "gpu.json")
            path.write_text('{"name":"x","title":"x","fields":{"compute_capability":{"value":90,"source":"x"}},"cudnn_device":"no"}', encoding="utf-8")
            self.assertEqual(run("gemm", "--m", "8", "--n", "8", "--k", "8", "--target", str(path)).returncode, 2)


if __name__ == "__main__":
    unittest.main()
