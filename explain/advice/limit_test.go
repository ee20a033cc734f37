package advice

import (
	"testing"

	"tcdbg/tracer/breaks"
)

// At the recompile limit every further call pays: nothing that brought a function there is
// called normal, and what can be done is still said.
func TestNothingIsNormalAtTheLimit(t *testing.T) {
	for _, f := range []Finding{
		{Kind: Recompile, Guard: breaks.NoneChanged, Name: "mask"},
		{Kind: Recompile, Guard: breaks.ValueChanged, Name: "flag", Expected: "True"},
		{Kind: Recompile, Guard: breaks.ValueChanged, Name: "t", Expected: "2", Number: Input},
	} {
		if text, _, _ := Advise(&f); text == "" {
			t.Errorf("%s: nothing is said below the limit", f.Name)
		}
		f.Limit = true
		if text, id, _ := Advise(&f); text != "" {
			t.Errorf("%s: at the limit, %s says %q", f.Name, id, text)
		}
	}
	f := Finding{Kind: Recompile, Guard: breaks.ValueChanged, Name: "mode", Expected: "'a'", Limit: true}
	if _, id, _ := Advise(&f); id != "text" {
		t.Errorf("a string at the limit: %q", id)
	}
}

// What is normal and reaches the limit is told what made the entries before it; what has advice of
// its own keeps that.
func TestWhatFilledTheEntriesIsNamedAtTheLimit(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.GlobalStateChanged, Name: "grad_mode", Limit: true}
	if text, _, _ := Advise(&f); text != "" {
		t.Errorf("nothing fills the entries, and it says %q", text)
	}
	f.FilledBy, f.FilledTimes, f.Before = "self.calls (net.py:9)", 6, 7
	if text, id, _ := Advise(&f); id != "limit-filled" || !has(text, "6 of the 7", "self.calls (net.py:9)") {
		t.Errorf("%s: %q", id, text)
	}
	f.Guard, f.Name, f.Expected = breaks.ValueChanged, "mode", "'a'"
	if _, id, _ := Advise(&f); id != "text" {
		t.Errorf("a string at the limit: %q", id)
	}
	f.Guard, f.Limit = breaks.GlobalStateChanged, false
	if text, _, _ := Advise(&f); !has(text, "is normal") {
		t.Errorf("below the limit: %q", text)
	}
}

// A size is to be marked only where the program has the tensor before the call.
func TestSizesAreMarkedWhereTheCallerHasTheTensor(t *testing.T) {
	for want, f := range map[string]Finding{
		"size": {Direct: true, Changed: []string{"batch['ids'], 1"}},
		"size-now-open of a function that may be called within an eager one": {Changed: []string{"x, 1"}},
		"size-now-open of a cache":      {Direct: true, Changed: []string{"cache[0][1], 2"}},
		"size-now-open of a new layout": {Direct: true, Relaid: true, Changed: []string{"x, 1"}},
	} {
		f.Kind, f.Guard, f.Name, f.Reachable, f.Number = Recompile, breaks.SizeChanged, "x", true, Input
		f.Expected, f.Actual = "8", "12"
		if row, _ := For(&f); row.ID != firstWord(want) {
			t.Errorf("%s: row %q", want, row.ID)
		}
	}
}

// A list is known by either kind of quotes, and one that grows has no few lengths.
func TestListsThatGrow(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.LengthChanged, Name: "hist['acc']", Expected: "3", Line: `hist["acc"].append(acc)`}
	if row, _ := For(&f); row.ID != "list-grows" {
		t.Errorf("%q", row.ID)
	}
	f.Line, f.Grows = "for v in hist['acc']:", true
	if row, _ := For(&f); row.ID != "list-grows-outside" {
		t.Errorf("a list that grows elsewhere: %q", row.ID)
	}
	for line, want := range map[string]string{
		"n = self.count(hist['acc'])": "length-grows", "for v in hist['acc'][-2:]:": "length-grows", "": "",
	} {
		f.Line = line
		if row, _ := For(&f); row.ID != want {
			t.Errorf("a list that grows, and of which %q is no run over all: %q, want %q", line, row.ID, want)
		}
	}
}
