package fusion

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/loops"
)

// This file counts. A byte is counted only where the log tells who reads and writes it: our own
// engine notes its count, of PyTorch's nodes the fusion logs print the accesses.

// access is one read or write of a node or of a member of a group.
type access struct {
	node string
	*loops.Access
	bytes int64
}

// Shared is a buffer that both nodes of a decision use.
type Shared struct {
	Buffer string
	Bytes  int64    // that the second need not move when the first holds them; -1: not known
	A, B   []string // how each addresses it: "written at c0 over [c0: 64] by op1"
	Same   bool     // at equal indexes in equal loops
	// Gone says that the buffer is not written any more: nothing but the two uses it.
	Gone bool
}

// maxForms bounds the ways that are told for one buffer and node.
const maxForms = 4

// bytes are what a decision saved in each call, or what it costs at most; -1: not known.
func (v *View) bytes(s *logs.FusionStep) int64 {
	if s.Free() {
		return 0
	}
	if s.Kind != "" { // our own engine: it counts itself
		return s.Score
	}
	shared, known := v.shared(s.A, s.B)
	if !known {
		return -1
	}
	var sum int64
	for i := range shared {
		b := &shared[i]
		if s.Fused && !b.Same && !b.fed() {
			continue // one kernel, and yet it may be read twice
		}
		if b.Bytes < 0 {
			return -1
		}
		sum += b.Bytes
		if b.Gone && s.Fused {
			sum += b.written(v)
		}
	}
	return sum
}

// fed says that one writes what the other reads: in one kernel each value is passed on.
func (b *Shared) fed() bool {
	writes := func(forms []string) bool {
		return slices.ContainsFunc(forms, func(f string) bool { return strings.HasPrefix(f, "written") })
	}
	return writes(b.A) != writes(b.B)
}

func (b *Shared) written(v *View) int64 {
	if buf := v.program().Buffers[b.Buffer]; buf != nil && buf.Bytes > 0 {
		return buf.Bytes
	}
	return 0
}

// Shared lists the buffers that both nodes of step i use, the largest first; known is false where
// the log does not tell what they read and write.
func (v *View) Shared(i int) (shared []Shared, known bool) {
	s := &v.Fusion.Steps[i]
	if s.Kind != "" {
		for _, u := range s.Uses {
			shared = append(shared, Shared{Buffer: u.Buffer, Bytes: u.Bytes, A: []string{u.A}, B: []string{u.B}})
		}
		return shared, len(s.Uses) > 0
	}
	return v.shared(s.A, s.B)
}

func (v *View) shared(a, b string) ([]Shared, bool) {
	as, ok := v.accesses(a)
	bs, ok2 := v.accesses(b)
	if !ok || !ok2 {
		return nil, false
	}
	of := map[string][]access{}
	for _, x := range as {
		of[x.Buffer] = append(of[x.Buffer], x)
	}
	in := map[string][]access{}
	var order []string
	for _, y := range bs {
		if len(of[y.Buffer]) == 0 {
			continue
		}
		if in[y.Buffer] == nil {
			order = append(order, y.Buffer)
		}
		in[y.Buffer] = append(in[y.Buffer], y)
	}
	inside := map[string]bool{}
	for _, name := range [2]string{a, b} {
		for _, m := range v.nodes(name) {
			inside[m] = true
		}
	}
	out := make([]Shared, 0, len(order))
	for _, buffer := range order {
		x, y := of[buffer], in[buffer]
		s := Shared{Buffer: buffer, A: ways(x), B: ways(y), Same: same(x, y)}
		s.Bytes = least(v.touched(buffer, x), v.touched(buffer, y))
		s.Gone = s.fed() && v.private(buffer, inside)
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b Shared) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return out, true
}

// private says whether all users of a buffer are among some nodes.
func (v *View) private(buffer string, inside map[string]bool) bool {
	b := v.program().Buffers[buffer]
	if b == nil || !b.Known || b.Output || len(b.Users) == 0 {
		return false
	}
	return !slices.ContainsFunc(b.Users, func(u string) bool { return !inside[u] })
}

// least is the smaller of two counts, -1 where one is not known.
func least(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return min(a, b)
}

// touched are the bytes of a buffer that some accesses move, each place once.
func (v *View) touched(buffer string, as []access) int64 {
	all := v.program().Buffers[buffer]
	if all == nil || all.Bytes < 0 {
		return -1
	}
	var sum int64
	seen := map[string]bool{}
	for i := range as {
		if as[i].bytes < 0 {
			return -1
		}
		if way := as[i].Index + over(as[i].Access); !seen[way] {
			seen[way] = true
			sum += as[i].bytes
		}
	}
	return min(sum, all.Bytes)
}

// same says whether two nodes address a buffer in one way, and only in that.
func same(x, y []access) bool {
	if x[0].Whole || y[0].Whole {
		return false
	}
	want := x[0].Index + over(x[0].Access)
	for _, as := range [2][]access{x, y} {
		for i := range as {
			if as[i].Whole || as[i].Index+over(as[i].Access) != want {
				return false
			}
		}
	}
	return true
}

// ways tell how the accesses address a buffer, equal ones of several nodes once.
func ways(as []access) []string {
	var out []string
	nodes := map[string][]string{}
	for i := range as {
		w := as[i].way()
		if nodes[w] == nil {
			out = append(out, w)
		}
		if !slices.Contains(nodes[w], as[i].node) {
			nodes[w] = append(nodes[w], as[i].node)
		}
	}
	for i, w := range out {
		out[i] = w + " by " + some(nodes[w])
	}
	if n := len(out) - maxForms; n > 0 {
		out = append(out[:maxForms], fmt.Sprintf("and in %d more ways", n))
	}
	return out
}

func some(names []string) string {
	if len(names) > maxForms {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxForms], ", "), len(names)-maxForms)
	}
	return strings.Join(names, ", ")
}

func (a *access) way() string {
	verb := "read"
	if a.Write {
		verb = "written"
	}
	if a.Mode != "" {
		verb += " by " + a.Mode
	}
	if a.Whole {
		return verb + ", any part of it,"
	}
	return verb + " at " + a.Index + " over " + over(a.Access)
}

// over is the loops of an access: [c0: 16, c1: 64].
func over(a *loops.Access) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, l := range a.Loops {
		if i > 0 {
			b.WriteString(", ")
		}
		if l.Size < 0 {
			b.WriteString(l.Name + ": ?")
		} else {
			fmt.Fprintf(&b, "%s: %d", l.Name, l.Size)
		}
	}
	return b.String() + "]"
}

// nodes are the nodes of a name that the log tells of.
func (v *View) nodes(name string) []string {
	if p := v.program(); p != nil && p.Nodes[name] != nil {
		return []string{name}
	}
	return members(name)
}

// accesses are those of a node or group; known is false where one of its nodes is not told of.
func (v *View) accesses(name string) ([]access, bool) {
	if as, ok := v.parts[name]; ok {
		return as, as != nil
	}
	as := v.collect(name)
	v.parts[name] = as
	return as, as != nil
}

func (v *View) collect(name string) []access {
	p := v.program()
	if p == nil {
		return nil
	}
	out := []access{}
	for _, m := range v.nodes(name) {
		n := p.Nodes[m]
		if n == nil {
			return nil
		}
		for i := range n.Accesses {
			a := &n.Accesses[i]
			out = append(out, access{m, a, p.Bytes(a)})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Ranges are the loops of a node's parts, those of a group once each.
func (v *View) Ranges(name string) []string {
	p := v.program()
	if p == nil {
		return nil
	}
	var out []string
	for _, m := range v.nodes(name) {
		if n := p.Nodes[m]; n != nil && n.Ranges != "" && !slices.Contains(out, n.Ranges) {
			out = append(out, n.Ranges)
		}
	}
	return out
}

// maxAccesses bounds what is told of one node.
const maxAccesses = 24

// Accesses tells what a node or group reads and writes, nil where that is not logged.
func (v *View) Accesses(name string) []string {
	as, ok := v.accesses(name)
	if !ok {
		return nil
	}
	var out []string
	seen := map[string]bool{}
	for i := range as {
		a := &as[i]
		said := a.Buffer + " " + a.way()
		if a.bytes >= 0 {
			said += ", " + explain.Bytes(a.bytes)
		}
		if seen[said] {
			continue
		}
		seen[said] = true
		if len(out) == maxAccesses {
			return append(out, "and more")
		}
		out = append(out, said)
	}
	return out
}
