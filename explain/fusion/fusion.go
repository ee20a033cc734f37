// Package fusion explains the decisions of a scheduler: what each saved or what its refusal costs,
// how both nodes address what they share, and what PyTorch's reasons mean.
//
// Open this file first; account.go counts the bytes, reasons.go is the table of reasons, and
// source.go finds the lines of the program.
package fusion

import (
	"cmp"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/loops"
)

// View is the decisions over one graph.
type View struct {
	Fusion *explain.Fusion
	// Bytes are by step what a fusion saved, or what a refusal costs at most; -1: not known.
	Bytes []int64
	// Losses are the pairs of kernels that stayed apart, those first that cost most.
	Losses []Loss
	// Reasons are the refusals by their reason, the most frequent first.
	Reasons []Reason
	Fused   int
	Refused int
	Saved   int64 // by all fusions of which it is known
	Unknown int   // fusions of which it is not

	kernels *kernels
	parts   map[string][]access // by node
}

// Loss is two kernels that the scheduler made and would not make one.
type Loss struct {
	A, B   string // nodes of the last refusal
	Reason string
	Steps  []int // the refusals, in their order
	Bytes  int64 // that one kernel would not move again, at most; -1: not known
}

// Step is the last refusal; screens and reports show it for all of them.
func (l *Loss) Step() int { return l.Steps[len(l.Steps)-1] }

// Reason is all refusals of one reason.
type Reason struct {
	Words string
	Means string // "": not known
	Times int    // refusals
	Pairs int    // of kernels in the end
	Bytes int64  // the most of one pair, -1: none is known
}

// Of explains the decisions over a graph.
func Of(f *explain.Fusion) *View {
	v := &View{Fusion: f, Bytes: make([]int64, len(f.Steps)), kernels: kernelsOf(f.Steps), parts: map[string][]access{}}
	reasons := map[string]*Reason{}
	pairs := map[[2]string]int{}
	for i := range f.Steps {
		s := &f.Steps[i]
		v.Bytes[i] = v.bytes(s)
		if s.Fused {
			v.Fused++
			if v.Bytes[i] < 0 {
				v.Unknown++
			} else {
				v.Saved += v.Bytes[i]
			}
			continue
		}
		v.Refused++
		class := Class(s.Reason)
		r := reasons[class]
		if r == nil {
			r = &Reason{Words: class, Means: Means(s.Reason), Bytes: -1}
			reasons[class] = r
		}
		r.Times++
		v.lose(pairs, i)
	}
	for i := range v.Losses {
		l := &v.Losses[i]
		l.Bytes = v.Bytes[l.Step()]
		r := reasons[Class(l.Reason)]
		r.Pairs++
		r.Bytes = max(r.Bytes, l.Bytes)
	}
	slices.SortStableFunc(v.Losses, func(a, b Loss) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for _, r := range reasons {
		v.Reasons = append(v.Reasons, *r)
	}
	slices.SortFunc(v.Reasons, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), strings.Compare(a.Words, b.Words))
	})
	return v
}

// lose counts a refusal for the two kernels that its nodes ended in.
func (v *View) lose(pairs map[[2]string]int, i int) {
	s := &v.Fusion.Steps[i]
	a, b := v.kernels.of(s.A), v.kernels.of(s.B)
	if a == b || s.Free() {
		return
	}
	if b < a {
		a, b = b, a
	}
	at, known := pairs[[2]string{a, b}]
	if !known {
		at = len(v.Losses)
		pairs[[2]string{a, b}] = at
		v.Losses = append(v.Losses, Loss{})
	}
	l := &v.Losses[at]
	l.A, l.B, l.Reason, l.Steps = s.A, s.B, s.Reason, append(l.Steps, i)
}

// Joined says whether the nodes of a refusal share a kernel in the end.
func (v *View) Joined(i int) bool {
	s := &v.Fusion.Steps[i]
	return !s.Fused && v.kernels.of(s.A) == v.kernels.of(s.B)
}

// kernels are the kernels that fusing makes, by the names of the nodes in them.
type kernels struct{ above map[string]string }

func kernelsOf(steps []logs.FusionStep) *kernels {
	k := &kernels{map[string]string{}}
	for i := range steps {
		s := &steps[i]
		if !s.Fused {
			continue
		}
		k.join(s.A, s.B)
		if s.Result != "" {
			k.join(s.A, s.Result)
		}
	}
	return k
}

func (k *kernels) join(a, b string) {
	for _, name := range [2]string{a, b} {
		for _, m := range members(name) {
			k.unite(name, m)
		}
	}
	k.unite(a, b)
}

func (k *kernels) unite(a, b string) {
	if a, b = k.root(a), k.root(b); a != b {
		k.above[b] = a
	}
}

func (k *kernels) root(name string) string {
	for {
		up, ok := k.above[name]
		if !ok {
			return name
		}
		if next, ok := k.above[up]; ok { // halves the way for whoever asks next
			k.above[name] = next
		}
		name = up
	}
}

// of is the name that stands for the kernel in which a node ended.
func (k *kernels) of(name string) string {
	if _, known := k.above[name]; !known {
		if m := members(name); len(m) > 1 {
			return k.root(m[0])
		}
	}
	return k.root(name)
}

// members are the nodes of a group, op1_op2; nil where its name leaves some out.
func members(name string) []string {
	parts := strings.Split(name, "_")
	for _, p := range parts {
		if !strings.HasPrefix(p, "op") {
			return nil
		}
	}
	return parts
}

// program is what the nodes read and write, nil where it was not logged.
func (v *View) program() *loops.Program { return v.Fusion.Loops }

// Cost is what a decision saved, or what the refusal costs.
func (v *View) Cost(i int) string {
	s, n := &v.Fusion.Steps[i], v.Bytes[i]
	switch {
	case v.Joined(i):
		return "they share a kernel in the end, so that it costs nothing"
	case s.Together:
		return "they run together, a band of rows at a time: what passes between them stays in a cache, so that it costs nothing"
	case s.Once:
		return "what depends on parameters alone runs only when they change, so that it makes no difference to a call"
	case n < 0:
		return ""
	case s.Fused && n > 0:
		return "saves " + explain.Bytes(n) + " of memory traffic"
	case s.Fused:
		return ""
	case n == 0:
		return "no buffer in common: one kernel would save no memory traffic"
	case s.Kind != "":
		return "would save " + explain.Bytes(n) + " of memory traffic"
	}
	return "one kernel would save up to " + explain.Bytes(n) + " of memory traffic"
}

// Equal is the refusals of one reason in one round.
type Equal struct {
	First  int // step
	Times  int
	Reason string
	Bytes  int64 // the most of one pair of kernels that stayed apart, -1: none is known
}

// Equal lists by step the refusals that it is one of, nil for a fusion.
func (v *View) Equal() []*Equal {
	type inRound struct {
		round  int
		reason string
	}
	out := make([]*Equal, len(v.Fusion.Steps))
	of := map[inRound]*Equal{}
	for i := range v.Fusion.Steps {
		s := &v.Fusion.Steps[i]
		if s.Fused {
			continue
		}
		k := inRound{s.Round, Class(s.Reason)}
		if of[k] == nil {
			of[k] = &Equal{First: i, Reason: k.reason, Bytes: -1}
		}
		e := of[k]
		out[i] = e
		if e.Times++; !v.Joined(i) {
			e.Bytes = max(e.Bytes, v.Bytes[i])
		}
	}
	return out
}
