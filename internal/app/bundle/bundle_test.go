package bundle

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
)

const aTrace = `V1120 20:59:19.936000 400 torch/_logging/structured.py:28] {"str": ["/p/model.py", 1]}
V1120 20:59:19.937000 400 torch/a.py:276] {"dynamo_start": {"stack": [{"line": 2, "name": "f", "filename": 1, "loc": "secret = x.sum()"}]}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}
V1120 20:59:19.937000 400 torch/a.py:277] {"dynamo_output_graph": {"sizes": {"x": [4]}}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0, "has_payload": "2be114db6e41e1f563c5331cf4d3e7d2"}
	class GraphModule: secret = x.sum()
V1120 20:59:19.938000 400 torch/a.py:278] {"artifact": {"name": "recompile_reasons", "encoding": "json"}, "frame_id": 0, "frame_compile_id": 1, "attempt": 0, "has_payload": "2be114db6e41e1f563c5331cf4d3e7d2"}
	["0/0: L['k'] == 1  # secret = x.sum()  # model.py:2 in f"]
V1120 20:59:19.939000 400 torch/a.py:279] {"artifact": {"name": "dynamo_graph_break_reason", "encoding": "string"}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0, "has_payload": "2be114db6e41e1f563c5331cf4d3e7d2"}
	Graph break in user code at /p/model.py:2
	User code traceback:
	  File "/p/model.py", line 2, in f
	    secret = x.sum()
	           ^^^^^^^^^
	see gb0170
V1120 20:59:19.939000 400 torch/a.py:280] {"artifact": {"name": "of_next_year", "encoding": "string"}, "has_payload": "2be114db6e41e1f563c5331cf4d3e7d2"}
	secret = x.sum()
this is no record: secret = x.sum()
V1120 20:59:19.939000 400 torch/a.py:281] {"compilation_metrics": {"fail_reason": "at\n  File \"/p/model.py\", line 2, in f\n    secret = x.sum()\nend"}}
`

// TestRedact: no line of source is left, what a report counts is.
func TestRedact(t *testing.T) {
	var b bytes.Buffer
	if err := Redact(&b, strings.NewReader(aTrace)); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if strings.Contains(text, "secret") || strings.Contains(text, "x.sum") || strings.Contains(text, "^^^") {
		t.Errorf("source is left:\n%s", text)
	}
	for _, kept := range []string{
		`{"line": 2, "name": "f", "filename": 1, "loc": ""}`, `"sizes": {"x": [4]}`, "L['k'] == 1", "# model.py:2 in f", "see gb0170",
		"/p/model.py", `"fail_reason"`,
	} {
		if !strings.Contains(text, kept) {
			t.Errorf("%s is gone:\n%s", kept, text)
		}
	}
	if strings.Contains(text, "of_next_year") {
		t.Error("a record that nobody knows is left")
	}
	if err := Redact(io.Discard, strings.NewReader("W1 TORCH_LOGS text\n")); err == nil {
		t.Error("a text log was redacted")
	}
}

// written is a bundle of aTrace.
func written(t *testing.T, redacted bool) string {
	t.Helper()
	dir := t.TempDir()
	trace := filepath.Join(dir, "dedicated_log_torch_trace_rank_3_x.log")
	if err := os.WriteFile(trace, []byte(aTrace), 0o600); err != nil {
		t.Fatal(err)
	}
	place := func(file string, line int, code string) logs.Pos { return logs.Pos{File: file, Line: line, Code: code} }
	r := &explain.Report{Advice: []explain.Advice{
		{Pos: place("/p/model.py", 2, "secret = x.sum()")},
		{Pos: place("/p/other.py", 1, "not what is there")},
		{Pos: place("/etc/passwd", 1, "root")},
		{Pos: place("/x/site-packages/torch/a.py", 1, "line")},
	}}
	path := filepath.Join(dir, "b.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = Write(f, &Content{
		Manifest:   Manifest{Tcdbg: "9.9", Engine: "PyTorch 2.15.0", Title: "a run", Redacted: redacted},
		TraceFiles: []string{trace}, Report: r,
		Read:     func(string) ([]string, error) { return []string{"line", "    secret = x.sum()"}, nil },
		Markdown: func(w io.Writer) error { _, err := io.WriteString(w, "report"); return err },
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestBundle: what was put in comes out, and only files whose lines the trace has recorded.
func TestBundle(t *testing.T) {
	defer CleanUp()
	path := written(t, false)
	if !Is(path) {
		t.Fatal("it is no bundle")
	}
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(b.Paths[0])
	if err != nil || string(text) != aTrace || !strings.Contains(b.Paths[0], "rank_3") {
		t.Errorf("%s: %v", b.Paths, err)
	}
	if lines, ok := b.Lines("/p/model.py"); !ok || len(lines) != 2 || lines[1] != "    secret = x.sum()" {
		t.Errorf("%q", lines)
	}
	for _, other := range []string{"/p/other.py", "/etc/passwd", "/x/site-packages/torch/a.py"} {
		if _, ok := b.Lines(other); ok {
			t.Errorf("%s is in it", other)
		}
	}
	CleanUp()
	if _, err := os.Stat(b.Paths[0]); err == nil {
		t.Error("it is still unpacked")
	}
	if b, err = Open(written(t, true)); err != nil || len(b.Sources) != 0 || !b.Redacted {
		t.Errorf("redacted: %+v, %v", b, err)
	}
}

// TestPartOfAFile: of a file the lines are kept that are named or that advice read, with their functions.
func TestPartOfAFile(t *testing.T) {
	lines := strings.Split("import torch\n\nclass M:\n    def __init__(self):\n        self.n = 0\n"+strings.Repeat("\n", 20)+
		"    def secret(self):\n        return 'key'\n"+strings.Repeat("\n", 20)+
		"    @torch.compile\n    def forward(self, x):\n"+strings.Repeat("        x = x + 1\n", 9)+"        return x * self.n\n", "\n")
	src := explain.NewSource(func(string) ([]string, error) { return lines, nil })
	src.About(logs.Pos{File: "m.py", Line: len(lines) - 1, Code: "return x * self.n"}, "self.n")
	decorator := slices.Index(lines, "    @torch.compile") + 1
	p := partOf(&explain.Report{Source: src}, "m.py", lines, map[int]bool{decorator: true, 999: true, -1: true})
	want := [][2]int{{4, 5}, {decorator - 3, len(lines)}}
	if got := p.ranges(); !slices.Equal(got, want) {
		t.Errorf("kept are %v, not %v", got, want)
	}
	if strings.Contains(p.text(), "key") || strings.Count(p.text(), "\n") != len(lines)-1 {
		t.Errorf("%q", p.text())
	}
	read := strings.Split(p.text(), "\n")
	fill("m.py", read, p.ranges())
	if !explain.LeftOut(read[0]) || read[4] != lines[4] || explain.LeftOutFrom(read, 6) != decorator-9 {
		t.Errorf("%q", read)
	}
	again := partOf(&explain.Report{}, "m.py", read, map[int]bool{decorator - 5: true, decorator: true})
	if strings.Contains(again.text(), "bundle") { // a bundle of a bundle
		t.Errorf("%q", again.text())
	}
}

// TestPartOfAGoFile: of a Go file declarations are kept as wholes, so that it parses; what a declaration is not in is
// kept near a line that is named.
func TestPartOfAGoFile(t *testing.T) {
	text := "// words\npackage main\n\nimport \"fmt\"\n\nvar key = map[string]int{\n\t\"secret\": 1,\n}\n" +
		"// f is one.\nfunc f() {\n\tfmt.Println()\n}\nfunc g() {\n\tfmt.Println(key)\n}\n"
	p := partOf(&explain.Report{}, "m.go", strings.Split(text, "\n"), map[int]bool{11: true})
	if got, want := p.ranges(), [][2]int{{2, 2}, {4, 4}, {9, 12}}; !slices.Equal(got, want) {
		t.Errorf("kept are %v, not %v", got, want)
	}
}

// made is a zip of members; mode is theirs.
func made(t *testing.T, mode fs.FileMode, members ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "z.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for i := 0; i < len(members); i += 2 {
		h := &zip.FileHeader{Name: members[i], Method: zip.Deflate}
		h.SetMode(mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, members[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestHostileBundles: paths, links, doubles, bombs and foreign versions are refused.
func TestHostileBundles(t *testing.T) {
	defer CleanUp()
	manifest := func(file string) string { return `{"v":1,"traces":[{"name":"a","file":"` + file + `"}],"sources":[]}` }
	good := manifest("trace/0/a.log")
	for name, path := range map[string]string{
		"path":     made(t, 0o644, manifestName, manifest("trace/../../evil"), "trace/../../evil", "x"),
		"absolute": made(t, 0o644, manifestName, manifest("/tmp/evil"), "/tmp/evil", "x"),
		"extra":    made(t, 0o644, manifestName, good, "trace/0/a.log", "x", "../evil", "x"),
		"twice":    made(t, 0o644, manifestName, good, "trace/0/a.log", "x", "trace/0/a.log", "y"),
		"link":     made(t, fs.ModeSymlink|0o777, manifestName, good, "trace/0/a.log", "/etc/passwd"),
		"lacking":  made(t, 0o644, manifestName, good),
		"version":  made(t, 0o644, manifestName, strings.Replace(good, `"v":1`, `"v":3`, 1), "trace/0/a.log", "x"),
		"ranges": made(t, 0o644, manifestName, `{"v":2,"traces":[{"name":"a","file":"trace/0/a.log"}],`+
			`"sources":[{"name":"a.py","file":"source/0/a.py","kept":[[5,9],[9,12]]}]}`, "trace/0/a.log", "x", "source/0/a.py", "y"),
		"no json":  made(t, 0o644, manifestName, `{`),
		"bomb":     made(t, 0o644, manifestName, good, "trace/0/a.log", strings.Repeat("\x00", smallTotal+1)),
		"manifest": made(t, 0o644, manifestName, strings.Repeat(" ", maxManifest+1)),
	} {
		if b, err := Open(path); err == nil {
			t.Errorf("%s: opened: %+v", name, b.Manifest)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if Is(made(t, 0o644, "other", "x")) || Is(filepath.Join(t.TempDir(), "none")) {
		t.Error("another zip is taken for a bundle")
	}
}

// TestRefusedBundleLeavesNothing: what was unpacked of a bundle that is refused is removed at once.
func TestRefusedBundleLeavesNothing(t *testing.T) {
	path := made(t, 0o644, manifestName, `{"v":1,"traces":[{"name":"a","file":"trace/0/a.log"},{"name":"b","file":"trace/1/b.log"}]}`,
		"trace/0/a.log", "x")
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	if b, err := Open(path); err == nil {
		t.Fatalf("opened: %+v", b.Manifest)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// TestRedactLargeRecord: of a payload that is too large to be understood no part is kept.
func TestRedactLargeRecord(t *testing.T) {
	defer func(was int) { maxRecord = was }(maxRecord)
	maxRecord = 40
	var b bytes.Buffer
	err := Redact(&b, strings.NewReader("V0101 00:00:00.000000 1 a.py:1] {\"dynamo_error\": {}, \"has_payload\": \"00\"}\n"+
		"\t{\n\t\"code\": \"secret = x.sum()\",\n\t\"reason\": \"some reason\"\n\t}\n"))
	if err != nil || strings.Contains(b.String(), "secret") || strings.Contains(b.String(), "has_payload") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// FuzzRedact: whatever a trace holds, redacting ends, and its lines of source are gone.
func FuzzRedact(f *testing.F) {
	f.Add([]byte(aTrace))
	f.Add([]byte("V1 1 1 a] {\"a\": \"\\\"}\n\tx\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var b bytes.Buffer
		_ = Redact(&b, bytes.NewReader(text))
	})
}

// TestSweep: what a killed process left goes, what a living one has, and what is not ours, stays.
func TestSweep(t *testing.T) {
	defer CleanUp()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	old := time.Now().Add(-time.Hour)
	left, other := filepath.Join(temp, folderName+"1"), filepath.Join(temp, "others")
	living, err := opened.make()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{left, other} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{left, other, living} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	sweep(temp)
	for dir, stays := range map[string]bool{left: false, other: true, living: true} {
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
