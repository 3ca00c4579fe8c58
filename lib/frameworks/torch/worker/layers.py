"""Quantized layers of torchao, made from the very codes and scales of a spec, so that what torchao runs can be compared with the reference.

torchao usually quantizes a model itself; its tensor classes also take codes that are there already. LookupError says what is not there:
no torchao, one that this torch cannot import, one without the class, or a scheme that the class does not hold.
"""
import importlib
import logging

import quantized

# Where each class was found, newest first (0.18.0, and where it stood before).
HOMES = {"Int4TilePackedTo4dTensor": ("torchao.quantization", "torchao.quantization.quantize_.workflows"),
         "Int4OpaqueTensor": ("torchao.prototype.quantization.int4.int4_opaque_tensor", "torchao.quantization.quantize_.workflows", "torchao.quantization"),
         "Int8Tensor": ("torchao.quantization.quantize_.workflows", "torchao.quantization"),
         "QuantizeTensorToInt8Kwargs": ("torchao.quantization.quantize_.workflows",),
         "Float8Tensor": ("torchao.quantization.quantize_.workflows", "torchao.quantization"),
         "Float8MMConfig": ("torchao.float8.inference", "torchao.quantization")}


class Misfit(LookupError):
    """This torchao and this torch do not go together."""
    code = "torchao-does-not-fit"


def version():
    try:
        from importlib import metadata
        return metadata.version("torchao")
    except Exception:
        return "?"


def find(torch, name):
    logging.disable(logging.WARNING)  # its import warns of its own affairs
    try:
        return _find(torch, name)
    finally:
        logging.disable(logging.NOTSET)


def _find(torch, name):
    try:
        importlib.import_module("torchao")
    except ModuleNotFoundError as e:
        if e.name == "torchao":
            raise LookupError("torchao is not installed in this environment") from None
        raise Misfit(f"torchao {version()} cannot be imported beside torch {torch.__version__}: {e}") from None
    except Exception as e:
        raise Misfit(f"torchao {version()} cannot be imported beside torch {torch.__version__}: {type(e).__name__}: {str(e)[:500]}") from None
    trouble = ""
    for home in HOMES[name]:
        try:
            return getattr(importlib.import_module(home), name)
        except Exception as e:  # a moved module, or one that needs another torch
            trouble = trouble or f"{type(e).__name__}: {str(e)[:300]}"
    raise Misfit(f"torchao {version()} has no {name} for torch {torch.__version__} ({trouble})")


def layer(torch, backend, tensors, spec, kind):
    """(text, product): a linear layer whose weight is torchao's, with the spec's own numbers in it."""
    w = tensors["w"]
    if not hasattr(w, "dd_shape") and w.dim() != 2:
        raise LookupError("torchao's linear layer has a weight of two axes")
    make = {"torchao-int4": _int4, "torchao-int8": _int8, "torchao-float8": _float8}.get(backend)
    if make is None:
        raise LookupError(f"this worker has no {backend}")
    what, x, weight = make(torch, tensors, spec, kind)
    linear = torch.nn.functional.linear
    return f"torch.nn.functional.linear(x, {what})", lambda: linear(x, weight)


def _int4(torch, tensors, spec, kind):
    cpu = tensors["x"].device.type == "cpu"
    name = "Int4OpaqueTensor" if cpu else "Int4TilePackedTo4dTensor"
    made = find(torch, name)
    x, packed, group, both, shape = quantized.tiny_operands(torch, tensors, spec)
    if not cpu and shape[1] % 1024:
        raise LookupError("torchao's packed tiles want a K that is a multiple of 1024 (it pads the weight before it quantizes)")
    return name, x, made(packed, both, [1, group], torch.Size(shape))


def _int8(torch, tensors, spec, kind):
    made = find(torch, "Int8Tensor")
    if "zeros" in tensors:
        raise LookupError("Int8Tensor multiplies signed codes without zero points")
    codes = quantized.codes_of(torch, tensors, spec)
    if codes.numel() and codes.max() > 127:
        raise LookupError("Int8Tensor takes signed codes, these are unsigned")
    k, n = codes.shape
    scales = tensors["scales"].to(torch.float32)
    group = k // scales.shape[0] if scales.shape[0] else k
    weight, scale = codes.t().contiguous().to(torch.int8), scales.expand(-1, n).t().contiguous()
    x = tensors["x"]
    if "x_scales" not in tensors:
        return "Int8Tensor", x, made(weight, scale, [1, group], x.dtype)
    if scales.shape[0] != 1:
        raise LookupError(f"Int8Tensor with 8-bit activations takes one scale a column, this weight has {scales.shape[0]} groups")
    given = find(torch, "QuantizeTensorToInt8Kwargs")(importlib.import_module("torchao.quantization").PerRow())
    rows = tensors["x_scales"].reshape(-1, 1).to(torch.float32)
    # It takes numbers and quantizes them with the scales that it is given: the codes come back exactly.
    numbers = x.to(torch.float32) * rows
    return "Int8Tensor with 8-bit activations", numbers, made(weight, scale, [1, k], torch.float32, act_quant_scale=rows, act_quant_kwargs=given)


def _float8(torch, tensors, spec, kind):
    made, config = find(torch, "Float8Tensor"), find(torch, "Float8MMConfig")
    x, w = tensors["x"], tensors["w"]
    if "x_scales" not in tensors or not w.is_floating_point():
        raise LookupError("Float8Tensor takes f8 on both sides")
    scales = quantized.one_scale_a_column(tensors, w.shape[-1], "Float8Tensor").to(torch.float32)
    rows = tensors["x_scales"].reshape(-1, 1).to(torch.float32).contiguous()
    out = kind if kind.itemsize > 1 else torch.bfloat16
    make = lambda data, scale: made(data, scale, [1, data.shape[1]], mm_config=config(use_fast_accum=False), dtype=out)
    return "Float8Tensor", make(x, rows), make(w.t().contiguous(), scales.t().contiguous())
