package advice

import (
	"strings"
	"testing"

	"tcdbg/tracer/breaks"
)

// A program registers shape rules for its own operators; for PyTorch's own that ends the program.
func TestShapeRulesAreForTheProgramsOwnOperators(t *testing.T) {
	for context, want := range map[string]string{
		"unsupported operator: t2.raw.default":         "register-fake-lib",
		"unsupported operator: aten.histogram.bin_ct":  "",
		"unsupported operator: prims.some_new.default": "",
	} {
		row, _ := For(&Finding{Kind: Break, Code: "GB0090", Context: context})
		if row.ID != want {
			t.Errorf("%s: row %q, want %q", context, row.ID, want)
		}
	}
}

// A cache that the compiled function fills has no few lengths, and being empty at first is
// not its only entry.
func TestACacheFilledWithinIsNotNormal(t *testing.T) {
	for _, f := range []Finding{
		{Kind: Recompile, Guard: breaks.LengthChanged, Name: "self.grids", Expected: "2"},
		{Kind: Recompile, Guard: breaks.ValueChanged, Name: "self.grids", Expected: "false"},
	} {
		if row, _ := For(&f); row.ID == "" {
			t.Errorf("%s: nothing is said of a container that is only read", f.Guard)
		}
		f.Line = "self.grids[key] = torch.arange(n)"
		if text := textOf(t, &f); IsNormal(text) || !has(text, "puts elements into self.grids") {
			t.Errorf("%s: of a container that the line fills: %q", f.Guard, text)
		}
	}
}

// The setting that makes an int of a module an input does not help where the int is an index, nor
// where it has had two values: the second is recompiled for even then.
func TestAnIndexOfAModuleIsNoInput(t *testing.T) {
	f := Finding{
		Kind: Recompile, Guard: breaks.AttributeChanged, Name: "self.ptr", Line: "self.ptr += 1",
		Text: "hint: allow_unspec_int_on_nn_module", ManyValues: true,
	}
	for other, want := range map[string]bool{
		"y = x * self.ptr":               true,
		"self.ptrs[0] = v":               true,
		"w = (1 + self.ptr) * 2":         true,
		"self.slots[self.ptr] = v":       false,
		"if self.ptr % 3 == 0:":          false,
		"y = a if self.ptr > 2 else b":   false,
		"for i in range(self.ptr):":      false,
		"x = torch.roll(x, self.ptr)":    false,
		"w = self.ptr / 9\nif w > 1:":    false,
		"w = self.ptr\ny = w * x":        true,
		"self.other = self.ptr + 1":      false,
		`name = f"step {self.ptr}"`:      false,
		"k = self.ptr\nv = self.list[k]": false,
	} {
		f.File = append([]string{"self.ptr = 0", f.Line}, strings.Split(other, "\n")...)
		row, _ := For(&f)
		if row.ID != "module-counter" || has(row.Text(&f), "allow_unspec_int") != want {
			t.Errorf("%s: row %q, the setting is named: %v", other, row.ID, !want)
		}
	}
	f.File, f.ManyValues = []string{"self.ptr = 0", f.Line, "y = x * self.ptr"}, false
	if has(textOf(t, &f), "allow_unspec_int") {
		t.Error("the setting is named where there are two values")
	}
	if f.File, f.ManyValues = nil, true; has(textOf(t, &f), "allow_unspec_int") {
		t.Error("the setting is named where the file cannot be read")
	}
}

// textOf is the text of the row that a finding fits.
func textOf(t *testing.T, f *Finding) string {
	t.Helper()
	row, ok := For(f)
	if !ok {
		t.Fatal("no row fits")
	}
	return row.Text(f)
}

// An attribute that is set once differs between modules and not between calls: each module is
// compiled by itself only where what calls them runs eagerly.
func TestAnAttributeOfEachModule(t *testing.T) {
	once := []string{"class Block(Module):", "    def __init__(self, index):", "        self.index = index", "        if self.index == 0:"}
	f := Finding{
		Kind: Recompile, Guard: breaks.AttributeChanged, Name: "self.index", Text: "hint: allow_unspec_int_on_nn_module",
		CalledWithin: true, File: once,
	}
	if row, _ := For(&f); row.ID != "of-each-module" {
		t.Errorf("set once: row %q", row.ID)
	}
	for _, more := range []string{"        self.index += 1", "    def reset(self, n): self.index = n", "setattr(block, name, 3)"} {
		f.File = append(once[:len(once):len(once)], more)
		if row, _ := For(&f); row.ID != "module-counter" {
			t.Errorf("%s: row %q", more, row.ID)
		}
	}
	f.File = []string{"    def forward(self, x):", "        self.index = len(x)"}
	if row, _ := For(&f); row.ID != "module-counter" {
		t.Errorf("set in forward: row %q", row.ID)
	}
	f.File, f.CalledWithin = once, false
	if row, _ := For(&f); row.ID != "of-each-model" {
		t.Errorf("not within: row %q", row.ID)
	}
	f.ManyValues = true
	if row, ok := For(&f); ok {
		t.Errorf("many objects, and an attribute that a line asks for: row %q", row.ID)
	}
	f.File = append(once[:3:3], "        return x * self.index")
	if text := textOf(t, &f); has(text, "change it") || !has(text, "allow_unspec_int") {
		t.Errorf("an attribute that no line changes: %q", text)
	}
}

// A list that the line appends to is not empty once alone: each call adds a length.
func TestAListThatGrowsIsNotNormalWhereItIsEmpty(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.ValueChanged, Name: "self.losses", Expected: "false"}
	for line, want := range map[string]string{"if self.losses:": "empty", "self.losses.append(loss)": "list-grows"} {
		f.Line = line
		if row, _ := For(&f); row.ID != want {
			t.Errorf("%s: row %q, want %q", line, row.ID, want)
		}
	}
}

// A number that a string is made of, such as a step in a file's name, has no few values.
func TestANumberInATextIsNotKeptFew(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.AttributeChanged, Name: "self.it", Expected: "3", Number: Constant}
	for line, want := range map[string]string{
		`path = f"sample_{self.it}.pt"`:     "number-in-text",
		`path = f"sample_{self.it:03d}.pt"`: "number-in-text",
		`y = F.dropout(x, self.it)`:         "number-constant",
		`log(f"{name}", x[self.it])`:        "number-constant",
	} {
		f.NumberLine = line
		if row, _ := For(&f); row.ID != want {
			t.Errorf("%s: row %q, want %q", line, row.ID, want)
		}
	}
}

// What is put under torch.compiler.disable was put there for something: whichever way the
// break is recorded, the call is what moves.
func TestDisabledFunctionsStayDisabledFirst(t *testing.T) {
	for _, code := range []string{breaks.Disabled, breaks.DisabledInline} {
		f := Finding{Kind: Break, Code: code, Callee: "self.penalty"}
		row, _ := For(&f)
		if row.ID != "disabled" || !has(row.Text(&f), "Leave the call of self.penalty outside") {
			t.Errorf("%s: row %q", code, row.ID)
		}
	}
}

// A lambda that is compiled by itself has no caller that could mark its sizes.
func TestSizesOfANestedFunctionFollow(t *testing.T) {
	f := Finding{
		Kind: Recompile, Guard: breaks.SizeChanged, Name: "dist", Function: "<lambda>", Expected: "6", Actual: "9",
		Reachable: true, Direct: true, Changed: []string{"dist, 0"},
	}
	for nested, want := range map[bool]string{false: "size", true: "nested-function"} {
		f.Nested = nested
		if row, _ := For(&f); row.ID != want {
			t.Errorf("nested %v: row %q, want %q", nested, row.ID, want)
		}
	}
}

// What is one object in some calls may be a config as well as a tensor.
func TestAliasesNeedNotBeTensors(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.AliasingChanged, Name: "self.model.cfg and self.cfg"}
	if text := textOf(t, &f); has(text, "tensor") {
		t.Error(text)
	}
}

// Where the compiles after a change leave no entry, every call compiles again: that is not
// normal, and whatever changed is not what to mend.
func TestCompilesThatLeaveNoEntryAreNotNormal(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.RequiresGradChanged, Name: "x", Reachable: true, Often: true}
	for at, want := range map[string]string{"": "requires-grad-differs", "pinn.py:28": "no-entry"} {
		f.NoEntry = at
		if row, _ := For(&f); row.ID != want || !has(row.Text(&f), at) {
			t.Errorf("no entry for %q: row %q, want %q", at, row.ID, want)
		}
	}
	// seen once or twice, it is no more normal, but what further calls do is not known
	f = Finding{Kind: Recompile, Guard: breaks.AttributeChanged, Name: "(self.step % 4)", Expected: "!= 0", Number: Branched}
	for at, want := range map[string]string{"": "is normal", "gan.py:101": "leaves no entry: remove that break first"} {
		if f.NoEntry = at; !has(textOf(t, &f), want) || has(textOf(t, &f), "further calls") {
			t.Errorf("once, no entry for %q: %s", at, textOf(t, &f))
		}
	}
}

// A number that later lines keep in an object is no tensor to go on with: it and what is
// computed of it belong outside, whichever line reads it.
func TestANumberThatALaterLineKeeps(t *testing.T) {
	f := Finding{Kind: Break, Code: breaks.TensorItem, Line: "avg = 0.9 * avg + loss.item()", At: 1}
	for rest, want := range map[string]string{
		"losses.append(avg)":                          "item-kept",
		"smooth = avg / 2\nself.best = smooth":        "item-kept",
		"if avg > 3:":                                 "item",
		"losses = []\nlosses.append(avg)":             "item",
		"out = {}\nfor k in x:\n    out[k] = k / avg": "item",
		"losses.append(average)":                      "item",
		"return avg":                                  "item",
	} {
		f.Body = append([]string{"def step(loss, avg):", f.Line}, strings.Split(rest, "\n")...)
		if row, _ := For(&f); row.ID != want {
			t.Errorf("%q: row %q, want %q", rest, row.ID, want)
		}
	}
}

// A hook's name is of the function that made the hook: no call can keep its values few.
func TestAStringOfTheFunctionAround(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.ValueChanged, Name: "name", Expected: "'layer0'", CalledWithin: true}
	for body, want := range map[string]string{
		"def hook(module, args, out):\n    features[name] = out":      "of-each-closure",
		"def hook(module,\n         out):\n    features[name] = out":  "of-each-closure",
		"def hook(module, out, name):\n    features[name] = out":      "text",
		"def hook(module,\n         name):\n    features[name] = out": "text",
		"def hook(out):\n    name = out.name\n    features[name] = 1": "text",
		"def hook(out):\n    for name in out:\n        use(name)":     "text",
		"": "text",
	} {
		if f.Body = nil; body != "" {
			f.Body = strings.Split(body, "\n")
		}
		if row, _ := For(&f); row.ID != want {
			t.Errorf("%q: row %q, want %q", body, row.ID, want)
		}
	}
	f.Body, f.CalledWithin = []string{"def hook(out):", "    features[name] = out"}, false
	if row, _ := For(&f); row.ID != "text" {
		t.Errorf("called by the program: row %q", row.ID)
	}
}

// A slice that begins where its storage does has an entry of its own, whatever its size.
func TestStorageOffsets(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.AttributeChanged, Name: "batch['x'].storage_offset()", Expected: ">= 2"}
	if row, _ := For(&f); row.ID != "storage-offset" || !strings.HasPrefix(row.Text(&f), "batch['x'] begins") {
		t.Errorf("row %q", row.ID)
	}
	f.Expected = "7"
	if row, _ := For(&f); row.ID != "" {
		t.Errorf("of a constant offset: row %q", row.ID)
	}
}

// The iterator of a comprehension that breaks is nothing to change; another one may be.
func TestTheIteratorOfAComprehension(t *testing.T) {
	f := Finding{Kind: Break, Code: "GB8335", Context: "mutating object: ListIteratorVariable(length=8, index=0)"}
	for expr, want := range map[string]string{
		"[row.item() for i, row in enumerate(x)]": "comprehension-iterator",
		"next(rows)": "",
	} {
		f.Expr = expr
		if row, _ := For(&f); row.ID != want {
			t.Errorf("%s: row %q, want %q", expr, row.ID, want)
		}
	}
}

// A list of a tensor's values over which a later line runs is needed as a list there.
func TestAListThatALaterLineRunsOver(t *testing.T) {
	f := Finding{Kind: Break, Context: "aten._local_scalar_dense.default", Line: "    lengths = mask.sum(1).tolist()", At: 1}
	for later, want := range map[string]bool{
		"    for n in lengths:":                                true,
		"    y = [h[i, n - 1] for i, n in enumerate(lengths)]": true,
		"    for n in all_lengths:":                            false,
		"    return lengths":                                   false,
	} {
		f.Body = []string{"def pool(h, mask):", f.Line, later}
		for code, other := range map[string]string{breaks.DataDependentOperator: "", breaks.TensorToList: "tolist"} {
			f.Code = code
			if want {
				other = "tolist-numbers"
			}
			if row, _ := For(&f); row.ID != other {
				t.Errorf("%s, %q: row %q, want %q", code, later, row.ID, other)
			}
		}
	}
}

// A function of the math module on a number of the graph breaks where it checks it; other results
// that are no tensors have no such check.
func TestChecksOfNumbers(t *testing.T) {
	f := Finding{Kind: Break, Code: "GB0208", Line: "if math.isnan(loss.item()):"}
	for context, want := range map[string]string{
		"example_value type: bool; op: call_function; target: <built-in function isnan>": "check-on-number",
		"example_value type: int; op: call_method; target: get_device":                   "",
	} {
		f.Context = context
		if row, _ := For(&f); row.ID != want {
			t.Errorf("%s: row %q", context, row.ID)
		}
	}
}

// A list that is unpacked is numbers from there on; what is set at an index is one value.
func TestAListThatIsUnpacked(t *testing.T) {
	for line, want := range map[string]string{
		"h, r, t = batch[i].tolist()":   "tolist-numbers",
		"top, _ = self.boxes.tolist()":  "tolist-numbers",
		"row = batch[i].tolist()":       "",
		"out[i, j] = batch[i].tolist()": "",
	} {
		f := Finding{Kind: Break, Code: breaks.DataDependentOperator, Context: "aten._local_scalar_dense.default", Line: line}
		if row, _ := For(&f); row.ID != want {
			t.Errorf("%q: row %q, want %q", line, row.ID, want)
		}
	}
}

// A list that a dict of the program holds grows as one that it holds itself.
func TestAListWithinADictGrows(t *testing.T) {
	for line, want := range map[string]string{
		"self.times.setdefault(t, []).append(y)": "list-grows",
		"self.times[t].append(y)":                "list-grows",
		"for y in self.times[6]:":                "dict-keys",
	} {
		row, _ := For(&Finding{Kind: Recompile, Guard: breaks.LengthChanged, Name: "self.times[6]", Line: line})
		if row.ID != want {
			t.Errorf("%s: row %q, want %q", line, row.ID, want)
		}
	}
}

// The sizes of a parameter are those of its model, whatever dynamic says.
func TestSizesOfParameters(t *testing.T) {
	for name, want := range map[string]string{"model._modules['fc']._parameters['bias']": "size-of-parameter", "x": "size-static"} {
		row, _ := For(&Finding{Kind: Recompile, Guard: breaks.SizeChanged, Name: name, Static: true})
		if row.ID != want {
			t.Errorf("%s: row %q, want %q", name, row.ID, want)
		}
	}
}

// What extends a list makes it grow as append does: its lengths are not few, and being empty at
// first is not its only entry.
func TestAListThatIsExtendedGrows(t *testing.T) {
	for _, line := range []string{"self.done.extend(ret.tolist())", "self.done.insert(0, x)", "self.done.appendleft(x)"} {
		for _, f := range []Finding{
			{Kind: Recompile, Guard: breaks.LengthChanged, Name: "self.done", Expected: "6", Line: line},
			{Kind: Recompile, Guard: breaks.ValueChanged, Name: "self.done", Expected: "false", Line: line},
		} {
			if row, _ := For(&f); row.ID != "list-grows" {
				t.Errorf("%s, %s: row %q", line, f.Guard, row.ID)
			}
		}
	}
}

// A number that is made outside to remove a break is an argument then, for which the function is
// recompiled: what removes the break does not remove that.
func TestANumberAcrossABreakIsAnArgumentThen(t *testing.T) {
	const left = "unless the number is then an argument"
	for _, f := range []Finding{
		{Kind: Recompile, Guard: breaks.ValueChanged, Name: "lam", SetBy: "train.py:39", Expected: "0.34"},
		{Kind: Recompile, Guard: breaks.ValueChanged, CutBy: "train.py:39", Expected: "24"},
	} {
		if text := textOf(t, &f); !has(text, left) {
			t.Errorf("a number: %q", text)
		}
		if f.Name = "meter.total"; f.CutBy != "" && !has(textOf(t, &f), "unless the function then reads the number itself") {
			t.Errorf("a number of an object: %q", textOf(t, &f))
		}
		if f.Expected = "False"; has(textOf(t, &f), left) {
			t.Errorf("a flag: %q", textOf(t, &f))
		}
	}
}

// The questions of package math that torch has too give a tensor there, to choose with.
func TestMathAsksForTheNumberOfATensor(t *testing.T) {
	for line, want := range map[string]string{
		"if not math.isfinite(loss):": "ask torch.isfinite",
		"if math.isnan(x) or k > 3:":  "ask torch.isnan",
		"y = math.isfinite(loss)":     "",
		"if math.floor(loss) > 2:":    "",
	} {
		f := Finding{Kind: Break, Code: breaks.DataDependentOperator, Context: "aten._local_scalar_dense.default", Line: line}
		row, ok := For(&f)
		if want == "" && row.ID == "item-branch" || want != "" && (!ok || !has(row.Text(&f), want)) {
			t.Errorf("%s: row %q", line, row.ID)
		}
	}
}

// A tensor does not do for what takes a number: round and divmod fail for one, str gives another
// string, and package math reads it out again. torch has some of math's functions.
func TestWhatTakesANumberIsNotGivenATensor(t *testing.T) {
	for line, want := range map[string]string{
		"i, j = divmod(d.argmin().item(), n)":             "item-taken",
		"return round(loss.item(), 4)":                    "item-taken",
		"k = round(float(x.mean()) * 10)":                 "item-taken",
		"name = str(x.argmax().item())":                   "item-taken",
		"if round(x.item(), 2) > 0.5:":                    "item-taken",
		"k = math.floor(x.max().item())":                  "item-taken",
		"return math.exp(loss.item())":                    "item-taken",
		"scale = math.sqrt(x.pow(2).mean().item())":       "item-math",
		"if not math.isfinite(loss.item()):":              "item-math",
		"y = x * torch.round(x, decimals=n).sum().item()": "item",
		"scale = math.sqrt(3) * x.mean().item()":          "item",
		"self.log.append(round(loss.item(), 4))":          "item-kept",
		"self.best = min(self.best, round(x.item(), 3))":  "item-kept",
		"self.best = min(self.best, x.item())":            "item-running",
		"if x.item() > 0.5:":                              "item-branch",
	} {
		if row, _ := For(&Finding{Kind: Break, Code: breaks.TensorItem, Line: line}); row.ID != want {
			t.Errorf("%s: row %q, want %q", line, row.ID, want)
		}
	}
	// of two numbers of a line, the break is about one
	f := Finding{Kind: Break, Code: breaks.TensorItem, Line: "a = x.item() + round(y.item(), 2)", Expr: "y.item()"}
	if row, _ := For(&f); row.ID != "item-taken" {
		t.Errorf("the second: row %q", row.ID)
	}
	f.Expr = "x.item()"
	if row, _ := For(&f); row.ID != "item" {
		t.Errorf("the first: row %q", row.ID)
	}
}

// Of Python's own numbers tracing refuses what Python computes: that exception is none of the program's.
func TestAnExceptionOfTracingAlone(t *testing.T) {
	const refused = `raised exception TypeError("unsupported operand type(s) for `
	for context, want := range map[string]string{
		refused + `divmod(): 'int' and 'int'")`:          "write n // k",
		refused + `divmod(): 'float' and 'int'")`:        "do it outside",
		refused + `** or pow(): 'int', 'int', 'int'")`:   "% c for pow(a, b, c)",
		refused + `** or pow(): 'float', 'int', 'int'")`: "the program's own",
		refused + `divmod(): 'Tensor' and 'int'")`:       "the program's own",
		refused + `@: 'int' and 'int'")`:                 "the program's own",
		refused + `+: 'int' and 'str'")`:                 "the program's own",
		`raised exception ValueError("too long")`:        "the program's own",
	} {
		if text := textOf(t, &Finding{Kind: Break, Code: breaks.ObservedPanic, Context: context}); !has(text, want) {
			t.Errorf("%s: %q, want %q", context, text, want)
		}
	}
}

// A float that several lines have is made a constant by one of them that no trace names: the first
// is not said to need it.
func TestTheFirstLineOfAFloatIsNotBlamed(t *testing.T) {
	f := Finding{
		Kind: Recompile, Guard: breaks.ValueChanged, Known: true, Name: "dt", Expected: "0.02", Number: Constant, ManyValues: true,
		NumberPlace: "sim.py:3",
	}
	if text := textOf(t, &f); !has(text, "sim.py:3 needs dt") {
		t.Errorf("the line is recorded: %q", text)
	}
	f.FirstUse = true
	if text := textOf(t, &f); has(text, "sim.py:3") || !has(text, "does not name") {
		t.Errorf("the line is not recorded: %q", text)
	}
	body := []string{"def step(s, dt):", "    v = s.v + dt * s.a  # dt", "    # dt", "    return v, s.t + dt"}
	for name, want := range map[string]bool{"dt": false, "s.t": true, "s.v": true, "s": false, "args[0]": false} {
		if OnlyLine(body, name) != want || OnlyLine(nil, name) {
			t.Errorf("%s: want %v", name, want)
		}
	}
}

// An operator of a library whose result's shape depends on the data is called outside as torch's own are.
func TestAnOperatorOfALibraryWithADynamicShape(t *testing.T) {
	for context, want := range map[string]string{
		"torchvision.nms.default": "dynamic-shape", "aten._unique2.default": "unique", "aten.nonzero.default": "mask-select", "": "",
	} {
		f := Finding{Kind: Break, Code: breaks.DynamicShapeOperator, Context: context}
		if row, _ := For(&f); row.ID != want || want == "dynamic-shape" && !has(row.Text(&f), "elements nms gives") {
			t.Errorf("%s: row %q, want %q", context, row.ID, want)
		}
	}
}

// Package math reads the number out of a tensor by itself.
func TestMathOfATensor(t *testing.T) {
	for line, want := range map[string]string{
		"size = math.sqrt(x.pow(2).sum())":  "with torch.sqrt",
		"k = math.floor(x.sum())":           "do this outside of the compiled function, with what needs the number.",
		"if math.isnan(loss):":              "ask torch.isnan",
		"y = math.sqrt(n) * math.exp(x[0])": "",
		"y = x * math.pi / f(x)":            "",
	} {
		f := Finding{Kind: Break, Code: breaks.DataDependentOperator, Context: "aten._local_scalar_dense.default", Line: line}
		row, ok := For(&f)
		if want == "" && ok || want != "" && (!ok || !has(row.Text(&f), want)) {
			t.Errorf("%s: row %q", line, row.ID)
		}
	}
	f := Finding{
		Kind: Break, Code: breaks.DataDependentOperator, Context: "aten._local_scalar_dense.default",
		Line: "y = math.sqrt(n) * math.exp(x[0])", Expr: "math.exp(x[0])",
	}
	if text := textOf(t, &f); !has(text, "math.exp reads") {
		t.Errorf("the part is known: %q", text)
	}
}

// A number by which the loop around it ends is no tensor to choose with.
func TestANumberThatEndsItsLoop(t *testing.T) {
	head := []string{"def solve(x):", "    while True:", "        err = x.abs().max().item()"}
	for rest, want := range map[string]string{
		"        if err < 1e-3:\n            break\n        x = x / 2":        "item-decides",
		"        if err < 1e-3: break\n        x = x / 2":                     "item-decides",
		"        if x.shape[0] > 3 and err > 2:\n            return x":        "item-decides",
		"        if err < 1e-3:\n            x = x * 2\n        x = x / 2":    "item",
		"        if self.tol > 1e-3:\n            break\n        x = x / err": "item",
		"        x = x / err\n    if err > 2:\n        return x":              "item",
	} {
		body := append(append([]string{}, head...), strings.Split(rest, "\n")...)
		f := Finding{Kind: Break, Code: breaks.TensorItem, Line: strings.TrimSpace(head[2]), Body: body, At: 2, InLoop: true}
		if row, _ := For(&f); row.ID != want {
			t.Errorf("%s: row %q, want %q", rest, row.ID, want)
		}
	}
	f := Finding{Kind: Break, Code: breaks.TensorItem, Line: "err = x.item()", InLoop: true} // the file cannot be read
	if row, _ := For(&f); row.ID != "item" {
		t.Errorf("unread: row %q", row.ID)
	}
}
