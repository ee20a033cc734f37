package results

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// This file compares what is no result: tensors that calls write, and gradients.

// state compares the tensors that a call wrote in one of two runs at least. All are compared,
// where one differs too: whether others differ by rounding says what may have made the difference.
func (c *comparison) state(a, b *Call, x, y io.ReaderAt) (first string, err error) {
	if a.StateFull || b.StateFull {
		c.limit(fmt.Sprintf("of what calls write into tensors, what is beyond %d tensors a call or %d MB", MaxState, MaxBytes>>20))
	}
	if a.Hidden+b.Hidden > 0 {
		c.limit("tensors that do not tell whether they are written (inference tensors and the like)")
	}
	steps := a.steps() || b.steps()
	if steps {
		c.limit("what a call writes that writes parameters, as a step of an optimizer or of an average of them does, " +
			"which makes the rounding of small gradients large")
	}
	least, err := largest(a.State, x, func(l *Leaf) bool { return l.Grad })
	if err != nil {
		return "", err
	}
	old := map[string]*Leaf{}
	for i := range a.State {
		old[a.State[i].Path] = &a.State[i]
	}
	number := false
	c.rounded = false
	for i := range b.State {
		q := &b.State[i]
		p := old[q.Path]
		delete(old, q.Path)
		was := c.rounded
		if steps && !q.Grad {
			if err := c.drifts(p, q, x, y); err != nil {
				return "", err
			}
			continue
		}
		found, err := c.written(p, q, x, y, noise*least)
		if err != nil {
			return "", err
		}
		if found != "" {
			c.rounded = was // by itself it is a difference
		}
		if first == "" {
			first, number = found, c.number
		}
	}
	c.older, c.number = c.older || c.rounded, number
	for _, p := range old {
		if p.Wrote && !steps {
			c.limit(onlyOne)
		}
	}
	return first, nil
}

// drifts notes whether a tensor is not the same to the bit; p may be nil.
func (c *comparison) drifts(p, q *Leaf, x, y io.ReaderAt) error {
	if p == nil || p.Opaque || q.Opaque || p.Bare || q.Bare || p.N != q.N || p.Int != q.Int {
		return nil
	}
	_, err := c.values(p, q, x, y, held{slack: 1})
	return err
}

// steps reports whether a call writes what collects gradients, as an optimizer does. Rounding alone
// moves a parameter by a whole step where its gradient is zero but for rounding: docs/trials.md.
func (c *Call) steps() bool {
	return slices.ContainsFunc(c.State, func(l Leaf) bool { return l.Param && l.Wrote })
}

// onlyOne is the limit of what is reached under one name only.
const onlyOne = "tensors that have a name in one of the runs alone"

// written compares one tensor; p is nil where it has no such name without the remedy.
// least is the typical size that counts for gradients at least.
func (c *comparison) written(p, q *Leaf, x, y io.ReaderAt, least float64) (string, error) {
	c.number = false
	if !q.Grad {
		least = 0
	}
	switch {
	case p == nil && q.Wrote:
		c.limit(onlyOne)
	case p == nil || !p.Wrote && !q.Wrote:
	case p.Opaque || q.Opaque:
		c.limit("written tensors whose numbers cannot be read")
	case p.Dtype != q.Dtype || !slices.Equal(p.Shape, q.Shape):
		return fmt.Sprintf("%s, which it writes, is %s%v, and without the remedy %s%v", q.Path, q.Dtype, q.Shape, p.Dtype, p.Shape), nil
	case p.Bare && !p.Wrote:
		return q.Path + " is written, and without the remedy it is not", nil
	case q.Bare && !q.Wrote:
		return q.Path + " is not written, and without the remedy it is", nil
	case p.Bare || q.Bare: // beyond the bounds, which was said
	default:
		first, err := c.values(p, q, x, y, held{looser, least})
		if first != "" || err != nil {
			return q.Path + first + " after it was written", err
		}
		c.Written++
	}
	return "", nil
}

// gradients compares those of two processes, one backward pass after the other.
type gradients struct {
	c           *comparison
	base, trial []Grads
	x, y        io.ReaderAt
	n           int
}

// upTo compares the passes that came after no more than so many calls.
func (g *gradients) upTo(calls int) (string, error) {
	for {
		more := g.n < len(g.base) && g.base[g.n].After <= calls
		if more != (g.n < len(g.trial) && g.trial[g.n].After <= calls) {
			has := map[bool]string{true: "without the remedy", false: "with the remedy"}[more]
			return fmt.Sprintf("after %d calls a backward pass runs %s alone", calls, has), nil
		}
		if !more {
			return "", nil
		}
		if g.n >= maxPasses {
			g.c.limit(fmt.Sprintf("gradients after the first %d backward passes, in which training carries rounding along", maxPasses))
			g.c.older = true
			g.n++
			continue
		}
		first, err := g.pass(&g.base[g.n], &g.trial[g.n])
		if first != "" || err != nil {
			return first, err
		}
		g.n++
	}
}

// looser is how many tolerances of results count for gradients and written tensors: a loss, say,
// is a mean, and hides more. maxPasses is how many backward passes are compared: what follows on an
// optimizer's steps carries their rounding along.
const (
	looser    = 10
	maxPasses = 4
)

// noise is the share of the largest gradient of a pass below which a gradient is taken for
// rounding: that of the bias of an attention's keys is zero but for it.
const noise = 1e-2

func (g *gradients) pass(a, b *Grads) (string, error) {
	if a.Full || b.Full {
		g.c.limit(fmt.Sprintf("gradients beyond %d tensors a pass or %d MB", MaxState, MaxBytes>>20))
	}
	if a.Unnamed+b.Unnamed > 0 {
		g.c.limit("gradients of tensors to which no name of the program leads")
	}
	least, err := largest(a.Leaves, g.x, func(*Leaf) bool { return true })
	if err != nil {
		return "", err
	}
	g.c.rounded = false
	trial := map[string]*Leaf{}
	for i := range b.Leaves {
		trial[b.Leaves[i].Path] = &b.Leaves[i]
	}
	for i := range a.Leaves {
		p := &a.Leaves[i]
		q := trial[p.Path]
		where := fmt.Sprintf("after call %d the gradient of %s", a.After, p.Path)
		switch {
		case q == nil && b.Unnamed == 0 && !b.Full:
			return fmt.Sprintf("after call %d %s has no gradient, and without the remedy it has one", a.After, p.Path), nil
		case q == nil:
			g.c.limit("gradients of tensors that have a name in one of the runs alone")
			continue
		case p.Opaque || q.Opaque || p.Bare || q.Bare:
			g.c.limit("gradients whose numbers were not written down")
			continue
		case p.Dtype != q.Dtype || !slices.Equal(p.Shape, q.Shape):
			return fmt.Sprintf("%s is %s%v, and without the remedy %s%v", where, q.Dtype, q.Shape, p.Dtype, p.Shape), nil
		}
		first, err := g.c.values(p, q, g.x, g.y, held{looser, noise * least})
		if first != "" || err != nil {
			return where + first, err
		}
		g.c.Gradients++
		delete(trial, p.Path)
	}
	for _, path := range slices.Sorted(maps.Keys(trial)) {
		if a.Unnamed == 0 && !a.Full && !trial[path].Bare && !trial[path].Opaque {
			return fmt.Sprintf("after call %d %s has a gradient, and without the remedy it has none", a.After, path), nil
		}
	}
	g.c.older = g.c.older || g.c.rounded
	return "", nil
}

// largest is the typical size of the largest of some leaves.
func largest(list []Leaf, f io.ReaderAt, of func(*Leaf) bool) (float64, error) {
	most := 0.0
	for i := range list {
		l := &list[i]
		if l.Bare || l.Opaque || l.Int || !of(l) {
			continue
		}
		bits, err := words(f, l)
		if err != nil {
			return 0, err
		}
		most = max(most, typical(bits))
	}
	return most, nil
}
