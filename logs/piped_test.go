package logs

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// TestFollowOfAPipe: records of a pipe appear while it is open, the last one too, and
// Follow ends with it.
func TestFollowOfAPipe(t *testing.T) {
	var b bytes.Buffer
	sample(testWriter(&b))
	trace := b.String()
	half := strings.Index(trace, "class GraphModule") + len("class GraphModule\n")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	in, out := io.Pipe()
	st, err := Open([]string{"-"}, Options{Follow: true, Stdin: in})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	got, done := make(chan string, 100), make(chan error, 1)
	go func() {
		done <- st.Follow(ctx, func(r *Record) { got <- fmt.Sprint(r.Key(), " ", len(r.Text())) }, nil)
	}()
	send := func(s string) {
		if _, err := io.WriteString(out, s); err != nil {
			t.Error(err)
		}
	}
	send(trace[:half])
	want(t, ctx, got, "str 0", "dynamo_start 0")
	send(trace[half:])
	want(t, ctx, got, "dynamo_output_graph 26", "artifact:dynamo_graph_break_reason 38", "dynamo_cpp_guards_str 0", "artifact:tcdbg_run 86")
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || ctx.Err() != nil {
		t.Errorf("Follow ended with %v, %v", err, ctx.Err())
	}
}

// TestFollowOfPipesEnds: what a pipe holds is read whole, an archive and a text log too,
// and how it ended is told.
func TestFollowOfPipesEnds(t *testing.T) {
	var b, z bytes.Buffer
	sample(testWriter(&b))
	w := gzip.NewWriter(&z)
	_, _ = w.Write(b.Bytes())
	_ = w.Close()
	text := "V1122 10:00:00.000000 1 torch/_dynamo/guards.py:1 [0/0] [__guards] GUARDS:\n"
	for _, c := range []struct {
		name    string
		in      io.Reader
		records int
		fails   string
	}{
		{"trace", bytes.NewReader(b.Bytes()), 6, ""},
		{"archive", bytes.NewReader(z.Bytes()), 6, ""},
		{"cut archive", bytes.NewReader(z.Bytes()[:z.Len()-9]), 6, "unexpected EOF"},
		{"text", strings.NewReader(text), 1, ""},
		{"broken pipe", io.MultiReader(bytes.NewReader(b.Bytes()), failing{}), 6, "broken"},
		{"nothing", strings.NewReader(""), 0, ""},
		{"binary", strings.NewReader("\x00\x01\x02\x03"), 0, "binary"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			st, err := Open([]string{"-"}, Options{Follow: true, Stdin: c.in})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			n := 0
			if err := st.Follow(ctx, func(*Record) { n++ }, nil); (err != nil) != (c.records == 0 && c.fails != "") || ctx.Err() != nil {
				t.Fatal(err, ctx.Err())
			}
			if n != c.records {
				t.Errorf("%d records, want %d", n, c.records)
			}
			err = st.Sources()[0].Err
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("error %v, want %q", err, c.fails)
			}
		})
	}
}

// TestFollowOfAnOpenArchive: who stops following waits for no pipe.
func TestFollowOfAnOpenArchive(t *testing.T) {
	var b, z bytes.Buffer
	sample(testWriter(&b))
	w := gzip.NewWriter(&z)
	_, _ = w.Write(b.Bytes())
	_ = w.Flush() // its end does not come
	in, out := io.Pipe()
	defer func() { _ = out.Close() }()
	st, err := Open([]string{"-"}, Options{Follow: true, Stdin: in})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- st.Follow(ctx, func(*Record) {}, nil) }()
	if _, err := out.Write(z.Bytes()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * pollEvery) // a reader waits now
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("Follow waits for the pipe")
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, fmt.Errorf("broken") }
