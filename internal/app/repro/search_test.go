package repro

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tcdbg/graph"
)

// chain is a graph of n operators, of which each reads the one before it, and some another one.
func chain(t *testing.T, n int) *graph.Graph {
	t.Helper()
	var b strings.Builder
	b.WriteString("class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[4][1]cpu\"):\n")
	last := "x"
	for i := range n {
		name, other := fmt.Sprintf("v%d", i), "x"
		if i > 10 {
			other = fmt.Sprintf("v%d", i-7)
		}
		fmt.Fprintf(&b, "        %s: \"f32[4][1]cpu\" = torch.ops.aten.add.Tensor(%s, %s)\n", name, last, other)
		last = name
	}
	b.WriteString("        return (" + last + ",)\n")
	g, err := graph.Parse("g", b.String())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestMinifyFindsAll: whichever operators it takes to show a fault, these are what is left.
func TestMinifyFindsAll(t *testing.T) {
	g := chain(t, 500)
	all := Units(g)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		var want []string
		for _, i := range r.Perm(len(all))[:1+r.IntN(5)] {
			want = append(want, all[i])
		}
		try := func(p Part) Answer {
			if slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(p.Keep, w) }) {
				return Answer{}
			}
			return Answer{Fault: Crash, Text: fmt.Sprintf("fatal error %d", len(p.Keep))}
		}
		m, err := minify(context.Background(), subjectOf(g), false, "", try, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Sorted(slices.Values(m.Keep))
		if slices.Sort(want); !slices.Equal(got, want) || !m.Complete {
			t.Errorf("%v are left of %v after %d tries", got, want, m.Tries)
		}
		if m.Tries > 250 {
			t.Errorf("%d tries for %d operators", m.Tries, len(want))
		}
	}
}

// TestMinifyKeepsToItsFault: a part that shows another fault, or fails otherwise, is none; what the end of
// the time leaves is told.
func TestMinifyKeepsToItsFault(t *testing.T) {
	g := chain(t, 40)
	other := func(p Part) Answer {
		switch {
		case len(p.Keep) < 10:
			return Answer{Fault: Crash, Text: "SIGFPE"}
		case !slices.Contains(p.Keep, "v3"):
			return Answer{Error: "out of range"}
		}
		return Answer{Fault: Crash, Text: "SIGSEGV"}
	}
	m, err := minify(context.Background(), subjectOf(g), false, "", other, func(string) {})
	if err != nil || len(m.Keep) != 10 || m.Text != "SIGSEGV" {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := minify(context.Background(), subjectOf(g), false, Accuracy, other, func(string) {}); err == nil ||
		!strings.Contains(err.Error(), "crash: SIGSEGV") {
		t.Errorf("another kind: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	m, err = minify(ctx, subjectOf(g), false, "", func(p Part) Answer {
		if len(p.Keep) < 30 {
			stop()
		}
		return Answer{Fault: Crash}
	}, func(string) {})
	if err != nil || m.Complete || len(m.Keep) < 30 || !strings.Contains(m.String(), "ended before its end") {
		t.Errorf("%+v, %v", m, err)
	}
}
