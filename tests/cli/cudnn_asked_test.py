#!/usr/bin/env python3
"""cuDNN asked about GPUs that are not here, through the binary: what it answers, what the report makes of it, and what
becomes of a report when cuDNN is missing, crashes, hangs or is killed. Exit 77 where cuDNN cannot be asked."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BINARY = os.environ.get("DD_BINARY", "")
FAKE = os.environ.get("DD_FAKE_CUDNN_DIR", "")
SOURCE = os.environ.get("DD_SOURCE_DIR", "")
CALL = ("sdpa", "--q", "1x8x256x64", "--dtype", "f16", "--causal")
HIDDEN = ("DD_LIB_DIR", "DD_PYTHON", "DD_CUDA_STAND_IN")


def run(*words, env=None):
    base = {k: v for k, v in os.environ.items() if k not in HIDDEN}
    done = subprocess.run([BINARY, *words], capture_output=True, text=True, env={**base, **(env or {})}, timeout=300)
    return done.returncode, done.stdout, done.stderr


def report(*words, env=None):
    code, out, err = run(*words, "--format", "json", env=env)
    return code, json.loads(out), err


def case(*words, env=None):
    return report(*words, env=env)[1]["cases"][0]


def candidate(c, name="cudnn"):
    return next(k for k in c["candidates"] if k["backend"] == name)


def ids(findings):
    return [f["id"] for f in findings if f["status"] == "unmet"]


def bare(c):
    """A case without what asking adds and without times."""
    c = json.loads(json.dumps(c))
    c.pop("seconds")
    c["findings"] = [f for f in c["findings"] if f["id"] != "RUL013"]
    for k in c["candidates"]:
        k.pop("asked", None)
    return c


class Asked(unittest.TestCase):
    version = ""

    def engines(self, asked):
        for e in asked["engines"]:
            self.assertTrue(e["accepted"] or (e["code"] and e["reason"]), e)
        return {e["id"]: e for e in asked["engines"]}

    def expect_order(self, c, first):
        k = candidate(c)
        self.assertTrue(k["asked"]["serves"], k["asked"])
        self.engines(k["asked"])
        if self.version.startswith("9.19"):
            self.assertEqual(k["asked"]["order"][0], first, k["asked"]["order"])
        return k

    def test_causal_on_hopper_is_served_and_every_decliner_says_why(self):
        c = case(*CALL, "--target", "h100-sxm", "--ask", "cudnn")
        k = self.expect_order(c, 2)
        self.assertEqual(k["grade"], "asked")
        self.assertEqual(k["asked"]["device"], "h100-sxm")
        self.assertEqual(c["verdict"]["status"], "fast-path")
        self.assertEqual(c["verdict"]["grade"], "asked")
        self.assertTrue(any("asked about h100-sxm" in b for b in c["verdict"]["because"]), c["verdict"])
        served = self.engines(k["asked"])[k["asked"]["order"][0]]
        self.assertTrue(served["offered"])
        self.assertIsNotNone(served["workspace"])
        self.assertTrue(any(not e["accepted"] for e in k["asked"]["engines"]))

    def test_it_is_the_default_for_a_profile_and_all_formats_say_it(self):
        _, text, _ = run(*CALL, "--target", "h100-sxm")
        self.assertIn("would serve the call", text)
        self.assertIn("accepts", text)
        self.assertIn("decline", text)
        _, md, _ = run(*CALL, "--target", "h100-sxm", "--format", "md")
        self.assertIn("Asked: `cudnn`", md)

    def test_ask_none_asks_nobody(self):
        c = case(*CALL, "--target", "h100-sxm", "--ask", "none")
        self.assertNotIn("asked", candidate(c))
        self.assertEqual(candidate(c)["grade"], "modelled")
        self.assertNotIn("RUL013", ids(c["findings"]))

    def test_the_architecture_decides(self):
        self.expect_order(case(*CALL, "--target", "sm_80"), 1)
        self.expect_order(case(*CALL, "--target", "sm_100"), 3)
        turing = candidate(case(*CALL, "--target", "t4"))
        self.assertFalse(turing["asked"]["serves"])
        self.assertEqual(turing["eligibility"], "blocked")
        self.assertIn("CUD001", ids(turing["findings"]))
        self.assertEqual(turing["grade"], "asked")

    def test_calls_that_cudnn_takes(self):
        for words in (("--dtype", "bf16"), ("--dtype", "f16", "--causal"), ("--dtype", "f16", "--mask", "float"), ("--dtype", "f16", "--mask", "bool"),
                      ("--dtype", "f16", "--dropout", "0.125")):
            k = candidate(case("sdpa", "--q", "1x8x256x64", *words, "--target", "h100-sxm"))
            self.assertTrue(k["asked"]["serves"], (words, k["asked"]))
            self.assertEqual(k["eligibility"], "eligible", words)
            self.assertFalse([i for i in ids(k["findings"]) if i.startswith("RUL")], words)
        wide = candidate(case("sdpa", "--q", "1x8x256x256", "--dtype", "bf16", "--target", "h100-sxm"))
        self.assertTrue(wide["asked"]["serves"])
        grouped = candidate(case("sdpa", "--q", "1x8x256x64", "--k", "1x2x256x64", "--gqa", "--dtype", "f16", "--target", "sm_80"))
        self.assertTrue(grouped["asked"]["serves"])

    def test_calls_that_cudnn_does_not_take(self):
        odd = candidate(case("sdpa", "--q", "1x8x256x100", "--dtype", "f16", "--target", "h100-sxm"))
        self.assertFalse(odd["asked"]["serves"])
        self.assertIn("multiple of 8", odd["asked"]["refusal"])
        self.assertIn("CUD004", ids(odd["findings"]))
        self.assertFalse([i for i in ids(odd["findings"]) if i.startswith("RUL")])
        double = candidate(case("sdpa", "--q", "1x8x256x64", "--dtype", "f64", "--target", "h100-sxm"))
        self.assertFalse(double["asked"]["serves"])
        self.assertIn("CUD003", ids(double["findings"]))

    def test_an_answer_to_distrust_is_marked_and_decides_nothing(self):
        k = candidate(case("sdpa", "--q", "1x2x64x32", "--q-offset", "1", "--dtype", "f16", "--target", "h100-sxm"))
        self.assertTrue(k["asked"]["serves"])
        self.assertTrue(k["asked"]["doubts"])
        self.assertIn("CUD011", ids(k["findings"]))
        self.assertNotIn("RUL012", ids(k["findings"]))
        self.assertEqual(k["grade"], "modelled")

    def test_a_call_that_would_crash_cudnn_is_not_put(self):
        k = candidate(case("sdpa", "--q", "1x8x0x64", "--k", "1x8x16x64", "--dtype", "f16", "--target", "h100-sxm"))
        self.assertEqual(k["asked"]["error"]["code"], "no-question")
        self.assertEqual(k["eligibility"], "blocked")

    def test_torch_is_asked_about_where_the_version_is_the_same(self):
        words = (*CALL, "--framework", "torch", "--torch-version", "2.9.0", "--target", "h100-sxm", "--cudnn-version")
        same = candidate(case(*words, self.version), "torch-cudnn")
        self.assertTrue(same["asked"]["serves"])
        self.assertEqual(same["grade"], "asked")
        other = candidate(case(*words, "9.10.2"), "torch-cudnn")
        self.assertTrue(any("9.10.2" in d for d in other["asked"]["doubts"]), other["asked"])
        self.assertEqual(other["grade"], "modelled")
        # The framework's own limit is no disagreement between our rules and cuDNN.
        limited = candidate(case("sdpa", "--q", "1x8x256x256", "--dtype", "f16", "--framework", "torch", "--torch-version", "2.6.0", "--target", "h100-sxm",
                                 "--cudnn-version", self.version), "torch-cudnn")
        self.assertTrue(limited["asked"]["serves"])
        self.assertEqual(limited["eligibility"], "blocked")
        self.assertFalse([i for i in ids(limited["findings"]) if i.startswith("RUL")])

    def test_every_target_is_asked_about(self):
        _, r, _ = report(*CALL, "--target", "a100-80,h100-sxm,t4,gfx942")
        by_target = {c["id"].split("/")[1]: c for c in r["cases"]}
        for target, serves in (("a100-80", True), ("h100-sxm", True), ("t4", False)):
            self.assertEqual(candidate(by_target[target])["asked"]["serves"], serves, target)
            self.assertEqual(candidate(by_target[target])["asked"]["device"], target)
        self.assertFalse(any("asked" in k for k in by_target["gfx942"]["candidates"]))

    def test_a_large_batch_is_asked_about_in_part_unless_told_otherwise(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "many.txt")
            pathlib.Path(path).write_text("".join(f"sdpa --q 1x8x{8 * n}x64 --dtype f16 --target sm_90\n" for n in range(1, 71)))
            _, r, err = report("run", path)
            self.assertEqual(sum("asked" in candidate(c) for c in r["cases"]), 64)
            self.assertIn("not asked about 6 calls", err)
            _, r, err = report("run", path, "--ask", "cudnn")
            self.assertEqual(sum("asked" in candidate(c) for c in r["cases"]), 70)
            self.assertNotIn("not asked", err)

    def test_the_report_holds_against_its_schema(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = [run(*CALL, "--target", "h100-sxm,t4", "--format", "json", env=env)[1] for env in ({}, {"DD_LIB_DIR": folder})]
            path = os.path.join(folder, "reports")
            pathlib.Path(path).write_text("".join("+" + json.dumps(json.loads(line)) + "\n" for line in lines))
            done = subprocess.run([sys.executable, f"{SOURCE}/tests/support/validate_json.py", f"{SOURCE}/configs/schemas/report.schema.json", path],
                                  capture_output=True, text=True)
        if done.returncode == 77:
            self.skipTest("no JSON Schema validator here")
        self.assertEqual(done.returncode, 0, done.stdout)


class Missing(unittest.TestCase):
    """Whatever happens to cuDNN, the report is the one of --ask none with a note and a reason more."""

    @classmethod
    def setUpClass(cls):
        cls.code, plain, _ = report(*CALL, "--target", "h100-sxm", "--ask", "none")
        cls.plain = bare(plain["cases"][0])

    def expect_no_answer(self, code, env, *more):
        exit_code, r, err = report(*CALL, "--target", "h100-sxm", *more, env=env)
        c = r["cases"][0]
        self.assertEqual(exit_code, self.code, err)
        self.assertEqual(bare(c), self.plain)
        self.assertIn("RUL013", ids(c["findings"]))
        asked = candidate(c)["asked"]
        self.assertIsNone(asked["serves"])
        self.assertEqual(asked["error"]["code"], code, asked["error"])
        self.assertEqual(candidate(c)["grade"], "modelled")
        self.assertTrue(asked["error"]["text"])
        return asked["error"]["text"]

    def test_without_cudnn(self):
        with tempfile.TemporaryDirectory() as folder:
            self.expect_no_answer("ENV025", {"DD_LIB_DIR": folder})

    def test_without_any_driver(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(os.path.join(FAKE, "libcudnn.so.9"), os.path.join(folder, "libcudnn.so.9"))
            self.expect_no_answer("ENV020", {"DD_LIB_DIR": folder, "DD_CUDA_STAND_IN": os.path.join(folder, "none")})

    def test_with_a_release_that_cannot_be_asked(self):
        self.assertIn("9.1.0", self.expect_no_answer("ENV025", {"DD_LIB_DIR": FAKE, "DD_FAKE_CUDNN": "old"}))

    def test_cudnn_crashes(self):
        self.expect_no_answer("SIGSEGV", {"DD_LIB_DIR": FAKE, "DD_FAKE_CUDNN": "crash"})

    def test_cudnn_ends_the_process(self):
        self.expect_no_answer("exit 3", {"DD_LIB_DIR": FAKE, "DD_FAKE_CUDNN": "exit"})

    def test_cudnn_hangs(self):
        self.expect_no_answer("timeout", {"DD_LIB_DIR": FAKE, "DD_FAKE_CUDNN": "hang"}, "--timeout", "1")

    def test_killed_in_the_middle_of_the_answer(self):
        self.expect_no_answer("SIGKILL", {"DD_LIB_DIR": FAKE, "DD_FAKE_CUDNN": "kill"})

    def test_killed_from_outside(self):
        stop = threading.Event()

        def kill_workers(mark):
            while not stop.is_set():
                for pid in workers_of(mark):
                    time.sleep(0.2)  # past its hello, into the question that hangs
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                time.sleep(0.02)

        mark = f"cudnn-{os.getpid()}"
        killer = threading.Thread(target=kill_workers, args=(mark,))
        killer.start()
        try:
            self.expect_no_answer("SIGKILL", {"DD_LIB_DIR": FAKE, "DD_FAKE_CUDNN": "hang", "DD_MARK": mark})
        finally:
            stop.set()
            killer.join()
        self.assertEqual(workers_of(mark), [])

    def test_a_cudnn_that_refuses_everything_is_a_disagreement(self):
        c = case(*CALL, "--target", "h100-sxm", env={"DD_LIB_DIR": FAKE, "DD_FAKE_CUDNN": "silent"})
        k = candidate(c)
        self.assertFalse(k["asked"]["serves"])
        self.assertIn("RUL011", ids(k["findings"]))
        self.assertEqual(k["eligibility"], "blocked")
        self.assertNotEqual(c["decision"]["selected"], "cudnn")


def workers_of(mark):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            arguments = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"DD_MARK={mark}".encode() in environment and b"worker" in arguments:
            found.append(int(pid))
    return found


def main():
    if not BINARY:
        print("skipped: no binary (DD_BINARY is not set)")
        return 77
    asked = candidate(case(*CALL, "--target", "h100-sxm", "--ask", "cudnn")).get("asked")
    if not asked or asked["error"]:
        why = asked["error"]["text"] if asked else "nothing asks"
        print("skipped: cuDNN cannot be asked here:", why)
        if asked and asked["error"]["code"] in ("not-built", "ENV025", "ENV020"):
            return 77
        return 1  # it is here and does not answer
    Asked.version = asked["version"]
    print("cuDNN", asked["version"], "frontend", asked["frontend"])
    return 0 if unittest.main(exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
