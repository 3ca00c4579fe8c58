"""Where the tests find a real PyTorch: DD_PYTHON_TORCH (interpreters, separated by colons), else the environments under
${XDG_CACHE_HOME:-~/.cache}/dispatchdoctor/torch-*. Without one the tests are skipped, loudly."""
import glob
import json
import os
import subprocess
import sys

BINARY = os.environ.get("DD_BINARY", "")
SKIP = 77


def interpreters():
    given = os.environ.get("DD_PYTHON_TORCH")
    if given is not None:
        return [p for p in given.split(":") if p]
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return sorted(glob.glob(os.path.join(cache, "dispatchdoctor", "torch-*", "bin", "python")))


def has(python, module):
    """The module is in the interpreter's environment; nothing is imported, so that a broken one counts as there."""
    return subprocess.run([python, "-c", f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"], capture_output=True).returncode == 0


def with_torchao():
    """An interpreter that has torchao beside torch, or None: DD_PYTHON_TORCHAO, the layered environment of scripts/fetch_torch, or one of the others."""
    given = os.environ.get("DD_PYTHON_TORCHAO")
    if given is not None:
        return given or None
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    layered = sorted(glob.glob(os.path.join(cache, "dispatchdoctor", "torchao-*", "bin", "python")))
    return next((p for p in layered + interpreters() if has(p, "torchao") and has(p, "torch")), None)


def require_torch():
    found = interpreters()
    if not found:
        print("skipped: no torch (set DD_PYTHON_TORCH to an interpreter that has it)")
        sys.exit(SKIP)
    return found


def run(*words, env=None, text=None, timeout=3000):
    done = subprocess.run([BINARY, *words], input=text, capture_output=True, text=True, env={**os.environ, **(env or {})}, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def report(*words, env=None, text=None):
    code, out, err = run(*words, "--format", "json", env=env, text=text)
    try:
        return code, json.loads(out), err
    except ValueError:
        raise AssertionError(f"no report (exit {code}): {err[-2000:]}")


def skip_without_headers(test, attempt):
    if "Python.h" in (attempt.get("error") or {}).get("text", ""):
        test.skipTest("torch.compile builds nothing without Python's headers (python3-dev)")
