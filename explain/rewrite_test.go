package explain

import (
	"errors"
	"os"
	"strings"
	"testing"

	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// branchAt is a report with one branch on a tensor's value.
func branchAt(file string, line int, code string) *Report {
	b := &Break{Code: breaks.DataDependentBranching, Pos: logs.Pos{File: file, Line: line, Code: code}}
	g := &BreakGroup{Lead: b, Breaks: []*Break{b}, Fix: fixBreak(b, "tcdbg")}
	return &Report{Breaks: []*BreakGroup{g}, Advice: []Advice{{Break: g, Fix: g.Fix}}}
}

// The fixture's branch becomes one Where, and the fix can be written.
func TestWhereOfFixture(t *testing.T) {
	text, err := os.ReadFile("../fixtures/bar/model.go")
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
	if got := after[line-1]; got != "\tb = torch.Where(b.Sum().Lt(0), b.Mul(-1), b)" || len(after) != len(lines)-2 || after[line] != lines[line+2] {
		t.Errorf("the file becomes\n%s", strings.Join(after, "\n"))
	}
	if _, err := ApplyFix(after, line, fix.Lines); !errors.Is(err, ErrChanged) {
		t.Errorf("the second time gives %v", err)
	}
}

// What is not one assignment of a tensor, or not the recorded line, gets no
// rewrite.
func TestNoWhere(t *testing.T) {
	head := "package main\n\nimport \"tcdbg/torch\"\n\nfunc f(a, b *torch.Tensor) {\n"
	for name, body := range map[string]string{
		"else":         "\tif a.Bool() {\n\t\tb = b.Neg()\n\t} else {\n\t\tb = a\n\t}\n",
		"two":          "\tif a.Bool() {\n\t\tb = b.Neg()\n\t\ta = b\n\t}\n",
		"declared":     "\tif a.Bool() {\n\t\tb := b.Neg()\n\t}\n",
		"return":       "\tif a.Bool() {\n\t\treturn\n\t}\n",
		"init":         "\tif c := a.Gt(b); c.Bool() {\n\t\tb = b.Neg()\n\t}\n",
		"not":          "\tif !a.Bool() {\n\t\tb = b.Neg()\n\t}\n",
		"and":          "\tif a.Any().Bool() && b.Bool() {\n\t\tb = b.Neg()\n\t}\n",
		"field":        "\tif a.Bool() {\n\t\tx.b = b.Neg()\n\t}\n",
		"number":       "\tif a.Bool() {\n\t\tn = b.Size(0)\n\t}\n",
		"literal":      "\tif a.Bool() {\n\t\tn = 3\n\t}\n",
		"syntax error": "\tif a.Bool() {\n\t\tb = b.Neg(\n\t}\n",
		"more after":   "\tif a.Bool() {\n\t\tb = b.Neg()\n\t}; g()\n",
		"else if":      "\tif x { } else if a.Bool() {\n\t\tb = b.Neg()\n\t}\n",
	} {
		lines := strings.Split(head+body+"}\n", "\n")
		r := branchAt("m.go", 6, lines[5])
		AddRewrites(r, func(string) ([]string, error) { return lines, nil })
		if l := r.Breaks[0].Fix.Lines; l != nil {
			t.Errorf("%s: %q", name, l)
		}
	}
	good := strings.Split(head+"\tif a.Bool() {\n\t\tb = torch.Neg(b)\n\t}\n}\n", "\n")
	for name, pos := range map[string]logs.Pos{
		"moved":   {File: "m.go", Line: 7, Code: good[5]},
		"changed": {File: "m.go", Line: 6, Code: "\tif b.Bool() {"},
		"beyond":  {File: "m.go", Line: 99, Code: good[5]},
	} {
		if l := goWhere(good, pos); l != nil {
			t.Errorf("%s: %q", name, l)
		}
	}
	if goWhere(good, logs.Pos{File: "m.go", Line: 6, Code: good[5]}) == nil {
		t.Error("the good one has no fix")
	}
	r := branchAt("m.go", 6, good[5])
	AddRewrites(r, func(string) ([]string, error) { return nil, errors.New("gone") })
	if r.Breaks[0].Fix.Lines != nil {
		t.Error("a file that cannot be read has a fix")
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
