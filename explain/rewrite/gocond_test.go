package rewrite

import (
	"go/format"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// condAt is the rewrite of a branch at line 6 whose sides do work.
func condAt(lines []string) *explain.Rewrite {
	b := &explain.Break{
		Code: breaks.DataDependentBranching, Context: "call of Tensor.Bool" + breaks.SideWork,
		Pos: logs.Pos{File: "m.go", Line: 6, Code: lines[5]},
	}
	g := &explain.BreakGroup{Lead: b, Breaks: []*explain.Break{b}, Fix: diagnose.FixBreak(b, "tcdbg")}
	AddRewrites(&explain.Report{Breaks: []*explain.BreakGroup{g}}, func(string) ([]string, error) { return lines, nil })
	return g.Rewrite
}

// A branch whose sides do work becomes a compiler.Cond, as gofmt writes it.
func TestGoCond(t *testing.T) {
	const cond, end = "\tif a.Any().Bool() { // why\n", "\treturn b\n"
	const im = "\"tcdbg/torch\"\n"
	const fn = "func(...*torch.Tensor) *torch.Tensor {\n"
	const long = "\t\t// one\n\t\tc := b.Softmax(0)\n\n\t\treturn c.Matmul( // two\n\t\t\ta,\n\t\t)\n"
	for body, want := range map[string]string{
		cond + "\t\tb = b.Matmul(a)\n\t} else {\n\t\tb = a.Matmul(b)\n\t}\n" + end: "\tb = compiler.Cond(a.Any(), " + fn +
			"\t\treturn b.Matmul(a)\n\t}, " + fn + "\t\treturn a.Matmul(b)\n\t})\n" + end,
		cond + "\t\tb = b.Matmul(a)\n\t}\n" + end: "\tb = compiler.Cond(a.Any(), " + fn +
			"\t\treturn b.Matmul(a)\n\t}, " + fn + "\t\treturn b.Clone()\n\t})\n" + end,
		"\tif !a.Any().Bool() {\n" + long + "\t}\n\n\t// three\n" + end: "\treturn compiler.Cond(a.Any(), " +
			fn + "\t\t// three\n\t\treturn b.Clone()\n\t}, " +
			fn + long + "\t})\n",
		cond + "\t\treturn a.Sum()\n\t} else {\n\t\treturn b.Sum()\n\t}\n": "\treturn compiler.Cond(a.Any(), " + fn +
			"\t\treturn a.Sum()\n\t}, " + fn + "\t\treturn b.Sum()\n\t})\n",
	} {
		lines := goLines(body)
		rw := condAt(lines)
		if rw == nil {
			t.Errorf("no rewrite of\n%s", body)
			continue
		}
		after, err := ApplyRewrite(lines, rw.Hunks)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(after, "\n")
		whole := strings.Replace(strings.Join(goLines(want), "\n"), im, im+"import \"tcdbg/torch/compiler\"\n", 1)
		if got != whole {
			t.Errorf("%s\nbecomes\n%s\nwant\n%s", body, got, whole)
		}
		if tidy, err := format.Source([]byte(got)); err != nil || string(tidy) != got {
			t.Errorf("gofmt (%v) makes of it\n%s", err, tidy)
		}
	}
}

// What would not mean the same within a function of its own gets none.
func TestNoCond(t *testing.T) {
	const cond, end = "\tif a.Any().Bool() {\n", "\treturn b\n"
	for name, body := range map[string]string{
		"init":           "\tif c := a.Any(); c.Bool() {\n\t\tb = b.Matmul(a)\n\t}\n" + end,
		"and":            "\tif a.Any().Bool() && b.Any().Bool() {\n\t\tb = b.Matmul(a)\n\t}\n" + end,
		"two":            cond + "\t\tb = b.Matmul(a)\n\t\ta = b\n\t}\n" + end,
		"field":          cond + "\t\tx.b = b.Matmul(a)\n\t}\n" + end,
		"others":         cond + "\t\tb = b.Matmul(a)\n\t} else {\n\t\ta = a.Matmul(b)\n\t}\n" + end,
		"else if":        cond + "\t\tb = b.Matmul(a)\n\t} else if x {\n\t\tb = a\n\t}\n" + end,
		"shadowed":       cond + "\t\tb := a.Softmax(0)\n\t\tb = b.Matmul(a)\n\t}\n" + end,
		"nothing after":  cond + "\t\treturn b.Matmul(a)\n\t}\n\tg()\n" + end,
		"two results":    cond + "\t\treturn b.Matmul(a), nil\n\t}\n\treturn b, nil\n",
		"nil":            cond + "\t\treturn b.Matmul(a)\n\t}\n\treturn nil\n",
		"in place":       cond + "\t\tb = b.Matmul(a)\n\t}\n\tb.Select(0, 0).Add_(1)\n" + end,
		"recover":        cond + "\t\tb = b.Matmul(a, recover())\n\t}\n" + end,
		"raw text":       cond + "\t\tb = b.Matmul(`\n`)\n\t}\n" + end,
		"one line":       "\tif a.Any().Bool() { b = b.Matmul(a) }\n" + end,
		"name taken":     "\tif a.Any().Bool() {\n\t\tb = compiler.Matmul(a)\n\t}\n" + end,
		"two on a line":  cond + "\t\tc := b; b = c.Matmul(a)\n\t}\n" + end,
		"a kept comment": cond + "\t\treturn b.Matmul(a)\n\t}\n\treturn b // as it is\n",
	} {
		if rw := condAt(goLines(body)); rw != nil {
			t.Errorf("%s: %+v", name, rw.Hunks)
		}
	}
	lines := goLines(cond + "\t\treturn b.Matmul(a)\n\t}\n" + end)
	lines[4] = strings.Replace(lines[4], ") *torch.Tensor {", ") torch.Value {", 1)
	if rw := condAt(lines); rw != nil {
		t.Errorf("of another type: %+v", rw.Hunks)
	}
}
