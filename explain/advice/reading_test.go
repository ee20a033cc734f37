package advice

import (
	"testing"

	"tcdbg/tracer/breaks"
)

// Where a number that is read out of a tensor goes to decides what to do about it.
func TestReadingIsAdvisedOnByWhereItGoes(t *testing.T) {
	for line, want := range map[string]string{
		"self.history.append(x.norm().item())":           "item-kept",
		"self.sums[k] += float(v)":                       "item-kept",
		"self.lo = x.min().item()":                       "item-kept",
		"ctx.scale = float(x.abs().max())":               "item",
		"m = y.mean().item()":                            "item",
		"if loss.item() > 10:":                           "item-branch",
		"y = a if t.item() > 0 else b":                   "item-branch",
		"v = t.item() if t is not None else 0":           "item",
		"best = [m for m in marks if m.item() > 0]":      "item",
		"return {n: x.item() for n, x in zip(names, e)}": "item",
	} {
		row, _ := For(&Finding{Kind: Break, Code: breaks.TensorItem, Line: line})
		if row.ID != want {
			t.Errorf("%s: row %q, want %q", line, row.ID, want)
		}
	}
}

// The graph cannot put off a print whose string is formatted from a tensor's values.
func TestPrintIsPutOffOnlyWhereItPrintsPlainly(t *testing.T) {
	for line, want := range map[string]bool{
		"print(x.sum())":                   true,
		`print("loss", loss)`:              true,
		`print(f"step {step}: {tot:.4f}")`: false,
		`print("%.4f" % loss)`:             false,
		"print(loss.item())":               false,
		"print(":                           false,
	} {
		if got := printsPlainly(line); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}
