"""The guards of cache entries at a miss: which one decided, and which would fail too."""

import ast
import re

from .values import cut, time_limit, torch_module, type_name, _TooLong

ENTRIES = 16
HOLDING = 60  # guards that hold, of an entry
SECONDS = 2.0


def entries_of(given):
    """The cache entries: a list, or in older releases the first of a chain."""
    if given is None:
        return []
    if isinstance(given, (list, tuple)):
        return list(given)
    out = []
    while given is not None and len(out) < 1000:
        out.append(given)
        given = getattr(given, "next", None)
    return out


def states(entries, frame, values):
    """The guards of all entries, an entry's deciding one first, then others that fail."""
    out = []
    for i, entry in enumerate(entries[:ENTRIES]):
        try:
            with time_limit(SECONDS):
                out += _Entry(i, entry, frame).states()
        except _TooLong:
            values.note("the guards of entry %d took more than %g s" % (i, SECONDS))
        except Exception as e:
            values.note(cut("the guards of entry %d cannot be read: %s: %s" % (i, type(e).__name__, e)))
    if len(entries) > ENTRIES:
        values.note("of %d entries the newest %d are shown" % (len(entries), ENTRIES))
    return out


class _Entry:
    def __init__(self, number, entry, frame):
        self.number = number
        self.manager = entry.guard_manager
        self.locals = frame.f_locals
        scope = {"L": self.locals, "G": self.manager.global_scope["G"]}
        scope.update(self.manager.closure_vars or {})
        scope["__builtins__"] = __builtins__
        self.scope = scope
        self.found = []  # (result, state)

    def states(self):
        info = self.manager.check_verbose(self.locals)
        decided = [] if info.result else list(info.verbose_code_parts)
        self.walk(self.manager.root)
        for leaf in self.manager.root.get_epilogue_lambda_guards():
            self.leaf(leaf, self.locals, "", None)
        self.decide(decided)
        order = {"failed": 0, "would fail": 1, "unknown": 2, "holds": 3}
        self.found.sort(key=lambda s: order[s["result"]])
        holding = [s for s in self.found if s["result"] == "holds"]
        return [s for s in self.found if s["result"] != "holds"] + holding[:HOLDING]

    def walk(self, manager, depth=0):
        source = manager.get_source()
        known, value = self.value(source, depth)
        for leaf in manager.get_leaf_guards():
            self.leaf(leaf, value, source, manager, known)
        if depth < 60:
            for child in manager.get_child_managers():
                self.walk(child, depth + 1)

    def value(self, source, depth):
        if depth == 0:
            return True, self.locals
        try:
            return True, eval(source, self.scope)
        except Exception:
            return False, None

    def leaf(self, leaf, value, source, manager, known=True):
        parts = [plain_text(p) for p in leaf.verbose_code_parts()]
        holds = None
        if not known:
            holds = None  # what it is about is not there: another guard says so
        elif callable(leaf):
            try:
                holds = bool(leaf(value))
            except Exception:
                holds = None
        if holds is not False or len(parts) <= 1:
            for p in parts:
                self.add(p, source, {True: "holds", False: "would fail", None: "unknown"}[holds], value, manager)
            return
        for p in parts:  # one leaf for many: which of them fail
            try:
                one = bool(eval(p, self.scope))
                self.add(p, source, "holds" if one else "would fail", value, manager)
            except Exception:
                self.add(p, source, "unknown", value, manager)

    def add(self, text, source, result, value, manager):
        state = {"entry": self.number, "text": cut(text), "result": result}
        if source and source not in ("L", "G"):
            state["source"] = cut(local_text(source), 120)
        if result == "would fail":
            expected, actual = self.sides(text, value, manager)
            if expected:
                state["expected"], state["actual"] = cut(expected, 200), cut(actual, 200)
        state["text"] = local_text(state["text"])
        self.found.append(state)

    def sides(self, text, value, manager):
        """What a guard asks for and what there is."""
        if text.startswith("check_tensor"):
            return tensor_sides(text, value)
        m = re.search(r"type=<class '([^']*)'>", text)
        if text.startswith("___check_type_id") and m:
            return m.group(1), type_name(value)
        if text.startswith("___check_obj_id") and m:
            return "the object that it was", cut(repr(value), 100)
        try:
            tree = ast.parse(text, mode="eval").body
            if isinstance(tree, ast.Compare) and len(tree.ops) == 1:
                left = eval(compile(ast.Expression(tree.left), "<guard>", "eval"), self.scope)
                right = tree.comparators[0]
                actual = repr(left)
                if not isinstance(right, ast.Constant):
                    actual += " and " + repr(eval(compile(ast.Expression(right), "<guard>", "eval"), self.scope))
                op = "" if isinstance(tree.ops[0], ast.Eq) else ast.unparse(tree).split(ast.unparse(tree.left), 1)[1].split()[0] + " "
                return op + local_text(ast.unparse(right)), actual
        except Exception:
            pass
        return "", ""

    def decide(self, decided):
        """Marks the guard that PyTorch's own check fails at first."""
        for raw in decided:
            text = plain_text(raw)
            same = [s for s in self.found if s["text"] == cut(local_text(text))]
            m = re.search(r"tensor '?(.*?)'? .*?expected (.*?)[,.] actual (.*)", text)
            if not same and m:
                same = [s for s in self.found if s["result"] == "would fail" and s.get("source") == local_text(m.group(1))]
            if same:
                same[0]["result"] = "failed"
                if m:
                    same[0]["text"], same[0]["expected"], same[0]["actual"] = (
                        cut(local_text(text)), cut(m.group(2), 200), cut(m.group(3), 200),
                    )  # fmt: skip
                return
        if decided:
            text = cut(local_text(plain_text(decided[0])))
            self.found.append({"entry": self.number, "text": text, "result": "failed"})


def tensor_sides(text, value):
    """Where a tensor is not what a guard asks for: only what differs, of both."""
    torch = torch_module()
    expected, actual = [], []

    def differs(name, want, got):
        if want != got:
            expected.append("%s %s" % (name, want))
            actual.append("%s %s" % (name, got))

    if torch is None or not isinstance(value, torch.Tensor):
        return "a tensor", type_name(value)
    m = re.search(r"\), (torch\.\w+), device=(.*?), requires_grad=(\w+), size=\[(.*?)\], stride=\[(.*?)\]", text)
    if not m:
        return "", ""
    differs("dtype", m.group(1), str(value.dtype))
    if m.group(2) != "None":
        index = value.device.index
        differs("device", m.group(2), str(index))
    differs("requires_grad", m.group(3), str(value.requires_grad))
    for name, want, got in (("size", m.group(4), value.shape), ("stride", m.group(5), value.stride())):
        want, got = [w for w in want.split(", ") if w], [str(g) for g in got]
        if len(want) != len(got) or any(w not in ("None", g) for w, g in zip(want, got)):
            differs(name, "[%s]" % ", ".join("any" if w == "None" else w for w in want), "[%s]" % ", ".join(got))
    return ", ".join(expected), ", ".join(actual)


def plain_text(part):
    """A guard without the comment that says which line asked for it."""
    return re.split(r"\s+# ", part, maxsplit=1)[0].rstrip()


def local_text(text):
    """L['x'] is the local x, as PyTorch's messages have it."""
    return re.sub(r"L\[['\"](.*?)['\"]\]", r"\1", text)
