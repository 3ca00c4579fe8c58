"""Records every attention and matrix-product call of a PyTorch program as spec lines for `dispatchdoctor run`.

Two ways in: `dispatchdoctor record -- python train.py`, or `import dispatchdoctor_record` as the first import with
DISPATCHDOCTOR_RECORD naming the output file. Shapes, strides, offsets, types and switches are written; of the data only the class of a
mask, of the environment nothing. Equal calls are folded into one line with a count and up to four call sites.
Calls inside torch.compile are taken from the captured graphs: they are marked compiled and their count is that of compilations.
"""
import atexit
import os
import sys

import dispatchdoctor_record_calls as calls
import dispatchdoctor_record_store as store
import dispatchdoctor_record_written as written

_state = {"torch": None}


class _Finder:
    """Patches torch right after the program's own import of it, whenever that comes."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        import importlib.util
        spec = importlib.util.find_spec("torch")
        if spec is None or spec.loader is None:
            return None
        loader = spec.loader
        execute = loader.exec_module

        def exec_module(module):
            execute(module)
            start(module)

        loader.exec_module = exec_module
        return spec


def start(torch):
    if _state["torch"] is None:
        _state["torch"] = torch
        store.open_for(torch)
        calls.patch(torch)
        atexit.register(finish)


def finish():
    written.now.scores = None  # tensors must not outlive the torch that they belong to
    store.write()


if os.environ.get("DISPATCHDOCTOR_RECORD"):
    if "torch" in sys.modules:
        start(sys.modules["torch"])
    else:
        sys.meta_path.insert(0, _Finder())
