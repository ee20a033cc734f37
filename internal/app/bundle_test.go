package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/internal/app/bundle"
	"tcdbg/logs"
)

// TestBundleOpensAnywhere: without the source and without the run, a bundle has the same report,
// the screens have its lines, and no fix is written.
func TestBundleOpensAnywhere(t *testing.T) {
	defer bundle.CleanUp()
	state, dir := t.TempDir(), t.TempDir()
	model := filepath.Join(dir, "model.go")
	body, err := os.ReadFile("../../fixtures/bar/model.go")
	body = append(body, "\n\n\n\n\nfunc unused() string {\n\treturn \"s3cret\"\n}\n"...)
	if err == nil {
		err = os.WriteFile(model, body, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := run(t, tcdbg(t, state, "run", "--plain", model)); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	zip, redacted, whole := filepath.Join(dir, "b.zip"), filepath.Join(dir, "r.zip"), filepath.Join(dir, "w.zip")
	before := run(t, tcdbg(t, state, "report", "last"))
	for _, args := range [][]string{
		{"bundle", "-o", zip, "last"}, {"bundle", "--redact", "-o", redacted, "last"}, {"bundle", "--whole-source", "-o", whole, "last"},
	} {
		if r := run(t, tcdbg(t, state, args...)); r.code != 0 || !strings.Contains(r.stderr, "tcdbg replay ") {
			t.Fatalf("%v: %+v", args, r)
		}
	}
	piped := run(t, tcdbg(t, state, "bundle", "-o", "-", "last"))
	if piped.code != 0 || !strings.HasPrefix(piped.stdout, "PK") {
		t.Errorf("to standard output: %d %.100s", piped.code, piped.stderr)
	}
	if err := os.Remove(model); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	if after := run(t, tcdbg(t, elsewhere, "report", zip)); after.code != 0 || after.stdout != before.stdout {
		t.Errorf("the report differs: %s\n%s\nwas\n%s", after.stderr, after.stdout, before.stdout)
	}
	if r := run(t, tcdbg(t, elsewhere, "diff", zip, zip)); r.code != 0 || !strings.Contains(r.stdout, "no difference but time") {
		t.Errorf("diff: %+v", r)
	}
	md := run(t, tcdbg(t, elsewhere, "report", "--format", "md", zip))
	if !strings.Contains(md.stdout, "\ntcdbg run "+model+"\n") {
		t.Errorf("how it is made again is not told:\n%s", md.stdout)
	}
	r := run(t, tcdbg(t, elsewhere, "report", redacted))
	if r.code != 0 || !strings.Contains(r.stdout, "GB0170") || strings.Contains(r.stdout, "b.Mul(-1)") {
		t.Errorf("redacted: %d\n%s", r.code, r.stdout)
	}
	for path, want := range map[string]string{zip: "", whole: string(body)} {
		f := openedBundle(t, path)
		lines, err := f.Source(model)
		if err != nil {
			t.Fatalf("the source is not in it: %v", err)
		}
		all := strings.Join(lines, "\n")
		if want != "" && all != want {
			t.Errorf("the source is not whole: %q", lines)
		}
		named := strings.Contains(all, "b.Mul(-1)") && strings.Contains(all, "// not in this bundle")
		if want == "" && (strings.Contains(all, "s3cret") || !named) {
			t.Errorf("it is not the lines that are named:\n%s", all)
		}
		if err := f.Apply(model, []explain.Hunk{{Line: 1, Lines: []string{"- package main"}}}); err == nil {
			t.Error("a fix was written")
		}
	}
	both := run(t, tcdbg(t, state, "bundle", "--redact", "--whole-source", "-o", zip, "last"))
	if both.code != ExitUsage {
		t.Errorf("--redact with --whole-source: %+v", both)
	}
}

// openedBundle is what the screens read of a bundle.
func openedBundle(t *testing.T, path string) *feed {
	t.Helper()
	src, err := findTraces([]string{path}, false)
	if err != nil {
		t.Fatal(err)
	}
	f, err := src.open(nil, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.close() })
	return f
}

// TestReportFlags: Markdown under both names, what it is made again with, every row, unknown forms.
func TestReportFlags(t *testing.T) {
	trace := "../../explain/testdata/traces/pytorch-2.15/train_small.log.zst"
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"report", "--format", "md", trace}, 0, "tcdbg report --format markdown " + trace},
		{[]string{"report", "--format", "markdown", trace}, 0, "<details>"},
		{[]string{"report", "--all", trace}, 0, "BREAKS"},
		{[]string{"report", "--source-map", "x", trace}, ExitUsage, "FROM=TO"},
		{[]string{"report", "--format", "yaml", trace}, ExitUsage, "markdown"},
		{[]string{"diff", "--format", "md", trace, trace}, 0, "No difference but time"},
		{[]string{"diff", "--format", "yaml", trace, trace}, ExitUsage, "markdown"},
		{[]string{"check", "--format", "yaml", trace}, ExitUsage, "sarif"},
		{[]string{"bundle", "-"}, ExitUsage, "standard input"},
	} {
		if r := run(t, tcdbg(t, t.TempDir(), c.args...)); r.code != c.code || !strings.Contains(r.stdout+r.stderr, c.want) {
			t.Errorf("%v: %d %.400s %s", c.args, r.code, r.stdout, r.stderr)
		}
	}
}

// TestBaselineOfRelease: each release has a file of its own.
func TestBaselineOfRelease(t *testing.T) {
	dir := t.TempDir()
	trace := "../../explain/testdata/traces/pytorch-2.15/train_small.log.zst"
	name := filepath.Join(dir, "base-{torch}.json")
	if r := run(t, tcdbg(t, dir, "check", "--write-baseline", name, trace)); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "base-2.15.json")); err != nil {
		t.Error(err)
	}
	sarif := filepath.Join(dir, "out.sarif")
	r := run(t, tcdbg(t, dir, "check", "--baseline", name, "--max-breaks", "0", "--format", "sarif", "-o", sarif, trace))
	text, err := os.ReadFile(sarif)
	if r.code != ExitFound || err != nil || !strings.Contains(string(text), `"2.1.0"`) || !strings.Contains(r.stdout, "max-breaks: ") {
		t.Errorf("%+v %v %.200s", r, err, text)
	}
	other := "../../explain/testdata/traces/pytorch-2.11/trace_00_gb_cpu.log.zst"
	if r := run(t, tcdbg(t, dir, "check", "--baseline", name, other)); r.code == 0 || !strings.Contains(r.stderr, "base-2.11.json") {
		t.Errorf("%+v", r)
	}
}

// TestRedactedBundleOfWhatCannotBe: text logs and packed traces are refused by name, and no file is left.
func TestRedactedBundleOfWhatCannotBe(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "log.txt")
	if err := os.WriteFile(text, []byte("V1120 20:59:19.936000 400 torch/a.py:28] [0/0] [__graph_code] secret = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		text: "log.txt: only traces of TORCH_TRACE", "../../explain/testdata/traces/tcdbg/bar.log.zst": "bar.log.zst: it is packed by zstd",
	} {
		out := filepath.Join(dir, "out.zip")
		r := run(t, tcdbg(t, dir, "bundle", "--redact", "-o", out, path))
		if r.code == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v", path, r)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: a file is left", path)
		}
	}
}
