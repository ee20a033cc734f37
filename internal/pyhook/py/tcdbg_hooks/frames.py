"""Frames of the program: whose code they are, and the user's stack out of them."""

import os
import sys

from . import HERE

RESUME = "torch_dynamo_resume_in_"

USER, LIBRARY, PYTHON, TORCH, OURS = "user", "library", "python", "torch", "ours"

_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_BIN = os.path.dirname(os.path.abspath(sys.executable or "/")) + os.sep
_SITE = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_FRAMEWORK = tuple(
    site + name + os.sep for site in _SITE for name in ("torch", "functorch", "triton", "torchgen", "_distutils_hack")
)

_kinds = {}

# Code objects that Dynamo wrote, with their original ones: they carry the names and lines of the
# user's function, but are none of the program's text. By id: to hash a code object is slow.
_generated = {}


def note_generated(code, new_code):
    """Takes a bytecode hook's two code objects."""
    import weakref

    key = id(new_code)
    if new_code is not code:
        _generated[key] = (weakref.ref(new_code, lambda _: _generated.pop(key, None)), code)


def kind_of(code):
    """Whose code it is: USER and LIBRARY have lines that a program stops at."""
    name = code.co_filename
    if name == "<string>" and code.co_name != "<module>" and not _of_command_line():
        return PYTHON  # a library wrote it, for a dataclass say: there is no text to show
    kind = _kinds.get(name)
    if kind is None:
        kind = _kinds[name] = _kind_of(name)
    return kind


def _of_command_line():
    """Whether the program's own text is that of python -c."""
    return getattr(sys, "argv", [""])[:1] == ["-c"]


def _kind_of(name):
    if name.startswith("<"):
        return USER if name in ("<string>", "<stdin>") or name.startswith("<ipython") else PYTHON
    name = os.path.abspath(name)
    if name.startswith(HERE + os.sep):
        return OURS
    if any(part in name for part in _FRAMEWORK) or "torchinductor_" in name or _in_torch(name):
        return TORCH
    if any(part in name for part in _SITE):
        return LIBRARY
    if name.startswith((_STDLIB, _BIN)):
        return PYTHON
    return USER


def _in_torch(name):
    torch = sys.modules.get("torch")
    file = getattr(torch, "__file__", None)
    return bool(file) and name.startswith(os.path.dirname(os.path.abspath(file)) + os.sep)


def forget_kinds():
    """Called when torch was imported: what was asked before may have other answers."""
    _kinds.clear()


def is_generated(code):
    return id(code) in _generated


def original_of(code):
    """The code object that generated code was made of, itself for other code."""
    found = _generated.get(id(code))
    return found[1] if found else code


def function_name(code):
    """The user's function of a code object: a resume function belongs to its own."""
    name = code.co_name
    while name.startswith(RESUME):
        name = name[len(RESUME) :].rpartition("_at_")[0] or name[len(RESUME) :]
    return name


def of_dynamo(code, name):
    """Whether a local is one that Dynamo invented."""
    if name.startswith(("___", "__nested_")):
        return True
    return code.co_name.startswith(RESUME) and name.startswith("__") and not name.endswith("__")


def qualified_name(code):
    if code.co_name.startswith(RESUME):
        return function_name(code)
    return getattr(code, "co_qualname", code.co_name)


def same_function(a, b):
    return a.co_filename == b.co_filename and function_name(a) == function_name(b)


def position(code, line):
    pos = {"file": code.co_filename, "line": line or code.co_firstlineno, "func": qualified_name(code)}
    text = _line_of(code.co_filename, pos["line"])
    if text:
        pos["code"] = text[:400]
    return pos


def _line_of(file, line):
    try:
        import linecache

        return linecache.getline(file, line).rstrip()
    except Exception:
        return ""


def user_frames(frame):
    """The user's frames from frame outwards, and how many others were left out. The code that
    Dynamo made of a function and the resume function that it calls count as one."""
    out, hidden = [], 0
    while frame is not None:
        code = frame.f_code
        if kind_of(code) not in (USER, LIBRARY):
            hidden += kind_of(code) != OURS
        elif out and resumes(out[-1].f_code, code):
            pass
        else:
            out.append(frame)
        frame = frame.f_back
    return out, hidden


def resumes(inner, outer):
    """Whether inner is the rest of a function that outer, which Dynamo wrote, begins."""
    return inner.co_name.startswith(RESUME) and is_generated(outer) and same_function(inner, outer)
