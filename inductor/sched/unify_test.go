package sched

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/inductor/ir"
	"tcdbg/logs"
)

// copies is a program of two nodes that each copy one buffer to another; a node
// is its loops, the address that it reads and the one that it writes.
func copies(t *testing.T, op0, op1 [3]string) *ir.Program {
	t.Helper()
	var sb strings.Builder
	sb.WriteString("program p\ninput x: f32[512] stride [1]\n")
	for _, name := range []string{"temp y", "result z"} {
		fmt.Fprintf(&sb, "%s: f32[512] stride [1]\n", name)
	}
	for i, op := range [][3]string{op0, op1} {
		kind := "pointwise"
		value := "t0"
		if strings.Contains(op[0], "|") {
			kind, value = "reduction", "t1"
		}
		fmt.Fprintf(&sb, "op%d = %s [%s] // sin\n  t0 = load.f32 %s\n", i, kind, op[0], op[1])
		if value == "t1" {
			sb.WriteString("  t1 = reduce_sum.f32 t0\n")
		}
		fmt.Fprintf(&sb, "  store.f32 %s, %s\n", op[2], value)
	}
	p, err := ir.Parse(sb.String() + "return z + 0 shape [512] stride [1]\n")
	if err != nil {
		t.Fatalf("%v\n%s", err, sb.String())
	}
	return p
}

// TestLoopsMeet: loops of other sizes are split until they are the same; a pair
// whose loops cannot be is refused, and left as it was.
func TestLoopsMeet(t *testing.T) {
	for _, c := range []struct {
		name     string
		op0, op1 [3]string
		want     string // the loops and addresses of the kernel
		refused  string // or PyTorch's reason why there is none
	}{
		{
			name: "one splits into two",
			op0:  [3]string{"4, 8, 16", "x[128*i0 + 16*i1 + i2]", "y[128*i0 + 16*i1 + i2]"},
			op1:  [3]string{"32, 16", "y[16*i0 + i1]", "z[32*i1 + i0]"},
			want: "[4, 8, 16]: x[128*i0 + 16*i1 + i2] y[128*i0 + 16*i1 + i2], y[128*i0 + 16*i1 + i2] z[8*i0 + i1 + 32*i2]",
		},
		{
			name: "both split",
			op0:  [3]string{"16, 3, 8", "x[24*i0 + i1 + 3*i2]", "y[24*i0 + 8*i1 + i2]"},
			op1:  [3]string{"2, 48, 4", "y[192*i0 + 4*i1 + i2]", "z[192*i0 + i1 + 48*i2]"},
			want: "[2, 8, 3, 2, 4]: x[192*i0 + 24*i1 + i2 + 12*i3 + 3*i4] y[192*i0 + 24*i1 + 8*i2 + 4*i3 + i4], y[192*i0 + 24*i1 + " +
				"8*i2 + 4*i3 + i4] z[192*i0 + 6*i1 + 2*i2 + i3 + 48*i4]",
		},
		{
			name: "walked in another order",
			op0:  [3]string{"4, 8", "x[8*i0 + i1]", "y[8*i0 + i1]"},
			op1:  [3]string{"8, 4", "y[i0 + 8*i1]", "z[4*i0 + i1]"},
			want: "[4, 8]: x[8*i0 + i1] y[8*i0 + i1], y[8*i0 + i1] z[i0 + 4*i1]",
		},
		{
			name: "a size is not a multiple of the other",
			op0:  [3]string{"4, 6", "x[6*i0 + i1]", "y[6*i0 + i1]"}, op1: [3]string{"6, 4", "y[4*i0 + i1]", "z[4*i0 + i1]"},
			refused: "memory deps did not match",
		},
		{
			name: "the half is read",
			op0:  [3]string{"4, 8", "x[8*i0 + i1]", "y[8*i0 + i1]"}, op1: [3]string{"2, 8", "y[8*i0 + i1]", "z[8*i0 + i1]"},
			refused: "memory deps did not match",
		},
		{
			name: "more is read than is written",
			op0:  [3]string{"8", "x[i0]", "y[i0]"}, op1: [3]string{"2, 8", "y[8*i0 + i1]", "z[8*i0 + i1]"},
			refused: "memory deps did not match",
		},
		{
			name: "steps of another length",
			op0:  [3]string{"16", "x[i0]", "y[i0]"}, op1: [3]string{"16", "y[2*i0]", "z[i0]"},
			refused: "memory deps did not match",
		},
		{
			name: "one input in steps of another length",
			op0:  [3]string{"16", "x[i0]", "y[i0]"}, op1: [3]string{"16", "x[2*i0]", "z[i0]"},
			refused: "no shared data due to indexing mismatch",
		},
		{
			name: "one input read by two",
			op0:  [3]string{"16", "x[i0]", "y[i0]"}, op1: [3]string{"4, 4", "x[4*i0 + i1]", "z[i0 + 4*i1]"},
			want: "[4, 4]: x[4*i0 + i1] y[4*i0 + i1], x[4*i0 + i1] z[i0 + 4*i1]",
		},
		{
			name: "a sum and what reads it often",
			op0:  [3]string{"8 | 6", "x[6*i0 + r0]", "y[i0]"}, op1: [3]string{"8, 2, 3", "y[i0]", "z[6*i0 + 3*i1 + i2]"},
			want: "[8 | 2, 3]: x[6*i0 + 3*r0 + r1] y[i0], y[i0] z[6*i0 + 3*r0 + r1]",
		},
		{
			name: "a sum over less than reads it",
			op0:  [3]string{"8 | 4", "x[4*i0 + r0]", "y[i0]"}, op1: [3]string{"8, 6", "y[i0]", "z[6*i0 + i1]"},
			refused: "nodes numel/rnumel incompatibility",
		},
		{
			name: "a sum along rows and one along columns",
			op0:  [3]string{"8 | 6", "x[6*i0 + r0]", "y[i0]"}, op1: [3]string{"6 | 8", "x[6*r0 + i0]", "z[i0]"},
			refused: "numel/rnumel mismatch (reduce)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var why []string
			groups := Schedule(copies(t, c.op0, c.op1), Options{Record: func(s logs.FusionStep) { why = append(why, s.Reason) }})
			if c.refused != "" {
				if len(groups) != 2 || len(why) != 1 || why[0] != c.refused {
					t.Errorf("%d kernels, reasons %q, want %q", len(groups), why, c.refused)
				}
				return
			}
			if len(groups) != 1 {
				t.Fatalf("%d kernels, reasons %q", len(groups), why)
			}
			if got := walks(groups[0]); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// walks are the loops of a group, and the addresses of each of its nodes.
func walks(g *Group) string {
	var nodes []string
	at := ""
	for line := range strings.Lines(g.String()) {
		op, text, ok := strings.Cut(strings.TrimSpace(line), ": ")
		open, end := strings.Index(text, "["), strings.LastIndex(text, "]")
		if !ok || open < 0 {
			continue
		}
		address := text[strings.LastIndex(text[:open], " ")+1 : end+1]
		if op != at {
			nodes, at = append(nodes, address), op
		} else {
			nodes[len(nodes)-1] += " " + address
		}
	}
	return g.Ranges() + ": " + strings.Join(nodes, ", ")
}
