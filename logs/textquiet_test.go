package logs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// quietBreak is a message as a text log has it, one line an item.
var quietBreak = prefixEach("V1121 12:00:00.000000 7 torch/a.py:1] [0/0] [__graph_breaks] ", `Graph break in user code at /w/a.py:7
Graph Break Reason: Data-dependent branching
  Explanation: Detected data-dependent branching. The branch condition involves a tensor computed as follows:
    # File "/w/a.py", line 7, in f, code: if x.sum() > 0:
    gt = gt(sum_1, 0)

 For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html

User code traceback:
  File "/w/a.py", line 20, in <module>
    f(x)
  File "/w/a.py", line 7, in f
    if x.sum() > 0:
`)

func prefixEach(prefix, text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = prefix + lines[i] + "\n"
	}
	return lines
}

// TestWholeBreak: a message on a break reads as whole where its stack has reached the
// break, and nowhere before.
func TestWholeBreak(t *testing.T) {
	var lines []string
	for i, l := range quietBreak {
		lines = append(lines, lexLine(trimEOL([]byte(l))).text)
		if got, want := wholeBreak(lines), i == len(quietBreak)-1; got != want {
			t.Errorf("%d lines: whole %v", i+1, got)
		}
	}
}

// TestSettle: when what is open is handed over, by how long nothing came, and what
// becomes of lines that come even later.
func TestSettle(t *testing.T) {
	n := len(quietBreak)
	for _, c := range []struct {
		name   string
		first  []string
		quiet  time.Duration
		rest   []string
		before []string // keys of records before rest
		after  []string // and in all
	}{
		{"whole", quietBreak, quietWhole, nil, []string{"dynamo_start", "artifact:dynamo_graph_break_reason"}, nil},
		{"whole, at once", quietBreak, quietWhole - 1, nil, nil, []string{"dynamo_start", "artifact:dynamo_graph_break_reason"}},
		{
			"a slow writer", quietBreak[:4], quietOpen - 1, quietBreak[4:], nil,
			[]string{"dynamo_start", "artifact:dynamo_graph_break_reason"},
		},
		{
			"whole, but the next line begins", append(quietBreak[:n:n], "V1121 12:0"), quietWhole, nil, nil,
			[]string{"torch_log", "dynamo_start", "artifact:dynamo_graph_break_reason"},
		},
		{
			"too slow a writer", quietBreak[:n-2], quietOpen, quietBreak[n-2:],
			[]string{"dynamo_start", "artifact:dynamo_graph_break_reason"},
			[]string{"dynamo_start", "artifact:dynamo_graph_break_reason", "torch_log"},
		},
		{"output", []string{"epoch 1\n"}, quietWhole, nil, []string{"torch_log"}, nil},
	} {
		var in bytes.Buffer
		r := newTextReader(&in)
		var out bytes.Buffer
		add := func(lines []string) []string {
			in.WriteString(strings.Join(lines, ""))
			if _, err := io.Copy(&out, r); err != nil {
				t.Fatal(err)
			}
			r.settle(c.quiet)
			r.settle(c.quiet) // nothing is told twice
			if _, err := io.Copy(&out, r); err != nil {
				t.Fatal(err)
			}
			return keysOf(t, out.String())
		}
		if got := add(c.first); fmt.Sprint(got) != fmt.Sprint(c.before) {
			t.Errorf("%s: %v, want %v", c.name, got, c.before)
		}
		if c.after == nil {
			c.after = c.before
		}
		r.final = true
		if got := add(c.rest); fmt.Sprint(got) != fmt.Sprint(c.after) {
			t.Errorf("%s, at the end: %v, want %v", c.name, got, c.after)
		}
	}
}

// keysOf are the kinds of the records of a trace.
func keysOf(t *testing.T, trace string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.log")
	if err := os.WriteFile(path, []byte(trace), 0o600); err != nil {
		t.Fatal(err)
	}
	_, recs := readAll(t, Options{}, path)
	var keys []string
	for _, r := range recs {
		keys = append(keys, r.Key())
	}
	return keys
}

// TestFollowedText: the last message of a log that is still open is shown, and one
// whose lines come slowly is one message.
func TestFollowedText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.txt")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := Open([]string{path}, Options{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	got, done := make(chan string, 100), make(chan error, 1)
	go func() {
		done <- st.Follow(ctx, func(r *Record) { got <- fmt.Sprint(r.Key(), " ", strings.Count(r.Text(), "\n")) }, nil)
	}()
	for _, l := range quietBreak {
		if _, err := f.WriteString(l); err != nil {
			t.Fatal(err)
		}
		time.Sleep(quietWhole / 8)
	}
	want(t, ctx, got, "dynamo_start 0", fmt.Sprint("artifact:dynamo_graph_break_reason ", len(quietBreak)-1))
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
