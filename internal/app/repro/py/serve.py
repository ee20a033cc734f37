"""The process in which parts of a graph of PyTorch's are tried, one after the other. It may die of one.

It reads JSON, one object a line: first a program that tcdbg repro has written, then parts of its graph. A part is some of
the lines of forward; what it reads of the others has the value that it has when the whole graph runs eagerly.
"""

import ast
import importlib.util
import json
import os
import sys
import traceback

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

import torch  # noqa: E402

KEPT_BYTES = 8 << 30


class Line:
    """One line of forward: its statements without those that clear names."""

    def __init__(self, statements):
        self.reads, self.writes = [], []
        for s in statements:
            for n in ast.walk(s):
                if isinstance(n, ast.Name) and n.id != "self":
                    self.note(n, isinstance(n.ctx, ast.Store), isinstance(s, ast.AugAssign))
        self.text = "; ".join(ast.unparse(s) for s in statements)

    def note(self, n, stored, augmented):
        if not stored or augmented:
            if n.id not in self.writes and n.id not in self.reads:
                self.reads.append(n.id)
        if stored and n.id not in self.writes:
            self.writes.append(n.id)

    @property
    def name(self):
        return self.writes[-1] if self.writes else ""


def clears(s):
    return isinstance(s, ast.Assign) and isinstance(s.value, ast.Constant) and s.value.value is None


class Whole:
    """A program with the values that its forward computes."""

    def __init__(self, text, folder):
        self.text, self.folder, self.count = text, folder, 0
        self.source = text.splitlines()
        self.kind = self.find("Repro", ast.ClassDef)
        self.forward = next(s for s in self.kind.body if isinstance(s, ast.FunctionDef) and s.name == "forward")
        self.arguments = [a.arg for a in self.forward.args.args[1:]]
        by_line = {}
        for s in self.forward.body:
            if not clears(s) and not isinstance(s, ast.Return):
                by_line.setdefault(s.lineno, []).append(s)
        self.lines = [Line(s) for s in by_line.values()]
        self.returned = [n.id for n in ast.walk(self.forward.body[-1]) if isinstance(n, ast.Name)]
        self.run()

    def find(self, name, kind):
        return next(s for s in ast.parse(self.text).body if isinstance(s, kind) and s.name == name)

    def run(self):
        """Runs the whole eagerly, line by line."""
        module = self.load(self.text)
        names = dict(vars(module))
        torch.manual_seed(module.SEED)
        names["self"] = module.assemble(module.Repro)
        args = module.load_args()
        self.values, kept = {}, 0
        self.trains = any(isinstance(a, torch.Tensor) and a.requires_grad for a in args)
        for name, a in zip(self.arguments, args):
            self.values[name] = self.strided(a)
            names[name] = self.strided(a)
        with torch.no_grad():
            for line in self.lines:
                exec(line.text, names)
                value = names.get(line.name)
                kept += value.nbytes if isinstance(value, torch.Tensor) else 0
                if kept > KEPT_BYTES:
                    raise RuntimeError(f"the values of the graph are more than {KEPT_BYTES >> 30} GB")
                for name in line.writes:
                    self.values[name] = self.strided(names[name])
        self.groups()

    def strided(self, a):
        from torch._dynamo.utils import clone_input

        return clone_input(a.detach()) if isinstance(a, torch.Tensor) else a

    def groups(self):
        """Lines by what can be taken out: those whose value is a tensor, or several, with what takes these apart."""
        self.units, self.always, of = {}, [], {}
        for i, line in enumerate(self.lines):
            value = self.values.get(line.name)
            source = line.reads[0] if line.reads else ""
            if line.text.rpartition(" = ")[2] in self.arguments:
                pass  # another name of an argument
            elif isinstance(value, (tuple, list)) and any(isinstance(v, torch.Tensor) for v in value):
                self.units[line.name] = [i]
                of[line.name] = line.name
            elif source in of and isinstance(self.values.get(source), (tuple, list)):
                self.units[of[source]].append(i)
                of[line.name] = of[source]
            elif isinstance(value, torch.Tensor):
                self.units[line.name] = [i]
            elif isinstance(value, (int, float, str)) or isinstance(value, tuple):
                pass  # a number, which is written where it is read
            else:
                self.always.append(i)

    def load(self, text):
        self.count += 1
        path = os.path.join(self.folder, f"part_{self.count}.py")
        with open(path, "w") as f:
            f.write(text)
        spec = importlib.util.spec_from_file_location(f"part_{self.count}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def describe(self):
        """The units in order, what each reads of others, and those that the graph returns."""
        owner = {self.lines[i].name: unit for unit, lines in self.units.items() for i in lines}
        units = []
        for unit, lines in self.units.items():
            reads = {owner[r] for i in lines for r in self.lines[i].reads if owner.get(r, unit) != unit}
            units.append({"name": unit, "reads": sorted(reads)})
        return {"units": units, "returned": sorted({owner[r] for r in self.returned if r in owner}), "trains": self.trains}

    def part(self, keep, outs, train):
        """The program of a part, and its inputs."""
        chosen = sorted({i for u in keep for i in self.units[u]} | set(self.always))
        made, inputs, numbers = set(), [], []
        for i in chosen:
            for name in self.lines[i].reads:
                if name in made or name not in self.values or name in inputs:
                    continue
                if isinstance(self.values[name], torch.Tensor):
                    inputs.append(name)
                elif name not in [n for n, _ in numbers]:
                    numbers.append((name, repr(self.values[name])))
            made.update(self.lines[i].writes)
        shown = [name for u in outs for name in self.shown(u)]
        body = [f"        {n} = {v}" for n, v in numbers]
        body += ["        " + self.lines[i].text for i in chosen]
        body.append(f"        return ({', '.join(shown)},)")
        heads = "".join(f", {n}" for n in inputs)
        kind = ["class Repro(torch.nn.Module):", *self.inner(chosen), f"    def forward(self{heads}):", *body]
        values = [self.strided(self.values[n]) for n in inputs]
        for v in values:
            v.requires_grad_(train and v.is_floating_point())
        return self.replaced(kind, self.load_args(inputs, values)), values

    def shown(self, unit):
        return [n for i in self.units[unit] for n in [self.lines[i].name] if isinstance(self.values[n], torch.Tensor)]

    def inner(self, chosen):
        """The nested classes that the part uses."""
        text = " ".join(self.lines[i].text for i in chosen)
        out = []
        for s in self.kind.body:
            if isinstance(s, ast.ClassDef) and s.name in text:
                out += self.source[s.lineno - 1 : s.end_lineno] + [""]
        return out

    def load_args(self, names, values):
        out = ["def load_args():", "    torch.manual_seed(SEED)", "    return ["]
        for name, v in zip(names, values):
            made = f"rand_strided({tuple(v.shape)}, {tuple(v.stride())}, {v.dtype}, '{v.device}')"
            if v.requires_grad:
                made += ".requires_grad_()"
            out.append(f"        {made},  # {name}")
        return [*out, "    ]"]

    def replaced(self, kind, args):
        """The program with another class and other arguments."""
        old = self.find("load_args", ast.FunctionDef)
        return "\n".join(
            self.source[: self.kind.lineno - 1]
            + kind
            + self.source[self.kind.end_lineno : old.lineno - 1]
            + args
            + self.source[old.end_lineno :]
        ) + "\n"


def compiled(error):
    """Whether an error is one of compiling."""
    names = {c.__name__ for c in type(error).__mro__}
    return bool(names & {"TorchDynamoException", "BackendCompilerFailed", "InductorError", "LoweringException", "CppCompileError"})


def words(error):
    """The error as a line: the innermost one has the reason."""
    text = str(error).strip().splitlines()
    for line in text:
        if line.strip() and not line.startswith(("backend=", "Set TORCHDYNAMO")):
            return f"{type(error).__name__}: {line.strip()[:300]}"
    return type(error).__name__


def tried(whole, request):
    text, values = whole.part(request["keep"], request["outs"], request["train"])
    module = whole.load(text)
    mod = module.assemble(module.Repro)
    try:
        module.results(mod, module.copies(values))
    except Exception as e:
        return {"error": "eager execution fails: " + words(e)}
    torch._dynamo.reset()
    try:
        found = module.compare(mod, values)
    except Exception as e:
        return {"fault": "compile" if compiled(e) else "crash", "text": words(e)}
    return {"fault": "accuracy", "text": found[0]} if found else {}


def written(whole, request):
    """Writes the program of a part: with random inputs, or with the part's own beside it."""
    text, values = whole.part(request["keep"], request["outs"], request["train"])
    folder = request["dir"]
    os.mkdir(folder)
    after = ast.parse(text).body[0].end_lineno
    doc = "\n".join(request["doc"]).replace("\\", "/").replace('"', "'")  # an error's words must not end the docstring
    text = "\n".join(['"""' + doc, '"""', *text.splitlines()[after:]]) + "\n"
    if not request.get("random"):
        torch.save([v.detach() for v in values], os.path.join(folder, "inputs.pt"))
        old = next(s for s in ast.parse(text).body if isinstance(s, ast.FunctionDef) and s.name == "load_args")
        lines = text.splitlines()
        grads = ".requires_grad_()" if request["train"] else ""
        new = ["def load_args():", '    kept = torch.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "inputs.pt"))',
               f"    return [v{grads} if v.is_floating_point() else v for v in kept]"]
        text = "\n".join(lines[: old.lineno - 1] + new + lines[old.end_lineno :]) + "\n"
    with open(os.path.join(folder, "repro.py"), "w") as f:
        f.write(text)
    return {}


def main():
    whole = None
    for message in sys.stdin:
        request = json.loads(message)
        try:
            if whole is None:
                whole = Whole(request["program"], request["folder"])
                answer = whole.describe()
            elif request.get("dir"):
                answer = written(whole, request)
            else:
                answer = tried(whole, request)
        except Exception as e:
            traceback.print_exc()
            answer = {"error": words(e)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


main()
