"""Breakpoints: what one says, and where in the program it can stop."""

import os
import re
import sys

SIMPLE = ("break", "recompile", "frame", "call", "nan", "differs", "raised")
REFUSED = {
    "kernel": "kernels run inside compiled code: stop at call, or read Kernels",
}


class Point:
    """One breakpoint. kind is one of SIMPLE, code, line, func, guard, id; arg is what it names."""

    def __init__(self, number, spec):
        self.id = number
        self.spec = spec
        self.error = ""
        self.note = ""  # what it does not do
        self.places = 0
        self.once = None  # thread that runs to it, by a step
        what, _, condition = spec.partition(" if ")
        self.condition = condition.strip()
        self.file, self.line, self.arg = "", 0, ""
        self.parse(what.strip())
        if self.condition and not self.error:
            try:
                self.compiled = compile(self.condition, "<condition>", "eval")
            except SyntaxError as e:
                self.error = "the condition is no expression: %s" % e.msg

    def parse(self, what):
        self.kind, _, self.arg = what.partition(" ")
        self.arg = self.arg.strip()
        if self.kind in SIMPLE and not self.arg:
            return
        if self.kind in REFUSED:
            self.error = self.kind + ": " + REFUSED[self.kind]
        elif re.fullmatch(r"GB\d{4}", what):
            self.kind, self.arg = "code", what
        elif self.kind in ("func", "guard") and self.arg:
            pass
        elif self.kind == "id" and re.fullmatch(r"\d+(/\d+)?", self.arg):
            pass
        elif re.fullmatch(r".+:[1-9]\d*", what):
            file, _, line = what.rpartition(":")
            self.kind, self.file, self.line = "line", file, int(line)
        else:
            self.error = "%s: not a breakpoint; it is one of %s, GB0170, FILE:LINE, func NAME, guard TEXT, id 1/0" % (
                what,
                ", ".join(SIMPLE),
            )

    def in_file(self, name):
        """Whether the point's file is this one: the whole path or the end of it."""
        return name == self.file or name.endswith(os.sep + self.file)

    def names(self, code):
        from .frames import function_name, qualified_name

        return self.arg in (function_name(code), qualified_name(code))

    def of_compile(self, compile_id):
        """Whether an id breakpoint names this compile: 1 is each of frame 1."""
        return compile_id == self.arg or ("/" not in self.arg and compile_id.partition("/")[0] == self.arg)


def source_of(spec):
    """The file that a breakpoint names, None where it is not known yet."""
    candidates = [spec]
    if not os.path.isabs(spec):
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        script = main or (sys.argv[0] if getattr(sys, "argv", None) else "")
        if script and ("/" + os.path.abspath(script)).endswith(os.sep + spec):
            candidates.append(os.path.abspath(script))
        candidates += [os.path.join(p or ".", spec) for p in sys.path]
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(os.sep + spec):
            candidates.append(file)
    for c in candidates:
        if c.endswith(".py") and os.path.isfile(c):
            return c
    return None


def places(point):
    """(how many places a line breakpoint has, why it can never stop). A file that is not
    known yet has 0 and no reason: it may still be imported."""
    file = source_of(point.file)
    if file is None:
        return 0, ""
    try:
        with open(file, "rb") as f:
            code = compile(f.read(), file, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return 0, ""
    lines = {}
    _collect(code, lines)
    if point.line in lines:
        return lines[point.line], ""
    later = [n for n in lines if n > point.line]
    hint = "; the next line that has is %d" % min(later) if later else ""
    return 0, "%s:%d: no code begins on this line%s" % (point.file, point.line, hint)


def _collect(code, lines):
    import dis

    for n in {line for _, line in dis.findlinestarts(code) if line}:
        lines[n] = lines.get(n, 0) + 1
    for const in code.co_consts:
        if hasattr(const, "co_code"):
            _collect(const, lines)
