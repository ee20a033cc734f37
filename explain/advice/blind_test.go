package advice

import (
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
		if row, _ := For(&f); row.ID != "" {
			t.Errorf("%s: row %q of a container that the line fills", f.Guard, row.ID)
		}
	}
}

// The setting that makes an int of a module an input does not help where the int is an index.
func TestAnIndexOfAModuleIsNoInput(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.AttributeChanged, Name: "self.ptr", Text: "hint: allow_unspec_int_on_nn_module"}
	for line, want := range map[string]bool{"self.ptr += 1": true, "self.slots[self.ptr] = v": false} {
		f.Line = line
		row, _ := For(&f)
		if row.ID != "module-counter" || has(row.Text(&f), "allow_unspec_int") != want {
			t.Errorf("%s: row %q, the setting is named: %v", line, row.ID, !want)
		}
	}
}
