"""Attention that a program writes out: a product, a softmax over its last axis, and a product with what came of it. It is recorded as the
attention call that it could be (extra.hand_written), in place of the two products.

Between product and softmax the usual steps are followed: a scale, an added mask, masked_fill, where, tanh (a soft cap). A step is told by the
extents of its result; what happens to other tensors, or outside the two products, costs one look at a thread's variable.
Not seen: softmax spelled with exp, softmax over another axis, and a program that multiplies something else in between.
"""
import math
import sys
import threading

import dispatchdoctor_record_specs as specs
import dispatchdoctor_record_store as store

CLOSING = -100.0  # what is put in the place of a score that is to count nothing is below this


class _Now(threading.local):
    scores = None


now = _Now()


class Scores:
    """Of one product that may be the first of an attention; no memory of the program is held beyond its next product."""
    __slots__ = ("q", "k", "kept", "size", "last", "scale", "masks", "change", "dropout", "weights")

    def __init__(self, q, k, kept, scale=1.0, bias=None):
        self.q, self.k, self.kept = q, k, kept
        self.scale, self.change, self.dropout = scale, None, 0.0
        self.masks = [] if bias is None else [(bias, False)]
        self.size = self.last = self.weights = None


def _size(t):
    return (t.numel(), t.shape[-2], t.shape[-1]) if t.dim() >= 2 else None


def _weight(torch, t):
    """A weight of the program, or a view of one: a product with it is a layer."""
    base = t._base
    return isinstance(t, torch.nn.Parameter) or isinstance(base, torch.nn.Parameter)


def candidate(torch, x, w, kept, scale=1.0, bias=None):
    """Scores of a product of two tensors that both carry data; None of a layer."""
    if not 2 <= x.dim() <= 5 or x.dim() != w.dim() or not x.is_floating_point() or x.dtype != w.dtype:
        return None
    if x.dim() == 2 and (_weight(torch, x) or _weight(torch, w)):
        return None
    return Scores(x, w, kept, scale, bias)


def begin(scores, result):
    """The product is done: what follows may be an attention."""
    scores.size = _size(result)
    scores.last = id(result)
    now.scores = scores


def ends(x):
    """The scores whose softmax is the left operand of a product, or None; whatever was open is closed by any product."""
    scores, now.scores = now.scores, None
    return scores if scores is not None and scores.weights is not None and _size(x) == scores.size else None


def _heads(t, lead):
    """A tensor of three axes as the program sees it where it gives its softmax four: batch and heads apart. One of five has its heads in
    groups: k and v are there once a group."""
    if t.dim() == 5:
        return t.squeeze(2) if t.shape[2] == 1 else t.reshape(t.shape[0], -1, *t.shape[3:])
    if lead is None or t.dim() != 3:
        return t
    return t.reshape(*lead, *t.shape[-2:]) if t.shape[0] == lead[0] * lead[1] else t


def _asked_for_weights():
    """Inside torch's own attention module, which writes it out when its caller wants the weights."""
    frame, steps = sys._getframe(2), 0
    while frame is not None and steps < 10:
        if frame.f_code.co_name == "multi_head_attention_forward":
            return True
        frame, steps = frame.f_back, steps + 1
    return False


def _fits(scores, v):
    return scores.q.dim() == scores.k.dim() == v.dim() and scores.k.shape[-1] == v.shape[-2]


def _spec_of(torch, scores, v, classes, for_weights):
    """The spec of the attention call that it could be."""
    lead = scores.weights if len(scores.weights) == 2 else None
    q, k, v = (_heads(t, lead) for t in (scores.q, scores.k.transpose(-2, -1), v))
    usual = abs(scores.scale * math.sqrt(max(q.shape[-1], 1)) - 1) < 1e-3
    mask, content = specs.joined(torch, [(m, c) for (m, _), c in zip(scores.masks, classes)], q.dtype)
    spec = specs.sdpa_spec(torch, q, k, v, mask, scores.dropout, False, None if usual else scores.scale, q.dim() == 4 and q.shape[1] != k.shape[1], content)
    spec["extra"] = {"hand_written": True, **({"attention_weights": True} if for_weights else {}), **({"score_change": scores.change} if scores.change else {})}
    return spec


def in_graph(torch, scores, v):
    """The spec without a look at the data of its masks; None where the operands are of no attention."""
    return _spec_of(torch, scores, v, ["random"] * len(scores.masks), False) if _fits(scores, v) else None


def finish(torch, scores, v, frames):
    """Records the attention and takes back the product that began it; false where the operands are of no attention."""
    if not _fits(scores, v):
        return False
    classes = [specs.class_of(torch, m, closed) for m, closed in scores.masks]
    for_weights = _asked_for_weights()
    key = ("written", specs.key_of(scores.q), specs.key_of(scores.k), specs.key_of(v), scores.weights, scores.scale, scores.dropout, scores.change, for_weights,
           *(specs.key_of(m) for m, _ in scores.masks), *classes, specs.flags_key(torch, v.device.type))
    if store.keep(key, frames, lambda: _spec_of(torch, scores, v, classes, for_weights)) is not None:
        store.take_back(scores.kept)
    return True


def step(kind, args, kwargs, result):
    """What the program did to scores, or to their softmax."""
    scores = now.scores
    if scores is None or not hasattr(result, "dim") or _size(result) != scores.size:
        return
    if scores.weights is not None:
        if kind == "mul" and hasattr(args[1], "dim") and args[1].dim() > 0:
            scores.change = "head_mask"
        elif kind == "dropout" and kwargs.get("training", args[2] if len(args) > 2 else True):
            scores.dropout = float(kwargs.get("p", args[1] if len(args) > 1 else 0.5))
        return
    last, scores.last = scores.last, id(result)
    other = args[0] if len(args) > 1 and id(args[1]) == last else args[1] if len(args) > 1 else None
    if kind in ("add", "sub"):
        if hasattr(other, "dim") and other.dim() > 0 and other.shape[-1] == scores.size[2]:
            scores.masks.append((other, False))
    elif kind in ("mul", "div"):
        if hasattr(other, "dim") and other.numel() > 1:
            scores.change = "factors"
        elif not hasattr(other, "dim") or (other.device.type == "cpu" and not specs.traced(other)):
            scores.scale = scores.scale * float(other) if kind == "mul" else scores.scale / float(other)
    elif kind == "fill":
        value = kwargs.get("value", args[2] if len(args) > 2 else None)
        if hasattr(value, "dim") or value < CLOSING:
            scores.masks.append((kwargs.get("mask", other), True))
    elif kind == "where" and len(args) == 3:
        first = hasattr(args[1], "dim") and _size(args[1]) == scores.size
        scores.masks.append((args[0], not first))
    elif kind == "tanh":
        scores.change = "softcap"
    elif kind == "softmax":
        axis = kwargs.get("dim", args[1] if len(args) > 1 else None)
        if axis in (-1, result.dim() - 1):
            scores.weights = tuple(result.shape[:-2])
        else:
            now.scores = None


@store.guard
def _note(kind, args, kwargs, result):
    if not specs.traced(result):
        step(kind, args, kwargs, result)


# What may stand between the two products. Functions and methods of the same name do the same.
STEPS = {"add": ("__add__", "__iadd__", "add", "add_"), "sub": ("__sub__", "sub"), "mul": ("__mul__", "__rmul__", "__imul__", "mul", "mul_"),
         "div": ("__truediv__", "__itruediv__", "div", "div_"), "fill": ("masked_fill", "masked_fill_"), "tanh": ("tanh",), "softmax": ("softmax",)}
FUNCTIONS = {"add": ("add",), "mul": ("mul",), "div": ("div",), "fill": ("masked_fill",), "where": ("where",), "tanh": ("tanh",), "softmax": ("softmax",)}


def watch(torch, compiling, tell_script):
    """Puts a look around these steps; `compiling` says that a tracer runs the program's lines."""
    def around(holder, name, kind):
        original = getattr(holder, name)

        def two(self, other):
            if compiling() or now.scores is None:  # in this order: a tracer must not see our state
                return original(self, other)
            result = original(self, other)
            _note(kind, (self, other), {}, result)
            return result

        def many(*args, **kwargs):
            if compiling() or now.scores is None:  # in this order: a tracer must not see our state
                return original(*args, **kwargs)
            result = original(*args, **kwargs)
            _note(kind, args, kwargs, result)
            return result

        step = two if name.startswith("__") else many
        step.__name__, step.__doc__, step.__wrapped__ = getattr(original, "__name__", name), getattr(original, "__doc__", None), original
        setattr(holder, name, step)
        if holder is not torch.Tensor:
            tell_script(original, step)

    for kind, names in STEPS.items():
        for name in names:
            around(torch.Tensor, name, kind)
    for kind, names in FUNCTIONS.items():
        for name in names:
            around(torch, name, kind)
    around(torch.nn.functional, "dropout", "dropout")
