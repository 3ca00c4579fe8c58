#!/usr/bin/env python3
"""scripts/gpu_check with a driver that runs the kernels on the CPU, and with stand-ins of the tools around it: that each
thing which goes wrong on the machine is told as what it is, and that nothing left undone looks done."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

BINARY, DRIVER, TOOLS, CUDNN = (os.environ.get(n, "") for n in ("DD_BINARY", "DD_FAKE_DRIVER", "DD_FAKE_TOOLS", "DD_FAKE_CUDNN_DIR"))
SOURCE, CMAKE, GPU_TESTS = (os.environ.get(n, "") for n in ("DD_SOURCE_DIR", "DD_CMAKE", "DD_GPU_TESTS"))
SCRIPT = os.path.join(SOURCE, "scripts/gpu_check")
TAGS = ("device", "own-kernels", "all-backends", "recorded", "captured", "timed", "faults", "seed")

# The program over the fake driver, with calls so small that the CPU does them at once.
SMALL = """#!/usr/bin/env bash
case $1 in run | --version) ;; *) [ -z "${ONLY_RUN:-}" ] || exit 1 ;; esac
words=()
for w in "$@"; do
  case $w in
    configs/specs/gpu-forty.txt) w=$SPECS; [ -z "${FORTY:-}" ] || export DD_FAKE_CUDA=$FORTY ;;
    configs/specs/*) w=$SPECS ;;
    1x8x256x64) w=1x1x8x32 ;;
    128x256) w=16x32 ;;
    256x192) w=32x16 ;;
  esac
  words+=("$w")
done
exec "$REAL" "${words[@]}"
"""
# A program that does nothing, for what is not about it.
EMPTY = """#!/usr/bin/env bash
echo "${DD_PYTHON:-none}" >"$SEEN"
[ "$1" != backends ] || echo '[]'
"""
GPU = """#!/usr/bin/env bash
echo "$1" >>"$SEEN_TAGS"
case $1 in
  '[device]') kill -SEGV $$ ;;
  '[recorded]') echo 'SKIPPED: recording is not permitted'; exit 77 ;;
  '[timed]') echo 'No tests ran' ;;
  *) echo 'All tests passed (1 assertion in 1 test case)' ;;
esac
"""
SANITIZER = """#!/usr/bin/env bash
case $* in
  *memcheck*) echo '========= Error: Device not supported. Please refer to the manual'; exit 1 ;;
  *) echo '========= Program hit CUDA_ERROR_NOT_SUPPORTED (error 801) due to "operation not supported" on CUDA API call'; exit 9 ;;
esac
"""


class Script(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tools, self.pack, self.out, self.work = (self.folder / n for n in ("tools", "pack", "out", "work"))
        self.put("tools/nvidia-smi", "#!/bin/sh\necho 'GPU 0: simulated'\n")
        self.env = {k: v for k, v in os.environ.items() if k not in ("DD_PYTHON", "OUT")}
        self.env.update(PATH=f"{self.tools}:{os.environ['PATH']}", DD_GPU_PACK=str(self.pack), DD_GPU_WORK=str(self.work),
                        DD_GPU_BUILD=str(self.folder / "build"), SEEN=str(self.folder / "seen"), SEEN_TAGS=str(self.folder / "tags"), REAL=BINARY)

    def put(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def run_script(self, *words, **env):
        return subprocess.run([SCRIPT, *words], capture_output=True, text=True, timeout=400, env={**self.env, **env})

    def check(self, *words, **env):
        """Its exit code, and state and text of each step."""
        done = self.run_script("--out", str(self.out), *words, **env)
        self.steps = (self.out / "steps.txt").read_text(encoding="utf-8")
        self.assertEqual(done.stderr, "")
        self.assertLessEqual(set(os.listdir(self.out)), {"summary.md", "steps.txt", "benchmark.txt", "forty.md", "profile.json", "ctest.xml", "results.tar.gz"})
        rows = [line.split(None, 3) for line in self.steps.splitlines() if not line.startswith("gpu_check: ")]
        return done.returncode, {r[1]: (r[0], r[3]) for r in rows}

    def expect(self, steps, state, *names):
        for name in names:
            self.assertEqual(steps[name][0], state, self.steps)


class Whole(Script):
    def setUp(self):
        super().setUp()
        self.put("pack/bin/dispatchdoctor", SMALL)
        self.env.update(SPECS=str(self.put("specs.txt", "sdpa --q 1x1x8x32 --dtype f16\n")), DD_LIB_DIR=f"{DRIVER}:{TOOLS}")

    def test_what_was_done_and_what_was_not(self):
        code, steps = self.check("--no-build")
        self.assertNotEqual(code, 0, self.steps)
        self.expect(steps, "done", "environment", "backends", "profile", "seed", "seed-f64-cuda-flash", "forty", "rules-agree", "benchmark")
        self.expect(steps, "not-done", "build", "ctest", "memcheck", "racecheck")
        self.assertRegex(steps["under-3-seconds"][1], r"\d+\.\d\d s")
        # cuDNN is not in these folders: that it takes no f64 is then not shown by anything.
        self.expect(steps, "not-done", "backend-cudnn", "seed-f64-cudnn")
        self.assertIn("libcudnn", steps["backend-cudnn"][1])
        self.assertNotIn("backend-cuda-flash", steps)
        self.assertIn("backend-cudnn", (self.out / "summary.md").read_text(encoding="utf-8"))
        self.assertTrue(json.loads((self.out / "profile.json").read_text(encoding="utf-8"))["fields"])
        self.assertTrue((self.out / "forty.md").read_text(encoding="utf-8"))
        with tarfile.open(self.out / "results.tar.gz") as results:
            self.assertTrue(json.load(results.extractfile("./seed/f16-default.json"))["cases"])
            self.assertIn("./forty.json", results.getnames())

    @unittest.skipUnless(CUDNN, "this build has no cudnn-frontend")
    def test_with_cudnn_the_refusal_is_shown(self):
        _, steps = self.check("--no-build", DD_LIB_DIR=f"{CUDNN}:{DRIVER}:{TOOLS}")
        self.expect(steps, "done", "seed", "seed-f64-cudnn")
        self.assertNotIn("backend-cudnn", steps)

    def test_calls_of_which_none_ran_show_nothing(self):
        code, steps = self.check("--no-build", DD_LIB_DIR=TOOLS)
        self.assertEqual(code, 1, self.steps)
        self.expect(steps, "not-done", "forty", "rules-agree", "benchmark", "seed-f64-cuda-flash", "backend-cuda-flash")
        self.expect(steps, "failed", "profile", "seed", "under-3-seconds")

    def test_an_attempt_that_fails_is_a_failure_whatever_the_exit_code(self):
        code, steps = self.check("--no-build", FORTY="illegal-once", DD_FAKE_ONCE=str(self.folder / "once"))
        self.assertEqual(code, 1, self.steps)
        self.expect(steps, "failed", "forty")
        self.assertRegex(steps["forty"][1], r"^1 attempts .*on [a-z-]+: failed: .*see forty.log$")


    def test_what_was_found_before_the_time_was_up_counts(self):
        lines = "sdpa --q 1x1x8x32 --dtype f16\n" * 2 + "sdpa --q 1x8x512x64 --dtype f16\n" * 40
        self.env["SPECS"] = str(self.put("specs.txt", lines))
        _, steps = self.check("--no-build", "--seconds", "20", ONLY_RUN="1", FORTY="illegal-once", DD_FAKE_ONCE=str(self.folder / "once"))
        self.expect(steps, "not-done", "forty", "rules-agree", "benchmark")
        self.expect(steps, "failed", "forty-so-far")


class Around(Script):
    def setUp(self):
        super().setUp()
        self.put("pack/bin/dispatchdoctor", EMPTY)

    def test_each_tag_is_a_process_of_its_own_and_the_sanitizer_may_refuse(self):
        self.put("pack/bin/dd_test_gpu", GPU)
        self.put("tools/compute-sanitizer", SANITIZER)
        stale = self.put("out/forty.md", "of another run")
        code, steps = self.check("--no-build")
        self.assertEqual(code, 1)
        self.assertEqual((self.folder / "tags").read_text(encoding="utf-8").split(), [f"[{t}]" for t in TAGS])
        self.expect(steps, "failed", "ctest-device", "racecheck")
        self.expect(steps, "not-done", "ctest-recorded", "ctest-timed", "memcheck")
        self.expect(steps, "done", "ctest-own-kernels", "ctest-all-backends", "ctest-captured", "ctest-faults", "ctest-seed")
        self.assertIn("not permitted", steps["ctest-recorded"][1])
        self.assertIn("Device not supported", steps["memcheck"][1])
        self.assertFalse(stale.exists())

    def test_a_program_that_hangs_costs_the_time_that_it_was_given(self):
        self.put("pack/bin/dispatchdoctor", "#!/bin/sh\n[ \"$1\" = --version ] || exec sleep 100\n")
        code, steps = self.check("--no-build", "--seconds", "9")
        self.assertEqual(code, 3, self.steps)
        self.assertIn("not finished within", steps["environment"][1])
        self.expect(steps, "not-done", "environment", "backends", "profile", "seed", "under-3-seconds", "ctest", "forty", "benchmark")

    def test_the_wheels_of_the_interpreter_on_the_path_are_used(self):
        python = self.folder / "env/bin/python3"
        python.parent.mkdir(parents=True)
        python.symlink_to(sys.executable)
        path = f"{python.parent}:{self.env['PATH']}"
        self.check("--no-build", PATH=path)
        self.assertNotEqual((self.folder / "seen").read_text(encoding="utf-8").strip(), str(python))
        (self.folder / "env/lib/python3.9/site-packages/nvidia/cudnn/lib").mkdir(parents=True)
        self.check("--no-build", PATH=path)
        self.assertEqual((self.folder / "seen").read_text(encoding="utf-8").strip(), str(python))
        self.assertIn(f"the NVIDIA wheels of {python}", self.steps)
        self.check("--no-build", PATH=path, DD_PYTHON="/elsewhere/python3")
        self.assertEqual((self.folder / "seen").read_text(encoding="utf-8").strip(), "/elsewhere/python3")

    def test_a_build_without_cudnn_gives_way_to_the_program_carried_along(self):
        self.put("tools/cmake", "#!/bin/sh\necho \"$*\" >>\"$SEEN_TAGS\"\necho '-- cuDNN can be asked: OFF (frontend: no, cuDNN headers: DD_CUDNN_INCLUDE-NOTFOUND)'\n")
        self.put("tools/nvcc", "#!/bin/sh\n")
        self.put("pack/cudnn-include/cudnn.h", "")
        _, steps = self.check()
        self.expect(steps, "not-done", "cudnn-support", "build")
        self.assertIn("DD_CUDNN_INCLUDE-NOTFOUND", steps["cudnn-support"][1])
        asked = (self.folder / "tags").read_text(encoding="utf-8")
        self.assertNotIn("--build", asked)
        self.assertIn(f"-DDD_CUDNN_INCLUDE={self.pack}/cudnn-include", asked)
        self.expect(steps, "done", "backends")
        # A program that lacks it as well is no better: then the build is worth its time.
        self.put("pack/bin/dispatchdoctor", "#!/bin/sh\necho 'this build was configured without the headers of cudnn-frontend and cuDNN'\n")
        _, steps = self.check()
        self.assertIn("--build", (self.folder / "tags").read_text(encoding="utf-8"))
        self.expect(steps, "not-done", "cudnn-support")
        self.expect(steps, "done", "build")

    def test_nothing_foreign_is_deleted(self):
        kept = self.put("work/thesis.txt", "x")
        self.assertEqual(self.run_script("--no-build").returncode, 2)
        self.assertTrue(kept.exists())
        packed = self.run_script("--pack", DD_GPU_PACK=str(self.work))
        self.assertEqual(packed.returncode, 2, packed.stdout)
        self.assertTrue(kept.exists())

    def test_without_a_gpu_nothing_is_run(self):
        if any(pathlib.Path("/dev").glob("nvidia[0-9]*")) or os.path.exists("/dev/dxg"):
            self.skipTest("there is a GPU here")
        self.put("tools/nvidia-smi", "#!/bin/sh\necho 'No devices were found'\n")
        done = self.run_script("--out", str(self.out))
        self.assertEqual(done.returncode, 77)
        self.assertIn("nothing was run", done.stderr)
        self.assertFalse(self.out.exists() or self.work.exists())


class Pack(Script):
    def test_the_headers_that_the_build_uses_are_carried(self):
        if not shutil.which("dpkg-query"):
            self.skipTest("packages are not dpkg's here")
        for name in ("cudnn.h", "cudnn_graph.h", "other.h"):
            self.put(f"headers/{name}", "")
        self.put("frontend/cudnn_frontend.h", "")
        self.put("frontend/cudnn_frontend/part.h", "")
        self.put("build/app/dispatchdoctor", EMPTY)
        self.put("build/CMakeCache.txt", f"DD_CUDNN_INCLUDE:PATH={self.folder}/headers\nDD_CUDNN_FRONTEND:PATH={self.folder}/frontend\n")
        done = self.run_script("--pack")
        if done.returncode == 1 and "is not installed here" in done.stderr:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(self.pack / "cudnn-include")), ["cudnn.h", "cudnn_graph.h"])
        self.assertTrue((self.pack / "cudnn-frontend/include/cudnn_frontend/part.h").exists())
        self.assertTrue((self.pack / "bin/dispatchdoctor").exists())
        self.assertIn("dd_test_gpu is not built", done.stderr)

    def find_headers(self, *words, **env):
        listing = self.put("list.cmake", 'include("${SOURCE}/scripts/cmake/CudnnHeaders.cmake")\nmessage("${DD_CUDNN_INCLUDE}|${DD_CUDA_RUNTIME_INCLUDE}|${DD_CUDNN_HEADERS}")\n')
        done = subprocess.run([CMAKE, *words, "-DDD_PYTHON3=/nowhere/bin/python3", f"-DSOURCE={SOURCE}", "-P", str(listing)], capture_output=True, text=True, timeout=60, env={**self.env, **env})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.strip().split("|")

    def test_the_two_headers_of_nvidia_may_be_in_two_folders(self):
        toolkit, cudnn = self.folder / "toolkit", self.folder / "cudnn"
        self.put("toolkit/include/cuda_runtime_api.h", "")
        self.put("cudnn/include/cudnn.h", "")
        found = self.find_headers(CUDA_HOME=str(toolkit), CUDA_PATH=str(cudnn))
        self.assertEqual(found, [f"{cudnn}/include", f"{toolkit}/include", f"{cudnn}/include;{toolkit}/include"])
        self.put("toolkit/include/cudnn.h", "")
        found = self.find_headers(CUDA_HOME=str(toolkit), CUDA_PATH=str(cudnn))
        self.assertEqual(found, [f"{toolkit}/include"] * 3)

    def test_without_a_toolkit_the_wheels_headers_are_found(self):
        nvidia = "env/lib/python3.9/site-packages/nvidia"
        here = self.folder / nvidia
        env = {"DD_PYTHON": str(self.put("env/bin/python3", "")), "CUDA_HOME": "", "CUDA_PATH": ""}
        hide = "-DCMAKE_IGNORE_PATH=/usr/local/cuda/include;/usr/local/include;/usr/include"
        self.put(f"{nvidia}/cu13/include/cuda_runtime_api.h", "")
        self.put(f"{nvidia}/cudnn/include/cudnn.h", "")
        self.assertIn("NOTFOUND", self.find_headers(hide, **env)[0])  # older than cuDNN 9
        self.put(f"{nvidia}/cudnn/include/cudnn_graph.h", "")
        self.assertEqual(self.find_headers(hide, **env)[:2], [f"{here}/cudnn/include", f"{here}/cu13/include"])


@unittest.skipUnless(os.path.exists(GPU_TESTS), "dd_test_gpu is not built")
class ExitCode(unittest.TestCase):
    def code(self, tag):
        return subprocess.run([GPU_TESTS, tag], capture_output=True, text=True, timeout=60, env={**os.environ, "DD_LIB_DIR": tempfile.gettempdir()})

    def test_a_skip_is_77_and_hides_no_failure(self):
        self.assertEqual(self.code("[.skip-alone]").returncode, 77)
        failing = self.code("[.skip-and-failure]")
        self.assertIn("SKIPPED: ", failing.stdout)
        self.assertNotIn(failing.returncode, (0, 77))
        self.assertEqual(self.code("[own-kernels]").returncode, 77)


if __name__ == "__main__":
    unittest.main()
