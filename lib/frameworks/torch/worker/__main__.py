"""The torch worker: runs attempts of dispatchdoctor in the user's own PyTorch.

Speaks the line protocol of lib/session/README.md on its standard streams. Needs torch 2.1 or newer and nothing else.
Run as `python <this folder>`. A torch that is missing, too old or broken is reported in every answer, never a crash.
"""
import json
import os
import re
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_LINE = 4 << 20


def send(out, message):
    line = json.dumps(message, allow_nan=False, default=str)
    if len(line) > MOST_LINE:
        message["evidence"] = {"notes": ["evidence left out: the message would pass 4 MiB"]}
        line = json.dumps(message, allow_nan=False, default=str)
    out.write(("\n" + line + "\n").encode())
    out.flush()


def problem_of(code, text):
    return {"code": code, "text": str(text)[:2000], "source": sys.executable}


def import_torch():
    """(module or None, problem or None, version or None)."""
    # Compiled code of one attempt must not serve another: its key does not hold the switches of attention.
    os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
    try:
        import torch
    except ModuleNotFoundError as e:
        # A package that torch needs can be missing too; then torch is there and its import fails.
        return None, problem_of("torch-missing" if e.name == "torch" else "torch-broken", e), None
    except BaseException as e:  # a broken build can raise anything here
        return None, problem_of("torch-broken", f"{type(e).__name__}: {e}"), None
    version = str(getattr(torch, "__version__", ""))
    found = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", version)
    if not found:
        where = list(getattr(torch, "__path__", [])) or getattr(torch, "__file__", "?")
        said = f"its version is {version[:80]!r}" if version else "it has no version"
        return None, problem_of("torch-broken", f"the module at {where} is no PyTorch: {said}"), None
    if tuple(map(int, found.groups())) < (2, 1):
        return None, problem_of("torch-too-old", f"torch {version[:80]}, 2.1 or newer is needed"), version
    lacking = [name for name in ("version", "backends", "nn", "as_strided", "frombuffer", "profiler") if not hasattr(torch, name)]
    if lacking:
        return None, problem_of("torch-broken", f"the module calls itself torch {version[:80]} and has no {', '.join(lacking)}"), None
    return torch, None, version


def versions_of(torch):
    out = {"python": sys.version.split()[0]}
    if torch is None:
        return out

    def put(name, ask):
        try:  # each query alone: some need a driver, and a patched torch may lack any of them
            value = ask()
        except Exception:
            return
        if value not in (None, "", 0):
            out[name] = str(value).lower() if isinstance(value, bool) else str(value)

    put("torch", lambda: torch.__version__)
    put("torch.cuda", lambda: torch.version.cuda)
    put("torch.hip", lambda: torch.version.hip)
    put("torch.cudnn", lambda: torch.backends.cudnn.is_available() and torch.backends.cudnn.version())
    put("torch.cuda_available", lambda: bool(torch.cuda.is_available()))
    if out.get("torch.cuda_available") == "true":
        put("torch.device", lambda: torch.cuda.get_device_name(0))
        put("torch.compute_capability", lambda: "{}.{}".format(*torch.cuda.get_device_capability(0)))
    out.setdefault("torch.cuda_available", "false")
    try:
        from importlib import metadata
    except ImportError:
        return out
    for name in ("torchao", "triton", "transformers"):
        put(name, lambda: metadata.version(name))
    return out


def answer(torch, problem, job):
    done = {"dd": "done", "id": job.get("id"), "outcome": "failed"}
    if torch is None:
        done.update(outcome="unavailable", error=problem)
        return done
    import attempt
    start = time.perf_counter()
    try:
        done.update(attempt.run(torch, job))
    except MemoryError as e:
        done.update(outcome="out-of-memory", error={"code": "MemoryError", "text": str(e), "source": "python"})
    except Exception as e:
        if type(e).__name__ == "OutOfMemoryError":
            done.update(outcome="out-of-memory", error={"code": "OutOfMemoryError", "text": str(e)[:2000], "source": "torch"})
        else:
            where = traceback.extract_tb(e.__traceback__)[-1]
            done.update(outcome="failed", error={"code": type(e).__name__, "text": str(e)[:4000],
                                                "source": f"{os.path.basename(where.filename)}:{where.lineno}"})
    done.setdefault("seconds", time.perf_counter() - start)
    return done


def main():
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints cannot mix with the answers
    sys.path.insert(0, HERE)
    torch, problem, version = import_torch()
    hello = {"dd": "hello", "protocol": 1, "worker": "torch", "versions": versions_of(torch)}
    if version:
        hello["versions"]["torch"] = version
    if problem:
        hello["problem"] = problem
    send(out, hello)
    for line in sys.stdin.buffer:
        try:
            job = json.loads(line)
        except ValueError:
            continue
        if not isinstance(job, dict) or job.get("dd") != "job":
            continue
        send(out, {"dd": "started", "id": job.get("id")})
        send(out, answer(torch, problem, job))


if __name__ == "__main__":
    main()
