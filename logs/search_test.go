package logs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestFoldedSearch: the fast search without case finds what the slow one does.
func TestFoldedSearch(t *testing.T) {
	text := []byte("xX Graph GRAPH graph gRaPh grap\nGraphgraph aAaA zz_Z")
	for _, q := range []string{"graph", "GRAPH", "x", "aa", "zz_z", "h g", "nothing", "p"} {
		fast, err := (&Query{Text: q, Fold: true}).finder()
		if err != nil {
			t.Fatal(err)
		}
		slow, err := (&Query{Text: q, Fold: true}).expression()
		if err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprint(fast(text, true)), fmt.Sprint(slow(text, true)); a != b {
			t.Errorf("%q: fast %s, slow %s", q, a, b)
		}
	}
}

func FuzzFoldedSearch(f *testing.F) {
	f.Add("Graph graph", "gr")
	f.Fuzz(func(t *testing.T, text, q string) {
		if !ascii(text) || !ascii(q) || q == "" {
			return
		}
		fast, _ := (&Query{Text: q, Fold: true}).finder()
		slow, err := (&Query{Text: q, Fold: true}).expression()
		if err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprint(fast([]byte(text), true)), fmt.Sprint(slow([]byte(text), true)); a != b {
			t.Errorf("%q in %q: fast %s, slow %s", q, text, a, b)
		}
	})
}

// TestSearchFilters: each filter leaves out the records of others, and only those.
func TestSearchFilters(t *testing.T) {
	var paths []string
	for rank := range 2 {
		var b bytes.Buffer
		w := NewWriter(&b, WriterOptions{Now: clock, HasRank: true, Rank: rank})
		w.Emit(Text(CompileID{Frame: 3}, "dynamo_error", "needle of GB0170 in /src/model.py:12"))
		w.Emit(Out{Kind: "dynamo_output_graph", ID: CompileID{Frame: 4}, Payload: []byte("needle in other.py")})
		paths = append(paths, file(t, fmt.Sprintf("rank%d.log", rank), b.String()))
	}
	st, _ := readAll(t, Options{}, paths...)
	for _, c := range []struct {
		what string
		q    Query
		want []int
	}{
		{"nothing", Query{}, []int{0, 1, 2, 3}},
		{"kind", Query{Kind: "dynamo_output_graph"}, []int{1, 3}},
		{"name of an artifact", Query{Kind: "dynamo_error"}, []int{0, 2}},
		{"frame", Query{HasFrame: true, Frame: 3}, []int{0, 2}},
		{"frame 0", Query{HasFrame: true}, nil},
		{"rank", Query{HasRank: true, Rank: 1}, []int{2, 3}},
		{"rank 0", Query{HasRank: true}, []int{0, 1}},
		{"file", Query{File: "/src/model.py"}, []int{0, 2}},
		{"file that has moved", Query{File: "/home/me/model.py"}, []int{0, 2}},
		{"code", Query{Code: "GB0170"}, []int{0, 2}},
		{"another code", Query{Code: "GB0171"}, nil},
		{"all of them", Query{Kind: "dynamo_error", HasFrame: true, Frame: 3, HasRank: true, File: "model.py", Code: "GB0170"}, []int{0}},
	} {
		c.q.Text = "needle"
		var got []int
		if err := Search(context.Background(), st, c.q, func(m Match) { got = append(got, m.Record) }, nil); err != nil {
			t.Fatal(err)
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: records %v, want %v", c.what, got, c.want)
		}
	}
}

func benchStore(b *testing.B) *Store {
	var buf bytes.Buffer
	w := NewWriter(&buf, WriterOptions{Now: clock})
	payload := []byte(strings.Repeat("# Topologically Sorted Source Nodes: [sin, d, sum_2], Original ATen: [aten.sin]\n", 500))
	for range 1000 {
		w.Emit(Out{Kind: "inductor_output_code", ID: CompileID{}, Payload: payload})
	}
	st, _ := readAll(b, Options{}, file(b, "t.log", buf.String()))
	b.SetBytes(int64(buf.Len()))
	b.ResetTimer()
	return st
}

// BenchmarkSearch searches all payloads, of the trace that TCDBG_BENCH_TRACE
// names or of a made one.
func BenchmarkSearch(b *testing.B) {
	for _, fold := range []bool{false, true} {
		b.Run(fmt.Sprintf("fold=%v", fold), func(b *testing.B) {
			st := benchStore(b)
			if path := os.Getenv("TCDBG_BENCH_TRACE"); path != "" {
				st, _ = readAll(b, Options{}, path)
				b.SetBytes(st.Size())
				b.ResetTimer()
			}
			for b.Loop() {
				if err := Search(context.Background(), st, Query{Text: "nowhere to be seen", Fold: fold}, func(Match) {}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
