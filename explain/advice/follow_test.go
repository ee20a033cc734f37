package advice

import (
	"testing"

	"tcdbg/tracer/breaks"
)

// A loop over a size that crosses a break has an entry for each size with the break and without it.
func TestASizeThatALineNeedsOutlivesTheBreak(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.SizeChanged, CutBy: "crf.py:8", Expected: "7", Actual: "5", Number: Input}
	for needed, want := range map[string]string{"": "after-break", "crf.py:10": "after-break-width"} {
		f.NeededAt = needed
		if row, _ := For(&f); row.ID != want {
			t.Errorf("needed at %q: row %q, want %q", needed, row.ID, want)
		}
	}
	f.NeededAt = "crf.py:10"
	if f.OfArgument = "batch['ids']"; !has(textOf(t, &f), "crf.py:10 needs this size") {
		t.Error("what is left when the break is gone is said to be a size to mark")
	}
	// the weights of a module need a size, which is another one in each module: inlined, they need no entry
	if f.CalledWithin, f.OfArgument = true, ""; !has(textOf(t, &f), "what removes that break removes this") {
		t.Errorf("within: %q", textOf(t, &f))
	}
}

// inf is where a running value began: no line of a break gave it that.
func TestAStartingValueIsNotSetByTheBreak(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.ValueChanged, Name: "best", SetBy: "train.py:9"}
	for expected, want := range map[string]string{"inf": "number-infinite", "-inf": "number-infinite", "0.25": "set-by-break"} {
		f.Expected = expected
		if row, _ := For(&f); row.ID != want {
			t.Errorf("%s: row %q, want %q", expected, row.ID, want)
		}
	}
	f.Guard, f.Expected = breaks.NoneChanged, ""
	if row, _ := For(&f); row.ID != "optional" {
		t.Errorf("None: row %q", row.ID)
	}
}

// An operator that works otherwise from a size on makes two cases, and no more; other relations
// of sizes are no bounds.
func TestBoundsOfSizes(t *testing.T) {
	for relation, want := range map[string]bool{
		"16 <= x.size()[0]":               true,
		"2 <= x.size()[0] <= 15":          true,
		"x.size()[0] <= 15":               true,
		"2 <= x.size()[0]":                false,
		"2 <= x.size()[0] <= y.size()[0]": false,
		"16 <= x.size()[0] * 2":           false,
		"16 <= n":                         false,
	} {
		f := Finding{Kind: Recompile, Guard: breaks.ShapeRelation, Name: relation}
		if row, _ := For(&f); (row.ID == "size-bound") != want {
			t.Errorf("%s: row %q", relation, row.ID)
		}
	}
}

// Sentences and names of files cannot be kept few.
func TestTextsOfManyValues(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.ValueChanged, Name: "text", Expected: "'anna met peter'"}
	for many, want := range map[bool]string{false: "text", true: "text-values"} {
		f.ManyValues = many
		if row, _ := For(&f); row.ID != want {
			t.Errorf("many %v: row %q, want %q", many, row.ID, want)
		}
	}
}

// A method that is looked up before its arguments break the graph is no call to move.
func TestAMethodHandedAcrossABreak(t *testing.T) {
	f := Finding{
		Kind: Break, Code: breaks.SkippedFunction, Line: "self.low.fill_(0.9 * self.low.item())", Callee: "self.low.fill_",
		Context: "module: <unknown module>, qualname: Tensor.fill_, skip reason: cannot determine source file",
	}
	for resumed, want := range map[bool]string{false: "statement-call", true: "method-across-break"} {
		f.Resumed = resumed
		if row, _ := For(&f); row.ID != want {
			t.Errorf("resumed %v: row %q, want %q", resumed, row.ID, want)
		}
	}
}

// Where other causes make entries, a tensor that is not marked fixes its size again.
func TestSizesAreMarkedBeforeEveryCallWhereEntriesHaveOtherCauses(t *testing.T) {
	f := Finding{
		Kind: Recompile, Guard: breaks.SizeChanged, Name: "x", Expected: "4", Actual: "6", Reachable: true, Direct: true,
		Changed: []string{"x, 0", "y, 0"},
	}
	for other, want := range map[bool]string{false: "before the first call, all of them", true: "before every call"} {
		if f.Recompiled = other; !has(textOf(t, &f), want) {
			t.Errorf("other causes %v: %q", other, textOf(t, &f))
		}
	}
}

// An argument is left when the break is gone that it crosses; a name that a line gives another
// value is none, and of a function that cannot be read nothing is known.
func TestArgumentsOfAFunction(t *testing.T) {
	body := []string{
		"def forward(", "    self, mel,  # frames, skip", "    lens=None,", "):",
		"    self.seen += int(lens.sum())", "    h, w = mel.shape, 3",
		"    lens = norm(x, mel=mel)", "    if h == mel: pass", "    mel = mel + 1",
	}
	for _, c := range []struct {
		name string
		at   int
		is   bool
	}{
		{"mel", 5, true},
		{"mel", 7, true},
		{"mel", 8, false},
		{"lens", 4, true},
		{"lens", 7, false},
		{"h", 7, false},
		{"skip", 5, false},
		{"seen", 5, false},
	} {
		if is, known := Parameter(body, c.at, c.name); is != c.is || !known {
			t.Errorf("%s until line %d: %v, known %v", c.name, c.at, is, known)
		}
	}
	for _, line := range []string{
		"    for mel in batch:", "    with open(f) as mel:", "    (mel, h) = f(x)", "    mel *= 2", "    if (mel := x) is None:",
	} {
		if is, _ := Parameter([]string{"def f(mel):", line}, 1, "mel"); is {
			t.Errorf("%q leaves the argument", line)
		}
	}
	if _, known := Parameter(nil, 0, "mel"); known {
		t.Error("a function that cannot be read is known")
	}
	f := Finding{Kind: Recompile, Guard: breaks.SizeChanged, CutBy: "asr.py:46", Expected: "40", Actual: "48", MayBeArgument: "mel"}
	if text := textOf(t, &f); has(text, "removes this") || !has(text, "where mel is an argument") {
		t.Error(text)
	}
}

// Where the trace does not tell which other sizes changed with that of an argument, they are to be
// marked with it; what an argument holds is not called one.
func TestSizesOfArgumentsAfterABreak(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.SizeChanged, CutBy: "serve.py:102", Expected: "4", Actual: "6", Function: "step"}
	f.OfArgument, f.Changed, f.Partial = "kv[0]", []string{"kv[0], 1"}, true
	if text := textOf(t, &f); !has(text, "every other input that has this size") {
		t.Error(text)
	}
	if f.Partial = false; has(textOf(t, &f), "every other input") {
		t.Error("all sizes that changed are known")
	}
	if f.OfArgument, f.OwnArgument = "", "kv[0]"; !has(textOf(t, &f), "kv[0], which an argument holds, is asked for") {
		t.Error(textOf(t, &f))
	}
	if f.OwnArgument = "kv"; !has(textOf(t, &f), "kv, an argument, is asked for") {
		t.Error(textOf(t, &f))
	}
}

// What removes a break does not remove what is left without it: the sizes of a tensor that is then
// passed in, the length of an object that the function has anyway. A list that the call at the break
// makes goes with it.
func TestWhatIsLeftWithoutTheBreak(t *testing.T) {
	for _, c := range []struct {
		guard          string
		given, operand bool
		left           string
	}{
		{breaks.SizeChanged, true, false, "unless the tensor is then an argument"},
		{breaks.SizeChanged, false, false, ""},
		{breaks.LengthChanged, false, true, "unless what has that length"},
		{breaks.LengthChanged, true, false, ""},
	} {
		f := Finding{
			Kind: Recompile, Guard: c.guard, CutBy: "vit.py:76", Expected: "10", Actual: "11", Given: c.given, Operand: c.operand,
		}
		if text := textOf(t, &f); !has(text, "removes this") || !has(text, c.left) || has(text, "unless") != (c.left != "") {
			t.Errorf("%+v: %s", c, text)
		}
	}
}

// The elements of a list, as the items that a user has seen, cannot be kept few.
func TestElementsThatALineNeeds(t *testing.T) {
	for name, outside := range map[string]bool{"seen[0][0]": true, "s.depth": false} {
		f := Finding{Kind: Recompile, Guard: breaks.ValueChanged, Name: name, Expected: "35", Number: Constant, NumberPlace: "rank.py:81"}
		if text := textOf(t, &f); has(text, "leave that line outside") != outside {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// A loop's body that is compiled by itself is traced as a part of the whole function where that is
// compiled, too, and breaks it there as before.
func TestABodyIsCompiledInPlaceOfTheWhole(t *testing.T) {
	body := []string{"def f(xs):", "    for x in xs:", "        y = x.item()", "        z = x.sin()"}
	f := Finding{Body: body, At: 2, Line: "y = x.item()"}
	if text := LostLoop(&f); !has(text, "in place of the whole, compile the loop's body") {
		t.Error(text)
	}
}
