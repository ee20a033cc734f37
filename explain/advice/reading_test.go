package advice

import (
	"strings"
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
		"for _ in range(n.max().item()):":                "loop-over-values",
		"for i in range(int(n)):":                        "loop-over-values",
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

// The setting that captures an operator of unknown length ends a program that asks for the
// length: it is named only where the line does not.
func TestUnknownLengthIsCapturedOnlyWhereNobodyAsksForIt(t *testing.T) {
	for line, want := range map[string]bool{
		"return torch.unique(x) * 2":    true,
		"for c in y.unique().tolist():": false,
		"n = len(torch.unique(x))":      false,
		"if x.unique().numel() > 2:":    false,
		"u = torch.unique(x)[0]":        false,
		"k = torch.unique(x).shape[0]":  false,
	} {
		f := Finding{Kind: Break, Code: breaks.DynamicShapeOperator, Context: "aten._unique2.default", Line: line}
		row, _ := For(&f)
		if row.ID != "unique" || !has(row.Text(&f), "outside") || has(row.Text(&f), "capture_dynamic_output_shape_ops") != want {
			t.Errorf("%s: row %q, the setting is named: %v", line, row.ID, !want)
		}
	}
}

// Only a flag that is a comparison of sizes is to be written as a conditional expression.
func TestFlagsOfSizesAreNamed(t *testing.T) {
	f := Finding{Kind: Break, Code: "GB0112", Context: "TypeError <built-in function sdpa>: sdpa(): argument 'is_causal' must be " +
		"bool, not SymBool"}
	if row, _ := For(&f); row.ID != "flag-of-sizes" || !has(row.Text(&f), " is_causal ") {
		t.Errorf("row %q", row.ID)
	}
	f.Context = "TypeError <built-in method f>: f(): argument 'x' must be Tensor, not list"
	if row, ok := For(&f); ok {
		t.Errorf("another TypeError: row %q", row.ID)
	}
}

// What a line asks a number for decides, not what else is in the line.
func TestTheNumberOfALineIsWhatTheTraceMarks(t *testing.T) {
	for _, c := range []struct{ code, line, expr, want string }{
		{breaks.TensorItem, "res.append(hits[:k].reshape(-1).float().sum().item() * 100 / n)", "", "item-kept"},
		{breaks.TensorItem, "pad = torch.zeros(n, x.sum().int().item())", "", "item-size"},
		{breaks.TensorItem, "picked.append(int(i))", "", "item-decides"},
		{breaks.TensorItem, "picked.append(order.item())", "", "item-decides"},
		{breaks.TensorItem, "self.picked.append(int(i))", "", "item-kept"},
		{breaks.TensorItem, "losses.append(loss.sum().item())", "", "item-kept"},
		{breaks.TensorItem, "best.append(min(near, key=lambda n: dist[a, n].item()))", "", "item-decides"},
		{breaks.DataDependentOperator, "t = mids[between.argmax()].item()", "mids[between.argmax()]", "item-index"},
		{breaks.DataDependentOperator, "return (x - float(a)) / max(float(b - a), 1e-6)", "float(a)", "number-of-array"},
		{breaks.DataDependentOperator, "y = scale(float(a)) + float(b)", "scale(float(a))", ""},
	} {
		row, _ := For(&Finding{Kind: Break, Code: c.code, Context: "aten._local_scalar_dense.default", Line: c.line, Expr: c.expr})
		if row.ID != c.want {
			t.Errorf("%s at %q: row %q, want %q", c.line, c.expr, row.ID, c.want)
		}
	}
}

// The part of the line that breaks tells what a tensor without .item() is read out for.
func TestATensorThatIsReadAsAnInt(t *testing.T) {
	for expr, want := range map[string]string{
		":n":                     "item-slice",
		": lengths[i]":           "item-slice",
		"x[i, :lengths[i]]":      "item-slice",
		"start:start + 2":        "item-slice",
		"tables[level]":          "item-int",
		"self.tables[levels[0]]": "item-int",
		"range(times)":           "item-int",
		"[f(x)]":                 "",
		"f(x)":                   "",
		"":                       "",
	} {
		row, _ := For(&Finding{Kind: Break, Code: breaks.TensorItem, Line: "y = " + expr, Expr: expr})
		if row.ID != want {
			t.Errorf("%s: row %q, want %q", expr, row.ID, want)
		}
	}
}

// A number that is read into a variable is a size where a later line makes one of it.
func TestASizeOfALaterLine(t *testing.T) {
	body := []string{"def f(x):", "    n = int((x > 0).sum())", "    y = x.sum()", ""}
	f := Finding{Kind: Break, Code: breaks.TensorItem, Line: strings.TrimSpace(body[1]), Body: body, At: 1}
	for last, want := range map[string]string{
		"    return torch.zeros(n, 2)":  "item-size",
		"    return x.topk(k=n)":        "item-size",
		"    return y / n":              "item",
		"    return torch.zeros(nodes)": "item",
	} {
		body[3] = last
		if row, _ := For(&f); row.ID != want {
			t.Errorf("%s: row %q, want %q", last, row.ID, want)
		}
	}
}

// Numbers of NumPy's own generators are drawn outside; those of torch.Generator have a row of their own.
func TestGeneratorsOfNumPy(t *testing.T) {
	for context, want := range map[string]string{
		"call_method UserDefinedObjectVariable(Generator) normal [] {}":      "drawn-by-numpy",
		"call_method UserDefinedObjectVariable(RandomState) randn [] {}":     "drawn-by-numpy",
		"call_method UserDefinedObjectVariable(Generator) manual_seed [] {}": "untraceable",
	} {
		row, _ := For(&Finding{Kind: Break, Code: unsupportedMethod, Line: "rng.normal()", Expr: "rng.normal()", Context: context})
		if row.ID != want {
			t.Errorf("%s: row %q, want %q", context, row.ID, want)
		}
	}
}

// A number that an attribute is set from, which the line reads, is kept as a tensor.
func TestRunningNumbers(t *testing.T) {
	for line, want := range map[string]string{
		"self.low = min(self.low, x.min().item())": "self.low",
		"self.mean = 0.9 * self.mean + x.item()":   "self.mean",
		"self.total += loss.item()":                "self.total",
		"self.low = x.min().item()":                "",
		"self.lows = self.low + x.item()":          "",
		"self.sums[k] += float(v)":                 "",
		"ctx.scale += float(v)":                    "",
		"total += loss.item()":                     "",
	} {
		if got := running(line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestCollectedNumber: of a number that goes into a list nothing is said of what it decides.
func TestCollectedNumber(t *testing.T) {
	for line, want := range map[string]string{
		"out.append(t.item())":                              "The number is collected in a list: leave this",
		"best = min(names, key=lambda n: scores[n].item())": "The number decides how the code goes on: leave this",
	} {
		f := Finding{Kind: Break, Code: breaks.TensorItem, Line: line}
		row, ok := For(&f)
		if !ok || !strings.HasPrefix(row.Text(&f), want) {
			t.Errorf("%s: row %q, want %q", line, row.ID, want)
		}
	}
}
