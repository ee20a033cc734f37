"""Values of the program as records show them.

Everything is bounded: texts, containers, depth, the number of values, the time that the
program's own __repr__ may take. Numbers of a tensor are computed on at most SAMPLE elements
with Dynamo, gradients and every mode off; of a fake tensor nothing is ever computed.
"""

import contextlib
import struct
import sys
import threading
import time
import types

TEXT = 400  # characters
ITEMS = 50  # of a container
DEPTH = 4
VALUES = 3000  # of a stop
TENSORS = 200  # whose numbers are computed in a stop
SECONDS = 3.0  # after which no more numbers are
REPR = 0.5  # seconds for one __repr__ of the program
SAMPLE = 4 << 20  # elements
DEVICE_SAMPLE = 1 << 20

_SIMPLE = (bool, int, float, complex, str, bytes, type(None), type(...), range, slice)
_CODE = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type,
    types.CodeType, types.GeneratorType, types.CoroutineType,
)  # fmt: skip


def torch_module():
    """torch where the program has imported it to the end, else None."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "Tensor") and hasattr(torch, "no_grad") else None


def cut(text, most=TEXT):
    text = text.replace("\n", " ")
    return text if len(text) <= most else text[: most - 1] + "…"


def type_name(obj):
    kind = type(obj)
    module = getattr(kind, "__module__", "")
    name = getattr(kind, "__qualname__", kind.__name__)
    return name if module in ("builtins", "__main__", None, "") else "%s.%s" % (module, name)


# The program's own code, under a time limit.


class _TooLong(BaseException):
    """Raised in the thread whose __repr__ takes too long."""


@contextlib.contextmanager
def time_limit(seconds):
    """Raises _TooLong in this thread after so long, where it runs Python code then."""
    try:
        import ctypes

        raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    except (ImportError, AttributeError):  # no bound on this Python
        yield
        return
    lock, state = threading.Lock(), {"over": False, "fired": False}
    ident = ctypes.c_ulong(threading.get_ident())

    def expire():
        with lock:
            if not state["over"]:
                state["fired"] = True
                raise_in(ident, ctypes.py_object(_TooLong))

    timer = threading.Timer(seconds, expire)
    timer.daemon, timer.name = True, "tcdbg"
    timer.start()
    try:
        try:
            yield
        finally:
            timer.cancel()
            with lock:
                state["over"] = True
    except _TooLong:
        state["fired"] = False
        raise
    finally:
        # One that was not delivered yet must be: to withdraw it would leave Python 3.11, where
        # lines are traced, in a loop of its own.
        try:
            for _ in range(100 if state["fired"] else 0):
                time.sleep(0.001)
        except _TooLong:
            pass


def safe_repr(obj, most=TEXT):
    """What the program's __repr__ says, or why it says nothing: (text, unknown)."""
    try:
        with time_limit(REPR):
            return cut(repr(obj), most), ""
    except _TooLong:
        return "", "its __repr__ took more than %g s" % REPR
    except RecursionError:
        return "", "its __repr__ does not end"
    except Exception as e:
        return "", cut("its __repr__ raised %s" % type(e).__name__)


def simple_text(obj):
    if type(obj) is int and obj.bit_length() > 4096:
        return "an int of %d bits" % obj.bit_length()
    if isinstance(obj, (str, bytes)):
        text = repr(obj[: TEXT + 1])
        return cut(text if len(obj) <= TEXT else text + "…")
    return cut(repr(obj))


# Tensors.


def number(x, digits=9):
    """A float as the shortest text that gives the same float32."""
    x = float(x)
    try:
        want = struct.pack("f", x)
    except OverflowError:
        return "%.17g" % x
    for d in range(1, digits + 1):
        text = "%.*g" % (d, x)
        if struct.pack("f", float(text)) == want:
            return text
    return text


def _sizes(sizes):
    return [str(s) for s in sizes]


def is_fake(torch, t):
    fake = sys.modules.get("torch._subclasses.fake_tensor")
    return (fake is not None and isinstance(t, fake.FakeTensor)) or t.device.type == "meta"


@contextlib.contextmanager
def plain(torch):
    """No gradients, no modes, no compiling: operators do what they say and nothing more."""
    modes = getattr(sys.modules.get("torch.utils._python_dispatch"), "_disable_current_modes", None)
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.enter_context(torch._C.DisableTorchFunction())
        if modes:
            stack.enter_context(modes())
        yield


def described(torch, t):
    """What a tensor is, without a look at its elements."""
    out = {"dtype": str(t.dtype).replace("torch.", ""), "shape": [], "device": str(t.device)}
    with contextlib.suppress(Exception):
        out["shape"] = _sizes(t.shape)
    with contextlib.suppress(Exception):
        if t.layout == torch.strided:
            out["stride"] = _sizes(t.stride())
    if t.requires_grad:
        out["requires_grad"] = True
    return out


def _unreadable(torch, t):
    """Why the elements of a tensor are not looked at, "" where they can be."""
    if is_fake(torch, t):
        return "a fake tensor has no elements"
    if type(t) not in (torch.Tensor, torch.nn.Parameter) and type(t).__name__ != "Buffer":
        return "%s is a tensor subclass" % type_name(t)
    if t.layout != torch.strided or t.is_quantized or t.is_nested:
        return "its elements are not stored densely"
    functorch = getattr(torch._C, "_functorch", None)
    if functorch and functorch.peek_interpreter_stack() is not None:
        return "a functorch transform is running"
    if t.is_cuda and torch.cuda.is_current_stream_capturing():
        return "a CUDA graph is being recorded"
    if t.device.type not in ("cpu", "cuda", "xpu", "mps"):
        return "on device " + t.device.type
    return ""


def _first(t, most):
    """The first elements of t in the order of its shape, flat: at most so many."""
    while t.numel() > most:
        if t.dim() > 1 and t[0].numel() > most:
            t = t[0]
            continue
        t = t[: max(1, most // max(1, t.numel() // t.shape[0]))]
    return t.reshape(-1)


def numbers(torch, t, out):
    """Adds what is in a tensor."""
    t = t.detach()
    n = t.numel()
    most = SAMPLE if t.device.type == "cpu" else DEVICE_SAMPLE
    flat = _first(t, most) if n else t.reshape(-1)
    flat = flat.cpu()
    if n > flat.numel():
        out["sampled"] = flat.numel()
    first = flat[:8].tolist()
    if flat.dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64) or t.is_floating_point():
        digits = 17 if flat.dtype == torch.float64 else 9
        out["first"] = ["%.*g" % (digits, x) if digits == 17 else number(x) for x in first]
        if digits == 17:
            out["first"] = [repr(x) for x in first]
        flat = flat.double() if flat.dtype == torch.float64 else flat.float()
        nan, inf = torch.isnan(flat), torch.isinf(flat)
        if bool(nan.any()):
            out["nan"] = int(nan.sum())
        if bool(inf.any()):
            out["inf"] = int(inf.sum())
        if "nan" in out or "inf" in out:
            flat = flat[~(nan | inf)]
    elif t.is_complex():
        out["first"] = [cut(repr(x)) for x in first]
        nan = torch.isnan(torch.view_as_real(flat)).any(-1)
        if bool(nan.any()):
            out["nan"] = int(nan.sum())
        return
    else:
        out["first"] = [str(x) for x in first]
        flat = flat.double()
    if flat.numel() == 0:
        return
    low, high = float(flat.min()), float(flat.max())
    text = repr if flat.dtype == torch.float64 else number
    whole = not (t.is_floating_point() or t.is_complex())
    out["min"], out["max"] = (str(int(low)), str(int(high))) if whole else (text(low), text(high))
    out["mean"] = number(float(flat.double().mean()))
    out["histogram"] = _histogram(torch, flat, low, high)


def _histogram(torch, flat, low, high):
    counts = [0] * 16
    if low == high or high - low == float("inf"):
        if low == high:
            counts[0] = flat.numel()
            return counts
        return []
    return [int(c) for c in torch.histc(flat.double(), 16, low, high).tolist()]


class Values:
    """Makes the values of one stop. What could not be shown is said once in notes."""

    def __init__(self):
        self.notes = []
        self.left = VALUES
        self.tensors = TENSORS
        self.until = time.monotonic() + SECONDS

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def named(self, name, obj, arg=False, depth=DEPTH):
        out = {"name": str(name)}
        if arg:
            out["arg"] = True
        try:
            out.update(self.value(obj, depth))
        except Exception as e:
            out["unknown"] = cut("cannot be looked at: %s: %s" % (type(e).__name__, e))
        return out

    def value(self, obj, depth=DEPTH):
        self.left -= 1
        out = {"type": type_name(obj)}
        torch = torch_module()
        if type(obj) in _SIMPLE:
            out["text"] = simple_text(obj)
        elif torch and issubclass(type(obj), torch.Tensor):
            self.tensor(torch, obj, out)
        elif issubclass(type(obj), _CODE):
            out["text"] = _code_text(obj)
        elif not self.container(torch, obj, out, depth):
            self.object(obj, out, depth)
        return out

    def tensor(self, torch, t, out):
        with plain(torch):
            meta = described(torch, t)
            if is_fake(torch, t) and t.device.type != "meta":
                out["fake"] = meta
                return
            why = _unreadable(torch, t)
            if why:
                out["unknown"] = "no numbers: " + why
            elif self.tensors <= 0 or time.monotonic() > self.until:
                self.note("of the first %d tensors alone, and for %g s, numbers were computed" % (TENSORS, SECONDS))
            else:
                self.tensors -= 1
                try:
                    numbers(torch, t, meta)
                except Exception as e:
                    out["unknown"] = cut("no numbers: %s: %s" % (type(e).__name__, e))
                if t.device.type != "cpu":
                    self.note("numbers of %s tensors were read after the device had finished its work" % t.device.type)
        out["tensor"] = meta

    def container(self, torch, obj, out, depth):
        """Folds what has items: (name, item) of builtin containers and of modules."""
        kind = type(obj)
        size = None
        if issubclass(kind, dict):
            size, pairs, text = dict.__len__(obj), _pairs(obj), "{%s}"
        elif issubclass(kind, (list, tuple)):
            base = list if issubclass(kind, list) else tuple
            fields = getattr(kind, "_fields", None) if base is tuple else None
            size, text = base.__len__(obj), "[%s]" if base is list else "(%s)"
            pairs = zip(fields or range(size), base.__iter__(obj))
        elif issubclass(kind, (set, frozenset)):
            base = set if issubclass(kind, set) else frozenset
            size, pairs, text = base.__len__(obj), enumerate(base.__iter__(obj)), "{%s}"
        elif torch and issubclass(kind, torch.nn.Module):
            parts = [d for d in map(vars(obj).get, ("_parameters", "_buffers", "_modules")) if isinstance(d, dict)]
            size = sum(map(len, parts))
            pairs, text = ((k, v) for d in parts for k, v in dict.items(d)), None
        if size is None:
            return False
        if text is not None:
            out["text"] = "%d item%s" % (size, "" if size == 1 else "s")
        else:
            out["text"] = kind.__name__
        self.items(pairs, size, out, depth)
        if text and kind in (list, tuple, dict, set):
            short = _short(out, text, kind is dict)
            if short:
                out["text"] = short
        return True

    def items(self, pairs, size, out, depth):
        if depth <= 0 or self.left <= 0:
            if size:
                out["more"] = size
            return
        shown = []
        for i, (name, item) in enumerate(pairs):
            if i >= ITEMS or self.left <= 0:
                break
            shown.append(self.named(name, item, depth=depth - 1))
        if shown:
            out["items"] = shown
        if size > len(shown):
            out["more"] = size - len(shown)

    def object(self, obj, out, depth):
        kind = type(obj)
        if kind.__repr__ is not object.__repr__:
            text, unknown = safe_repr(obj)
            if text:
                out["text"] = text
            if unknown:
                out["unknown"] = unknown
        try:
            fields = object.__getattribute__(obj, "__dict__")
        except AttributeError:
            fields = None
        if type(fields) is dict and fields and not kind.__module__.startswith(("torch.", "numpy")):
            self.items(list(fields.items()), len(fields), out, depth)


def _pairs(d):
    for k, v in dict.items(d):
        yield (cut(str(k), 80) if type(k) is str else cut(safe_repr(k)[0], 80)), v


def _code_text(obj):
    if isinstance(obj, types.FunctionType):
        c = obj.__code__
        return cut("function %s at %s:%d" % (obj.__qualname__, c.co_filename, c.co_firstlineno))
    if isinstance(obj, types.MethodType):
        return cut("method %s" % getattr(obj.__func__, "__qualname__", "?"))
    if isinstance(obj, types.ModuleType):
        return "module " + obj.__name__
    if isinstance(obj, type):
        return "class " + obj.__qualname__
    return "%s %s" % (type(obj).__name__, getattr(obj, "__qualname__", getattr(obj, "co_name", "")))


def _short(out, form, keys):
    """The items on one line, "" where they are too many or not simple."""
    items = out.get("items", [])
    if out.get("more") or any("text" not in i or not i.keys().isdisjoint(("items", "more", "unknown")) for i in items):
        return ""
    text = form % ", ".join(("%s: %s" % (i["name"], i["text"])) if keys else i["text"] for i in items)
    return text if len(text) <= 120 else ""


def locals_of(values, code, scope, depth=DEPTH):
    """The locals of one level: arguments first, without what the compiler made."""
    n = code.co_argcount + code.co_kwonlyargcount
    n += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    args = [a for a in code.co_varnames[:n] if a in scope]
    names = args + [k for k in scope if k not in args]
    module = code.co_name == "<module>"
    out = []
    for name in names:
        if not isinstance(name, str) or name.startswith(("___", "__nested_", "__compiled_fn", "__resume_at", "__import_")):
            continue
        obj = scope[name]
        if module and (name.startswith("__") or issubclass(type(obj), (types.ModuleType, types.FunctionType, type))):
            continue
        if values.left <= 0:
            values.note("more locals than fit into one stop")
            break
        out.append(values.named(name, obj, name in args, depth))
    return out
