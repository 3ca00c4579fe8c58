#!/usr/bin/env python3
"""The tool as a user meets it: whole runs of the binary, looked at from outside (exit codes, files, processes)."""
import json
import os
import pathlib
import shutil
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
            kind = {"F64": "d", "F32": "f", "F16": "e", "U8": "B", "I8": "b", "I32": "i"}[entry["dtype"]]
            out[name] = (entry["shape"], [x[0] for x in struct.iter_unpack("<" + kind, data[8 + size + begin:8 + size + end])])
    return out


def npy(kind, shape, data):
    """A NumPy file, as its format says."""
    header = repr({"descr": kind, "fortran_order": False, "shape": tuple(shape)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + data


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
        summary = r["summary"]
        self.assertEqual(summary["errors"], 1)
        self.assertEqual(summary["cases"], sum(summary[kind] for kind in ("fast", "fallback", "no_path", "wrong", "undetermined", "errors")))
        for text in (run("run", path)[1], run("run", path, "--format", "md")[1]):
            self.assertIn("3 cases: 2 fast, 0 fallback, 0 no path, 0 wrong, 0 undetermined, 1 not run; 2 tested", text)
        self.assertRegex(run("run", path, "--format", "junit")[1], r'name="\S*batch.txt:2"')

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

    def test_saved_codes_say_how_they_are_read(self):
        folder = os.path.join(self.folder.name, "tensors")
        for scheme, sign, formula, group in (("w4a16:group=16:zero", "unsigned", "(w[k, n] - zeros[floor(k / 16), n]) * scales[floor(k / 16), n]", lambda k: k // 16),
                                             ("w4a16:group=channel", "two's complement", "(w[k, n]) * scales[0, n]", lambda k: 0)):
            saved = report("gemm", "--x", "2x48", "--w", "48x5", "--dtype", "f16", "--quant", scheme, "--save-tensors", folder)[1]["cases"][0]["saved_tensors"]
            data = pathlib.Path(saved["w"]).read_bytes()
            meaning = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])["__metadata__"]["meaning"]
            for words in (sign, "weight[k, n] = " + formula, "shape 48x5, the last axis fastest", "the even one in the low four bits"):
                self.assertIn(words, meaning)
            # As it says there.
            codes = [nibble for byte in read_safetensors(saved["w"])["w"][1] for nibble in (byte & 15, byte >> 4)]
            if "complement" in meaning:
                codes = [code - 16 if code > 7 else code for code in codes]
            x, scales = read_safetensors(saved["x"])["x"][1], read_safetensors(saved["scales"])["scales"][1]
            zeros = read_safetensors(saved["zeros"])["zeros"][1] if "zeros" in saved else [0] * len(scales)
            weight = lambda k, n: (codes[k * 5 + n] - zeros[group(k) * 5 + n]) * scales[group(k) * 5 + n]
            want = read_safetensors(saved["reference"])["reference"][1]
            for m in range(2):
                for n in range(5):
                    self.assertAlmostEqual(sum(x[m * 48 + k] * weight(k, n) for k in range(48)), want[m * 5 + n], places=9)

    def test_saved_tensors_of_one_case_are_kept_from_those_of_others(self):
        names = [os.path.join(self.folder.name, name) for name in ("a b.txt", "a_b.txt")]
        for name, shape in zip(names, ("1x1x4x8", "1x1x6x8")):
            pathlib.Path(name).write_text(f"sdpa --q {shape}\n")
        folder = os.path.join(self.folder.name, "tensors")
        cases = report("run", *names, names[0], "--jobs", "2", "--save-tensors", folder)[1]["cases"]
        self.assertEqual([read_safetensors(c["saved_tensors"]["q"])["q"][0] for c in cases], [[1, 1, 4, 8], [1, 1, 6, 8], [1, 1, 4, 8]])
        files = [path for c in cases for path in c["saved_tensors"].values()]
        self.assertEqual(len(set(files)), len(files))

    def test_saved_tensors_of_a_former_run_do_not_stay(self):
        folder = os.path.join(self.folder.name, "tensors")
        run("sdpa", "--q", "1x1x4x8", "--mask", "float", "--save-tensors", folder)
        self.assertIn("case-1.mask.safetensors", os.listdir(folder))
        others = ("notes.txt", "case-1.txt", "case-10.q.safetensors")
        for other in others:
            pathlib.Path(folder, other).write_text("mine")
        _, r, _ = report("sdpa", "--q", "1x1x4x8", "--save-tensors", folder)
        saved = {os.path.basename(path) for path in r["cases"][0]["saved_tensors"].values()}
        self.assertEqual(set(os.listdir(folder)), saved | set(others))

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

    def test_ctrl_c_during_a_forced_attempt_decides_nothing(self):
        junit = os.path.join(self.folder.name, "r.xml")
        child = subprocess.Popen([BINARY, "sdpa", "--q", "1x8x4096x64", "--force", "cpu-naive", "--reference-budget", "0.1", "--require", "fast", "--format", "json", "--junit", junit],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "DD_TMPDIR": self.scratch, "DD_MARK": self.folder.name})
        deadline = time.time() + 60
        while not marked(self.folder.name, "worker") and time.time() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=100)
        self.assertEqual(child.returncode, 130)
        case = json.loads(out)["cases"][0]
        self.assertEqual((case["verdict"]["status"], case["exit_code"]), ("undetermined", 5))
        self.assertIn("stopped by the user", case["verdict"]["summary"])
        self.assertIn("<skipped", pathlib.Path(junit).read_text())
        self.assertNotIn("<failure", pathlib.Path(junit).read_text())

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
        self.assertEqual([row["versions"]["torch"] for row in matrix["rows"][1:3]], [{"value": "2.2.0", "assumed": False}, {"value": "2.6.0", "assumed": False}])
        self.assertTrue(matrix["rows"][3]["versions"]["cudnn"]["assumed"])
        blocked = matrix["rows"][1]["cells"]["torch-flash"]
        self.assertEqual(blocked["standing"], "blocked")
        self.assertIn(blocked["ids"][0], matrix["legend"])
        self.assertEqual(run(*words[:-4], "--torch-version", "2.2.0,2.6.0")[0], 2)  # nothing of it can be run here

    def test_a_bad_profile_is_told_of_once(self):
        path = os.path.join(self.folder.name, "device.json")
        pathlib.Path(path).write_text('{"name": "mine", "fields": {}, "colour": 1}')
        code, out, err = run("sdpa", "--q", "1x8x64x64", "--framework", "torch", "--target", path)
        self.assertEqual((code, out), (2, ""))
        self.assertEqual((err.count("title: missing"), err.count("colour: unknown field")), (1, 1))

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


class Gate(unittest.TestCase):
    """Requirements, modes and the order of the processor's backends."""
    SMALL = ("sdpa", "--q", "1x2x16x16")

    def test_a_performance_requirement_that_is_missed_is_6(self):
        # Plain loops come first by order; whatever the machine does meanwhile, they are many times slower.
        slow = ("sdpa", "--q", "1x8x512x64", "--order", "cpu-naive,cpu-flash,cpu-math")
        code, r, _ = report(*slow, "--require", "slowdown=2")
        self.assertEqual(code, 6)
        requirement = r["cases"][0]["requirements"][0]
        self.assertEqual((requirement["text"], requirement["status"]), ("slowdown=2", "unmet"))
        self.assertRegex(requirement["detail"], r"cpu-naive took [0-9.]+ times as long as cpu-(flash|math)")
        # A missed path counts before a missed time, and the quickest path misses nothing.
        self.assertEqual(run(*slow, "--require", "slowdown=2", "--require", "fast")[0], 3)
        self.assertEqual(run(*self.SMALL, "--allow", "cpu-flash", "--require", "slowdown=1")[0], 0)

    def test_a_performance_requirement_of_what_is_not_here_cannot_be_decided(self):
        words = (*self.SMALL, "--target", "h100-sxm", "--require", "slowdown=1.5")
        self.assertEqual(run(*words)[0], 3)
        self.assertEqual(run(*words, "--unknown", "pass")[0], 0)

    def test_words_of_a_requirement_are_checked(self):
        for word, part in (("fats", "fast?"), ("spead=2", "slowdown=RATIO"), ("slowdown=0.5", "1 or more"), ("slowdown", "slowdown=RATIO"),
                           ("backend=cpu-flsh", "cpu-flash?"), ("backend=cpu-math,nobody", "cpu-naive")):
            code, out, err = run(*self.SMALL, "--require", word)
            self.assertEqual((code, out), (2, ""), word)
            self.assertIn(part, err)
        code, _, err = run("gemm", "--x", "8x8", "--w", "8x8", "--framework", "torch", "--target", "a10", "--require", "backend=torch-mkldn")
        self.assertEqual(code, 2)
        self.assertIn("torch-mkldnn?", err)

    def test_every_mode_asked_for_is_answered(self):
        code, r, _ = report(*self.SMALL, "--mode", "compiled,eager,captured")
        case = r["cases"][0]
        self.assertEqual(code, 0)
        self.assertEqual((case["verdict"]["status"], case["decision"]["selected"]), ("fast-path", "cpu-flash"))
        lines = [line for line in case["verdict"]["because"] if line.startswith("mode ")]
        self.assertEqual([line.split(":")[0] for line in lines], ["mode compiled", "mode eager", "mode captured"])
        self.assertIn("compiles no graphs", lines[0])
        self.assertIn("cpu-flash, matched", lines[1])
        for c in case["candidates"]:
            outcomes = {a["mode"]: a["outcome"] for a in c["attempts"] if a["policy"] == "force"}
            self.assertEqual(outcomes, {"compiled": "unavailable", "eager": "matched", "captured": "unavailable"}, c["backend"])
        self.assertEqual(run(*self.SMALL, "--mode", "compiled,captured")[0], 5)

    def test_small_products_go_to_the_library_with_the_cheaper_call(self):
        if attempts(report("gemm", "--x", "8x8", "--w", "8x8")[1]["cases"][0])["cpu-onednn", "force"]["outcome"] == "unavailable":
            self.skipTest("no oneDNN here")
        for x, first in (("64x64", "cpu-blas"), ("65x64", "cpu-onednn")):
            order = report("gemm", "--x", x, "--w", "64x64", "--deny", "cpu-naive")[1]["cases"][0]["decision"]["order"]
            self.assertEqual(order[0], first, x)

    def test_strides_of_axes_with_one_element_slow_nothing(self):
        for words in (("gemm", "--x", "8x1", "--w", "1x8", "--x-strides", "5x3"), ("sdpa", "--q", "1x2x16x1", "--q-strides", "64x32x1x7")):
            case = report(*words)[1]["cases"][0]
            slow = [f["id"] for c in case["candidates"] for f in c["findings"] if f["id"] in ("CPU023", "ODN006", "FLA006")]
            self.assertEqual(slow, [], words)
        case = report("gemm", "--x", "8x8", "--w", "8x8", "--x-strides", "32x2")[1]["cases"][0]
        self.assertIn("CPU023", [f["id"] for c in case["candidates"] for f in c["findings"]])

    def test_what_no_backend_computes_is_told_by_rules(self):
        for dtype in ("s8", "u8", "s4"):
            code, r, _ = report(*self.SMALL, "--dtype", dtype)
            self.assertEqual(code, 5, dtype)
            ids = {c["backend"]: [f["id"] for f in c["findings"]] for c in r["cases"][0]["candidates"]}
            self.assertIn("CPU003", ids["cpu-naive"])
            self.assertNotIn("RUL001", sum(ids.values(), []))
        case = report("gemm", "--x", "8x16", "--w", "16x8", "--dtype", "f4_e2m1")[1]["cases"][0]
        self.assertEqual(attempts(case)["cpu-naive", "force"]["outcome"], "blocked")

    def test_scores_beyond_the_arithmetic_are_no_wrong_result(self):
        code, r, _ = report(*self.SMALL, "--scale", "1e300")
        self.assertEqual(code, 5)
        case = r["cases"][0]
        for c in case["candidates"]:
            self.assertEqual({a["outcome"] for a in c["attempts"]}, {"mistrusted"}, c["backend"])
        self.assertIn("f32 arithmetic ends at 3.4e+38", case["verdict"]["summary"])
        self.assertNotIn("NUM001", [f["id"] for c in case["candidates"] for f in c["findings"]])

    def test_a_gpu_that_is_absent_is_the_first_thing_said(self):
        code, r, _ = report(*self.SMALL, "--target", "cuda:0", "--dtype", "f64")
        case = r["cases"][0]
        ids = [f["id"] for f in case["findings"]]
        if "ENV020" not in ids and "ENV022" not in ids:
            self.skipTest("a GPU is here")
        self.assertEqual(code, 5)
        self.assertEqual((case["verdict"]["status"], case["verdict"]["grade"]), ("no-path", "modelled"))
        self.assertIn("no GPU can be used here", case["verdict"]["summary"])
        self.assertTrue(any("--target h100-sxm" in line for line in case["verdict"]["because"]))
        self.assertIsNone(case["reference"])  # nothing to compare with it


class Places(unittest.TestCase):
    """Where reports go, and how mistakes read."""
    SMALL = ("sdpa", "--q", "1x2x16x16")

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            pathlib.Path(path).write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def test_a_dash_is_standard_output(self):
        before = set(os.listdir("."))
        self.assertEqual(json.loads(run(*self.SMALL, "--json", "-")[1])["exit_code"], 0)
        self.assertTrue(run(*self.SMALL, "--junit", "-")[1].startswith("<?xml"))
        self.assertTrue(run(*self.SMALL, "--md", "-")[1].startswith("#"))
        lines = self.path("two.txt", "sdpa --q 1x1x8x8\nsdpa --q 1x1x9x8\n")
        self.assertEqual(len(json.loads(run("run", lines, "--json", "-")[1])["cases"]), 2)
        self.assertEqual(set(os.listdir(".")), before)
        for words in (("--json", "-", "--md", "-"), ("--json", "-", "--format", "text"), ("--junit", "-", "--format", "json")):
            code, out, err = run(*self.SMALL, *words)
            self.assertEqual((code, out), (2, ""), words)
            self.assertIn("standard output takes one thing", err)

    def test_two_reports_do_not_go_into_one_file(self):
        os.mkdir(self.path("d"))
        there, link, hard = self.path("there", "old"), self.path("link"), self.path("hard")
        os.symlink(there, link)
        os.link(there, hard)
        new = self.path("new")
        for first, second in ((new, new), (new, self.path("d/../new")), (new, os.path.relpath(new)), (there, link), (there, hard)):
            code, out, err = run(*self.SMALL, "--json", first, "--junit", second)
            self.assertEqual((code, out), (2, ""), second)
            self.assertIn("--junit: two results would be written into one file", err)
            self.assertIn("that of --json", err)
        self.assertEqual(pathlib.Path(there).read_text(), "old")
        self.assertEqual(run(*self.SMALL, "--json", new, "--md", new + ".md", "--junit", new + ".xml")[0], 0)
        self.assertEqual(run(*self.SMALL, "--json", "/dev/null", "--md", "/dev/null")[0], 0)

    def test_formats_that_a_verb_has_not_are_refused(self):
        for verb, formats in (("env", ("text", "json")), ("backends", ("text", "json")), ("devices", ("text", "json")), ("rules", ("text", "json", "md")),
                              ("explain CPU001", ("text", "json", "md")), ("trace --kernel ampere_sgemm_128x128_tn", ("text", "json", "md"))):
            for form in ("text", "json", "md", "junit"):
                code, out, err = run(*verb.split(), "--format", form)
                if form in formats:
                    self.assertNotEqual(out, "", (verb, form))
                    continue
                self.assertEqual((code, out), (2, ""), (verb, form))
                self.assertIn(f"seen {form}, wanted {'|'.join(formats)}", err)
            self.assertIn("|".join(formats), run(verb.split()[0], "--help")[1])

    def test_places_that_cannot_be_written_are_said_before_anything_runs(self):
        file = self.path("file", "x")
        for option in ("--json", "--md", "--junit"):
            for path, why in ((self.path("none/r"), "there is no folder"), (self.folder.name, "it is a folder"), (file + "/r", "is no folder")):
                # The reference of this call alone would take longer than the limit of this test.
                code, out, err = run("sdpa", "--q", "8x32x65536x128", option, path)
                self.assertEqual((code, out), (2, ""), (option, path))
                self.assertIn(why, err)
                self.assertIn(option, err)
        self.assertEqual(len(run(*self.SMALL, "--json", file + "/r", "--md", self.folder.name)[2].splitlines()), 3)
        new = self.path("new/deeper")
        code, out, err = run(*self.SMALL, "--dtype", "f17", "--save-tensors", new, "--json", file + "/r", "--require", "backend=nobody")
        self.assertEqual((code, out, len(err.splitlines())), (2, "", 4), err)  # three mistakes and their count
        self.assertFalse(os.path.exists(self.path("new")))
        self.assertIn("is no folder", run(*self.SMALL, "--save-tensors", file + "/a/b")[2])
        self.assertEqual(run(*self.SMALL, "--save-tensors", new)[0], 0)
        self.assertTrue(os.listdir(new))

    def test_candidates_that_the_policy_leaves_out_ask_for_nothing(self):
        long = ("sdpa", "--q", "1x8x1024x64", "--dtype", "f16")
        code, out, _ = run(*long, "--force", "cudnn")
        self.assertEqual(code, 3)
        self.assertNotIn("what to change", out)
        self.assertIn("more on other candidates", out)
        self.assertIn("[MTH003]", run(*long, "--force", "cudnn", "-v")[1])
        out = run(*long, "--force", "cpu-math")[1]
        self.assertIn("slow[MTH003]", out)
        out = run(*long, "--force", "cpu-math", "--mode", "captured")[1]
        self.assertRegex(out, r"what to change(\n  .*)*\n  MTH007 ")
        self.assertNotRegex(out, r"what to change(\n  .*)*\n  FLA005 ")

    def test_a_mistake_made_a_thousand_times_is_said_once(self):
        lines = run(*self.SMALL, *["--deny", "nobody"] * 1000)[2].splitlines()
        self.assertEqual(len(lines), 3)
        self.assertIn("more than once", lines[0])
        self.assertEqual(lines[2], "dispatchdoctor: 1000 errors, nothing was run")
        lines = run(*self.SMALL, "--deny", ",".join(f"nobody{i}" for i in range(1500)))[2].splitlines()
        self.assertEqual(len(lines), 1002)
        self.assertIn("the rest is not shown", lines[1000])

    def test_redacted_reports_hold_no_private_path(self):
        home = self.path("home of somebody")
        os.mkdir(home)
        mask = self.path("home of somebody/mask.npy", npy("|b1", (16, 16), b"\1" * 256))
        lines = self.path("home of somebody/two.txt", f"sdpa --q 1x2x16x16 --mask bool:16x16 --mask-content '{mask}'\n" * 2)
        env = {"HOME": home}
        call = (*self.SMALL, "--mask", "bool:16x16", "--mask-content", mask)
        files = {option: os.path.join(home, "report" + option) for option in ("--json", "--md", "--junit")}
        saved = ("--save-tensors", os.path.join(home, "tensors"))
        for words in (call, ("run", lines), (*call, "--target", "h100-sxm", "--framework", "torch", "--torch-version", "2.6.0")):
            for more in ((), ("-v",)):
                out = run(*words, *more, *saved, *sum(files.items(), ()), "--redact", env=env)[1]
                texts = {"text": out, **{option: pathlib.Path(path).read_text() for option, path in files.items()}}
                for name, text in texts.items():
                    self.assertNotIn("somebody", text, (name, words))
        self.assertIn("&lt;home&gt;/mask.npy", texts["--junit"])
        self.assertIn("<home>/mask.npy", json.loads(texts["--json"])["cases"][0]["repro"])
        # Without it the repro line runs as it is.
        self.assertIn(mask, report(*call, env=env)[1]["cases"][0]["repro"])

    def test_a_link_stays_a_link(self):
        target, link = self.path("target", "old"), self.path("link")
        os.symlink(target, link)
        self.assertEqual(run(*self.SMALL, "--json", link)[0], 0)
        self.assertTrue(os.path.islink(link))
        self.assertEqual(json.loads(pathlib.Path(target).read_text())["exit_code"], 0)

    def test_bytes_behind_a_spec_are_an_error_with_their_place(self):
        spec = b'{"op":"sdpa","q":{"shape":[1,2,8,8]}}'
        for tail, part in ((b"\0", "zero byte"), (b"\0{}", "zero byte"), (b"\n\n\0", ":3: "), (b" x", "column 39"), (b" {}", "column 39"), (b"\x1a", "column 38")):
            for name in ("one.json", "one.jsonl"):
                code, _, err = run("run", self.path(name, spec + tail))
                self.assertEqual(code, 2, (tail, name))
                self.assertIn("the text is not JSON", err)
                self.assertIn(part, err)
        self.assertEqual(run("run", self.path("one.json", spec + b"\r\n \t\n"))[0], 0)

    def test_mistakes_of_one_call_read_like_those_of_a_compiler(self):
        code, out, err = run(*self.SMALL, "--deny", "nobody", "--force", "cpu-mth")
        self.assertEqual((code, out), (2, ""))
        lines = err.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertTrue(all(line.startswith("dispatchdoctor: error: policy.") for line in lines[:2]))
        self.assertEqual(lines[2], "dispatchdoctor: 2 errors, nothing was run")
        code, out, err = run("sdpa", "--q", "64x64x1000000x512")  # does not fit
        self.assertEqual((code, out), (2, ""))
        self.assertTrue(err.startswith("dispatchdoctor: error: the call does not fit into memory"))

    def test_bad_lines_take_one_line_each_when_quiet(self):
        lines = self.path("bad.txt", "sdpa --q 1x1x8x8\n" + "sdpa --q 1x --dtype zz --dropout 2\n" * 3 + "gemm --x 2x3 --deny nobody\n")
        code, out, err = run("run", lines, "-q")
        self.assertEqual(code, 2)
        self.assertEqual(len(err.splitlines()), 4)
        self.assertTrue(all(f"bad.txt:{n + 2}: " in line for n, line in enumerate(err.splitlines())))
        self.assertIn("(and 2 more)", err)
        self.assertNotIn("error", out)
        self.assertEqual(len(run("run", lines)[2].splitlines()), 11)  # every mistake

    def test_a_mistake_of_q_is_not_said_again_of_k_and_v(self):
        self.assertEqual(len(run("sdpa", "--q", "1x1x-3x8")[2].splitlines()), 1)
        self.assertEqual(len(run("sdpa", "--q", "1x1x-3x8", "--k", "1x1x-3x8")[2].splitlines()), 3)  # said twice, and the count

    def test_a_standard_error_that_closes_early_is_no_crash(self):
        lines = self.path("bad.txt", "sdpa --zz\n" * 3000)
        done = subprocess.run(["bash", "-c", 'set -o pipefail; "$0" run "$1" -q 2>&1 >/dev/null | head -n 1', BINARY, lines], capture_output=True, text=True, timeout=300)
        self.assertIn(done.returncode, (2, 141), done.stdout)  # the code, or the end of a pipe without a reader
        with open("/dev/full", "w") as full:
            self.assertEqual(subprocess.run([BINARY, "run", lines, "-q"], stdout=subprocess.DEVNULL, stderr=full, timeout=300).returncode, 2)

    def test_names_that_were_begun_are_found(self):
        self.assertIn("h100-", run(*self.SMALL, "--target", "h100")[2])
        self.assertIn("flash-dtype-unsupported", run("explain", "flash-dtype")[2])
        self.assertIn("--json: the value is missing", run(*self.SMALL, "--json")[2])

    def test_files_that_are_none_are_named_as_what_they_are(self):
        self.assertIn("seen a folder", run("run", self.folder.name)[2])
        self.assertIn("No such file", run("run", self.path("none.txt"))[2])

    def test_columns_of_a_device_stand_apart(self):
        for line in run("devices", "h100-sxm")[1].splitlines()[1:]:
            self.assertRegex(line, r"^  \S+ +\S.*\S  +\S")
        self.assertIn("80.0 GiB", run("devices", "h100-sxm")[1])
        code, out, _ = run("devices", "host")
        self.assertEqual(code, 0)
        for line in out.splitlines()[1:]:
            self.assertRegex(line, r"^  \S+ +\S.*\S  +\S|^  \S+ +\S+ +\S")
        host = json.loads(run("devices", "host", "--format", "json")[1])[0]
        self.assertEqual((host["name"], host["device_type"]), ("host", "cpu"))
        self.assertIn(f"{host['fields']['threads']['value']} threads", run("devices")[1])
        code, _, err = run("devices", "h1000")
        self.assertEqual(code, 2)
        self.assertIn("devices: unknown target", err)


# A BLAS that is right until its operands are whole numbers, or from its fourth product on.
FAULTY_BLAS = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
const char* openblas_get_config(void) { return "OpenBLAS 0.3.99 for tests"; }
const char* openblas_get_corename(void) { return "Haswell"; }
void openblas_set_num_threads(int n) { (void)n; }
void cblas_dgemm(void) { abort(); }
void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc) {
  static int calls = 0;
  const char* fault = getenv("FAULT");
  ++calls;
  if (strstr(fault, "late") ? calls > 3 : a[0] == (int)a[0]) {
    if (strstr(fault, "crash")) abort();
    for (;;) pause();
  }
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int t = 0; t < k; ++t) sum += (double)(ta == 111 ? a[i * lda + t] : a[t * lda + i]) * (tb == 111 ? b[t * ldb + j] : b[j * ldb + t]);
      c[i * ldc + j] = (float)(alpha * sum);
    }
}
"""


def faulty_blas(folder):
    """Path of the library, or None where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        return None
    source, library = os.path.join(folder, "blas.c"), os.path.join(folder, "libblas.so")
    pathlib.Path(source).write_text(FAULTY_BLAS)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True, timeout=120)
    return library


class Hostile(unittest.TestCase):
    """Surroundings and inputs that want to break the run: each is said, none passes for success."""
    SMALL = ("sdpa", "--q", "1x2x16x16")

    def test_a_fault_after_a_run_that_was_close_is_4(self):
        with tempfile.TemporaryDirectory() as folder:
            library = faulty_blas(folder)
            if not library:
                self.skipTest("no C compiler")
            product = ("gemm", "--x", "8x8", "--w", "8x8", "--timeout", "2")
            for fault, more, outcome, where in (("hang", (), "timed-out", "on small integers"), ("crash", (), "crashed", "on small integers"),
                                                ("late crash", ("--bench",), "crashed", "under the clock")):
                env = {"DD_OPENBLAS": library, "FAULT": fault}
                code, r, _ = report(*product, *more, env=env)
                self.assertEqual(code, 4, fault)
                attempt = attempts(r["cases"][0])["cpu-blas", "force"]
                self.assertEqual(attempt["outcome"], outcome, fault)
                self.assertTrue(attempt["error"]["text"].startswith(where), attempt["error"])
                self.assertEqual(attempt["comparison"]["verdict"], "close")
                code, out, _ = run(*product, *more, "--force", "cpu-blas", env=env)
                self.assertEqual(code, 4, fault)
                self.assertIn(f"{outcome}: {where}, after a first run that was close", out)

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

    def test_mistyped_names_are_told_beside_other_mistakes(self):
        bad = "--allow cpu-flsh --scale nan --target nosuch"
        code, _, err = run("sdpa", "--q", "1x2x16x16", *bad.split())
        self.assertEqual(code, 2)
        for field in ("scale:", "policy.allow:", "--target:", "3 errors"):
            self.assertIn(field, err)
        self.assertIn("cpu-flash?", err)
        lines = f"sdpa --q 1x2x16x16 {bad}\nsdpa --q 1x2x16x16\n"
        code, out, err = run("run", "-", text=lines)
        self.assertEqual((code, err.count("standard input:1: ")), (2, 3))
        self.assertIn("fast-path     standard input:2", out)
        one = {"op": "sdpa", "q": {"shape": [1, 2, 16, 16]}, "rtol": -1, "policy": {"deny": ["nosuch"]}, "context": {"framework": "torch", "target": "sm_90"}}
        code, _, err = run("run", "-", text=json.dumps(one))
        self.assertEqual((code, err.count("standard input:1: ")), (2, 2))

    def test_a_backend_of_another_place_or_operator_is_told_apart(self):
        because = lambda *words: report("sdpa", "--q", "1x2x16x16", "--target", "host", *words)[1]["cases"][0]["verdict"]["because"]
        self.assertIn("--target cuda:0", because("--force", "cuda-flash")[0])
        self.assertEqual([b.split(":")[0] for b in because("--allow", "cuda-flash,cudnn")], ["cuda-flash", "cudnn"])
        self.assertEqual(because("--force", "cpu-blas"), ["cpu-blas: it serves gemm only"])
        # One that is a candidate has reasons of its own.
        self.assertNotIn("it runs on", " ".join(because("--allow", "cuda-flash,cpu-flash", "--deny", "cpu-flash")))

    def test_targets_that_only_begin_like_a_gpu_are_none(self):
        for target in ("cudafoo", "cuda_box.json", "cuda:0,h100-sxm"):
            code, out, err = run("sdpa", "--q", "1x2x16x16", "--target", target)
            self.assertEqual((code, out), (2, ""), target)
            self.assertIn(target.split(",")[0], err)

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

    def test_products_under_little_address_space_do_not_hang(self):
        limited = lambda limit, *words: subprocess.run(["sh", "-c", f'ulimit -v {limit}; exec "$0" "$@" --format json', BINARY, *words],
                                                       capture_output=True, text=True, timeout=300)
        if not json.loads(run("env", "--format", "json")[1])["openblas"]["available"]:
            self.skipTest("no OpenBLAS here")
        for limit in (250000, 300000, 400000, 600000):
            done = limited(limit, "sdpa", "--q", "1x8x256x64", "--force", "cpu-math", "--timeout", "20")
            self.assertEqual(done.returncode, 0, (limit, done.stdout[-2000:]))
            done = limited(limit, "gemm", "--x", "300x300", "--w", "300x300", "--force", "cpu-blas", "--timeout", "20")
            attempt = attempts(json.loads(done.stdout)["cases"][0])["cpu-blas", "force"]
            self.assertIn((done.returncode, attempt["outcome"]), ((0, "matched"), (3, "unavailable")), limit)
            if attempt["outcome"] == "unavailable":
                self.assertIn("ulimit -v", attempt["error"]["text"])
        # A hang is told with the limit that may be its cause.
        done = limited(900000, "sdpa", "--q", "1x8x2048x64", "--force", "cpu-naive", "--timeout", "0.05")
        self.assertEqual(done.returncode, 4)
        self.assertIn("ulimit -v", attempts(json.loads(done.stdout)["cases"][0])["cpu-naive", "force"]["error"]["text"])

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
    # Under sanitizers the part that reads strangers' input and writes files; all of it takes many minutes there.
    unittest.main(defaultTest="Places" if os.environ.get("DD_SANITIZED") == "ON" else None)
