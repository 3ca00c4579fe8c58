#!/usr/bin/env python3
"""trace, logs and diff as a user meets them: whole runs of the binary on small files made here and, where they are
there, on the sample files of others."""
import gzip
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest

BINARY = os.environ.get("DD_BINARY", "")
SOURCE = pathlib.Path(os.environ.get("DD_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))

FAST = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas"
SLOW = "ampere_sgemm_128x128_tn"
FLASH = "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4>>(pytorch_flash::Flash_fwd_params)"
UNALIGNED = ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2>"
             "(cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2::Params)")


def run(*words, text=None):
    done = subprocess.run([BINARY, *map(str, words)], input=text, capture_output=True, timeout=300)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def report(*words, text=None):
    code, out, err = run(*words, "--format", "json", text=text)
    return code, json.loads(out), err


def event(cat, name, start, duration, pid=1, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": duration, "args": args}


def product(kernel=FAST, at=0, number=1, m=64, k=512, n=256, dtype="c10::BFloat16", us=8):
    """One aten::mm with its launch and its kernel."""
    return [event("cpu_op", "aten::mm", at + 10, 20, **{"External id": number, "Input type": [dtype, dtype], "Input Dims": [[m, k], [k, n]],
                                                        "Input Strides": [[k, 1], [1, k]], "Concrete Inputs": ["", ""]}),
            event("cuda_runtime", "cudaLaunchKernel", at + 15, 1, correlation=number, **{"External id": number}),
            event("kernel", kernel, at + 40, us, pid=0, tid=7, correlation=number, device=0, stream=7)]


def attention(child="aten::_scaled_dot_product_flash_attention", kernels=(FLASH,), at=0, number=100, dtype="c10::Half", d=64):
    shape, strides = [1, 8, 128, d], [8 * 128 * d, 128 * d, d, 1]
    out = [event("cpu_op", "aten::scaled_dot_product_attention", at, 90, **{
               "External id": number, "Input type": [dtype] * 3 + ["", "Scalar", "Scalar", "", "Scalar"], "Input Dims": [shape] * 3 + [[]] * 5,
               "Input Strides": [strides] * 3 + [[]] * 5, "Concrete Inputs": ["", "", "", "", "0.", "True", "", "False"]}),
           event("cpu_op", child, at + 1, 80, **{"External id": number + 1})]
    for i, name in enumerate(kernels):
        out.append(event("cuda_runtime", "cudaLaunchKernel", at + 5 + i, 1, correlation=number + i))
        out.append(event("kernel", name, at + 100 + 10 * i, 9, pid=0, tid=7, correlation=number + i))
    return out


DEVICE = [{"id": 0, "name": "GPU", "computeMajor": 9, "computeMinor": 0, "numSms": 132, "warpSize": 32}]


def trace(*groups, **header):
    return {"schemaVersion": 1, "deviceProperties": DEVICE, **header, "traceEvents": [e for group in groups for e in group]}


ONEDNN = ("onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core,undef,src:f32::blocked:ab::f0 wei:f32::blocked:ba::f0 "
          "dst:f32::blocked:ab::f0,,,64x128:128x32,0.5\n")
CUBLAS = ("I! cuBLAS (v12.4) function cublasStatus_t cublasGemmEx(cublasHandle_t, ...) called:\n"
          "i!  transa: type=cublasOperation_t; val=CUBLAS_OP_T(1)\ni!  transb: type=cublasOperation_t; val=CUBLAS_OP_N(0)\n"
          "i!  m: type=int; val=256\ni!  n: type=int; val=64\ni!  k: type=int; val=512\n"
          "i!  A: type=void; val=POINTER (IN HEX:0x0x7f0000000008)\ni!  Atype: type=cudaDataType_t; val=CUDA_R_16F(2)\ni!  lda: type=int; val=512\n"
          "i!  B: type=void; val=POINTER (IN HEX:0x0x7f0000000100)\ni!  Btype: type=cudaDataType_t; val=CUDA_R_16F(2)\ni!  ldb: type=int; val=512\n"
          "i!  C: type=void; val=POINTER (IN HEX:0x0x7f0000000200)\ni!  Ctype: type=cudaDataType_t; val=CUDA_R_16F(2)\ni!  ldc: type=int; val=256\n"
          "i!  computeType: type=cublasComputeType_t; val=CUBLAS_COMPUTE_32F(68)\n"
          "i!Process=1; Thread=1; GPU=0; Handle=POINTER (IN HEX:0x0x1); StreamId=POINTER (IN HEX:0x(nil)) (defaultStream); MathMode=CUBLAS_DEFAULT_MATH\n")


class Base(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, content):
        data = content if isinstance(content, bytes) else (content if isinstance(content, str) else json.dumps(content)).encode()
        pathlib.Path(self.path(name)).write_bytes(data)
        return self.path(name)

    def verdict(self, *words, text=None):
        code, r, _ = report(*words, text=text)
        return code, r["trace"]["verdict"]


class Gates(Base):
    def test_a_fallback_alone_is_0_and_a_requirement_makes_it_3(self):
        slow = self.write("slow.json", trace(product(SLOW, dtype="float")))
        self.assertEqual(self.verdict("trace", slow), (0, {"sdpa": "none", "gemm": "fallback"}))
        code, _, err = run("trace", slow, "--require", "fast")
        self.assertEqual(code, 3)
        self.assertIn("slow.json", err)
        self.assertIn("fallback", err)

    def test_the_fast_path_holds(self):
        fast = self.write("fast.json", trace(product(), attention()))
        self.assertEqual(run("trace", fast, "--require", "fast")[0], 0)
        self.assertEqual(run("trace", fast, "--require", "backend=flash")[0], 0)
        self.assertEqual(run("trace", fast, "--require", "backend=torch-flash,torch-cudnn")[0], 0)
        self.assertEqual(run("trace", fast, "--require", "backend=efficient")[0], 3)
        self.assertEqual(run("trace", fast, "--require", "fast", "--require", "backend=cudnn")[0], 3)

    def test_what_cannot_be_decided_is_3_unless_unknown_passes(self):
        open_file = self.write("cpu.json", trace([product()[0]]))
        self.assertEqual(self.verdict("trace", open_file)[1]["gemm"], "cannot-tell")
        self.assertEqual(run("trace", open_file, "--require", "fast")[0], 3)
        self.assertEqual(run("trace", open_file, "--require", "fast", "--unknown", "pass")[0], 0)
        self.assertEqual(run("trace", open_file, "--require", "close")[0], 3)
        self.assertEqual(run("trace", open_file, "--require", "close", "--unknown", "pass")[0], 0)

    def test_one_slow_file_among_fast_ones_fails_the_gate(self):
        fast, slow = self.write("fast.json", trace(product())), self.write("slow.json", trace(product(SLOW)))
        self.assertEqual(run("trace", fast, "--require", "fast")[0], 0)
        code, r, err = report("trace", fast, slow, "--require", "fast")
        self.assertEqual(code, 3)
        self.assertEqual(r["exit_code"], 3)
        self.assertEqual([t["verdict"]["gemm"] for t in r["traces"]], ["fast-path", "fallback"])
        self.assertNotIn("fast.json:", err.replace("slow.json", ""))

    def test_nothing_to_judge_is_5(self):
        for name, content in (("empty.json", ""), ("nothing.json", {"traceEvents": []}), ("other.json", trace([event("cpu_op", "aten::add", 1, 2)])), ("words.log", "hello\nworld\n")):
            with self.subTest(name):
                self.assertEqual(run("trace", self.write(name, content))[0], 5)

    def test_usage_errors_are_2(self):
        self.assertEqual(run("trace")[0], 2)
        self.assertEqual(run("logs")[0], 2)
        self.assertEqual(run("diff", self.write("a.json", trace(product())))[0], 2)
        self.assertEqual(run("trace", self.path("a.json"), "--require", "quick")[0], 2)


class Inputs(Base):
    def test_every_wrapping_of_one_trace_reads_alike(self):
        text = json.dumps(trace(product(), attention()))
        events = trace(product(), attention())["traceEvents"]
        forms = {
            "plain.json": text.encode(), "indented.json": json.dumps(json.loads(text), indent=1).encode(), "crlf.json": json.dumps(json.loads(text), indent=1).replace("\n", "\r\n").encode(),
            "packed.json.gz": gzip.compress(text.encode()), "wrong.txt": gzip.compress(text.encode()), "wrong.sqlite": text.encode(),
            "twice.gz": gzip.compress(gzip.compress(text.encode())), "members.gz": gzip.compress(text[:300].encode()) + gzip.compress(text[300:].encode()),
            "bom.json": b"\xef\xbb\xbf" + text.encode(), "utf16.json": b"\xff\xfe" + text.encode("utf-16-le"), "utf16be.json": b"\xfe\xff" + text.encode("utf-16-be"),
            "list.json": json.dumps(events).encode(), "lines.jsonl": "\n".join(map(json.dumps, events)).encode(),
            "behind.json": json.dumps({"traceEvents": events, "deviceProperties": DEVICE}).encode()}
        for name, content in forms.items():
            with self.subTest(name):
                code, r, _ = report("trace", self.write(name, content))
                self.assertEqual(code, 0)
                self.assertEqual(r["trace"]["verdict"], {"sdpa": "fast-path", "gemm": "fast-path"})
                self.assertFalse(r["trace"]["partial"], r["trace"]["warnings"])

    def test_logs_in_every_encoding(self):
        for name, content in {"bom.log": b"\xef\xbb\xbf" + ONEDNN.encode(), "utf16.log": b"\xff\xfe" + ONEDNN.encode("utf-16-le"), "crlf.log": ONEDNN.replace("\n", "\r\n").encode(),
                              "packed.log.gz": gzip.compress(ONEDNN.encode()), "log.json": ONEDNN.encode(), "no_end.log": ONEDNN.rstrip("\n").encode()}.items():
            with self.subTest(name):
                self.assertEqual(self.verdict("logs", self.write(name, content)), (0, {"sdpa": "none", "gemm": "fast-path"}))
        self.assertEqual(self.verdict("logs", self.write("kernel.txt", b"\xef\xbb\xbfnvjet_tst_128x256_64x4_2x1_v_bz_TNN"))[1]["gemm"], "fast-path")

    def test_files_that_cannot_be_opened_are_2_and_named(self):
        for path, words in ((self.path("missing.json"), "No such file"), (self.folder.name, "directory"), ("/dev/zero", "device")):
            with self.subTest(path):
                code, out, err = run("trace", path)
                self.assertEqual((code, out), (2, ""))
                self.assertIn(path, err)
                self.assertIn(words, err)

    def test_one_bad_file_among_good_ones_keeps_the_good(self):
        good = self.write("good.json", trace(product()))
        code, r, err = report("trace", good, self.path("missing.json"), good)
        self.assertEqual(code, 2)
        self.assertEqual(r["exit_code"], 2)
        self.assertEqual([t["verdict"]["gemm"] for t in r["traces"]], ["fast-path"] * 2)
        self.assertIn("missing.json", err)

    def test_a_pipe_is_read_once(self):
        path = self.path("pipe")
        os.mkfifo(path)
        content = gzip.compress(json.dumps(trace(product())).encode())
        writer = threading.Thread(target=lambda: pathlib.Path(path).write_bytes(content))
        writer.start()
        self.assertEqual(self.verdict("trace", path), (0, {"sdpa": "none", "gemm": "fast-path"}))
        writer.join()

    def test_standard_input(self):
        self.assertEqual(self.verdict("logs", "-", text=ONEDNN.encode())[1]["gemm"], "fast-path")
        self.assertEqual(self.verdict("trace", "-", text=gzip.compress(json.dumps(trace(product())).encode()))[1]["gemm"], "fast-path")
        code, r, _ = report("logs", "-", text=b"RuntimeError: No available kernel. Aborting execution.\n")
        self.assertEqual(code, 0)
        self.assertEqual([f["id"] for f in r["trace"]["findings"]], ["EVD060"])
        self.assertEqual(run("logs", "-", text=b"")[0], 5)

    def test_foreign_files_say_what_to_do(self):
        for name, content, words in (("a.zst", b"\x28\xb5\x2f\xfd" + bytes(50), "zstd"), ("b.zip", b"PK\x03\x04" + bytes(50), "zip"), ("c.nsys-rep", b"\x00\x01\x02" * 100, "sqlite"),
                                     ("d.json", json.dumps({"traceEvents": [{"ph": "X", "name": "fusion.3", "pid": 1, "tid": 2, "ts": 1, "dur": 2, "args": {"hlo_op": "fusion.3"}}]}).encode(), "not of the torch profiler"),
                                     ("e.json", b'{"schema_version": 1, "cases": []}', "diff")):
            with self.subTest(name):
                code, r, _ = report("trace", self.write(name, content))
                self.assertEqual(code, 5)
                self.assertTrue(r["trace"]["partial"])
                self.assertIn(words, " ".join(r["trace"]["warnings"]))

    def test_a_cut_file_says_what_was_lost(self):
        text = json.dumps(trace(product(), attention()))
        for name, content in (("cut.json", text[:-200].encode()), ("cut.gz", gzip.compress(text.encode())[:-20])):
            with self.subTest(name):
                code, out, _ = run("trace", self.write(name, content))
                self.assertEqual(code, 0)
                self.assertIn("partial", out)
                self.assertIn("warning:", out)

    def test_an_sqlite_export(self):
        path = self.path("export.sqlite")
        db = sqlite3.connect(path)
        db.executescript("""
            CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
            CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);
            INSERT INTO NVTX_EVENTS VALUES(0, 1000, 59, 'aten::mm, op_id = 3, sizes = [[64, 512], [512, 256]]', 16777217);
            INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(100, 200, 16777217, 5, 2);
            INSERT INTO StringIds VALUES(2, 'cudaLaunchKernel_v7000');
            INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(2000, 9000, 0, 5, 16777216, 1, 1, 1, 1, 1);""")
        db.execute("INSERT INTO StringIds VALUES(1, ?)", (FAST,))
        db.commit()
        db.close()
        packed = self.write("export.gz", gzip.compress(pathlib.Path(path).read_bytes()))
        for each in (path, packed):
            specs = self.path("specs.jsonl")
            code, r, _ = report("trace", each, "--specs", specs)
            self.assertEqual((code, r["trace"]["format"], r["trace"]["verdict"]["gemm"]), (0, "nsys-sqlite", "fast-path"))
            spec = json.loads(pathlib.Path(specs).read_text())
            self.assertEqual((spec["x"]["shape"], spec["x"]["dtype"], spec["w"]["shape"]), ([64, 512], "bf16", [512, 256]))


class Output(Base):
    def test_text_begins_with_the_verdict(self):
        code, out, err = run("trace", self.write("t.json", trace(product(UNALIGNED, n=255), attention())))
        self.assertEqual((code, err), (0, ""))
        lines = out.splitlines()
        self.assertIn("t.json", lines[0])
        self.assertRegex("\n".join(lines[1:3]), r"(?s)gemm +mixed.*sdpa +fast-path")
        self.assertIn("EVD010", out)
        self.assertNotIn("\x1b", out)
        self.assertNotRegex(out, r"\bev_[a-z_]+|\bevidence\.")

    def test_long_names_are_short_in_text_and_whole_elsewhere(self):
        long_name = "void " + "x" * 150 + FLASH
        path = self.write("t.json", trace(product(SLOW), attention(kernels=[long_name]), [event("cuda_runtime", "cudaStreamSynchronize", 900, 3)]))
        _, out, _ = run("trace", path)
        self.assertNotIn(long_name, out)
        self.assertIn(long_name[:90], out)
        self.assertLess(max(len(line) for line in out.splitlines() if not re.match(r" +(seen|required|effect|fix) |note:", line)), 240)
        self.assertIn("other       host waits in cudaStreamSynchronize  x1", out)
        self.assertNotIn("  none   ", out)
        self.assertIn(long_name, run("trace", path, "-v")[1])
        self.assertIn(long_name, run("trace", path, "--format", "json")[1])

    def test_findings_speak_of_things_not_of_fields(self):
        events = product(SLOW, dtype="float") + product(UNALIGNED, at=200, number=2, n=255) + [event("cpu_op", "aten::item", 900, 2)]
        _, r, _ = report("trace", self.write("t.json", trace(events)), "-v")
        findings = r["trace"]["findings"]
        self.assertGreater(len(findings), 10)
        for f in findings:
            with self.subTest(f["id"]):
                for part in ("seen", "required", "effect", "fix", "source"):
                    self.assertTrue(f[part], part)
                    self.assertNotRegex(f[part], r"\bev_[a-z_]+|\bevidence\.")

    def test_markdown_and_files_beside(self):
        path = self.write("t.json", trace(product(SLOW)))
        code, out, _ = run("trace", path, "--format", "md", "--json", self.path("out.json"), "--md", self.path("out.md"))
        self.assertEqual(code, 0)
        self.assertTrue(out.startswith("## dispatchdoctor"))
        self.assertIn("| gemm | fallback |", out)
        self.assertEqual(pathlib.Path(self.path("out.md")).read_text(), out)
        self.assertEqual(json.loads(pathlib.Path(self.path("out.json")).read_text())["trace"]["verdict"]["gemm"], "fallback")

    def test_kernel_names(self):
        for name, gemm, sdpa in ((SLOW, "fallback", "none"), (FAST, "fast-path", "none"), (UNALIGNED, "mixed", "none"), (FLASH, "none", "fast-path"), ("void fmha_cutlassF_f32_aligned_64x64_rf_sm80(int)", "none", "fast-path")):
            with self.subTest(name):
                self.assertEqual(self.verdict("trace", "--kernel", name), (0, {"sdpa": sdpa, "gemm": gemm}))
        self.assertEqual(run("trace", "--kernel", SLOW, "--require", "fast")[0], 3)
        code, r, _ = report("trace", "--kernel", SLOW, "--kernel", "flash")
        self.assertEqual([k["name"] for k in r["trace"]["kernels"]], [SLOW, "flash"])
        self.assertEqual([f["id"] for f in r["trace"]["findings"]], ["EVD011", "EVD007", "EVD008"])
        self.assertEqual(r["trace"]["grade"], "modelled")
        code, out, _ = run("trace", "--kernel", SLOW)
        self.assertIn("fallback [modelled]", out)
        self.assertRegex(out, "note: gemm: .*cublas.*no tensor cores.*not the fast path")
        self.assertIn("nothing shows that these kernels ran", out)
        self.assertNotIn("0.0%", out)
        self.assertEqual(run("trace", "--kernel", "flash")[0], 5)

    def test_quiet_prints_verdicts_only(self):
        path = self.write("t.json", trace(product(SLOW)))
        _, out, _ = run("trace", path, "-q")
        self.assertIn("fallback", out)
        self.assertNotIn("\noperators\n", out)

    def test_environments_never_appear(self):
        secret = "hf_abcdefghijklmnop"
        t = trace(product(), metadata={"env": {"HF_TOKEN": secret}}, hostname=secret)
        out = self.path("all.json")
        for words in (["-v"], ["--format", "json", "-v"], ["--format", "md"]):
            _, text, err = run("trace", self.write("t.json", t), *words, "--json", out)
            self.assertNotIn(secret, text + err + pathlib.Path(out).read_text())

    def test_reports_follow_the_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("no jsonschema module")
        validator = jsonschema.Draft202012Validator(json.loads((SOURCE / "configs/schemas/report.schema.json").read_text()))
        files = [self.write("a.json", trace(product(UNALIGNED), attention())), self.write("b.log", ONEDNN + CUBLAS), self.write("c.json", "{")]
        shared = pathlib.Path(os.environ.get("DD_SHARED") or SOURCE.parent / "shared") / "samples"
        samples = [p for kind in ("kineto", "nsys", "logs") for p in sorted((shared / kind).glob("*"))] if shared.is_dir() else []
        if not samples:
            print("skipped: no sample files (set DD_SHARED)", file=sys.stderr)
        for path in [*files, *samples]:
            for words in ([], ["-v"]):
                with self.subTest(path=str(path), words=words):
                    code, r, _ = report("trace", path, *words)
                    self.assertIn(code, (0, 5))
                    self.assertEqual([e.message for e in validator.iter_errors(r)], [])
                    self.assertEqual(r["exit_code"], code)


class Specs(Base):
    def rerun(self, *words):
        specs = self.path("specs.jsonl")
        code, _, _ = run(*words, "--specs", specs)
        self.assertEqual(code, 0)
        lines = [json.loads(line) for line in pathlib.Path(specs).read_text().splitlines()]
        return specs, lines

    def test_specs_of_a_trace_run(self):
        specs, lines = self.rerun("trace", self.write("t.json", trace(product(), attention("aten::_scaled_dot_product_attention_math", [SLOW], dtype="float"))))
        self.assertEqual([s["op"] for s in lines], ["sdpa", "gemm"])
        self.assertTrue(lines[0]["is_causal"])
        self.assertEqual(lines[1]["w"]["strides"], [1, 512])
        self.assertEqual(lines[1]["context"]["target"], "sm_90")
        code, r, err = report("run", specs)
        self.assertIn(code, (0, 5), err)
        self.assertEqual(len(r["cases"]), 2)

    def test_specs_of_logs_run_here(self):
        specs, lines = self.rerun("logs", self.write("onednn.log", ONEDNN))
        self.assertEqual(lines[0]["context"], {"target": "cpu"})
        self.assertEqual(lines[0]["w"], {"shape": [128, 32], "dtype": "f32", "strides": [1, 128]})
        code, r, err = report("run", specs)
        self.assertEqual(code, 0, err)
        self.assertEqual(r["cases"][0]["verdict"]["grade"], "ran")

    def test_a_column_major_call_becomes_the_row_major_product(self):
        _, lines = self.rerun("logs", self.write("cublas.log", CUBLAS))
        self.assertEqual(lines[0]["x"], {"shape": [64, 512], "dtype": "f16", "strides": [512, 1]})
        self.assertEqual(lines[0]["w"], {"shape": [512, 256], "dtype": "f16", "strides": [1, 512], "offset": 4})
        self.assertEqual((lines[0]["out_dtype"], lines[0]["compute"]), ("f16", "f32"))

    def test_a_folder_that_is_not_there(self):
        code, _, err = run("trace", self.write("t.json", trace(product())), "--specs", self.path("no/specs.jsonl"))
        self.assertEqual(code, 2)
        self.assertIn("no/specs.jsonl", err)


class Pasted(Base):
    def ids(self, text):
        code, r, _ = report("logs", "-", text=text.encode())
        return code, [f["id"] for f in r["trace"]["findings"]], r["trace"]

    def test_reasons_of_torch_are_its_rules(self):
        code, ids, t = self.ids(
            "t.py:3: UserWarning: Memory efficient kernel not used because: (Triggered internally at ../aten/src/ATen/native/transformers/cuda/sdp_utils.cpp:776.)\n"
            "  return F.scaled_dot_product_attention(q, k, v)\n"
            "t.py:3: UserWarning: Mem Efficient attention requires last dimension of inputs to be divisible by 4. Got Query.size(-1): 63, Key.size(-1): 63, Value.size(-1): 63 instead.\n"
            "t.py:3: UserWarning: Flash attention kernel not used because: (Triggered internally at ../aten/src/ATen/native/transformers/cuda/sdp_utils.cpp:778.)\n"
            "t.py:3: UserWarning: Expected query, key and value to all be of dtype: {Half, BFloat16}. Got Query dtype: float, Key dtype: float, and Value dtype: float instead.\n"
            "RuntimeError: No available kernel. Aborting execution.\n")
        self.assertEqual(code, 0)
        self.assertIn("EVD060", ids)
        self.assertTrue(any(i.startswith("TEF") for i in ids), ids)
        self.assertTrue(any(i.startswith("TFL") for i in ids), ids)
        self.assertNotIn("EVD061", ids)  # the reason stands for it
        self.assertNotIn("EVD062", ids)
        self.assertEqual((t["verdict"]["sdpa"], t["grade"]), ("cannot-tell", "asked"))
        self.assertIn("TEF014", ids)
        self.assertNotIn("TEF013", ids)

    def test_lines_of_engines(self):
        for line, wanted in (
                ("RuntimeError: CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasGemmEx( handle, opa, opb, m, n, k, ...)`", "EVD065"),
                ("RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm(...)`", "EVD081"),
                ("ValueError: The quantization method awq is not supported for the current GPU. Minimum capability: 75. Current capability: 70.", "EVD071"),
                ("INFO 11-29 selector.py:150] Cannot use FlashAttention-2 backend for Volta and Turing GPUs.", "EVD072"),
                ("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.", "EVD076"),
                ("UserWarning: Input type into Linear4bit is torch.float16, but bnb_4bit_compute_dtype=torch.float32 (default). This will lead to slow inference or training speed.", "EVD074"),
                ("[W sdp_utils.cpp:264] Warning: 1Torch was not compiled with flash attention. (function operator())", "TFL001")):
            with self.subTest(wanted):
                code, ids, _ = self.ids(line + "\n")
                self.assertEqual((code, ids), (0, [wanted]))

    def test_rows_of_profiler_tables(self):
        for row in ("     51.9   62,589,830,968    811,520     77,126.7  void marlin::Marlin<(long)1125899906910725, (long)1125899906843648, (long)11…",
                    "| `nvjet_tst_128x256_64x4_2x1_v_bz_coopB_TNN` | 834.2 | 39.5 |",
                    'ampere_sgemm_128x128_tn         0.00%       0.000us         0.00%       0.000us       0.000us      12.000us',
                    '27.6,165035521,112,"void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>(int)"'):
            with self.subTest(row):
                _, _, t = self.ids(row + "\n")
                self.assertEqual(len(t["kernels"]), 1)
        self.assertEqual(self.ids("some words about flash attention and a gemm\n")[0], 5)


class Diff(Base):
    def test_after_the_upgrade(self):
        a = self.write("a.json", trace(product(FAST, us=8), attention()))
        b = self.write("b.json", trace(product(SLOW, us=80), attention("aten::_scaled_dot_product_attention_math", [SLOW, "void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false>(int)"])))
        code, out, _ = run("diff", a, b)
        self.assertEqual(code, 0)
        self.assertIn("gemm: fast-path -> fallback", out)
        self.assertIn("sdpa: fast-path -> fallback", out)
        self.assertLess(out.index("verdict"), out.index("aten::mm"))
        code, d, _ = report("diff", a, b)
        self.assertTrue(d["worse"])
        changed = {o["op"]: o for o in d["operators"]}
        self.assertEqual((changed["aten::mm"]["before_state"], changed["aten::mm"]["after_state"], changed["aten::mm"]["worse"]), ("fast", "slow", True))
        self.assertIn("flash", changed["aten::scaled_dot_product_attention"]["before"])
        self.assertIn("math", changed["aten::scaled_dot_product_attention"]["after"])
        self.assertIn("worse", run("diff", a, b, "--format", "md")[1])
        _, out, _ = run("diff", a, self.write("c.json", trace(product(FAST, us=8))))
        self.assertIn("only-in-a", out)
        self.assertNotIn("0 calls", out)
        code, d, _ = report("diff", a, a)
        self.assertEqual((d["worse"], d["operators"], d["verdicts"]), (False, [], []))

    def test_two_reports(self):
        reports = []
        for name, kernel in (("a", FAST), ("b", SLOW)):
            path = self.path(name + ".report.json")
            self.assertEqual(run("trace", self.write(name + ".json", trace(product(kernel))), "--json", path)[0], 0)
            reports.append(path)
        code, d, _ = report("diff", *reports)
        self.assertEqual((code, d["worse"]), (0, True))
        self.assertIn("gemm: fast-path -> fallback", d["verdicts"])
        cases = []
        for name, dtype in (("c", "f16"), ("d", "f64")):
            path = self.path(name + ".report.json")
            self.assertEqual(run("sdpa", "--q", "1x2x16x32", "--dtype", dtype, "--json", path)[0], 0)
            cases.append(path)
        self.assertEqual(len(report("diff", *cases)[1]["operators"]), 2)  # two specs, each in one report only
        self.assertEqual(report("diff", cases[0], cases[0])[1]["operators"], [])

    def test_kinds_do_not_mix(self):
        t = self.write("t.json", trace(product()))
        r = self.path("r.json")
        self.assertEqual(run("trace", t, "--json", r)[0], 0)
        for pair in ((t, r), (r, t)):
            code, out, err = run("diff", *pair)
            self.assertEqual((code, out), (2, ""))
            self.assertIn("one file is a report and the other is not", err)
        code, _, err = run("diff", t, self.write("words.txt", "hello\n"))
        self.assertEqual(code, 2)
        self.assertIn("words.txt", err)
        self.assertEqual(run("diff", t, self.path("missing"))[0], 2)


if __name__ == "__main__":
    if not BINARY:
        print("DD_BINARY is not set")
        sys.exit(77)
    unittest.main()
