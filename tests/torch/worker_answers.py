#!/usr/bin/env python3
"""The worker's questions to torch, with a torch that is played: the CUDA queries need no GPU to be read right, and a query that is
missing or fails says nothing. Needs no torch."""
import os
import pathlib
import sys
import types
import unittest
import warnings

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(os.environ.get("DD_SOURCE_DIR") or pathlib.Path(__file__).parents[2]) / "lib" / "frameworks" / "torch" / "worker"))
import attempt  # noqa: E402
import attention  # noqa: E402


class Tensor:
    dtype = "float16"
    shape = (1, 8, 256, 64)

    def __init__(self, device):
        self.device = types.SimpleNamespace(type=device)


def played(device, flash, choice=1, old=False):
    """A torch whose flash answers as told; memory-efficient says yes; cuDNN's query does not exist."""
    def params(*fields):
        if old and len(fields) > 6:
            raise TypeError("takes 6 positional arguments but 7 were given")
        return fields

    def can_use_flash(given, debug):
        assert debug and len(given) == (6 if old else 7)
        if isinstance(flash, Exception):
            raise flash
        if not flash:
            warnings.warn("Flash Attention does not support non-null attn_mask. (Triggered internally at sdp_utils.cpp:1.)")
        return flash

    cuda = types.SimpleNamespace(SDPAParams=params, can_use_flash_attention=can_use_flash, can_use_efficient_attention=lambda given, debug: True)

    def ask(*args, **kwargs):
        if isinstance(choice, Exception):
            raise choice
        return choice

    torch = types.SimpleNamespace(backends=types.SimpleNamespace(cuda=cuda), _fused_sdp_choice=ask)
    return torch, {"q": Tensor(device), "k": Tensor(device), "v": Tensor(device)}


def rows(*args, **kwargs):
    return attention.answers(*played(*args, **kwargs), {"op": "sdpa"})


class Answers(unittest.TestCase):
    def test_no_with_the_reason(self):
        seen = {r["query"]: r for r in rows("cuda", False)}
        self.assertEqual(seen["can_use_flash_attention"]["answer"], "no")
        self.assertEqual(seen["can_use_flash_attention"]["text"], "Flash Attention does not support non-null attn_mask.")
        self.assertEqual(seen["can_use_flash_attention"]["backend"], "torch-flash")
        self.assertEqual(seen["can_use_efficient_attention"]["answer"], "yes")
        self.assertNotIn("can_use_cudnn_attention", seen)

    def test_choice_by_number_and_device(self):
        self.assertEqual(rows("cuda", True)[0], {"backend": "torch-flash", "query": "_fused_sdp_choice", "answer": "chosen", "text": ""})
        self.assertEqual(rows("cuda", True, choice=0)[0]["backend"], "torch-math")
        self.assertEqual(rows("cuda", True, choice=-1)[0]["backend"], "none")
        self.assertEqual([r["backend"] for r in rows("cpu", True)], ["torch-cpu-flash"])  # the others are CUDA's

    def test_older_parameters(self):
        self.assertEqual({r["query"]: r["answer"] for r in rows("cuda", True, old=True)}["can_use_flash_attention"], "yes")

    def test_what_fails_says_nothing(self):
        self.assertEqual([r["query"] for r in rows("cuda", RuntimeError("no driver"), choice=RuntimeError("dtype"))], ["can_use_efficient_attention"])
        torch, tensors = played("cuda", True)
        del torch._fused_sdp_choice
        torch.backends.cuda = types.SimpleNamespace()
        self.assertEqual(attention.answers(torch, tensors, {"op": "sdpa"}), [])


class Errors(unittest.TestCase):
    PAGE = "CppCompileError: C++ compile error\n\nCommand:\ng++ /tmp/x.cpp -Wall -std=c++20 -expected\n\nOutput:\n/tmp/x.cpp:63:10: {}\n   63 | #include <Python.h>\n"

    def test_a_compiler_that_fails_is_quoted_first(self):
        said = attempt.refused(RuntimeError(self.PAGE.format("fatal error: Python.h: No such file or directory")))
        self.assertEqual(said["outcome"], "failed")
        first = said["error"]["text"].splitlines()[0]
        self.assertIn("fatal error: Python.h: No such file", first)
        self.assertIn("python3-dev", first)
        self.assertIn("g++ /tmp/x.cpp", said["error"]["text"])
        self.assertNotIn("python3-dev", attempt.refused(RuntimeError(self.PAGE.format("error: expected ';'")))["error"]["text"])

    def test_an_operators_own_refusal_is_one(self):
        self.assertEqual(attempt.refused(RuntimeError("No available kernel. Aborting execution."))["outcome"], "refused")
        self.assertEqual(attempt.refused(RuntimeError("Segmentation of the moon"))["outcome"], "failed")


if __name__ == "__main__":
    unittest.main()
