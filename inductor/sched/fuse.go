package sched

import (
	"cmp"
	"fmt"
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/logs"
)

// Options steer the scheduler.
type Options struct {
	MaxFusion int                   // nodes in one kernel; 0: 64
	Record    func(logs.FusionStep) // told every decision; may be nil
	// Decisions ends the search after so many, fused or refused; 0: no limit,
	// -1: nothing is tried.
	Decisions int
	// Replaces maps outputs, by position, to the inputs whose content they replace.
	Replaces map[int]int
	// NoEpilogue keeps what reads a template's result out of its kernel.
	NoEpilogue bool
}

// maxRounds bounds the search, as PyTorch's does.
const maxRounds = 10

// Schedule groups the program's nodes and returns the groups in an order in
// which they can run.
func Schedule(p *ir.Program, opt Options) []*Group {
	if opt.MaxFusion == 0 {
		opt.MaxFusion = 64
	}
	s := &scheduler{prog: p, opt: opt, refused: map[refusedPair]bool{}, sizes: map[*ir.Buffer]int64{}}
	for i, n := range p.Nodes {
		s.groups = append(s.groups, newGroup(n, i))
	}
	link(s.groups)
	s.order = newTopoOrder(s.groups)
	s.prepare()
	for s.round = 1; s.round <= maxRounds && !s.over(); s.round++ {
		if !s.fuseOnce() {
			break
		}
	}
	s.prologues()
	return order(s.groups)
}

type scheduler struct {
	prog    *ir.Program
	opt     Options
	groups  []*Group
	round   int
	writers map[*ir.Buffer]int
	refused map[refusedPair]bool
	order   *topoOrder
	readers map[*ir.Buffer]int // nodes that read a buffer, for the score
	sizes   map[*ir.Buffer]int64
	decided int
	merged  int // groups that became part of another
	updates map[*ir.Node]bool
}

// over reports whether as many decisions were made as are wanted.
func (s *scheduler) over() bool { return s.opt.Decisions != 0 && s.decided >= s.opt.Decisions }

// refusedPair is a pair that was refused when its groups had these many nodes.
type refusedPair struct {
	a, b   *Group
	na, nb int
}

func (s *scheduler) prepare() {
	s.updates = updatesOf(s.prog, s.opt.Replaces)
	s.writers, s.readers = map[*ir.Buffer]int{}, map[*ir.Buffer]int{}
	for _, n := range s.prog.Nodes {
		n.Writes(func(b *ir.Buffer, _ *ir.Index) { s.writers[b]++ })
		n.Reads(func(b *ir.Buffer, _ *ir.Index) { s.readers[b]++ })
	}
}

// candidate is a pair of groups that use a common buffer.
type candidate struct {
	a, b     *Group // a runs first
	vertical bool
	epilogue bool
	score    int64
	rank     int // those of a lower one are tried first
}

// fuseOnce collects all candidates, best first, tries them and reports whether
// any was fused.
func (s *scheduler) fuseOnce() bool {
	cs := s.candidates()
	s.ranks(cs)
	slices.SortStableFunc(cs, func(x, y candidate) int {
		if x.rank != y.rank {
			return x.rank - y.rank
		}
		if c := cmp.Compare(y.score, x.score); c != 0 {
			return c
		}
		return cmp.Compare(x.b.first-x.a.first, y.b.first-y.a.first)
	})
	fused := false
	into := map[*Group]*Group{}
	find := func(g *Group) *Group {
		for into[g] != nil {
			g = into[g]
		}
		return g
	}
	for _, c := range cs {
		if s.over() {
			break
		}
		c.a, c.b = find(c.a), find(c.b)
		key := refusedPair{c.a, c.b, len(c.a.Items), len(c.b.Items)}
		if c.a == c.b || s.refused[key] || c.waits() {
			continue
		}
		if s.try(&c) {
			into[c.b] = c.a
			fused = true
		} else {
			s.refused[key] = true
		}
	}
	s.groups = slices.DeleteFunc(s.groups, func(g *Group) bool { return g.dead })
	return fused
}

// nearReaders bounds how many later readers of a buffer a group is paired with.
const nearReaders = 6

func (s *scheduler) candidates() []candidate {
	users := map[*ir.Buffer][]*Group{}
	writer := map[*ir.Buffer]*Group{}
	var bufs []*ir.Buffer
	for _, g := range s.groups {
		for _, a := range g.accesses() {
			if a.write {
				writer[a.buf] = g
			} else if us := users[a.buf]; len(us) == 0 || us[len(us)-1] != g {
				if len(us) == 0 {
					bufs = append(bufs, a.buf)
				}
				users[a.buf] = append(us, g)
			}
		}
	}
	type pair struct{ a, b *Group }
	seen := map[pair]bool{}
	var out []candidate
	add := func(a, b *Group, vertical bool) {
		if a == b || seen[pair{a, b}] || seen[pair{b, a}] {
			return
		}
		seen[pair{a, b}] = true
		out = append(out, s.candidate(a, b, vertical))
	}
	for _, buf := range bufs {
		us := users[buf]
		for _, u := range us {
			if w := writer[buf]; w != nil {
				add(w, u, true)
			}
		}
		for i, u := range us {
			for _, v := range us[i+1 : min(len(us), i+1+nearReaders)] {
				if u.succs[v] {
					add(u, v, true)
				} else if v.succs[u] {
					add(v, u, true)
				} else {
					add(u, v, false)
				}
			}
		}
	}
	return out
}

func (s *scheduler) candidate(a, b *Group, vertical bool) candidate {
	c := candidate{a: a, b: b, vertical: vertical, epilogue: vertical && a.Template}
	as, bs := a.accesses(), b.accesses()
	for i, x := range as {
		of := func(y access) bool { return y.buf == x.buf }
		if !slices.ContainsFunc(bs, of) || slices.ContainsFunc(as[:i], of) { // or counted before
			continue
		}
		bytes := s.bytes(x.buf)
		c.score += bytes
		if x.write && s.readers[x.buf] == 1 && x.buf.Kind == ir.Temp {
			c.score += bytes
		}
	}
	return c
}

// bytes is the size of a buffer.
func (s *scheduler) bytes(b *ir.Buffer) int64 {
	n, known := s.sizes[b]
	if !known {
		n = b.Bytes()
		s.sizes[b] = n
	}
	return n
}

// try fuses c or records why not.
func (s *scheduler) try(c *candidate) bool {
	step := s.decide(c)
	u, f := s.fits(c)
	if f != nil {
		s.refuse(step, c, f)
		return false
	}
	saves := fmt.Sprintf("saves %d B of memory traffic", c.score)
	if step.Once {
		saves += " when parameters change"
	}
	step.Why = sameLoops(c.a, c.b) + "; " + saves
	s.order.merge(c.a, c.b)
	u.join(c.a, c.b)
	s.merged++
	step.Fused, step.Reason, step.Result = true, "fused", c.a.Name()
	s.record(step)
	return true
}

// decide counts a decision and begins its record.
func (s *scheduler) decide(c *candidate) logs.FusionStep {
	s.decided++
	return logs.FusionStep{
		Round: s.round, A: c.a.Name(), B: c.b.Name(), Kind: c.kind(), Score: c.score, Once: c.a.Hoisted || c.b.Hoisted,
	}
}

// refuse records why a pair is not fused.
func (s *scheduler) refuse(step logs.FusionStep, c *candidate, f *fusionRefusal) {
	step.Reason, step.Why = f.reason, f.why
	if s.opt.Record != nil {
		step.Uses = sharedUses(c.a, c.b)
	}
	s.record(step)
}

func (c *candidate) kind() string {
	switch {
	case c.epilogue:
		return "epilogue"
	case c.vertical && c.b.Template:
		return "prologue"
	case c.vertical:
		return "vertical"
	}
	return "horizontal"
}

// farAway bounds the nodes of a program between two groups that only share an
// input.
const farAway = 64

// distance is the number of nodes from the first of one group to the last of the
// other.
func distance(a, b *Group) int { return max(a.last-b.first, b.last-a.first) }

// fits answers with common loops, or with the first thing that forbids them.
func (s *scheduler) fits(c *candidate) (*union, *fusionRefusal) {
	a, b := c.a, c.b
	switch {
	case a.Extern || b.Extern:
		return nil, &fusionRefusal{"node2 is extern or nop", "an extern kernel is called between kernels, never inside one"}
	case a.Hoisted != b.Hoisted:
		return nil, &fusionRefusal{
			"runs once", "one depends on parameters and constants alone and runs in the prologue, the other runs in every call",
		}
	case b.Template && c.vertical && feedsTemplate(a, b):
		return nil, &fusionRefusal{"prologue fusion turned off", "the template reads its operands from memory"}
	case a.Template && b.Template:
		return nil, &fusionRefusal{"template epilogue not satisfied", "both are templates"}
	case a.Template && !c.vertical, b.Template:
		return nil, &fusionRefusal{"template epilogue not satisfied", "an epilogue must read the template's result"}
	case a.Template && s.opt.NoEpilogue:
		return nil, &fusionRefusal{"template epilogue not satisfied", "the option epilogue_fusion is off"}
	case a.Template && s.isUpdate(b):
		return nil, &fusionRefusal{
			"template epilogue not satisfied", "the update of an argument runs through memory in one go, not in the template's tiles",
		}
	case len(a.Items)+len(b.Items) > s.opt.MaxFusion:
		return nil, &fusionRefusal{
			"exceeds max fusion",
			fmt.Sprintf("they are %d nodes together, the limit is %d", len(a.Items)+len(b.Items), s.opt.MaxFusion),
		}
	case s.order.between(a, b):
		return nil, &fusionRefusal{
			"intermediate nodes between node1 & node2",
			"another kernel needs the result of the first before the second may run",
		}
	case b.succs[a]:
		return nil, &fusionRefusal{"node1 must go before node2", "the second feeds the first"}
	case !c.vertical && distance(a, b) > farAway:
		return nil, &fusionRefusal{
			"Nodes are too far away",
			fmt.Sprintf("%d nodes lie between their ends: their results would stay in memory for long", distance(a, b)),
		}
	}
	if a.Template && !b.typed() && templateNode(a).MM.Conv != nil {
		b.coalesce() // rows and columns of an image are one loop of the template
	}
	u, f := unify(a, b)
	if f != nil {
		return nil, f
	}
	if a.Template {
		if f := epilogueFits(a, b, u); f != nil {
			return nil, f
		}
		if !u.follow(a) {
			return nil, &fusionRefusal{"template epilogue not satisfied", "the epilogue has loops that the template does not have"}
		}
	}
	return u, nil
}

// feedsTemplate says whether a makes an operand of b's template, and not only what its
// epilogue reads.
func feedsTemplate(a, b *Group) bool {
	mm := templateNode(b).MM
	return slices.ContainsFunc(a.accesses(), func(x access) bool { return x.write && (x.buf == mm.A || x.buf == mm.B) })
}

func templateNode(g *Group) *ir.Node {
	for _, it := range g.Items {
		if it.Node.Kind == ir.Matmul {
			return it.Node
		}
	}
	panic("sched: template group " + g.Name() + " without its product")
}

// epilogueFits wants pointwise nodes that walk the template's result whole,
// whose column loop stays in one piece.
func epilogueFits(a, b *Group, u *union) *fusionRefusal {
	if b.typed() {
		return &fusionRefusal{"template epilogue not satisfied", "the epilogue reduces, and a tile does not hold whole rows"}
	}
	cols := 0
	for _, v := range u.vars {
		if v.Col {
			cols++
		}
	}
	if cols != 1 {
		return &fusionRefusal{"template epilogue not satisfied", "the epilogue splits the template's columns"}
	}
	return nil
}

func (s *scheduler) record(step logs.FusionStep) {
	if s.opt.Record != nil {
		step.Kernels = len(s.prog.Nodes) - s.merged
		s.opt.Record(step)
	}
}

// order sorts groups so that each runs after those it depends on, otherwise as
// the program has them.
func order(groups []*Group) []*Group {
	slices.SortStableFunc(groups, func(a, b *Group) int { return a.first - b.first })
	done := map[*Group]bool{}
	var out []*Group
	var visit func(g *Group)
	visit = func(g *Group) {
		if done[g] {
			return
		}
		done[g] = true
		ps := make([]*Group, 0, len(g.preds))
		for p := range g.preds {
			ps = append(ps, p)
		}
		slices.SortFunc(ps, func(a, b *Group) int { return a.first - b.first })
		for _, p := range ps {
			visit(p)
		}
		out = append(out, g)
	}
	for _, g := range groups {
		visit(g)
	}
	return out
}
