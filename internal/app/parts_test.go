package app

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// A kernel fault's page becomes one line that names graph and kernel, with
// exit code 70; names are made safe to print.
func TestFaultPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), faultFile)
	if err := newFaultPage(path); err != nil {
		t.Fatal(err)
	}
	if f := readFault(path); f != nil {
		t.Errorf("an empty page is a fault: %v", f)
	}
	page := make([]byte, FaultPageSize)
	binary.LittleEndian.PutUint32(page[faultSignalAt:], 11)
	binary.LittleEndian.PutUint64(page[faultAddrAt:], 0x1000)
	copy(page[faultGraphAt:], "__compiled_fn_1\x00junk")
	copy(page[faultKernelAt:], "fused_add_0\x1b[2J")
	if err := os.WriteFile(path, page, 0o644); err != nil {
		t.Fatal(err)
	}
	want := "kernel fault: SIGSEGV at address 0x1000 in kernel fused_add_0\\x1b[2J of graph __compiled_fn_1"
	if f := readFault(path); f == nil || f.String() != want {
		t.Errorf("%v", f)
	}
}

// Output is indexed by line in both streams; a line without an end is shown
// and grows; escape sequences do not reach the screen.
func TestOutputLog(t *testing.T) {
	r := &Run{Path: t.TempDir()}
	put := func(name, text string) {
		f, err := os.OpenFile(r.file(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	put(stdoutFile, "one\ntwo \x1b[31mred\x1b[0m\npart")
	put(stderrFile, "V0221 12:06:24.445000 1 torch/s.py:9] [0/0] [__fusion] x\n[rank0]:W0221 12:06:24.445000 1 "+
		"torch/_logging/_internal.py:9] [0/0] ignored\npanic: boom\n")
	o := openOutput(r, true)
	o.follow(context.Background(), false)
	put(stdoutFile, "ial\nlast\n")
	o.follow(context.Background(), false)
	var got []string
	for i := range o.Len() {
		l := o.Line(i)
		got = append(got, l.Text)
	}
	if s := strings.Join(got, "|"); s != "one|two red|partial|panic: boom|last" {
		t.Errorf("%s", s)
	}
	if p := o.panicLine(); p != "panic: boom" {
		t.Errorf("panic line %q", p)
	}
}

// copyLines drops log lines, and holds nothing back that cannot be one.
func TestCopyLines(t *testing.T) {
	var out bytes.Buffer
	in := "a\nV0221 12:06:24.445000 1 torch/s.py:9] [__fusion] x\nprompt> "
	copyLines(&out, strings.NewReader(in), func(l []byte) bool { return !torchLogLine().Match(l) })
	if out.String() != "a\nprompt> " {
		t.Errorf("%q", out.String())
	}
}

// slowReader gives a few bytes at a time, as a pipe does.
type slowReader struct {
	text string
	n    int
}

func (r *slowReader) Read(b []byte) (int, error) {
	if r.text == "" {
		return 0, io.EOF
	}
	n := copy(b, r.text[:min(r.n, len(r.text))])
	r.text = r.text[n:]
	return n, nil
}

// A line about a fused kernel is longer than any buffer: its beginning decides,
// wherever the reads cut it; what is the program's stays whole.
func TestLongLogLines(t *testing.T) {
	long := strings.Repeat("SchedulerNode(name='op1') ", 20_000)
	in := "a\nV0221 12:06:24.445000 1 torch/s.py:9] [__fusion] " + long + "\nVerbose " + long + "\nend\n"
	want := "a\nVerbose " + long + "\nend\n"
	for _, n := range []int{100, 4096, 100_000} {
		var out bytes.Buffer
		copyLines(&out, &slowReader{in, n}, func(l []byte) bool { return !torchLogLine().Match(l) })
		if out.String() != want {
			t.Errorf("reads of %d: %d characters, want %d", n, out.Len(), len(want))
		}
	}
}

// The Output screen leaves out lines of PyTorch's loggers however the file grows.
func TestHiddenLinesComeInPieces(t *testing.T) {
	log := "V0221 12:06:24.445000 1 torch/s.py:9] [__fusion] "
	for name, pieces := range map[string][]string{
		"cut in its head":       {"a\n" + log[:9], log[9:] + "x\nb\n"},
		"cut after its head":    {"a\n" + log, "x\nb\n"},
		"longer than the piece": {"a\n" + log + strings.Repeat("x", 300<<10), strings.Repeat("y", 300<<10) + "\nb\n"},
		"the program's":         {"a\nV", "\nb\n"},
	} {
		r := &Run{Path: t.TempDir()}
		for _, f := range []string{stdoutFile, stderrFile} {
			if err := os.WriteFile(r.file(f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		o, buf := openOutput(r, true), make([]byte, 256<<10)
		text := ""
		for i, p := range pieces {
			text += p
			if err := os.WriteFile(r.file(stderrFile), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for o.take(1, buf, i == len(pieces)-1) > 0 {
			}
		}
		want := "a|b"
		if name == "the program's" {
			want = "a|V|b"
		}
		var got []string
		for i := range o.Len() {
			got = append(got, o.Line(i).Text)
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%s: %.80q, want %q", name, s, want)
		}
	}
}

// What the user set stays; where PyTorch's logs go into the run folder and who
// asked for them decides which lines are shown as the program's.
func TestTraceEnv(t *testing.T) {
	r := &Run{Path: "/runs/x"}
	for _, c := range []struct {
		env        []string
		want       string
		kept, ours bool
	}{
		{nil, "TORCH_TRACE=/runs/x/trace TORCH_LOGS_OUT=/runs/x/trace/torch_logs.txt TORCH_LOGS=fusion,schedule,graph_breaks " +
			"INDUCTOR_PROVENANCE=1", true, true},
		{[]string{"TORCH_LOGS=dynamic"}, "TORCH_LOGS=dynamic TORCH_TRACE=/runs/x/trace TORCH_LOGS_OUT=/runs/x/trace/torch_logs.txt " +
			"INDUCTOR_PROVENANCE=1", true, false},
		{
			[]string{"TORCH_LOGS_OUT=/mine", "INDUCTOR_PROVENANCE=0", "TORCH_TRACE=/old"},
			"TORCH_LOGS_OUT=/mine INDUCTOR_PROVENANCE=0 TORCH_TRACE=/runs/x/trace", false, false,
		},
	} {
		env := traceEnv(r, c.env, false)
		if s := strings.Join(env, " "); s != c.want || logsAreKept(r, env) != c.kept || logsAreOurs(env) != c.ours {
			t.Errorf("%q: %s, kept %v, ours %v", c.env, s, logsAreKept(r, env), logsAreOurs(env))
		}
	}
}

// Ids of runs are safe as paths whatever the program is called.
func TestRunName(t *testing.T) {
	for name, want := range map[string]string{"../../etc/passwd.go": "passwd", "a b;c.go": "a-b-c", "": "run", "...": "run", "/": "run"} {
		if got := runName([]string{name}); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// --source-map maps whole path elements.
func TestSourceMap(t *testing.T) {
	m, err := parseSourceMap([]string{"/home/a=/mnt/b"})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{"/home/a/x.py": "/mnt/b/x.py", "/home/ab/x.py": "/home/ab/x.py", "x.py": "x.py"} {
		if got := m.apply(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestCollectLate: the collector that a short report puts off comes back with
// its first run.
func TestCollectLate(t *testing.T) {
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	collectLate()
	if got := debug.SetGCPercent(-1); got != -1 {
		t.Fatalf("before the first run: GOGC=%d", got)
	}
	for range 200 {
		runtime.GC()
		if now := debug.SetGCPercent(-1); now == 100 && debug.SetMemoryLimit(-1) == math.MaxInt64 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the collector never came back")
}
