package logs

import (
	"bytes"
	"context"
	"fmt"
	"os"
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
