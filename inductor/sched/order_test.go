package sched

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tcdbg/inductor/ir"
)

// randomGroups makes n groups that depend on some of those before them.
func randomGroups(r *rand.Rand, n int) []*Group {
	var out []*Group
	for i := range n {
		g := &Group{
			first: i, last: i, preds: map[*Group]bool{}, succs: map[*Group]bool{},
			Items: []*Item{{Node: &ir.Node{Name: fmt.Sprintf("op%d", i)}}},
		}
		for range r.IntN(3) {
			if i > 0 {
				p := out[r.IntN(i)]
				g.preds[p], p.succs[g] = true, true
			}
		}
		out = append(out, g)
	}
	return out
}

// detour searches a path of three or more groups without regard to the order.
func detour(a, b *Group) bool {
	seen := map[*Group]bool{}
	var visit func(g *Group, depth int) bool
	visit = func(g *Group, depth int) bool {
		for s := range g.succs {
			if s == b && depth > 0 {
				return true
			}
			if s == b || seen[s] {
				continue
			}
			seen[s] = true
			if visit(s, depth+1) {
				return true
			}
		}
		return false
	}
	return visit(a, 0)
}

// TestTopoOrder merges random groups: the order must find the same paths as a search
// that ignores it, and stay an order in which the groups can run.
func TestTopoOrder(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		live := randomGroups(r, 40)
		l := newTopoOrder(live)
		for range 200 {
			i, j := r.IntN(len(live)), r.IntN(len(live))
			if i == j {
				continue
			}
			a, b := live[i], live[j]
			want := detour(a, b) || detour(b, a)
			if got := l.between(a, b); got != want {
				t.Fatalf("seed %d: a path between %s and %s: %v, want %v", seed, a.Name(), b.Name(), got, want)
			}
			if want {
				continue
			}
			l.merge(a, b)
			merge(a, b)
			live = append(live[:j], live[j+1:]...)
			for _, g := range live {
				if l.groups[g.place] != g {
					t.Fatalf("seed %d: %s is not at its place", seed, g.Name())
				}
				for s := range g.succs {
					if s.place <= g.place {
						t.Fatalf("seed %d: %s comes before %s, which it needs", seed, s.Name(), g.Name())
					}
				}
			}
			if len(live) < 3 {
				break
			}
		}
	}
}

// TestPlanDoesNotOverlap places random buffers: what lives at the same time has
// memory of its own, and every buffer lies as low as it can.
func TestPlanDoesNotOverlap(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 2))
		var lives []*Life
		for i := range 40 {
			from := r.IntN(60)
			lives = append(lives, &Life{Name: fmt.Sprint(i), Bytes: int64(1 + r.IntN(1000)), From: from, To: from + r.IntN(20)})
		}
		arena := Plan(lives)
		top := int64(0)
		for i, a := range lives {
			top = max(top, a.Offset+align(a.Bytes))
			for _, b := range lives[:i] {
				together := a.From <= b.To && b.From <= a.To
				if together && a.Offset < b.Offset+align(b.Bytes) && b.Offset < a.Offset+align(a.Bytes) {
					t.Fatalf("seed %d: %+v and %+v overlap", seed, a, b)
				}
			}
		}
		if top != arena {
			t.Errorf("seed %d: the arena has %d bytes, its buffers end at %d", seed, arena, top)
		}
		for l, p := range reuses(lives) {
			if p.To >= l.From || p.Offset >= l.Offset+l.Bytes || l.Offset >= p.Offset+p.Bytes {
				t.Errorf("seed %d: %+v takes the place of %+v", seed, l, p)
			}
		}
	}
}

// A kernel's name is a word of C, whatever its operators are called.
func TestKernelName(t *testing.T) {
	if got := KernelName([]ir.Origin{{Op: "special.xlog1py"}, {Op: "add"}}, 3); got != "fused_special_xlog1py_add_3" {
		t.Error(got)
	}
}
