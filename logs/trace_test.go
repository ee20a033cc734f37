package logs

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clock is a time that every record of a test shares.
func clock() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 890_000_000, time.UTC) }

func testWriter(b *bytes.Buffer) *Writer {
	return NewWriter(b, WriterOptions{Now: clock, PID: 42})
}

// readAll opens files and returns what is in them.
func readAll(t testing.TB, o Options, paths ...string) (*Store, []*Record) {
	t.Helper()
	st, err := Open(paths, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	var out []*Record
	if err := st.Read(context.Background(), func(r *Record) { out = append(out, r.Keep()) }); err != nil {
		t.Fatal(err)
	}
	return st, out
}

func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// sample writes one record of most shapes.
func sample(w *Writer) {
	id := CompileID{Frame: 0, Compile: 1, Attempt: 2}
	stack := w.Stack([]Frame{{File: "/a/b.py", Line: 3, Name: "f", Loc: "x < y"}})
	w.Emit(Out{Kind: "dynamo_start", ID: id, Meta: map[string]any{"stack": stack}, Place: "tracer/frame.go:1"})
	w.Emit(Out{
		Kind: "dynamo_output_graph", ID: id, Meta: map[string]any{"sizes": map[string]any{}},
		Payload: []byte("class GraphModule\n\n\tx = 1\n"),
	})
	w.Emit(Text(id, "dynamo_graph_break_reason", "Graph break in user code at /a/b.py:3\n"))
	w.Emit(Out{Kind: "dynamo_cpp_guards_str", ID: id, Payload: []byte{}})
	w.Emit(Artifact(NoCompile, RunInfo{Tcdbg: "1", Program: "model.go"}))
}

func TestWriterRoundTrip(t *testing.T) {
	var b bytes.Buffer
	sample(testWriter(&b))
	st, recs := readAll(t, Options{}, file(t, "t.log", b.String()))
	if len(recs) != 6 {
		t.Fatalf("%d records, want 6:\n%s", len(recs), b.String())
	}
	start := recs[1]
	if start.Kind != "dynamo_start" || start.ID != (CompileID{0, 1, 2}) || start.Place() != "tracer/frame.go:1" || start.Thread != 42 {
		t.Errorf("dynamo_start came back as %+v", start)
	}
	if s := start.Stack("stack"); len(s) != 1 || s[0] != (Frame{"/a/b.py", 3, "f", "x < y"}) {
		t.Errorf("stack came back as %+v", s)
	}
	if got := recs[2].Text(); got != "class GraphModule\n\n\tx = 1\n" {
		t.Errorf("payload came back as %q", got)
	}
	if recs[5].HasID || recs[5].Key() != "artifact:tcdbg_run" {
		t.Errorf("run info came back as %+v", recs[5])
	}
	if s := st.Stats(); s.MD5Mismatch+s.BadJSON+s.Stray != 0 {
		t.Errorf("own trace is damaged: %+v", s)
	}
	for i := range recs {
		again, err := st.Record(i)
		if err != nil || again.Text() != recs[i].Text() || again.ID != recs[i].ID {
			t.Errorf("record %d reads differently on demand: %+v, %v", i, again, err)
		}
	}
}

// TestOneWriteARecord: a reader of a growing file must never see half a record
// of a live writer.
func TestOneWriteARecord(t *testing.T) {
	var w countingWriter
	sample(NewWriter(&w, WriterOptions{Now: clock}))
	if w.writes != 6 || w.partial {
		t.Errorf("%d writes for 6 records, partial lines %v", w.writes, w.partial)
	}
}

type countingWriter struct {
	writes  int
	partial bool
}

func (c *countingWriter) Write(p []byte) (int, error) {
	c.writes++
	c.partial = c.partial || !bytes.HasSuffix(p, []byte("\n")) || p[0] != 'V'
	return len(p), nil
}

// TestOpensInTlparse: PyTorch's own viewer reads our trace without a complaint.
func TestOpensInTlparse(t *testing.T) {
	tlparse, err := exec.LookPath("tlparse")
	if err != nil {
		t.Skip("tlparse is not installed")
	}
	var b bytes.Buffer
	sample(testWriter(&b))
	path := file(t, "dedicated_log_torch_trace_x.log", b.String())
	out, err := exec.Command(tlparse, "--no-browser", "--overwrite", "-o", filepath.Join(t.TempDir(), "out"), path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, bad := range []string{
		"fail_glog: 1", "fail_json: 1", "fail_payload_md5: 1", "fail_dynamo_guards_json: 1",
		"fail_parser: 1", "Failed",
	} {
		if bytes.Contains(out, []byte(bad)) {
			t.Errorf("tlparse complains (%s):\n%s", bad, out)
		}
	}
}

const prefix = "V1120 20:59:19.936000 400 torch/x.py:28] "

// TestDamage: what happens to files on their way is survived and counted.
func TestDamage(t *testing.T) {
	good := prefix + `{"dynamo_start": {"stack": []}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}` + "\n"
	sum := "900150983cd24fb0d6963f7d28e17f72" // abc
	for _, c := range []struct {
		name, text string
		records    int
		payload    string // of the last record
		stats      Stats
	}{
		{"lost tabs", prefix + `{"a": {}, "has_payload": "` + sum + `"}` + "\nabc\n", 1, "abc", Stats{}},
		{"blank lines", prefix + `{"a": {}, "has_payload": "` + sum + `"}` + "\n\tabc\n\n\n" + good, 2, "", Stats{}},
		{"carriage returns", prefix + `{"a": {}, "has_payload": "` + sum + `"}` + "\r\n\tabc\r\n", 1, "abc", Stats{}},
		{"bad JSON", prefix + "{\"a\": {\n" + good, 2, "", Stats{BadJSON: 1}},
		{"mismatch", prefix + `{"a": {}, "has_payload": "` + sum + `"}` + "\n\tabd\n", 1, "abd", Stats{MD5Mismatch: 1}},
		{"stray lines", "hello\nworld\n" + good, 1, "", Stats{Stray: 2}},
		{"no final line end", prefix + `{"a": {}, "has_payload": "` + sum + `"}` + "\n\tabc", 1, "abc", Stats{}},
		{
			"null ids", prefix + `{"a": {}, "frame_id": null, "frame_compile_id": null, "attempt": null, "rank": null}` + "\n", 1,
			"",
			Stats{},
		},
		{"only context keys", prefix + `{"rank": 1}` + "\n", 1, "", Stats{BadJSON: 1}},
		{"deep JSON", prefix + `{"a": ` + strings.Repeat("[", 1e5) + strings.Repeat("]", 1e5) + "}\n", 1, "", Stats{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, recs := readAll(t, Options{}, file(t, "t.log", c.text))
			if len(recs) != c.records {
				t.Fatalf("%d records, want %d", len(recs), c.records)
			}
			if got := recs[len(recs)-1].Text(); got != c.payload {
				t.Errorf("payload %q, want %q", got, c.payload)
			}
			s := st.Stats()
			if got := (Stats{BadJSON: s.BadJSON, MD5Mismatch: s.MD5Mismatch, Stray: s.Stray, Oversized: s.Oversized}); got != c.stats {
				t.Errorf("damage %+v, want %+v", got, c.stats)
			}
		})
	}
}

// TestOversizedRecord: a record beyond the bound is cut once, whatever its
// payload looks like, and the record after it is read.
func TestOversizedRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		if _, err := f.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	const width = 256 // divides every chunk, so that chunks begin with what looks like a header
	write([]byte(prefix + `{"a": {}, "has_payload": "00"` +
		strings.Repeat(" ", width-len(prefix)-len(`{"a": {}, "has_payload": "00"}`)-2) + "}\n\t"))
	block := []byte(prefix + `{"inside": {}}`)
	block = bytes.Repeat(append(block, bytes.Repeat([]byte(" "), width-len(block))...), 1<<14) // no line of its own
	for n := 0; n < 3*MaxRecord; n += len(block) {
		write(block)
	}
	write([]byte("\n\tsecond line\n" + prefix + `{"b": {}}` + "\n"))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	st, recs := readAll(t, Options{}, path)
	var got []string
	for _, r := range recs {
		got = append(got, r.RawName)
	}
	if s := st.Stats(); strings.Join(got, " ") != "a b" || s.Oversized != 1 || s.Stray != 0 {
		t.Errorf("records %q, %+v", got, s)
	}
}

// TestEpochs: ids that start again after a reset are told apart, retries are
// not taken for a reset.
func TestEpochs(t *testing.T) {
	var b strings.Builder
	start := func(attempt string) {
		b.WriteString(prefix + `{"dynamo_start": {"stack": []}, "frame_id": 0, "frame_compile_id": 0` + attempt + "}\n")
	}
	metrics := func() {
		b.WriteString(prefix + `{"compilation_metrics": {}, "frame_id": 0, "frame_compile_id": 0, "attempt": 1}` + "\n")
	}
	start(`, "attempt": 0`) // 0
	start(`, "attempt": 1`) // 0: a retry
	metrics()
	start(`, "attempt": 0`) // 1
	start("")               // 1: without an attempt and without an end, a retry
	metrics()
	start("") // 2
	_, recs := readAll(t, Options{}, file(t, "t.log", b.String()))
	var got []int
	for _, r := range recs {
		got = append(got, r.Epoch)
	}
	if want := "[0 0 0 1 1 1 2]"; fmt.Sprint(got) != want {
		t.Errorf("epochs %v, want %s", got, want)
	}
}

// TestEpochsByPhases: the phases that open a compile belong to it, whether they
// come before dynamo_start or after it.
func TestEpochsByPhases(t *testing.T) {
	var b strings.Builder
	id := `, "frame_id": 0, "frame_compile_id": 0, "attempt": 0`
	phase := func(name string) {
		body := "{\n\"name\": \"" + name + "\",\n\"ph\": \"B\"\n}"
		fmt.Fprintf(&b, "%s{\"chromium_event\": {}%s, \"has_payload\": \"%x\"}\n\t%s\n", prefix, id, md5.Sum([]byte(body)),
			strings.ReplaceAll(body, "\n", "\n\t"))
	}
	for range 2 { // 2.6 writes the one before and the other after
		phase("dynamo")
		b.WriteString(prefix + `{"dynamo_start": {"stack": []}` + id + "}\n")
		phase("entire_frame_compile")
		b.WriteString(prefix + `{"compilation_metrics": {}` + id + "}\n")
	}
	_, recs := readAll(t, Options{}, file(t, "t.log", b.String()))
	var got []int
	for _, r := range recs {
		got = append(got, r.Epoch)
	}
	if want := "[0 0 0 0 1 1 1 1]"; fmt.Sprint(got) != want {
		t.Errorf("epochs %v, want %s", got, want)
	}
}

// TestCompanionLog: what a text log says beside traces belongs to the compiles
// of the trace of its process, in the epoch of its time; a process without a
// trace has none.
func TestCompanionLog(t *testing.T) {
	dir := t.TempDir()
	trace := func(name string, pid int, extra string) {
		var b strings.Builder
		for i := range 2 { // the ids start again after 10 s
			fmt.Fprintf(&b, "V1121 12:00:%d0.000000 %d a.py:1] {\"dynamo_start\": {\"stack\": []}, \"frame_id\": 0, "+
				"\"frame_compile_id\": 0, \"attempt\": 0%s}\n", i, pid, extra)
			fmt.Fprintf(&b, "V1121 12:00:%d1.000000 %d a.py:1] {\"compilation_metrics\": {}, \"frame_id\": 0, \"frame_compile_id\": "+
				"0, \"attempt\": 0%s}\n", i, pid, extra)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trace("dedicated_log_torch_trace_rank_0_a.log", 70, `, "rank": 0`)
	trace("dedicated_log_torch_trace_rank_1_b.log", 71, `, "rank": 1`)
	// What the hooks of these processes say lies beside, and is no trace of compiles.
	for rank, name := range []string{"a.log", "z.log"} {
		ours := fmt.Sprintf("V1121 12:00:00.100000 %d t:0] {\"artifact\": {\"name\": \"tcdbg_state\", \"encoding\": \"json\"}, "+
			"\"rank\": %d}\n", 70+rank, rank)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(ours), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := ""
	for _, l := range []string{"00.500000 71", "10.500000 71", "10.600000 70", "10.700000 99"} {
		text += "V1121 12:00:" + l + " s.py:1] [0/0] [__fusion] cannot fuse a with b: no shared data\n"
	}
	if err := os.WriteFile(filepath.Join(dir, companionLog), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	st, recs := readAll(t, Options{}, dir)
	var got []string
	for i, r := range recs {
		if r.Kind != "torch_log" {
			continue
		}
		again, err := st.Record(i)
		if err != nil {
			t.Fatal(err)
		}
		if again.HasID != r.HasID || again.Rank != r.Rank || again.Epoch != r.Epoch {
			t.Errorf("%+v read again is %+v", r, again)
		}
		got = append(got, fmt.Sprintf("rank %d epoch %d %s", r.Rank, r.Epoch, r.ID))
	}
	want := "rank 1 epoch 0 0/0, rank 1 epoch 1 0/0, rank 0 epoch 1 0/0, rank -1 epoch 0 -/-"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("%s, want %s", s, want)
	}
}

// TestAliases: names that drifted lead to one content.
func TestAliases(t *testing.T) {
	text := prefix + `{"artifact": {"name": "after_post_grad_graph", "encoding": "string"}}` + "\n" + prefix +
		`{"inductor_post_grad_graph": {}}` + "\n"
	_, recs := readAll(t, Options{}, file(t, "t.log", text))
	for _, r := range recs {
		if r.Content() != "inductor_post_grad_graph" {
			t.Errorf("%s is read as %s", r.Key(), r.Content())
		}
	}
	if recs[0].Key() != "artifact:after_post_grad_graph" {
		t.Errorf("counted as %s, want the name as written", recs[0].Key())
	}
}

func gz(t testing.TB, text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSources: archives, standard input, folders, and what is none of them.
func TestSources(t *testing.T) {
	var b bytes.Buffer
	sample(testWriter(&b))
	trace := b.String()
	if _, recs := readAll(t, Options{}, file(t, "t.log.gz", gz(t, trace))); len(recs) != 6 {
		t.Errorf("gzip: %d records", len(recs))
	}
	if _, recs := readAll(t, Options{Stdin: strings.NewReader(trace)}, "-"); len(recs) != 6 {
		t.Errorf("stdin: %d records", len(recs))
	}
	if _, recs := readAll(t, Options{Stdin: strings.NewReader(gz(t, trace)), SpoolMemory: 16}, "-"); len(recs) != 6 ||
		recs[2].Text() == "" {
		t.Errorf("compressed stdin with a spool on disk: %d records", len(recs))
	}

	st, recs := readAll(t, Options{}, file(t, "t.log.gz", gz(t, strings.Repeat(trace, 200))[:900]))
	if s := st.Sources()[0]; s.Err == nil || len(recs) == 0 {
		t.Errorf("truncated gzip: error %v, %d records", s.Err, len(recs))
	}
	st2, err := Open([]string{file(t, "x.log", "\x7fELF\x00\x00\x01")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := st2.Read(context.Background(), func(*Record) {}); err == nil || !strings.Contains(err.Error(), "binary") {
		t.Errorf("a binary gives %v", err)
	}
	if _, err := Open([]string{filepath.Join(t.TempDir(), "none")}, Options{}); err == nil {
		t.Error("a missing file opens")
	}
	if _, err := Open([]string{t.TempDir()}, Options{}); err == nil {
		t.Error("an empty folder opens")
	}
}

// TestFolderOfRanks: files come in the order of their ranks, each with its own.
func TestFolderOfRanks(t *testing.T) {
	dir := t.TempDir()
	for _, rank := range []int{10, 2, 0} {
		name := filepath.Join(dir, fmt.Sprintf("dedicated_log_torch_trace_rank_%d_abc.log", rank))
		if err := os.WriteFile(name, []byte(prefix+`{"link": {}}`+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, recs := readAll(t, Options{}, dir)
	if len(recs) != 3 || recs[0].Rank != 0 || recs[1].Rank != 2 || recs[2].Rank != 10 {
		t.Errorf("ranks %v", recs)
	}
}

// TestFollow: records appear as a file grows, never before they are whole, and
// new files of a folder join.
func TestFollow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later") // which the program makes
	st, err := Open([]string{dir}, Options{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var b bytes.Buffer
	sample(testWriter(&b))
	trace := b.Bytes()
	half := bytes.Index(trace, []byte("class GraphModule")) + len("class GraphModule\n") // a whole line of a payload

	got := make(chan string, 100)
	done := make(chan error, 1)
	go func() {
		done <- st.Follow(ctx, func(r *Record) { got <- fmt.Sprint(r.Key(), " ", len(r.Text())) }, nil)
	}()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a.log")
	if err := os.WriteFile(path, trace[:half], 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, ctx, got, "str 0", "dynamo_start 0")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(trace[half:]); err != nil {
		t.Fatal(err)
	}
	want(t, ctx, got, "dynamo_output_graph 26", "artifact:dynamo_graph_break_reason 38", "dynamo_cpp_guards_str 0", "artifact:tcdbg_run 86")
	if err := os.WriteFile(filepath.Join(dir, "b.log"), []byte(prefix+`{"link": {}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, ctx, got, "link 0")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestFollowOfAFileCutShort: a file that a second run writes again is ended and
// says so; its records are gone from where they were.
func TestFollowOfAFileCutShort(t *testing.T) {
	var b bytes.Buffer
	sample(testWriter(&b))
	for _, text := range []string{b.String(), "V1122 10:00:00.000000 1 torch/_dynamo/guards.py:1 [0/0] [__guards] GUARDS:\n"} {
		path := file(t, "t.log", strings.Repeat(text, 3))
		st, err := Open([]string{path}, Options{Follow: true})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := st.Follow(ctx, func(*Record) {}, func() {
			if st.Sources()[0].Err != nil {
				cancel()
			} else if err := os.Truncate(path, int64(len(text)/2)); err != nil {
				t.Error(err)
			}
		}); err != nil {
			t.Error(err)
		}
		if err := st.Sources()[0].Err; err == nil || !strings.Contains(err.Error(), "shrank") {
			t.Errorf("%.20s: error %v", text, err)
		}
	}
}

func want(t *testing.T, ctx context.Context, got <-chan string, keys ...string) {
	t.Helper()
	for _, k := range keys {
		select {
		case g := <-got:
			if g != k {
				t.Fatalf("record %s, want %s", g, k)
			}
		case <-ctx.Done():
			t.Fatalf("no record %s came", k)
		}
	}
}

func TestSearch(t *testing.T) {
	var b bytes.Buffer
	sample(testWriter(&b))
	st, _ := readAll(t, Options{}, file(t, "t.log", strings.Repeat(b.String(), 3)))
	find := func(q Query) (out []Match) {
		t.Helper()
		var last, total int64
		if err := Search(context.Background(), st, q, func(m Match) { out = append(out, m) },
			func(d, n int64) { last, total = d, n }); err != nil {
			t.Fatal(err)
		}
		if q.Limit == 0 && last != total {
			t.Errorf("progress ends at %d of %d", last, total)
		}
		return out
	}
	if m := find(Query{Text: "GraphModule"}); len(m) != 3 || m[0].Line != 1 || m[0].Text[m[0].From:m[0].To] != "GraphModule" {
		t.Errorf("plain: %+v", m)
	}
	if m := find(Query{Text: "graphmodule", Fold: true}); len(m) != 3 {
		t.Errorf("without case: %d", len(m))
	}
	if m := find(Query{Text: `Graph\w+`, Regexp: true, Kind: "dynamo_output_graph"}); len(m) != 3 {
		t.Errorf("expression: %d", len(m))
	}
	if m := find(Query{Text: "GraphModule", HasFrame: true, Frame: 7}); len(m) != 0 {
		t.Errorf("filter by frame: %d", len(m))
	}
	if m := find(Query{Text: "a", Limit: 2}); len(m) != 2 {
		t.Errorf("limit: %d", len(m))
	}
	if err := Search(context.Background(), st, Query{Text: "(", Regexp: true}, nil, nil); err == nil {
		t.Error("a broken expression is accepted")
	}
}
