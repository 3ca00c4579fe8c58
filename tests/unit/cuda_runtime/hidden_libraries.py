#!/usr/bin/env python3
"""Hides one NVIDIA library at a time behind --lib-dir (DD_LIB_DIR) and reads the findings. Exit 77: no libraries here."""
import ctypes.util
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
# library as the tool names it, pattern of its file, finding when it is not there
LIBRARIES = [
    ("cublas", "libcublas.so.[0-9]*", "ENV023"),
    ("cublaslt", "libcublasLt.so.[0-9]*", "ENV024"),
    ("cudnn", "libcudnn.so.[0-9]*", "ENV025"),
    ("cupti", "libcupti.so.[0-9]*", "ENV027"),
    ("nvrtc", "libnvrtc.so.[0-9]*", "ENV028"),
]


def run(folder=None):
    env = {k: v for k, v in os.environ.items() if k not in ("DD_LIB_DIR", "DD_PYTHON")}
    if folder:
        env["DD_LIB_DIR"] = folder
    done = subprocess.run([PROGRAM], capture_output=True, text=True, env=env, timeout=120)
    assert done.returncode == 0, (done.returncode, done.stderr)
    out = json.loads(done.stdout)
    return {lib["name"]: lib for lib in out["libraries"]}, {f["id"]: f for f in out["findings"]}


def major_file(folder, pattern):
    names = [n for n in glob.glob(os.path.join(folder, pattern)) if os.path.basename(n).count(".") == 2]
    return max(names, default=None)


def main():
    libraries, findings = run()
    print("here:", {n: lib.get("version", lib.get("error", "")[:40]) for n, lib in libraries.items()}, sorted(findings))
    folders = {os.path.dirname(lib["path"]) for n, lib in libraries.items() if n != "driver" and lib["available"]}
    folder = next((f for f in folders if all(major_file(f, p) for _, p, _ in LIBRARIES)), None)
    if folder is None:
        print("no folder with all NVIDIA libraries here: skipped")
        return 77
    for name, _, finding in LIBRARIES:
        assert libraries[name]["version"], libraries[name]
        assert finding not in findings
    for hidden, _, wanted in LIBRARIES:
        with tempfile.TemporaryDirectory() as scratch:
            for name, pattern, _ in LIBRARIES:
                if name != hidden:
                    path = major_file(folder, pattern)
                    os.symlink(path, os.path.join(scratch, os.path.basename(path)))
            libraries, findings = run(scratch)
            assert not libraries[hidden]["available"] and libraries[hidden]["error"], libraries[hidden]
            assert findings[wanted]["status"] == "unmet" and findings[wanted]["fix"], findings
            for name, _, other in LIBRARIES:
                if name != hidden:
                    assert libraries[name]["available"], (hidden, libraries[name])
                    assert other not in findings, (hidden, other)
            assert findings["ENV020"]["status"] == "unmet"  # no driver in that folder
            print(f"{hidden} hidden: {wanted} {findings[wanted]['seen'][:90]}")
    # A file that is cut short ends the process that loads it: a finding, and the rest goes on.
    for name, pattern, wanted in [*LIBRARIES, ("cudnn part", "libcudnn_ops.so.[0-9]*", "ENV026")]:
        with tempfile.TemporaryDirectory() as scratch:
            for path in glob.glob(os.path.join(folder, "lib*.so.*")):
                if os.path.basename(path).count(".") == 2:
                    os.symlink(path, os.path.join(scratch, os.path.basename(path)))
            whole = major_file(folder, pattern)
            if whole is None:
                print(f"no {name} to cut short here")
                continue
            cut = os.path.join(scratch, os.path.basename(whole))
            os.unlink(cut)
            with open(whole, "rb") as source, open(cut, "wb") as target:
                target.write(source.read(os.path.getsize(whole) // 3 if os.path.getsize(whole) < 60 << 20 else 20 << 20))
            libraries, findings = run(scratch)
            assert findings[wanted]["status"] == "unmet", (name, findings)
            if name in libraries:
                assert not libraries[name]["available"] and libraries[name]["error"], libraries[name]
            print(f"{name} cut short: {wanted} {findings[wanted]['seen'][:120]}")
    stub = os.path.join(os.path.dirname(folder + "/"), "stubs")
    stub = stub if os.path.exists(os.path.join(stub, "libcuda.so")) else None
    if stub:
        with tempfile.TemporaryDirectory() as scratch:
            shutil.copy(os.path.join(stub, "libcuda.so"), os.path.join(scratch, "libcuda.so.1"))  # known by its answers, not by its folder
            libraries, findings = run(scratch)
            assert libraries["driver"].get("stub"), libraries["driver"]
            assert findings["ENV020"]["status"] == "unmet"
            print("the toolkit's stand-in is not taken for a driver:", findings["ENV020"]["seen"][:90])
    return 0


sys.exit(main())
