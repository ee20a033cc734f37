"""What the hooks of tcdbg in a Python program share: waiting for modules, records, errors.

A hook is a module of this package with a function start(). TCDBG_HOOKS names those that a
process loads. Nothing here may fail the program, change what it computes, or import torch.
"""

import os
import sys
import _thread

HOOKS = "TCDBG_HOOKS"
TRACE = "TCDBG_HOOK_TRACE"

# Folder of our files: frames of these are never shown and never compiled.
HERE = os.path.dirname(os.path.abspath(__file__))


def start():
    """Loads and starts the hooks that the environment names."""
    import importlib

    for name in os.environ.get(HOOKS, "").split(","):
        if not name:
            continue
        try:
            importlib.import_module(__name__ + "." + name).start()
        except Exception:
            failed(name + ": start")


# Modules that are waited for.


class _Finder:
    """Finds nothing itself: it lets the other finders find a module that is waited for,
    and has the functions called when that module has been executed."""

    def __init__(self):
        self.wanted = {}
        self.busy = set()  # (thread, name): the other finders are asked

    def find_spec(self, name, path=None, target=None):
        if name not in self.wanted:
            return None
        key = (_thread.get_ident(), name)
        if key in self.busy:
            return None
        self.busy.add(key)
        try:
            for finder in list(sys.meta_path):
                find = getattr(finder, "find_spec", None)
                if finder is self or find is None:
                    continue
                spec = find(name, path, target)
                if spec is not None:
                    self.tap(name, spec.loader)
                    return spec
        finally:
            self.busy.discard(key)
        return None

    def tap(self, name, loader):
        run = getattr(loader, "exec_module", None)
        if run is None:
            return
        if isinstance(loader, type):  # shared by all frozen modules
            failed("import of " + name + ": the loader cannot be watched")
            return

        def exec_module(module):
            try:
                del loader.exec_module
            except AttributeError:
                pass
            run(module)
            self.done(name, module)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            failed("import of " + name + ": the loader cannot be watched")

    def done(self, name, module):
        for fn in self.wanted.pop(name, ()):
            guard(fn, module)


_finder = _Finder()


def when(name, fn):
    """Calls fn(module) right after the module was executed, at once where it has been."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    if module is not None and not getattr(spec, "_initializing", False):
        guard(fn, module)
        return
    _finder.wanted.setdefault(name, []).append(fn)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


# The end of the program.

_finishers = []


def at_finish(fn):
    """Calls fn at the end of this process and of those that it forks."""
    import atexit

    _finishers.append(fn)
    if len(_finishers) > 1:
        return
    atexit.register(finish)

    def forked(module):
        module.Finalize(None, finish, exitpriority=-1000)  # a forked process has no atexit

    when("multiprocessing.util", forked)


def finish():
    for fn in _finishers:
        guard(fn)


# Errors of ours.

_said = set()


def guard(fn, *args):
    """Calls fn; an exception of its own is said once in a record and otherwise ignored."""
    try:
        return fn(*args)
    except Exception:
        failed(getattr(fn, "__module__", "") + "." + getattr(fn, "__qualname__", "?"))
        return None


def hooked(fn, *args):
    """guard for hooks that may stand still: what a signal's handler raised meanwhile, marked by
    of_the_program, is the program's own and goes on."""
    try:
        return fn(*args)
    except Exception as e:
        if getattr(e, "_tcdbg_program", False):
            raise
        failed(getattr(fn, "__module__", "") + "." + getattr(fn, "__qualname__", "?"))
        return None


def of_the_program(error):
    """Marks an exception that a signal's handler of the program raised in code of ours."""
    try:
        error._tcdbg_program = True
    except AttributeError:
        pass
    return error


def failed(where):
    """Writes a record of the exception that is handled, once for each place."""
    if where in _said:
        return
    _said.add(where)
    try:
        import traceback

        kind, exc, tb = sys.exc_info()
        text = "".join(traceback.format_exception(kind, exc, tb)) if kind else ""
        record("tcdbg_hook_failure", {"pid": os.getpid(), "where": where, "error": text[-4000:]})
    except Exception:
        pass


# Records: lines of TORCH_TRACE's format, in a file of ours beside PyTorch's.


class _Records:
    def __init__(self):
        self.lock = _thread.allocate_lock()
        self.pid = 0
        self.fd = -1

    def write(self, line):
        with self.lock:
            if self.pid != os.getpid():  # the file is its parent's
                self.open()
            while line and self.fd >= 0:
                line = line[os.write(self.fd, line) :]

    def open(self):
        import time

        self.pid, self.fd = os.getpid(), -1
        folder = os.environ.get(TRACE)
        if folder:
            path = os.path.join(folder, "tcdbg_hooks_%d_%x.log" % (self.pid, time.time_ns()))
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
            self.fd = os.open(path, flags, 0o644)


_records = _Records()
_after_fork = getattr(os, "register_at_fork", None)
if _after_fork:
    # Another thread may have held it.
    _after_fork(after_in_child=lambda: setattr(_records, "lock", _thread.allocate_lock()))


def rank():
    """The rank of this process, None where it is not one of several."""
    text = os.environ.get("RANK", "")
    return int(text) if text.isdigit() else None


def record(name, data, version=1):
    """Writes one artifact. It is in the file when this returns."""
    import hashlib
    import json
    import time

    body = json.dumps({"v": version, "data": data}, separators=(",", ":")).encode()
    try:
        sum = hashlib.md5(body, usedforsecurity=False).hexdigest()
    except ValueError:  # not to be had on this system
        sum = ""
    head = {"artifact": {"name": name, "encoding": "json"}}
    if rank() is not None:
        head["rank"] = rank()
    head["has_payload"] = sum
    now = time.time()
    t = time.localtime(now)
    prefix = "V%02d%02d %02d:%02d:%02d.%06d %d tcdbg:0] " % (
        t.tm_mon, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, int(now % 1 * 1e6), os.getpid(),
    )  # fmt: skip
    _records.write(prefix.encode() + json.dumps(head).encode() + b"\n\t" + body + b"\n")
