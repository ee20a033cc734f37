package advice

import (
	"testing"

	"tcdbg/tracer/breaks"
)

// A guard on a size names the line that was traced when it was made: a condition that asks no
// size is not said to branch on one.
func TestAConditionWithoutASizeIsNoBranchOnOne(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.ShapeRelation, Name: "2 <= boxes.size()[0]"}
	for line, want := range map[string]string{
		"if t.is_floating_point():": "size-special",
		"if x.shape[0] > 1:":        "branch-on-size",
		"while n > 1:":              "branch-on-size",
		"if n % 2:":                 "branch-on-size",
		"if len(x) >= limit(y):":    "branch-on-size",
		"if even:":                  "branch-on-size",
	} {
		f.Line = line
		if row, _ := For(&f); row.ID != want {
			t.Errorf("%s: row %q, want %q", line, row.ID, want)
		}
	}
}

// A lambda that keeps what it reads decides nothing.
func TestALambdaThatKeepsANumber(t *testing.T) {
	for line, want := range map[string]string{
		"s = Sampler(net, lambda i, x0: seen.append(x0.mean().item()))": "item-kept",
		"best = min(names, key=lambda n: scores[n].item())":             "item-decides",
	} {
		f := Finding{Kind: Break, Code: breaks.TensorItem, Line: line}
		if row, _ := For(&f); row.ID != want {
			t.Errorf("%s: row %q, want %q", line, row.ID, want)
		}
	}
}

// The body of a loop that breaks at other lines, too, has more breaks and entries when it is
// compiled by itself than the loop has.
func TestABodyThatBreaksIsNotToBeCompiled(t *testing.T) {
	f := Finding{At: 2, Body: []string{"def f(xs):", "    for x in xs:", "        print(x.shape)", "        y = x.sin()"}}
	if text := LostLoop(&f); !has(text, "compile the loop's body") {
		t.Errorf("one break: %q", text)
	}
	f.Body = append(f.Body, "        rows += x[mask].tolist()")
	if text := LostLoop(&f); has(text, "body") || !has(text, "leave the loop outside") {
		t.Errorf("several breaks: %q", text)
	}
	f.Body, f.At = nil, 0
	if text := LostLoop(&f); has(text, "body") || !has(text, "leave the loop outside") {
		t.Errorf("a loop that is not seen: %q", text)
	}
}

// What makes a new entry whatever is done about the size comes first.
func TestASizeIsNotTheOnlyCause(t *testing.T) {
	size := Finding{
		Kind: Recompile, Guard: breaks.SizeChanged, Name: "x", Expected: "16", Actual: "13",
		Reachable: true, Direct: true, Changed: []string{"x, 0"},
	}
	for _, c := range []struct {
		with func(*Finding)
		want string
	}{
		{func(*Finding) {}, "size"},
		{func(f *Finding) { f.BoundAt = "conv.py:380" }, "size-past-bound"},
		{func(f *Finding) { f.Filled, f.FilledLine = "self.grid.cache", "self.cache[key] = boxes" }, "size-and-filled"},
		{func(f *Finding) { f.Filled, f.FilledLine = "self.cache", "for k in self.cache:" }, "size"},
		{func(f *Finding) { f.Number, f.Filled, f.FilledLine = Constant, "self.cache", "self.cache[n] = y" }, "size-and-filled"},
		{func(f *Finding) { f.CutBy, f.Reachable = "gnn.py:9", false }, "after-break"},
		{func(f *Finding) { f.CutBy, f.Reachable, f.OwnArgument = "gnn.py:9", false, "x" }, "after-break-own"},
	} {
		f := size
		c.with(&f)
		if row, _ := For(&f); row.ID != c.want {
			t.Errorf("row %q, want %q", row.ID, c.want)
		}
	}
}

// A dict whose missing key the function adds has an entry for each length, not two.
func TestAKeyThatIsAddedIsNoCaseOfTwo(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.DictKeyChanged, Name: "grid.cache", Expected: "lacks 3", Line: "if n not in self.cache:"}
	if row, _ := For(&f); row.ID != "membership" {
		t.Errorf("read alone: row %q", row.ID)
	}
	f.Body = []string{"def points(self, n):", "    if n not in self.cache:", "        self.cache[n] = torch.arange(n)"}
	if row, _ := For(&f); row.ID != "dict-filled" {
		t.Errorf("filled: row %q", row.ID)
	}
}

// An argument in place of a global is an input of the graph, but for a line that computes with
// its value what no graph does.
func TestAGlobalThatMathNeeds(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.GlobalChanged, Name: "step", Held: true}
	for line, want := range map[string]string{
		"eps = end + d * math.exp(-1.0 * step / decay)": "number-global-computed",
		"for i in range(step):":                         "number-global-computed",
		"x = x * step":                                  "number-global",
		"x = math.sqrt(n) * step":                       "number-global",
		"x = arange(step)":                              "number-global",
	} {
		f.Line = line
		if row, _ := For(&f); row.ID != want {
			t.Errorf("%s: row %q, want %q", line, row.ID, want)
		}
	}
}

// A container that grows with every call has an entry for each length, however it is read.
func TestAContainerThatGrows(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.LengthChanged, Name: "self.memory.memory", Expected: "16", Grows: true}
	for line, want := range map[string]string{
		"return rng.sample(self.memory, n)":     "length-grows",
		"x = self.memory.memory[-1]":            "length-grows",
		"for m in self.memory.memory:":          "list-grows-outside",
		"self.memory.memory[key] = x":           "dict-filled",
		"self.memory.memory.append(x.detach())": "list-grows",
	} {
		f.Line = line
		if row, _ := For(&f); row.ID != want {
			t.Errorf("%s: row %q, want %q", line, row.ID, want)
		}
	}
	if f.Grows = false; textOf(t, &f) == "" {
		t.Error("nothing is said of one that does not grow")
	}
}

// The bound of an operator may be on a number of elements, a product of sizes.
func TestBoundsOfProducts(t *testing.T) {
	const product = "3*x.size()[2]*x.size()[3]"
	for bound, want := range map[string]bool{"<= 20480": true, ">= 17": true, "<= 1": false, "20480": false, "": false} {
		f := Finding{Kind: Recompile, Guard: breaks.ShapeRelation, Name: product, Expected: bound, Line: "return F.conv2d("}
		row, ok := For(&f)
		if (row.ID == "size-bound") != want {
			t.Errorf("%s: row %q", bound, row.ID)
		}
		if ok && want && !has(row.Text(&f), product+" "+bound) {
			t.Errorf("%s: %q", bound, row.Text(&f))
		}
	}
}

// A float that a compiled function counts up in a dict is a constant of each entry where it is
// written back, at the return: nothing on that line could be left outside. Where the line names it,
// or no line counts it up, the line itself needs it.
func TestAFloatThatIsCountedUpInADict(t *testing.T) {
	file := []string{"def process(self, x):", `    self.stats["windows"] += 1`, "    self.stats['last'] = 2.0", "    return x.relu()"}
	for _, c := range []struct{ name, line, row string }{
		{"self.stats['windows']", "    return x.relu()", "number-written-back"},
		{"self.stats['windows']", "    return x * self.stats['windows']", "number-constant"},
		{"self.stats['windows']", "    y = x.relu()", "number-constant"},
		{"self.stats['last']", "    return x.relu()", "number-constant"},
		{"self.stats['seen']", "    return x.relu()", "number-constant"},
		{"self.windows", "    return x.relu()", "number-constant"},
	} {
		f := Finding{
			Kind: Recompile, Guard: breaks.AttributeChanged, Name: c.name, Expected: "2.0", Number: Constant, NumberLine: c.line,
			NumberPlace: "kws.py:11", File: file,
		}
		if _, id, _ := Advise(&f); id != c.row {
			t.Errorf("%s at %q: %q, want %q", c.name, c.line, id, c.row)
		}
	}
}

// Where the entry that failed holds for all values but one, a line asks for that one: no entry is
// made for each value.
func TestANumberThatIsOpenButForOneValue(t *testing.T) {
	f := Finding{
		Kind: Recompile, Guard: breaks.AttributeChanged, Name: "opt.temperature", Number: Constant, NumberPlace: "serve.py:74",
		Line: "if opt.temperature == 0:", Place: "serve.py:74",
	}
	for expected, row := range map[string]string{"!= 0.0": "number-range", "0.8": "number-constant"} {
		f.Expected, f.Text = expected, "opt.temperature "+expected
		if text, id, _ := Advise(&f); id != row {
			t.Errorf("expected %s: %s, %q", expected, id, text)
		}
	}
}

// A deque that was made with a maxlen does not grow with every call: its entries end when it is full.
func TestADequeWithAMaxlenFillsUp(t *testing.T) {
	for line, full := range map[string]bool{
		"        self.window = collections.deque(maxlen=n)":          true,
		"        self.window: deque[Tensor] = deque([], maxlen=8)":   true,
		"        self.window = collections.deque()":                  false,
		"        self.window = []  # a deque(maxlen=8) later":        false,
		"        self.history = collections.deque(maxlen=n)":         false,
		"        return collections.deque(self.window, maxlen=1000)": false,
	} {
		f := Finding{Kind: Recompile, Guard: breaks.LengthChanged, Name: "self.smoother.window", Grows: true, File: []string{line}}
		for _, read := range []string{"self.smoother.window.append(p)", "p = pick(self.smoother.window)"} {
			f.Line = read
			text, id, _ := Advise(&f)
			if has(text, "until its maxlen") != full || has(text, "every call", "each call") == full || !has(id, "grows") {
				t.Errorf("%s, read by %s: %s, %q", line, read, id, text)
			}
		}
	}
}

// Where a size changes that the caller can mark, it is left when a dict that the function fills is
// kept outside: a cache by size has sizes that are constants, a log of sizes has not.
func TestASizeIsLeftWhenADictIsKeptOutside(t *testing.T) {
	f := Finding{
		Kind: Recompile, Guard: breaks.SizeChanged, Name: "idx", Expected: "10", Actual: "11",
		Filled: "self.token_log", FilledLine: "self.token_log[name] = n", Reachable: true, Direct: true,
	}
	for _, marked := range []bool{false, true} {
		if f.Changed = nil; marked {
			f.Changed = []string{"idx, 0"}
		}
		text, id, _ := Advise(&f)
		if id != "size-and-filled" || has(text, "what is left then", "maybe_mark_dynamic(idx, 0)") != marked {
			t.Errorf("marked %v: %s, %q", marked, id, text)
		}
	}
}
