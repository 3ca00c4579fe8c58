#!/usr/bin/env python3
"""The tool as a user meets it: whole runs of the binary, looked at from outside (exit codes, files, processes)."""
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import validate_json  # noqa: E402

BINARY = os.environ.get("DD_BINARY", "")
REPORT_SCHEMA = validate_json.validator(ROOT / "configs" / "schemas" / "report.schema.json")
if REPORT_SCHEMA is None:
    print("SKIPPED: reports are not held against their schema: no jsonschema module", file=sys.stderr)


def run(*words, text=None, env=None):
    done = subprocess.run([BINARY, *words], input=text, capture_output=True, text=True, env={**os.environ, **(env or {})}, timeout=300)
    return done.returncode, done.stdout, done.stderr


def report(*words, text=None, env=None):
    code, out, err = run(*words, "--format", "json", text=text, env=env)
    parsed = json.loads(out)
    for error in REPORT_SCHEMA.iter_errors(parsed) if REPORT_SCHEMA else ():
        raise AssertionError(f"not as the schema says: {error.json_path}: {error.message[:300]}")
    return code, parsed, err


def read_safetensors(path):
    """Ten lines suffice to read what --save-tensors writes."""
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    out = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            kind = {"F64": "d", "F32": "f", "F16": "e"}[entry["dtype"]]
            out[name] = (entry["shape"], [x[0] for x in struct.iter_unpack("<" + kind, data[8 + size + begin:8 + size + end])])
    return out


def attempts(case):
    return {(c["backend"], a["policy"]): a for c in case["candidates"] for a in c["attempts"]}


class Whole(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.scratch = os.path.join(self.folder.name, "scratch")
        os.mkdir(self.scratch)

    def test_attention_takes_the_fast_path(self):
        code, r, _ = report("sdpa", "--q", "1x4x64x32", "--dtype", "f16", "--causal")
        case = r["cases"][0]
        self.assertEqual(code, 0)
        self.assertEqual(case["verdict"]["status"], "fast-path")
        self.assertEqual(case["verdict"]["grade"], "ran")
        for backend in ("cpu-flash", "cpu-math", "cpu-naive"):
            self.assertEqual(attempts(case)[backend, "force"]["outcome"], "matched", backend)

    def test_product_is_exact_on_integers(self):
        code, r, _ = report("gemm", "--m", "33", "--n", "17", "--k", "65", "--dtype", "f32")
        self.assertEqual(code, 0)
        exact = [a["comparison"]["exact_pass"] for (b, p), a in attempts(r["cases"][0]).items() if p == "force" and a["comparison"]]
        self.assertTrue(exact)
        self.assertEqual(set(exact), {"exact"})

    def test_force_of_a_blocked_backend_is_3(self):
        code, r, _ = report("sdpa", "--q", "1x2x16x32", "--dtype", "f64", "--force", "cpu-flash")
        self.assertEqual(code, 3)
        self.assertEqual(r["cases"][0]["verdict"]["status"], "no-path")
        self.assertTrue(r["cases"][0]["verdict"]["because"])

    def test_requirement_that_fails_is_3_and_a_fallback_alone_is_0(self):
        self.assertEqual(run("sdpa", "--q", "1x2x16x32", "--dtype", "f64")[0], 0)
        self.assertEqual(run("sdpa", "--q", "1x2x16x32", "--dtype", "f64", "--require", "fast")[0], 3)

    def test_off_is_1(self):
        self.assertEqual(run("sdpa", "--q", "1x2x16x32", "--rtol", "0", "--atol", "0")[0], 1)

    def test_time_out_is_4(self):
        code, r, _ = report("sdpa", "--q", "1x8x2048x64", "--force", "cpu-naive", "--timeout", "0.05")
        self.assertEqual(code, 4)
        self.assertEqual(attempts(r["cases"][0])["cpu-naive", "force"]["outcome"], "timed-out")

    def test_nothing_permitted_is_5(self):
        self.assertEqual(run("sdpa", "--q", "1x2x16x32", "--deny", "cpu-flash,cpu-math,cpu-naive")[0], 5)

    def test_a_bad_line_keeps_the_others(self):
        lines = "sdpa --q 1x2x8x8\nsdpa --q 1x2x8\nsdpa --q 1x2x8x16\n"
        path = os.path.join(self.folder.name, "batch.txt")
        pathlib.Path(path).write_text(lines.replace("1x2x8\n", "1xQx8x8\n"))
        code, r, err = report("run", path)
        self.assertEqual(code, 2)
        self.assertEqual([c["exit_code"] for c in r["cases"]], [0, 2, 0])
        self.assertIn("batch.txt:2", err + r["cases"][1]["problems"][0])

    def test_order_of_a_batch_does_not_depend_on_jobs(self):
        path = os.path.join(self.folder.name, "batch.txt")
        pathlib.Path(path).write_text("".join(f"sdpa --q 1x1x{n}x8\n" for n in range(1, 21)))
        titles = [[c["title"] for c in report("run", path, "--jobs", str(j))[1]["cases"]] for j in (1, 3)]
        self.assertEqual(titles[0], titles[1])
        self.assertEqual(len(titles[0]), 20)

    def test_saved_tensors_can_be_checked_by_others(self):
        folder = os.path.join(self.folder.name, "tensors")
        code, r, _ = report("sdpa", "--q", "1x2x8x16", "--save-tensors", folder)
        self.assertEqual(code, 0)
        saved = r["cases"][0]["saved_tensors"]
        want = read_safetensors(saved["reference"])["reference"]
        got = read_safetensors(saved["out.cpu-flash.force.eager"])["out"]
        self.assertEqual(want[0], [1, 2, 8, 16])
        self.assertEqual(want[0], got[0])
        self.assertLess(max(abs(a - b) for a, b in zip(want[1], got[1])), 1e-4)
        for role in ("q", "k", "v"):
            self.assertIn(role, saved)

    def test_ctrl_c_prints_what_is_done_and_leaves_nothing(self):
        path = os.path.join(self.folder.name, "batch.txt")
        slow = "sdpa --q 1x8x4096x64 --force cpu-naive\n"
        pathlib.Path(path).write_text("sdpa --q 1x2x8x8\n" + slow * 50)
        child = subprocess.Popen([BINARY, "run", path, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env={**os.environ, "DD_TMPDIR": self.scratch}, start_new_session=True)
        time.sleep(2)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 130)
        r = json.loads(out)
        self.assertTrue(r["interrupted"])
        self.assertLess(len(r["cases"]), 51)
        self.assertEqual(os.listdir(self.scratch), [])

    def test_ctrl_c_does_not_wait_for_the_reference(self):
        # The budget alone would let the reference go on for an hour.
        child = subprocess.Popen([BINARY, "sdpa", "--q", "4x16x16384x64", "--reference-budget", "3600", "--format", "json"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "DD_TMPDIR": self.scratch})
        time.sleep(3)
        self.assertIsNone(child.poll())
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=100)
        self.assertEqual(child.returncode, 130)
        r = json.loads(out)
        self.assertTrue(r["interrupted"])
        self.assertIn("stopped by the user", r["cases"][0]["problems"][0])
        self.assertEqual(os.listdir(self.scratch), [])

    def test_targets_and_versions_give_one_table(self):
        words = ["sdpa", "--q", "1x8x256x64", "--dtype", "f16", "--framework", "torch", "--target", "h100-sxm,t4", "--torch-version", "2.2.0,2.6.0"]
        code, r, _ = report(*words)
        self.assertEqual((code, len(r["cases"]), len(r["matrices"])), (0, 4, 1))
        matrix = r["matrices"][0]
        self.assertEqual([row["label"] for row in matrix["rows"]],
                         ["h100-sxm torch 2.2.0", "t4 torch 2.2.0", "h100-sxm torch 2.6.0", "t4 torch 2.6.0"])
        for row, case in zip(matrix["rows"], r["cases"]):
            self.assertEqual(row["cells"][case["decision"]["selected"]]["standing"], "chosen")
            self.assertEqual(row["verdict"], case["verdict"]["status"])
        blocked = matrix["rows"][1]["cells"]["torch-flash"]
        self.assertEqual(blocked["standing"], "blocked")
        self.assertIn(blocked["ids"][0], matrix["legend"])
        self.assertEqual(run(*words[:-4], "--torch-version", "2.2.0,2.6.0")[0], 2)  # nothing of it can be run here

    def test_one_call_in_several_lines_is_one_table_and_lists_agree_with_json(self):
        call = "sdpa --q 1x8x256x64 --dtype f16 --framework torch --target {} --torch-version 2.6.0\n"
        path = os.path.join(self.folder.name, "places.txt")
        pathlib.Path(path).write_text(call.format("t4") + "gemm --x 8x8 --w 8x8 --framework torch --target t4,v100\n" + call.format("a10"))
        code, out, _ = run("run", path)
        full = report("run", path)[1]
        self.assertEqual(code, 0)
        self.assertEqual([m["title"].split()[0] for m in full["matrices"]], ["sdpa", "gemm"])
        self.assertEqual([row["label"] for row in full["matrices"][0]["rows"]], ["t4", "a10"])
        for line, case in zip(out.splitlines(), full["cases"]):
            self.assertEqual(line.split()[:2], [case["verdict"]["status"], case["id"]])
            self.assertTrue(line.endswith(case["verdict"]["summary"]))

    def test_a_killed_run_leaves_no_worker_and_the_next_one_cleans_up(self):
        child = subprocess.Popen([BINARY, "sdpa", "--q", "1x8x8192x64", "--force", "cpu-naive"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env={**os.environ, "DD_TMPDIR": self.scratch, "DD_MARK": self.folder.name})
        deadline = time.time() + 60
        while not marked(self.folder.name, "worker") and time.time() < deadline:
            time.sleep(0.05)
        self.assertTrue(marked(self.folder.name, "worker"))
        child.kill()
        child.wait()
        deadline = time.time() + 20
        while marked(self.folder.name, "worker") and time.time() < deadline:
            time.sleep(0.05)
        self.assertEqual(marked(self.folder.name, "worker"), [])
        self.assertEqual(run("sdpa", "--q", "1x1x4x8", env={"DD_TMPDIR": self.scratch})[0], 0)
        self.assertEqual(os.listdir(self.scratch), [])


def marked(mark, word):
    """Processes of ours (by a mark in their environment) with this word among their arguments."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
            arguments = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"DD_MARK={mark}".encode() in environment.split(b"\0") and word.encode() in arguments:
            found.append(int(pid))
    return found


class Hostile(unittest.TestCase):
    """Surroundings and inputs that want to break the run: each is said, none passes for success."""
    SMALL = ("sdpa", "--q", "1x2x16x16")

    def test_output_that_is_lost_is_no_success(self):
        for words in (self.SMALL, (*self.SMALL, "--format", "json"), ("rules",), ("--help",), ("env",)):
            with open("/dev/full", "w") as full:
                done = subprocess.run([BINARY, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("standard output: cannot be written", done.stderr, words)

    def test_closed_standard_output_is_no_success(self):
        done = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', BINARY, *self.SMALL], stderr=subprocess.PIPE, text=True, timeout=300)
        self.assertEqual(done.returncode, 2)
        self.assertIn("standard output", done.stderr)

    def test_a_reader_that_stops_early_is_no_error(self):
        done = subprocess.run(["sh", "-c", '"$0" "$@" | head -n 1', BINARY, *self.SMALL], capture_output=True, text=True, timeout=300)
        self.assertTrue(done.stdout.startswith("fast-path"))
        self.assertEqual(done.stderr, "")

    def test_tensors_that_cannot_be_saved_are_said_before_anything_runs(self):
        with tempfile.NamedTemporaryFile() as file:
            code, out, err = run(*self.SMALL, "--save-tensors", file.name)
        self.assertEqual(code, 2)
        self.assertIn("--save-tensors", err)
        self.assertEqual(out, "")

    def test_a_mistyped_backend_is_named(self):
        for option in ("--deny", "--allow", "--order", "--force"):
            code, _, err = run(*self.SMALL, option, "cpu-flsh")
            self.assertEqual(code, 2, option)
            self.assertIn("seen cpu-flsh, wanted cpu-flash?", err)
            self.assertIn("policy." + option[2:], err)

    def test_an_unknown_option_hides_no_other_mistake(self):
        line = "sdpa --q 1x8x16x16 --k 1x3x16x8 --dtype zz --dropout 2 --foo 3"
        for code, _, err in (run(*line.split()), run("run", "-", text=line + "\n")):
            self.assertEqual(code, 2)
            for part in ("--foo", "seen zz", "dropout_p", "k.shape[1]", "k.shape[3]"):
                self.assertIn(part, err)
        # What the unknown option was most likely meant to be is not said to be missing as well.
        self.assertEqual(len(run("sdpa", "--qq", "1x2x16x16")[2].splitlines()), 1)

    def test_little_address_space_ends(self):
        code, out, _ = run("env", text=None)
        self.assertEqual(code, 0)
        done = subprocess.run(["sh", "-c", 'ulimit -v 250000; exec "$0" env', BINARY], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("openblas", done.stdout.lower())

    def test_a_file_size_limit_is_an_error_in_words(self):
        done = subprocess.run(["sh", "-c", 'ulimit -f 1; exec "$0" "$@"', BINARY, "sdpa", "--q", "1x8x256x64"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 2)
        self.assertIn("too large", done.stderr.lower())

    def test_one_tolerance_leaves_the_other_at_its_default(self):
        code, r, _ = report(*self.SMALL, "--dtype", "f16", "--atol", "1e-5")
        self.assertEqual(code, 0)
        comparison = attempts(r["cases"][0])["cpu-flash", "force"]["comparison"]
        self.assertEqual((comparison["rtol"], comparison["atol"]), (1e-3, 1e-5))

    def test_plain_loops_that_cannot_end_in_time_are_no_fault(self):
        code, r, _ = report("sdpa", "--q", "1x16x4096x64", "--deny", "cpu-math", "--timeout", "2", "--reference-budget", "1")
        if code == 4:
            self.skipTest("this machine is too slow or too busy for the other backends")
        attempt = attempts(r["cases"][0])["cpu-naive", "force"]
        self.assertEqual(attempt["outcome"], "not-tried")
        self.assertIn("--force cpu-naive", attempt["error"]["text"])
        self.assertEqual(code, 0)

    def test_what_a_fix_costs_is_said(self):
        _, out, _ = run("sdpa", "--q", "1x2x16x16", "--dtype", "f64")
        self.assertIn("keeps the function, not the precision", out)
        self.assertNotIn("keeps     precision", out)


if __name__ == "__main__":
    if not BINARY:
        print("skipped: no binary (DD_BINARY is not set)")
        sys.exit(77)
    unittest.main()
