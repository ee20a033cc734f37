package rewrite

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// branchAt is a report with one branch on a tensor's value.
func branchAt(file string, line int, code string) *explain.Report {
	b := &explain.Break{Code: breaks.DataDependentBranching, Pos: logs.Pos{File: file, Line: line, Code: code}}
	g := &explain.BreakGroup{Lead: b, Breaks: []*explain.Break{b}, Fix: diagnose.FixBreak(b, "tcdbg")}
	return &explain.Report{Breaks: []*explain.BreakGroup{g}, Advice: []explain.Advice{{Break: g, Fix: g.Fix}}}
}

// The fixture's branch becomes one Where, and the fix can be written.
func TestWhereOfFixture(t *testing.T) {
	text, err := os.ReadFile("../../fixtures/bar/model.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	line := 1
	for !strings.Contains(lines[line-1], "if b.Sum()") {
		line++
	}
	r := branchAt("bar.go", line, lines[line-1])
	AddRewrites(r, func(string) ([]string, error) { return lines, nil })
	want := strings.Join([]string{
		"- if b.Sum().Lt(0).Bool() { // want break GB0170", "- \tb = b.Mul(-1)", "- }",
		"+ b = torch.Where(b.Sum().Lt(0), b.Mul(-1), b)",
	}, "\n")
	fix := r.Breaks[0].Fix
	if got := strings.Join(fix.Lines, "\n"); got != want {
		t.Fatalf("the fix is\n%s\nwant\n%s", got, want)
	}
	if len(r.Advice[0].Fix.Lines) != 4 {
		t.Error("the advice lacks the lines")
	}
	after, err := ApplyFix(lines, line, fix.Lines)
	if err != nil {
		t.Fatal(err)
	}
	if got := after[line-1]; got != "\tb = torch.Where(b.Sum().Lt(0), b.Mul(-1), b)" || len(after) != len(lines)-2 ||
		after[line] != lines[line+2] {
		t.Errorf("the file becomes\n%s", strings.Join(after, "\n"))
	}
	if _, err := ApplyFix(after, line, fix.Lines); !errors.Is(err, ErrChanged) {
		t.Errorf("the second time gives %v", err)
	}
}

// goLines is a function whose line 6 is the first one of body.
func goLines(body string) []string {
	head := "package main\n\nimport \"tcdbg/torch\"\n\nfunc f(a, b *torch.Tensor) *torch.Tensor {\n"
	return strings.Split(head+body+"}\n", "\n")
}

// rewriteAt is the rewrite of a break at a line, with what the code after it takes.
func rewriteAt(file, code string, line int, lines []string, inputs ...explain.GraphNode) *explain.Rewrite {
	r := branchAt(file, line, lines[line-1])
	b := r.Breaks[0].Lead
	b.Code = code
	b.After = &explain.Graph{LoadNodes: func() []explain.GraphNode { return inputs }}
	AddRewrites(r, func(string) ([]string, error) { return lines, nil })
	return r.Breaks[0].Rewrite
}

// floats says that a variable is an input of floats.
func floats(name string) explain.GraphNode {
	return explain.GraphNode{Op: "placeholder", Name: "l_" + name + "_", Type: "f32[10]"}
}

// What is not certain to compute the same gets no rewrite.
func TestNoWhere(t *testing.T) {
	const cond = "\tif a.Sum().Lt(0).Bool() {\n"
	for name, body := range map[string]string{
		"not a scalar":   "\tif a.Lt(0).Bool() {\n\t\tb = b.Neg()\n\t}\n",
		"not a bool":     "\tif a.Sum().Bool() {\n\t\tb = b.Neg()\n\t}\n",
		"two":            cond + "\t\tb = b.Neg()\n\t\ta = b\n\t}\n",
		"declared":       cond + "\t\tb := b.Neg()\n\t}\n",
		"return":         cond + "\t\treturn\n\t}\n",
		"init":           "\tif c := a.Sum().Gt(0); c.Bool() {\n\t\tb = b.Neg()\n\t}\n",
		"not":            "\tif !a.Any().Bool() {\n\t\tb = b.Neg()\n\t}\n",
		"and":            "\tif a.Any().Bool() && b.Any().Bool() {\n\t\tb = b.Neg()\n\t}\n",
		"field":          cond + "\t\tx.b = b.Neg()\n\t}\n",
		"number":         cond + "\t\tn = b.Size(0)\n\t}\n",
		"literal":        cond + "\t\tn = 3\n\t}\n",
		"another shape":  cond + "\t\tb = b.Sum()\n\t}\n",
		"another tensor": cond + "\t\tb = a.Neg()\n\t}\n",
		"broadcast":      cond + "\t\tb = b.Mul(a)\n\t}\n",
		"random":         cond + "\t\tb = b.Bernoulli()\n\t}\n",
		"log":            cond + "\t\tb = b.Log()\n\t}\n",
		"by zero":        cond + "\t\tb = b.Div(0)\n\t}\n",
		"dtype unknown":  cond + "\t\tb = b.Mul(0.5)\n\t}\n",
		"else elsewhere": cond + "\t\tb = b.Neg()\n\t} else {\n\t\ta = a.Neg()\n\t}\n",
		"else if":        cond + "\t\tb = b.Neg()\n\t} else if a.Any().Bool() {\n\t\tb = b.Abs()\n\t}\n",
		"in place":       cond + "\t\tb = b.Neg()\n\t}\n\tb.Add_(1)\n",
		"syntax error":   cond + "\t\tb = b.Neg(\n\t}\n",
		"more after":     cond + "\t\tb = b.Neg()\n\t}; g()\n",
		"nested if":      "\tif x { } else if a.Any().Bool() {\n\t\tb = b.Neg()\n\t}\n",
	} {
		if rw := rewriteAt("m.go", breaks.DataDependentBranching, 6, goLines(body)); rw != nil {
			t.Errorf("%s: %+v", name, rw.Hunks)
		}
	}
	good := goLines(cond + "\t\tb = torch.Neg(b)\n\t}\n")
	for name, pos := range map[string]logs.Pos{
		"moved":   {File: "m.go", Line: 7, Code: good[5]},
		"changed": {File: "m.go", Line: 6, Code: "\tif b.Bool() {"},
		"beyond":  {File: "m.go", Line: 99, Code: good[5]},
	} {
		if rw := goRewrite(&explain.Break{Code: breaks.DataDependentBranching, Pos: pos}, newFile(good)); rw != nil {
			t.Errorf("%s: %+v", name, rw.Hunks)
		}
	}
	if rewriteAt("m.go", breaks.DataDependentBranching, 6, good) == nil {
		t.Error("the good one has no fix")
	}
	r := branchAt("m.go", 6, good[5])
	AddRewrites(r, func(string) ([]string, error) { return nil, errors.New("gone") })
	if r.Breaks[0].Rewrite != nil || r.Breaks[0].Fix.Lines != nil {
		t.Error("a file that cannot be read has a fix")
	}
}

// added are the lines that a rewrite puts in the place of others.
func added(rw *explain.Rewrite) string {
	var out []string
	if rw != nil {
		for _, h := range rw.Hunks {
			for _, l := range h.Lines {
				if strings.HasPrefix(l, "+ ") {
					out = append(out, l[2:])
				}
			}
		}
	}
	return strings.Join(out, "\n")
}

// What is certain is rewritten: branches with and without else, and returns.
func TestGoWhere(t *testing.T) {
	const cond = "\tif a.Sum().Abs().Lt(-0.5).Bool() { // why\n"
	for body, want := range map[string]string{
		cond + "\t\tb = b.Mul(-1)\n\t}\n": "b = torch.Where(a.Sum().Abs().Lt(-0.5), b.Mul(-1), b)",
		cond + "\t\tb = b.Mul(2)\n\t} else {\n\t\tb = torch.Relu(b).Add(3)\n\t}\n": "b = torch.Where(a.Sum().Abs().Lt(-0.5), " +
			"b.Mul(2), torch.Relu(b).Add(3))",
		cond + "\t\ta = b.Neg()\n\t} else {\n\t\ta = b\n\t}\n":             "a = torch.Where(a.Sum().Abs().Lt(-0.5), b.Neg(), b)",
		cond + "\t\treturn b.Neg()\n\t} else {\n\t\treturn b.Abs()\n\t}\n": "return torch.Where(a.Sum().Abs().Lt(-0.5), b.Neg(), b.Abs())",
		"\tif a.Any().Bool() {\n\t\tb = b.Tanh().Mul(0.5)\n\t}\n":          "b = torch.Where(a.Any(), b.Tanh().Mul(0.5), b)",
	} {
		if got := added(rewriteAt("m.go", breaks.DataDependentBranching, 6, goLines(body), floats("b"))); got != want {
			t.Errorf("%s\ngives %q, want %q", body, got, want)
		}
	}
}

// Prints, log calls and clock readings that go nowhere else are left out of compiled
// calls; what has another effect or another use is not touched.
func TestGoOutOfCompiled(t *testing.T) {
	head := "package main\n\nimport (\n\t\"fmt\"\n\t\"log\"\n\t\"time\"\n\n\t\"tcdbg/torch\"\n)\n\nfunc f(a *torch.Tensor) " +
		"*torch.Tensor {\n"
	const im = "\"tcdbg/torch/compiler\"\n" // added below a line that stays as it is
	for body, want := range map[string]string{
		"\tfmt.Println(a.Shape(), \"x\") // seen\n": im +
			"if !compiler.IsCompiling() {\n\tfmt.Println(a.Shape(), \"x\") // seen\n}",
		"\tlog.Printf(\n\t\t\"%v\", a.Sum().Item())\n": im +
			"if !compiler.IsCompiling() {\n\tlog.Printf(\n\t\t\"%v\", a.Sum().Item())\n}",
		"\tt := time.Now()\n\tfmt.Println(time.Since(t))\n": im +
			"var t time.Time\nif !compiler.IsCompiling() {\n\tt = time.Now()\n}",
		"\tt := time.Now()\n\td := time.Since(t)\n\tlog.Print(d)\n": im +
			"var t time.Time\nif !compiler.IsCompiling() {\n\tt = time.Now()\n}",
		"\t_ = time.Since(start)\n":                            im + "if !compiler.IsCompiling() {\n\t_ = time.Since(start)\n}",
		"\tfmt.Println(next())\n":                              "",
		"\tfmt.Println(a.Add_(1))\n":                           "",
		"\tlog.Fatal(a)\n":                                     "",
		"\tn, _ := fmt.Println(a)\n":                           "",
		"\tt := time.Now()\n\tg(t)\n":                          "",
		"\tt := time.Now()\n\td := time.Since(t)\n\tg(d)\n":    "",
		"\tfmt.Println(a); g()\n":                              "",
		"\tt := time.Now()\n\tcompiler := t\n\t_ = compiler\n": "",
	} {
		rw := rewriteAt("m.go", breaks.BuiltinPrint, 12, strings.Split(head+body+"\treturn a\n}\n", "\n"))
		if got := added(rw); got != want || rw != nil && rw.Note == "" {
			t.Errorf("%s\ngives %q, want %q", body, got, want)
		}
	}
	lines := strings.Split(head+"\tfmt.Println(a)\n\treturn a\n}\n", "\n")
	after, err := ApplyRewrite(lines, rewriteAt("m.go", breaks.BuiltinPrint, 12, lines).Hunks)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(strings.Join(lines, "\n"), "\tfmt.Println(a)\n",
		"\tif !compiler.IsCompiling() {\n\t\tfmt.Println(a)\n\t}\n", 1); strings.Join(after, "\n") != strings.Replace(want,
		"torch\"\n)", "torch\"\n\t\"tcdbg/torch/compiler\"\n)", 1) {
		t.Errorf("the file becomes\n%s", strings.Join(after, "\n"))
	}
}

// The same of Python, in the forms that need no parser.
func TestPyRewrites(t *testing.T) {
	head := "import logging\nimport time\nimport torch\n\ndef f(x, y):\n"
	for body, want := range map[string]string{
		"    if x.sum() > 0:\n        x = x * 2\n": "x = " +
			"torch.where(x.sum() > 0, x * 2, x)",
		"    if x.sum().item() > 0.5:\n        x = x * 2\n    else:\n        x = x - 1\n": "x = " +
			"torch.where(x.sum() > 0.5, x * 2, x - 1)",
		"    if x.sum() > 0:\n        return x.relu()\n    return -x\n": "return " +
			"torch.where(x.sum() > 0, x.relu(), -x)",
		"    if (x < 0).any():\n        x = torch.abs(x)\n": "x = " +
			"torch.where((x < 0).any(), torch.abs(x), x)",
		"    if x.sum() > 0: x = -x\n": "x = torch.where(x.sum() > 0, -x, x)",
		// y is known below
		"    if x.sum() > 0:\n        y = y * 0.5\n":                               "y = torch.where(x.sum() > 0, y * 0.5, y)",
		"    if x.sum() > 0:\n        z = z * 2\n":                                 "", // a number, for all that is known
		"    if x.sum():\n        x = x * 2\n":                                     "",
		"    if x > 0:\n        x = x * 2\n":                                       "",
		"    if x.sum() > 0 and y:\n        x = x * 2\n":                           "",
		"    if x.sum() > 0:\n        x = x.sum()\n":                               "",
		"    if x.sum() > 0:\n        x = x * 2\n        y = x\n":                  "",
		"    if x.sum() > 0:\n        x = x * 2\n    elif y:\n        x = x * 3\n": "",
		"    if x.sum() > 0:\n        x = x * 2\n    x.add_(1)\n":                  "",
		"    print(x.shape, \"a\")\n": "if not torch.compiler.is_compiling():\n    " +
			"print(x.shape, \"a\")",
		"    logging.info(f\"{x.sum().item()}\")\n": "if not torch.compiler.is_compiling():\n    " +
			"logging.info(f\"{x.sum().item()}\")",
		"    print(x.add_(1))\n": "",
		"    print(next(it))\n":  "",
		"    print(x); y = 1\n":  "",
		"    t = time.time()\n    x = x + 1\n    print(time.time() - t)\n": "t = 0.0 if " +
			"torch.compiler.is_compiling() else time.time()",
		"    t = time.time()\n    d = time.time() - t\n    logger.info(d)\n": "t = 0.0 if " +
			"torch.compiler.is_compiling() else time.time()",
		"    t = time.time()\n    d = 0.0 if torch.compiler.is_compiling() else time.time() - t\n    print(d)\n": "t = 0.0 if " +
			"torch.compiler.is_compiling() else time.time()",
		"    t = time.time()\n    x = x + t\n": "",
		"    t = time.time()\n    return t\n":  "",
	} {
		code := breaks.SkippedFunction
		if strings.HasPrefix(body, "    if ") {
			code = breaks.DataDependentBranching
		}
		lines := strings.Split(head+body+"    return x\n", "\n")
		if got := added(rewriteAt("/w/m.py", code, 6, lines, floats("y"), floats("x"))); got != want {
			t.Errorf("%s\ngives %q, want %q", body, got, want)
		}
	}
}

// What a print reads is left as it is: a size that is made a tuple, no generator.
func TestPyPrintsThatRead(t *testing.T) {
	for line, skipped := range map[string]bool{
		`print("a", tuple(x.shape), list(y.h.size()))`: true,
		`print(x.sum(), torch.max(x))`:                 true,
		`print(tuple(it), list(it))`:                   false,
		`print(sum(it))`:                               false,
	} {
		lines, want := []string{"import torch", "", "def f(x):", "    " + line, "    return x"}, ""
		if skipped {
			want = "if not torch.compiler.is_compiling():\n    " + line
		}
		if got := added(rewriteAt("/w/m.py", breaks.SkippedFunction, 4, lines, floats("x"), floats("x"))); got != want {
			t.Errorf("%s\ngives %q, want %q", line, got, want)
		}
	}
}

// A branch may test a reduction of what keeps the tensor's elements apart, of nothing else.
func TestPyTestedTensor(t *testing.T) {
	for cond, ok := range map[string]bool{
		"x.abs().max() > 1.0":           true,
		"x.square().detach().sum() < 2": true,
		"x.cumsum(0).max() > 1.0":       false,
	} {
		lines := []string{"import torch", "", "def f(x):", "    if " + cond + ":", "        x = x / 2", "    return x"}
		want := ""
		if ok {
			want = "x = torch.where(" + cond + ", x / 2, x)"
		}
		if got := added(rewriteAt("/w/m.py", breaks.DataDependentBranching, 4, lines, floats("x"), floats("x"))); got != want {
			t.Errorf("%s\ngives %q, want %q", cond, got, want)
		}
	}
}

// A number that is read in a print goes with the print, and nothing else does.
func TestPyPrintedNumber(t *testing.T) {
	const printed = `print(f"norm {x.norm().item()} of {tuple(x.shape)}")`
	for line, want := range map[string]string{
		printed:                 "if not torch.compiler.is_compiling():\n    " + printed,
		`n = x.norm().item()`:   "",
		`keep(x.norm().item())`: "",
	} {
		lines := []string{"import torch", "", "def f(x):", "    " + line, "    return x"}
		if got := added(rewriteAt("/w/m.py", breaks.TensorItem, 4, lines, floats("x"), floats("x"))); got != want {
			t.Errorf("%s\ngives %q, want %q", line, got, want)
		}
	}
}

func FuzzApplyFix(f *testing.F) {
	f.Add("a\n\tb\n\tc\nd", 2, "- b\n- c\n+ x")
	f.Add("if c: x = 1\r\ny", 1, "- if c: x = 1\n+ x = w")
	f.Fuzz(func(t *testing.T, text string, line int, fix string) {
		in := strings.Split(text, "\n")
		out, err := ApplyFix(in, line, strings.Split(fix, "\n"))
		if (err == nil) != (out != nil) && err != nil {
			t.Errorf("%q and %v", out, err)
		}
		if strings.Join(in, "\n") != text {
			t.Error("the input was changed")
		}
	})
}

// TestManyRewrites: a file with thousands of breaks is parsed once. Parsed for each of them it
// takes minutes.
func TestManyRewrites(t *testing.T) {
	const n = 4000
	var text strings.Builder
	text.WriteString("package main\n\nimport (\n\t\"fmt\"\n\n\t\"tcdbg/torch\"\n)\n\n")
	python := "import torch\n"
	r, pr := &explain.Report{}, &explain.Report{}
	for i := range n {
		r.Breaks = append(r.Breaks, &explain.BreakGroup{Lead: &explain.Break{
			Code: breaks.BuiltinPrint, Pos: logs.Pos{File: "model.go", Line: 10 + 4*i, Code: "fmt.Print(1)"},
		}})
		fmt.Fprintf(&text, "func f%d(x *torch.Tensor) *torch.Tensor {\n\tfmt.Print(1)\n\treturn x\n}\n", i)
		pr.Breaks = append(pr.Breaks, &explain.BreakGroup{Lead: &explain.Break{
			Code: breaks.DataDependentBranching, Pos: logs.Pos{File: "m.py", Line: 3 + 4*i, Code: "if x.sum() > 0:"},
		}})
		python += "def f(x):\n    if x.sum() > 0:\n        x = -x\n    return x\n"
	}
	start := time.Now()
	reads := 0
	source := func(name string) ([]string, error) {
		reads++
		if name == "m.py" {
			return strings.Split(python, "\n"), nil
		}
		return strings.Split(text.String(), "\n"), nil
	}
	AddRewrites(r, source)
	AddRewrites(pr, source)
	for _, g := range append(r.Breaks, pr.Breaks...) {
		if g.Rewrite == nil {
			t.Fatalf("%v has no rewrite", g.Lead.Pos)
		}
	}
	if took := time.Since(start); took > 10*time.Second || reads != 2 {
		t.Errorf("%v, %d reads", took, reads)
	}
}
