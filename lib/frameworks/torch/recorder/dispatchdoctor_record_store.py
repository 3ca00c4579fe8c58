"""What a recording holds: the calls found, where they were made, and the lines written at the end."""
import json
import os
import sys
import threading

import dispatchdoctor_record_specs as specs

MOST_LINES = 20000
MOST_SITES = 4
OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
PLACES = ("site-packages", "dist-packages")
_lock = threading.Lock()
_found = {}  # cheap key of a call -> [spec, count, {site: count}]
skipped = {"of an unsupported type or device": 0, "past the limit of lines": 0, "not understood": 0, "in torch.compile with its own settings": 0,
           "in the C++ path of MultiheadAttention and TransformerEncoderLayer": 0}
_state = {"root": os.sep, "done": False}  # root: the folder of torch's own files
inside = threading.local()
_kinds = {}   # code object -> "torch", "package" or "program"


def open_for(torch):
    _state["root"] = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep


def _kind_of(code):
    kind = _kinds.get(code)
    if kind is None:
        name = code.co_filename
        if name in ("<string>", "<stdin>"):
            kind = "program"
        elif os.path.abspath(name).startswith(OWN) or name.startswith("<") or name.startswith(_state["root"]):
            kind = "torch"
        else:
            kind = "package" if any(os.sep + p + os.sep in name for p in PLACES) or name.startswith(sys.base_prefix + os.sep + "lib") else "program"
        _kinds[code] = kind
    return kind


def frames():
    """(code, line) of the nearest frame outside torch, of the module behind it where that is a helper's file, and of the nearest frame
    in the program itself; each may be missing."""
    frame = sys._getframe(2)
    near = module = own = None
    while frame is not None:
        code = frame.f_code
        kind = _kind_of(code)
        if kind == "program":
            own = (code, frame.f_lineno)
            break
        if kind != "torch":
            if near is None:
                near = (code, frame.f_lineno)
            elif module is None and code.co_name == "forward" and code.co_filename != near[0].co_filename:
                module = (code, frame.f_lineno)
        frame = frame.f_back
    return near, module, own


def _site(at):
    """file:line, and for a call inside a package where the program entered it."""
    places = [f"{os.path.basename(code.co_filename)}:{line}" for code, line in filter(None, at)]
    return " from ".join(places) or "?"


def keep(key, frames, make):
    """Counts a call; its spec is made at its first. Returns what take_back() takes, None where nothing was kept."""
    with _lock:
        entry = _found.get(key)
        if entry is None:
            if len(_found) >= MOST_LINES:
                skipped["past the limit of lines"] += 1
                return None
            entry = _found[key] = [make(), 0, {}]
        entry[1] += 1
        if frames in entry[2] or len(entry[2]) < MOST_SITES:
            entry[2][frames] = entry[2].get(frames, 0) + 1
        return entry, frames


def take_back(kept):
    """One call less: it turned out to be part of another."""
    entry, frames = kept
    with _lock:
        entry[1] -= 1
        left = entry[2].get(frames, 0) - 1
        if left > 0:
            entry[2][frames] = left
        else:
            entry[2].pop(frames, None)


def guard(function):
    """A recorder that fails must not fail the program."""
    def wrapped(*args, **kwargs):
        if getattr(inside, "on", False):
            return None
        inside.on = True
        try:
            return function(*args, **kwargs)
        except specs.Unsupported:
            skipped["of an unsupported type or device"] += 1
        except Exception:
            skipped["not understood"] += 1
        finally:
            inside.on = False
        return None
    return wrapped


def write():
    path = os.environ.get("DISPATCHDOCTOR_RECORD")
    if not path or _state["done"]:
        return
    _state["done"] = True
    rows = {}
    with _lock:
        for spec, count, sites in _found.values():
            if count == 0:
                continue
            # Keys are finer than specs (which data a pointer belongs to): what reads the same is one line.
            row = rows.setdefault(json.dumps(spec, sort_keys=True), [0, []])
            row[0] += count
            row[1] += [s for s in (at if isinstance(at, str) else _site(at) for at in sites) if s not in row[1]]
    lines = []
    for key, (count, sites) in sorted(rows.items(), key=lambda r: -r[1][0]):
        spec = json.loads(key)
        spec["extra"] = {**spec.get("extra", {}), "count": count, "call_site": ", ".join(sites[:MOST_SITES])}
        lines.append(json.dumps(spec) + "\n")
    # Further processes of the program add to the same file; one write each, so that lines stay whole.
    with open(path, "a", encoding="utf-8") as f:
        f.write("".join(lines))
    calls = sum(count for count, _ in rows.values())
    left = ", ".join(f"{n} {why}" for why, n in skipped.items() if n)
    print(f"dispatchdoctor record: {calls} calls in {len(rows)} specs -> {path}{'; left out: ' + left if left else ''}", file=sys.stderr)


