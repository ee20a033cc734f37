"""A trial of a remedy: settings put over the program's own, texts in the place of files,
random generators that are seeded, and what compiled functions return written down.

TCDBG_TRIAL names a file of JSON: results (folder), overlay (file: file with its text),
switches (name and value), steps (calls after which the program ends, 0: never), compile
("off": nothing is compiled) and operators (calls whose operators are noted). What is written is described in tcdbg's package
internal/app/results.
"""

import json
import os
import sys
import _thread

from . import failed, finish, guard, operators, outermost, reached, when

MAX_CALLS = 64
MAX_VALUES = 64 << 20
MAX_LEAVES = 256
MAX_BYTES = 64 << 20  # of what calls write, and of gradients

_options = {}
_applied = []
_problems = []


def start():
    with open(os.environ["TCDBG_TRIAL"]) as f:
        _options.update(json.load(f))
    guard(_overlay)
    import random

    random.seed(0)
    when("numpy.random", lambda m: m.seed(0))
    when("torch", _torch)
    when("torch._dynamo.config", _dynamo_config)
    when("torch._inductor.config", _inductor_config)
    when("torch._dynamo.eval_frame", _gradients)
    if _options.get("operators"):
        operators.start(_options["operators"], _options["results"], _options.get("compile") != "off")
    outermost.compiling(_compiled)
    outermost.watch(_call, _problem, _options.get("compile") != "off")


def _switches(name):
    return [s["value"] for s in _options.get("switches") or () if s["name"] == name]


def _took(name, value):
    text = name + "=" + value
    if text not in _applied:
        _applied.append(text)


def _problem(text):
    if text not in _problems:
        _problems.append(text)


# Texts in the place of files.

_texts = {}


def _overlay():
    for name, text in (_options.get("overlay") or {}).items():
        with open(text, "rb") as f:
            _texts[os.path.realpath(name)] = f.read()
    if not _texts:
        return
    from importlib import machinery

    plain = machinery.SourceFileLoader.get_code

    def get_code(self, fullname):
        code = _code(getattr(self, "path", None))
        return plain(self, fullname) if code is None else code

    machinery.SourceFileLoader.get_code = get_code
    import runpy  # often frozen into Python, so that its loader is everybody's: it is not waited for

    _runpy(runpy)
    _main.__cantrace__ = True
    sys.addaudithook(_main)


def _code(path):
    """The code of a file that is replaced; None for others."""
    if not isinstance(path, (str, bytes)):
        return None
    text = _texts.get(os.path.realpath(os.fsdecode(path)))
    if text is None:
        return None
    path = os.fsdecode(path)
    import linecache
    import importlib.util

    source = importlib.util.decode_source(text)
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    return compile(text, path, "exec", dont_inherit=True)


def _runpy(runpy):
    """Processes that multiprocessing spawns read the main file by runpy."""
    plain = runpy._get_code_from_file

    def get_code(*args):
        out = plain(*args)
        for a in args:
            code = _code(a)
            if code is not None:
                return (code,) + out[1:] if isinstance(out, tuple) else code
        return out

    runpy._get_code_from_file = get_code


def _main(event, args):
    """Python is about to read the main file: where it is replaced, it is run from here."""
    if event != "cpython.run_file":
        return
    path = args[0]
    code = _code(path)
    if code is None:
        return
    module = sys.modules["__main__"]
    from importlib import machinery

    module.__file__ = os.fsdecode(path)
    module.__loader__ = machinery.SourceFileLoader("__main__", module.__file__)
    module.__dict__["__cached__"] = None
    try:
        exec(code, module.__dict__)
    except SystemExit:
        raise
    except BaseException as e:
        tb = e.__traceback__.tb_next
        e.__traceback__ = tb
        if sys.excepthook is sys.__excepthook__:
            import traceback

            traceback.print_exception(type(e), e, tb)  # with the lines that ran
        else:
            sys.excepthook(type(e), e, tb)
        raise SystemExit(130 if isinstance(e, KeyboardInterrupt) else 1) from None
    raise SystemExit(0)


# Settings.

_BOOLS = {"true": True, "false": False, "auto": None}


def _torch(torch):
    torch.manual_seed(0)
    plain = torch.compile
    import functools

    @functools.wraps(plain)
    def compile(*args, **kwargs):
        return plain(*args, **_compile_options(kwargs))

    torch.compile = compile


def _compile_options(kwargs):
    for value in _switches("dynamic"):
        kwargs["dynamic"] = _BOOLS[value]
        _took("dynamic", value)
    for value in _switches("backend"):
        kwargs["backend"] = value
        if value != "inductor":
            kwargs.pop("mode", None)
            kwargs.pop("options", None)
        _took("backend", value)
    for value in _switches("mode"):
        kwargs.pop("options", None)
        kwargs["mode"] = None if value == "default" else value
        _took("mode", value)
    for value in _switches("cudagraphs"):
        without = {"reduce-overhead": None, "max-autotune": "max-autotune-no-cudagraphs"}
        if kwargs.get("mode") in without:
            kwargs["mode"] = without[kwargs["mode"]]
        if kwargs.get("options"):
            kwargs["options"] = dict(kwargs["options"], **{"triton.cudagraphs": False})
        _took("cudagraphs", value)
    return kwargs


def _dynamo_config(config):
    for name in ("capture_scalar_outputs", "capture_dynamic_output_shape_ops", "allow_unspec_int_on_nn_module"):
        for value in _switches(name):
            _set(config, name, _BOOLS[value], value)
    for value in _switches("recompile_limit"):
        old = "cache_size_limit"
        limit = "recompile_limit" if hasattr(config, "recompile_limit") else old
        setattr(config, limit, int(value))
        total = "accumulated_" + limit
        if hasattr(config, total):
            setattr(config, total, max(getattr(config, total), 8 * int(value)))
        _took("recompile_limit", value)
    for value in _switches("reorderable_logging_functions"):
        import warnings

        fn = {"print": print, "warnings.warn": warnings.warn}[value]
        if hasattr(config, "reorderable_logging_functions"):
            config.reorderable_logging_functions.add(fn)
            _took("reorderable_logging_functions", value)
        else:
            _problem("this PyTorch has no reorderable_logging_functions")
    for value in _switches("ignore_logging_functions"):
        _ignore_logging(config, value)


def _ignore_logging(config, value):
    import logging

    name = "ignore_logging_functions" if hasattr(config, "ignore_logging_functions") else "ignore_logger_methods"
    if not hasattr(config, name):
        _problem("this PyTorch has no ignore_logging_functions")
        return
    names = "debug info warning error critical log exception".split()
    functions = {getattr(logging.Logger, n) for n in names} | {getattr(logging, n) for n in names}
    setattr(config, name, set(getattr(config, name)) | functions)
    _took("ignore_logging_functions", value)


def _set(config, name, value, text):
    if not hasattr(config, name):
        _problem("this PyTorch has no torch._dynamo.config." + name)
        return
    setattr(config, name, value)
    _took(name, text)


def _inductor_config(config):
    # Random numbers that do not depend on where a graph is cut can be compared.
    if hasattr(config, "fallback_random"):
        config.fallback_random = True
    if _switches("cudagraphs"):
        config.triton.cudagraphs = False


# Outermost calls of compiled functions.

_compiles = [0]


def _compiled():
    _compiles[0] += 1


def _call(call, args, kwargs):
    import time

    raised = ""
    result = None
    compiles = _compiles[0]
    guard(_mark, call.names, call.signature, args, kwargs)
    before = guard(reached.Before, call, args, kwargs) if _results.recording() else None
    noted = operators.wants(_results.next())
    if noted:
        guard(operators.begin, _results.next(), list(before.found.names.values()) if before else [])
    begun = time.perf_counter_ns()
    try:
        result = call(*args, **kwargs)
    except BaseException as e:
        raised = type(e).__name__
        raise
    finally:
        guard(_synchronize)
        took = time.perf_counter_ns() - begun
        if noted:
            guard(_noted, result)
        name = call.names[0] if call.names else "?"
        enough = guard(_written, name, took, _compiles[0] != compiles, raised, result, before)
    if enough:
        _finish()
    return result


def _noted(result):
    import torch

    operators.end([x for _, x in _flat(result) if isinstance(x, torch.Tensor)])


def _gradients(module):
    if not hasattr(module, "skip_code"):
        _problem("this PyTorch cannot leave our own frames out of compiled code: gradients are not compared")
    elif not reached.gradients(_results.recording, _results.grads, module.skip_code):
        _problem("this PyTorch has no place where its backward passes can be watched: gradients are not compared")


def _synchronize():
    import torch

    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _finish():
    """Ends the program: enough calls were seen."""
    finish()
    guard(_results.end, True)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    os._exit(0)


# Sizes that are marked.


def _mark(names, signature, args, kwargs):
    for value in _switches("mark_dynamic"):
        function, rest = value.split(":", 1)
        expression, dim = rest.rsplit(":", 1)
        if function not in names:
            continue
        import torch

        try:
            x = _lookup(expression, signature, args, kwargs)
        except Exception:
            continue
        if isinstance(x, torch.Tensor) and -x.dim() <= int(dim) < x.dim():
            mark = getattr(torch._dynamo, "maybe_mark_dynamic", None) or torch._dynamo.mark_dynamic
            mark(x, int(dim))
            _took("mark_dynamic", value)


def _lookup(expression, signature, args, kwargs):
    """The value of a name with attributes and subscripts: of the arguments, else where the
    function is called."""
    import ast

    known = dict(kwargs)
    if signature is not None:
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            known[name] = value

    def value(node):
        if isinstance(node, ast.Name):
            if node.id in known:
                return known[node.id]
            frame = sys._getframe()
            while frame is not None and frame.f_globals.get("__package__") == __package__:
                frame = frame.f_back
            while frame is not None and "torch" in frame.f_globals.get("__name__", "").split(".")[:1]:
                frame = frame.f_back
            if node.id in frame.f_locals:
                return frame.f_locals[node.id]
            return frame.f_globals[node.id]
        if isinstance(node, ast.Attribute):
            return getattr(value(node.value), node.attr)
        if isinstance(node, ast.Subscript):
            return value(node.value)[ast.literal_eval(node.slice)]
        raise LookupError(expression)

    return value(ast.parse(expression, mode="eval").body)


# What is written.


class _Results:
    def __init__(self):
        self.lock = _thread.allocate_lock()
        self.pid = self.calls = 0

    def recording(self):
        """Whether calls and gradients are still compared."""
        return self.pid != os.getpid() or self.calls < MAX_CALLS

    def next(self):
        """The number of the next call."""
        return self.calls + 1 if self.pid == os.getpid() else 1

    def open(self):
        self.pid, self.calls, self.at, self.state, self.threads = os.getpid(), 0, 0, 0, {}
        import atexit
        import time

        folder = _options["results"]
        self.lines = open(os.path.join(folder, "calls-%d" % self.pid), "wb", buffering=0)
        self.values = open(os.path.join(folder, "values-%d" % self.pid), "wb")
        import torch

        self.line({"hello": {"pid": self.pid, "engine": "PyTorch " + torch.__version__, "started": time.time_ns()}})
        atexit.register(self.end)
        util = sys.modules.get("multiprocessing.util")
        if util is not None and util.Finalize is not None:
            util.Finalize(None, self.end, exitpriority=-1000)  # a forked process has no atexit

    def line(self, data):
        self.lines.write(json.dumps(data).encode() + b"\n")

    def call(self, name, took, compiled, raised, result, before):
        with self.lock:
            if self.pid != os.getpid():
                self.open()
            self.calls += 1
            thread = self.threads.setdefault(_thread.get_ident(), len(self.threads))
            call = {"thread": thread, "fn": name, "ns": took, "compiled": compiled, "raised": raised}
            if _rank() is not None:
                call["rank"] = _rank()
            leaves = []
            if self.calls > MAX_CALLS or not self.leaves(leaves, result):
                call["full"] = True
            else:
                call["out"] = leaves
            if before is not None and not call.get("full"):
                tensors, call["hidden"], full = before.after()
                call["state"], cut = self.tensors(tensors)
                call["state_full"] = full or cut
            self.values.flush()
            self.line({"call": call})
            return self.calls

    def leaves(self, out, result):
        """Describes what a call returned, and writes its numbers; False where there is no room."""
        for path, value in _flat(result):
            leaf = _describe(path, value)
            data = leaf.pop("data", None)
            if data is not None:
                if self.at - self.state + len(data) > MAX_VALUES:
                    return False
                self.put(leaf, data)
            out.append(leaf)
        return True

    def put(self, leaf, data):
        leaf["at"], leaf["n"] = self.at, len(data) // 8
        self.values.write(data)
        self.at += len(data)

    def tensors(self, found):
        """Describes (path, tensor, written, whether it is a gradient); True with it where not all had room."""
        out, cut = [], False
        for path, x, wrote, gradient in found:
            if not wrote and x.numel() > reached.MAX_SMALL:
                leaf = {"path": path, "dtype": str(x.dtype).replace("torch.", ""), "shape": [int(n) for n in x.shape], "bare": True}
            else:
                leaf = _describe(path, x)
                data = leaf.pop("data", None)
                if data is not None and self.state + len(data) > MAX_BYTES:
                    leaf["bare"] = cut = True
                elif data is not None:
                    self.state += len(data)
                    self.put(leaf, data)
            leaf["wrote"], leaf["grad"], leaf["param"] = wrote, gradient, x.requires_grad and x.is_leaf
            out.append(leaf)
        return out, cut

    def grads(self, named, unnamed):
        with self.lock:
            if self.pid != os.getpid():
                self.open()
            leaves, cut = self.tensors([(name, g, True, True) for name, g in named[: reached.MAX_TENSORS]])
            self.values.flush()
            full = cut or len(named) > reached.MAX_TENSORS
            self.line({"grads": {"after": self.calls, "leaves": leaves, "unnamed": unnamed, "full": full}})

    def end(self, cut=False):
        if self.pid != os.getpid():
            return
        end = {"calls": self.calls, "cut": cut, "applied": _applied, "problems": _problems, "rss": _peak_rss(), "cuda": _peak_cuda()}
        self.values.flush()
        self.line({"end": end})


_results = _Results()


def _written(name, took, compiled, raised, result, before):
    n = _results.call(name, took, compiled, raised, result, before)
    return _options.get("steps", 0) > 0 and n >= _options["steps"]


def _rank():
    text = os.environ.get("RANK", "")
    if text.isdigit():
        return int(text)
    dist = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized():
        return dist.get_rank()
    return None


def _flat(result):
    """The tensors, numbers, texts and flags within a result, with their paths."""
    import dataclasses

    out = []

    def walk(path, value, depth):
        if len(out) >= MAX_LEAVES:
            return
        if depth < 6 and isinstance(value, dict):
            for key in value:
                walk("%s[%r]" % (path, key), value[key], depth + 1)
        elif depth < 6 and isinstance(value, (list, tuple)):
            for i, one in enumerate(value):
                walk("%s[%d]" % (path, i), one, depth + 1)
        elif depth < 6 and dataclasses.is_dataclass(value) and not isinstance(value, type):
            for field in dataclasses.fields(value):
                walk("%s.%s" % (path, field.name), getattr(value, field.name, None), depth + 1)
        else:
            out.append((path, value))

    walk("", result, 0)
    return out


def _describe(path, value):
    import torch

    leaf = {"path": path}
    if isinstance(value, torch.Tensor):
        try:
            return dict(leaf, **_numbers(value))
        except Exception:
            return dict(leaf, opaque=True)
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return dict(leaf, text=repr(value)[:400])
    return dict(leaf, opaque=True)


def _numbers(x):
    import torch

    with torch.no_grad():
        dtype = str(x.dtype).replace("torch.", "")
        x = x.detach()
        shape = [int(n) for n in x.shape]
        whole = not (x.dtype.is_floating_point or x.dtype.is_complex)
        if x.dtype.is_complex:
            x = torch.view_as_real(x.resolve_conj())
        x = x.to("cpu", torch.int64 if whole else torch.float64).contiguous().resolve_neg()
        import ctypes

        data = ctypes.string_at(x.data_ptr(), 8 * x.numel()) if x.numel() else b""
        return {"dtype": dtype, "shape": shape, "int": whole, "data": data}


def _peak_rss():
    try:
        with open("/proc/self/status") as f:
            for line in f:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) << 10
    except (OSError, ValueError):
        pass
    return 0


def _peak_cuda():
    torch = sys.modules.get("torch")
    try:
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            return torch.cuda.max_memory_allocated()
    except Exception:
        failed("trial: CUDA memory")
    return 0
