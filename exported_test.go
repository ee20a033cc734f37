package main

import (
	"strings"
	"testing"
)

// This file runs files of torch.export.save as a user does.

const exportedFiles = "torch/testdata/exported/"

func TestRunExported(t *testing.T) {
	var first string
	for _, backend := range []string{"eager", "aot_eager", "inductor"} {
		s := newSession(t, "TCDBG_BACKEND="+backend)
		out, errs, code := s.run(t, "run", "--plain", exportedFiles+"trees.pt2", "--calls", "2")
		if code != 0 || errs != "" || !strings.HasPrefix(out, "out['sum']: torch.float32 [3]\ntensor([") ||
			!strings.HasSuffix(out, "out['parts'][1][1]:\n7\n") {
			t.Fatalf("%s: exit %d\n%s%s", backend, code, out, errs)
		}
		if first == "" {
			first = out
		}
		if out != first {
			t.Errorf("%s prints\n%s, eager\n%s", backend, out, first)
		}
	}
}

// TestExportedReport: the run is one as that of any program, with the lines of Python.
func TestExportedReport(t *testing.T) {
	s := newSession(t)
	if out, errs, code := s.run(t, "run", "--plain", exportedFiles+"conv_norm_eval.pt2", "--calls", "3"); code != 0 {
		t.Fatal(code, out, errs)
	}
	out, _, code := s.run(t, "report", "last")
	for _, want := range []string{
		"conv_norm_eval.forward", "4 ops [conv2d, batch_norm, relu_, max_pool2d]", "2 hit an entry, 1 compiled",
		"from conv.py:565 make.py:37",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the report has no %q (exit %d)\n%s", want, code, out)
		}
	}
}

func TestExportedErrors(t *testing.T) {
	s := newSession(t)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"missing.pt2", 1, "2 operators are not supported: aten.fractional_max_pool2d.default (2), aten.linalg_ldl_factor.default (1)\n"},
		{"linear_relu.pt2 --inputs nothere.pt", 1, "nothere.pt: no such file or directory\n"},
		{"linear_relu.pt2 --inputs " + exportedFiles + "linear_relu.pt", 1, "and is called with 4\n"},
		{"linear_relu.pt2 --calls none", 2, "--calls wants a number from 1 on, not none\n"},
		{"linear_relu.pt2 --nosuch 1", 2, "--nosuch is unknown: model.pt2 [--inputs example|random|FILE.pt] [--calls N]\n"},
	} {
		args := append([]string{"run", "--plain"}, strings.Fields(exportedFiles+c.args)...)
		out, errs, code := s.run(t, args...)
		if code != c.code || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasSuffix(errs, c.want) {
			t.Errorf("%s: exit %d, want %d\n%s%s\nwant %s", c.args, code, c.code, out, errs, c.want)
		}
	}
}
