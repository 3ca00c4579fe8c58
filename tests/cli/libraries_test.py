#!/usr/bin/env python3
"""NVIDIA's libraries as a user meets them: hidden, or stand-ins that compute on the CPU, through the real binary and its workers."""
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

BINARY = os.environ.get("DD_BINARY", "")
FAKE = os.environ.get("DD_FAKE_FOLDER", "")
CUDNN = os.environ.get("DD_FAKE_CUDNN_FOLDER", "")  # empty in a build without cudnn-frontend


def run(*words, env=None):
    clean = {k: v for k, v in os.environ.items() if k not in ("DD_LIB_DIR", "DD_PYTHON", "DD_FAKE_CUDA", "DD_FAKE_CUBLAS")}
    done = subprocess.run([BINARY, *words], capture_output=True, text=True, env={**clean, **(env or {})}, timeout=300)
    return done.returncode, done.stdout, done.stderr


def as_json(*words, env=None):
    code, out, err = run(*words, "--format", "json", env=env)
    try:
        return code, json.loads(out)
    except json.JSONDecodeError:
        raise AssertionError(f"{words}: exit {code}, no JSON\n{out[-2000:]}\n{err[-2000:]}")


def by_name(items):
    return {item["name"]: item for item in items}


class Hidden(unittest.TestCase):
    """A folder without any library: nothing is found, everything says so and what to do."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.empty = folder.name

    def test_env_lists_each_with_a_finding(self):
        code, record = as_json("env", "--lib-dir", self.empty)
        self.assertEqual(code, 0)
        libraries = by_name(record["nvidia"]["libraries"])
        self.assertEqual(set(libraries), {"driver", "cublas", "cublaslt", "cudnn", "cupti", "nvrtc", "nvml"})
        for name, library in libraries.items():
            self.assertFalse(library["available"], name)
            self.assertTrue(library["error"], name)
        findings = {f["id"]: f for f in record["nvidia"]["findings"]}
        for wanted in ("ENV020", "ENV023", "ENV024", "ENV025", "ENV027", "ENV028"):
            self.assertTrue(findings[wanted]["fix"], wanted)
        code, text, _ = run("env", "--lib-dir", self.empty)
        self.assertIn("[ENV020]", text)

    def test_backends_say_which_library_is_missing_and_what_to_do(self):
        code, backends = as_json("backends", "--lib-dir", self.empty)
        self.assertEqual(code, 0)
        found = by_name(b for b in backends if b["op"] == "gemm")
        self.assertEqual(found["cublas"]["finding_ids"], ["ENV020", "ENV023"])
        self.assertEqual(found["cublaslt"]["finding_ids"], ["ENV020", "ENV024"])
        for name in ("cublas", "cublaslt", "cublaslt-s8", "cuda-dequant", "cuda-wmma"):
            self.assertFalse(found[name]["available"], name)
            self.assertTrue(all(f["fix"] for f in found[name]["findings"]), name)
        self.assertIn("CLT110", found["cublaslt"]["rules"])
        self.assertIn("CLT054", found["cublaslt"]["rules"])

    def test_what_is_missing_for_all_is_explained_once(self):
        text = run("backends", "--lib-dir", self.empty)[1]
        self.assertEqual(text.count("install the NVIDIA driver"), 1)
        self.assertGreater(text.count("[ENV020]"), 1)

    def test_a_gpu_that_is_not_here_has_no_facts(self):
        code, out, err = run("devices", "cuda:0", "--lib-dir", self.empty)
        self.assertEqual((code, out), (5, ""))
        self.assertIn("devices: ", err)

    def test_a_library_of_the_drivers_name_that_is_none(self):
        os.symlink(os.path.realpath(next(f for f in glob.glob(os.path.join(FAKE, "libcublas.so*")))), os.path.join(self.empty, "libcuda.so.1"))
        record = as_json("env", "--lib-dir", self.empty)[1]
        driver = by_name(record["nvidia"]["libraries"])["driver"]
        self.assertFalse(driver["available"])
        self.assertIn("no cuInit", driver["error"])
        self.assertIn("ENV020", {f["id"] for f in record["nvidia"]["findings"]})

    def test_a_call_on_a_gpu_that_is_not_here_ends_with_the_finding(self):
        for words in (["sdpa", "--q", "1x2x16x16"], ["gemm", "--m", "8", "--n", "8", "--k", "8"]):
            code, report = as_json(*words, "--dtype", "f16", "--target", "cuda:0", "--lib-dir", self.empty)
            case = report["cases"][0]
            self.assertIn(code, (3, 5))
            self.assertIn("ENV020", [f["id"] for f in case["findings"]])
            for candidate in case["candidates"]:
                for attempt in candidate["attempts"]:
                    self.assertIn(attempt["outcome"], ("unavailable", "blocked", "not-tried"), candidate["backend"])

    def test_a_call_on_the_processor_does_not_care(self):
        code, report = as_json("gemm", "--m", "8", "--n", "8", "--k", "8", "--target", "host", "--lib-dir", self.empty)
        self.assertEqual(code, 0)
        self.assertEqual([f["id"] for f in report["cases"][0].get("findings", []) if f["id"].startswith("ENV02")], [])


class OneHidden(unittest.TestCase):
    """All stand-ins but one in the folder: the finding names what is missing, the rest goes on."""

    ATTENTION = ("sdpa", "--q", "1x2x16x16", "--dtype", "f16", "--target", "cuda:0")
    PRODUCT = ("gemm", "--m", "16", "--n", "32", "--k", "64", "--dtype", "f16", "--target", "cuda:0")

    def without(self, hidden, *words):
        with tempfile.TemporaryDirectory() as folder:
            for place in filter(None, (FAKE, CUDNN)):
                for name in os.listdir(place):
                    if name.startswith("lib") and name.split(".so")[0] != hidden:
                        os.symlink(os.path.join(place, name), os.path.join(folder, name))
            code, report = as_json(*words, "--lib-dir", folder)
        case = report["cases"][0]
        return code, case, {f["id"]: f for f in case["findings"]}

    def test_the_driver(self):
        for words in (self.ATTENTION, self.PRODUCT):
            code, case, findings = self.without("libcuda", *words)
            self.assertEqual((code, case["verdict"]["status"]), (5, "no-path"))
            self.assertIn("install the NVIDIA driver", findings["ENV020"]["fix"])
            self.assertIn("libcuda.so.1", findings["ENV020"]["seen"])
            self.assertFalse({"ENV024", "ENV025"} & set(findings))  # without a driver they are not the question

    def test_cudnn(self):
        _, case, findings = self.without("libcudnn", *self.ATTENTION)
        self.assertIn("install cuDNN 9", findings["ENV025"]["fix"])
        self.assertNotIn("ENV020", findings)
        self.assertEqual({a["outcome"] for c in case["candidates"] if c["backend"] == "cudnn" for a in c["attempts"]}, {"unavailable"})

    def test_cublaslt(self):
        code, case, findings = self.without("libcublasLt", *self.PRODUCT)
        self.assertEqual((code, case["decision"]["selected"]), (0, "cublas"))
        self.assertIn("--lib-dir", findings["ENV024"]["fix"])
        self.assertFalse({"ENV020", "ENV023"} & set(findings))
        if CUDNN:
            code, case, _ = self.without("libcublasLt", *self.ATTENTION)
            self.assertEqual((code, case["decision"]["selected"]), (0, "cudnn"))


class StandIn(unittest.TestCase):
    """A driver, cuBLAS and cuBLASLt that compute on host memory: the folder reaches the workers."""

    def gemm(self, *words, env=None):
        code, report = as_json("gemm", "--m", "16", "--n", "32", "--k", "64", "--dtype", "f16", "--target", "cuda:0", "--lib-dir", FAKE, *words, env=env)
        case = report["cases"][0]
        return code, case, {c["backend"]: c for c in case["candidates"]}

    def test_both_libraries_run_and_match(self):
        code, case, candidates = self.gemm()
        self.assertEqual(code, 0, case["verdict"])
        self.assertEqual(case["decision"]["selected"], "cublaslt")
        for name in ("cublaslt", "cublas"):
            self.assertEqual([f["id"] for f in candidates[name]["findings"] if f["level"] == "blocked"], [], name)
            for attempt in candidates[name]["attempts"]:
                self.assertEqual(attempt["outcome"], "matched", (name, attempt.get("error")))
                self.assertEqual(len(attempt["evidence"]["library_calls"]), 1)
        notes = candidates["cublaslt"]["attempts"][0]["evidence"]["notes"]
        self.assertTrue(any("algorithm 66, tile 128x128" in n for n in notes), notes)

    def test_a_refusal_that_no_rule_foresaw(self):
        code, case, candidates = self.gemm(env={"DD_FAKE_CUBLAS": "cublasLtMatmul=15"})
        refused = candidates["cublaslt"]["attempts"][0]
        self.assertEqual(refused["outcome"], "refused")
        self.assertEqual(refused["error"]["code"], "CUBLAS_STATUS_NOT_SUPPORTED")
        self.assertEqual(refused["error"]["text"], "cublasLtMatmul: the stand-in does not offer this")
        self.assertIn("RUL001", [f["id"] for f in candidates["cublaslt"]["findings"]])
        self.assertEqual(case["decision"]["selected"], "cublas")
        self.assertEqual(code, 0)

    def test_force_of_a_refusing_library_is_3(self):
        code, case, _ = self.gemm("--force", "cublaslt", env={"DD_FAKE_CUBLAS": "cublasLtMatmulAlgoGetHeuristic=15"})
        self.assertEqual(code, 3)
        self.assertIsNone(case["decision"]["selected"])

    def test_a_fused_epilogue_is_blocked_by_rule_at_the_handle_api(self):
        code, case, candidates = self.gemm("--epilogue", "relu")
        self.assertEqual(code, 0)
        self.assertEqual(case["decision"]["selected"], "cublaslt")
        self.assertIn("CUB042", [f["id"] for f in candidates["cublas"]["findings"]])

    def test_backends_name_version_and_path(self):
        code, backends = as_json("backends", "--lib-dir", FAKE)
        found = by_name(b for b in backends if b["op"] == "gemm")
        self.assertTrue(found["cublas"]["available"], found["cublas"])
        self.assertIn("13.1.0", found["cublas"]["detail"])


if __name__ == "__main__":
    if not BINARY or not FAKE:
        print("skipped: no binary or no stand-ins given")
        sys.exit(77)
    unittest.main(verbosity=1)
