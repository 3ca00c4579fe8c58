"""The torch worker: runs attempts of dispatchdoctor in the user's own PyTorch.

Speaks the line protocol of lib/session/README.md on its standard streams. Needs torch 2.1 or newer and nothing else.
Run as `python <this folder>`. A torch that is missing, too old or broken is reported in every answer, never a crash.
"""
import json
import os
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


def import_torch():
    """(module or None, problem or None, version or None)."""
    # Compiled code of one attempt must not serve another: its key does not hold the switches of attention.
    os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
    try:
        import torch
    except ModuleNotFoundError as e:
        # A package that torch needs can be missing too; then torch is there and its import fails.
        code = "torch-missing" if e.name == "torch" else "torch-broken"
        return None, {"code": code, "text": str(e), "source": sys.executable}, None
    except BaseException as e:  # a broken build can raise anything here
        return None, {"code": "torch-broken", "text": f"{type(e).__name__}: {e}"[:2000], "source": sys.executable}, None
    version = str(getattr(torch, "__version__", ""))
    parts = tuple(int(p) for p in version.split("+")[0].split(".")[:2] if p.isdigit())
    if len(parts) < 2:
        return None, {"code": "torch-broken", "text": f"the module at {getattr(torch, '__path__', '?')} is no PyTorch", "source": sys.executable}, None
    if parts < (2, 1):
        return None, {"code": "torch-too-old", "text": f"torch {version}, 2.1 or newer is needed", "source": sys.executable}, version
    return torch, None, version


def versions_of(torch):
    out = {"python": sys.version.split()[0]}
    if torch is None:
        return out
    out["torch"] = torch.__version__
    if torch.version.cuda:
        out["torch.cuda"] = torch.version.cuda
    if getattr(torch.version, "hip", None):
        out["torch.hip"] = torch.version.hip
    try:
        if torch.backends.cudnn.is_available() and torch.backends.cudnn.version():
            out["torch.cudnn"] = str(torch.backends.cudnn.version())
    except Exception:  # the query may need a driver
        pass
    out["torch.cuda_available"] = str(torch.cuda.is_available()).lower()
    if torch.cuda.is_available():
        major, minor = torch.cuda.get_device_capability(0)
        out["torch.device"] = torch.cuda.get_device_name(0)
        out["torch.compute_capability"] = f"{major}.{minor}"
    try:
        from importlib import metadata
        for name in ("torchao", "triton"):
            try:
                out[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                pass
    except ImportError:
        pass
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
