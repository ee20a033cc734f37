package results

import (
	"fmt"
	"slices"

	"tcdbg/logs"
)

// This file searches the place where what was captured computes something else than the program:
// the operators of a call without a compiler beside those of its captured graphs. An operator is
// compared by what it was given and what it gave, not by its place in the sequence alone:
// a trace may leave out what nobody uses, and express one operator by others.

// Place is where a capture differs: one of the two operators may be missing.
type Place struct {
	Process, Call int // from 0, from 1
}

// DiffersAt is where the results of two trials first differ by a result of a call; ok is false
// where it is something else that differs.
func DiffersAt(base, t *Trial) (at Place, ok bool, err error) {
	c := &comparison{}
	err = c.compare(base, t, false)
	return c.at, c.at.Call > 0 && err == nil, err
}

// FindCapture looks for the first operator with which captured graphs (t) leave what the program
// computes without a compiler (base), in a call whose results differ.
func FindCapture(base, t *Trial, at Place) (*logs.CaptureFault, error) {
	if at.Process >= min(len(base.Processes), len(t.Processes)) {
		return nil, fmt.Errorf("the process of the call is missing")
	}
	plain, err := base.Processes[at.Process].operators()
	if err != nil {
		return nil, err
	}
	captured, err := t.Processes[at.Process].operators()
	if err != nil {
		return nil, err
	}
	fault := (&alignment{plain: plain[at.Call], captured: captured[at.Call]}).find()
	// Where the call is given other values, an earlier one has made them.
	for call := max(1, at.Call-NotedBefore); fault.Given && call < at.Call; call++ {
		if f := (&alignment{plain: plain[call], captured: captured[call]}).find(); f.Found() {
			f.Call = call
			return f, nil
		}
	}
	fault.Call = at.Call
	return fault, nil
}

// NotedBefore is how many calls before one that differs are noted.
const NotedBefore = 7

// alignment holds the operators of one call beside each other.
type alignment struct {
	plain, captured *noted

	values map[string]bool      // what the program has without a compiler
	like   map[string][]*Digest // [type] what its operators give
	same   map[string]string    // digests of the captured run that are a rounding of another
	pair   []int                // [] /* captured operator */ plain one, -1 for none
	used   []bool               // [] /* plain operator */
	given  map[string]bool      // what the captured run has
}

func (a *alignment) find() *logs.CaptureFault {
	switch {
	case a.plain == nil || a.captured == nil:
		return &logs.CaptureFault{Why: "the operators of the call were not noted"}
	case a.plain.missing != "" || a.captured.missing != "":
		return &logs.CaptureFault{Why: first(a.plain.missing, a.captured.missing)}
	}
	a.learn()
	a.align()
	a.have()
	strange := -1 // the first captured operator that is given what the program does not have
	for i, c := range a.captured.ops {
		if a.pair[i] >= 0 || a.healed(c) {
			continue
		}
		if !a.has(c.Args) {
			if strange < 0 {
				strange = i
			}
			continue
		}
		return a.other(i)
	}
	if strange >= 0 {
		f := a.upTo(strange)
		f.Given = true
		f.Why = fmt.Sprintf("%s is given values that eager execution of the call does not have: "+
			"what is not within its graphs has made them", nodeText(a.captured.ops[strange]))
		return f
	}
	return a.left()
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func (a *alignment) learn() {
	a.values, a.like, a.same = map[string]bool{}, map[string][]*Digest{}, map[string]string{}
	know := func(list []Digest) {
		for _, d := range list {
			a.values[d.Sum] = true
		}
	}
	know(a.plain.known)
	for _, op := range a.plain.ops {
		know(op.Args)
		know(op.Outs)
		for k := range op.Outs {
			d := &op.Outs[k]
			a.like[d.Type] = append(a.like[d.Type], d)
		}
	}
	delete(a.values, "")
}

// value is the digest by which the program knows a value of the captured run.
func (a *alignment) value(d *Digest) string {
	if d.Sum == "" || a.values[d.Sum] {
		return d.Sum
	}
	if known, ok := a.same[d.Sum]; ok {
		return known
	}
	out := d.Sum
	for _, e := range a.like[d.Type] {
		if e.Sum != "" && e.rounding(d) {
			out = e.Sum
			break
		}
	}
	a.same[d.Sum] = out
	return out
}

func (a *alignment) has(list []Digest) bool {
	for i := range list {
		if v := a.value(&list[i]); v == "" || !a.values[v] {
			return false
		}
	}
	return true
}

// healed reports whether all that an operator gives is known: it may be another way to it. Memory that is
// filled later is nothing that it gives.
func (a *alignment) healed(c *Operator) bool {
	return !slices.ContainsFunc(c.Outs, func(d Digest) bool { return d.Sum != "" && !a.values[a.value(&d)] })
}

func (a *alignment) equal(plain, captured []Digest) bool {
	return slices.EqualFunc(plain, captured, func(p, c Digest) bool { return p.Sum == a.value(&c) })
}

// align pairs operators that are given and give the same, later ones with later ones as far as that goes.
func (a *alignment) align() {
	a.pair, a.used = make([]int, len(a.captured.ops)), make([]bool, len(a.plain.ops))
	by := map[string][]int{}
	for j, p := range a.plain.ops {
		by[p.Name] = append(by[p.Name], j)
	}
	last := -1
	for i, c := range a.captured.ops {
		a.pair[i] = -1
		best := -1
		for _, j := range by[c.Name] {
			p := a.plain.ops[j]
			if a.used[j] || p.Text != c.Text || !a.equal(p.Args, c.Args) || !a.equal(p.Outs, c.Outs) {
				continue
			}
			if best < 0 || best < last {
				best = j
			}
			if j > last {
				break
			}
		}
		if best >= 0 {
			a.pair[i], a.used[best], last = best, true, best
		}
	}
}

// have notes the values of the captured run, as the program knows them.
func (a *alignment) have() {
	a.given = map[string]bool{}
	for _, d := range a.captured.known {
		a.given[d.Sum] = true
	}
	for _, c := range a.captured.ops {
		for k := range c.Outs {
			a.given[a.value(&c.Outs[k])] = true
		}
	}
	delete(a.given, "")
}

// lacks reports whether the captured run has not what plain operator j gives; memory that is filled later is
// nothing that it gives.
func (a *alignment) lacks(j int) bool {
	return !a.used[j] && slices.ContainsFunc(a.plain.ops[j].Outs, func(d Digest) bool { return d.Sum != "" && !a.given[d.Sum] })
}

// upTo is a fault with the last place before captured operator i where both agree.
func (a *alignment) upTo(i int) *logs.CaptureFault {
	f := &logs.CaptureFault{}
	for i--; i >= 0; i-- {
		if j := a.pair[i]; j >= 0 {
			f.Agreed, f.AgreedPos = a.plain.ops[j].Text, a.plain.ops[j].Pos
			break
		}
	}
	return f
}

// other is the fault of a captured operator that is given what the program has and gives something else.
func (a *alignment) other(i int) *logs.CaptureFault {
	c, f := a.captured.ops[i], a.upTo(i)
	f.Node, f.Captured, f.CapturedPos = c.Node, c.Text, c.Pos
	last := -1
	for k := range i {
		last = max(last, a.pair[k])
	}
	if q := a.skipped(c, last); q != nil { // the graph goes on without it
		f.Node, f.Captured, f.CapturedPos = "", "", nil
		f.Eager, f.EagerPos = q.Text, q.Pos
		return f
	}
	p := a.instead(c, last)
	if p == nil {
		return f
	}
	f.Eager, f.EagerPos = p.Text, p.Pos
	switch k := a.otherArg(p, c); {
	case p.Text != c.Text:
	case k < 0:
		f.Note = "on the same values, with another result"
	default:
		f.Note = fmt.Sprintf("with another value as tensor %d of its arguments", k+1)
	}
	return f
}

// skipped is the operator that the captured run lacks where it has c, as the program has later, but on other
// values, that the operator has made; nil for none.
func (a *alignment) skipped(c *Operator, last int) *Operator {
	for j := last + 1; j < len(a.plain.ops); j++ {
		p := a.plain.ops[j]
		k := a.otherArg(p, c)
		if p.Text != c.Text || k < 0 || !a.lacks(j) {
			continue
		}
		q := a.maker(p.Args[k].Sum)
		if q == nil {
			return nil
		}
		for i, other := range a.captured.ops {
			if a.pair[i] < 0 && other.Text == q.Text {
				return nil // it may be that one
			}
		}
		return q
	}
	return nil
}

// maker is the first of the operators that the captured run lacks of those that make a value; nil for none.
func (a *alignment) maker(sum string) (q *Operator) {
	wanted := map[string]bool{sum: sum != ""}
	for j := len(a.plain.ops) - 1; j >= 0; j-- {
		p := a.plain.ops[j]
		if a.lacks(j) && slices.ContainsFunc(p.Outs, func(d Digest) bool { return wanted[d.Sum] }) {
			q = p
			for _, d := range p.Args {
				wanted[d.Sum] = d.Sum != ""
			}
		}
	}
	return q
}

// otherArg is the first tensor among the arguments that has other values; -1 for none.
func (a *alignment) otherArg(p, c *Operator) int {
	for k := range min(len(p.Args), len(c.Args)) {
		if p.Args[k].Sum != a.value(&c.Args[k]) {
			return k
		}
	}
	return -1
}

// instead is the operator that the program calls where the captured graph has c: the same on the same
// values, or the first of the same line, or the next one; nil where none is left.
func (a *alignment) instead(c *Operator, last int) *Operator {
	fits := []func(j int, p *Operator) bool{
		func(_ int, p *Operator) bool { return p.Text == c.Text && a.equal(p.Args, c.Args) },
		func(j int, p *Operator) bool {
			return j > last && c.Pos != nil && p.Pos != nil && p.Pos.Line == c.Pos.Line && p.Pos.File == c.Pos.File
		},
		func(j int, _ *Operator) bool { return j > last },
	}
	for _, fit := range fits {
		for j, p := range a.plain.ops {
			if a.lacks(j) && fit(j, p) {
				return p
			}
		}
	}
	return nil
}

// left is the fault where all that the graphs compute is what the program computes: an operator that they
// lack. It is named where what the call returns otherwise comes from its graphs.
func (a *alignment) left() *logs.CaptureFault {
	f := a.upTo(len(a.captured.ops))
	wanted := map[string]bool{}
	for k := range min(len(a.plain.out), len(a.captured.out)) {
		p, c := &a.plain.out[k], &a.captured.out[k]
		if p.Sum == a.value(c) {
			continue
		}
		if p.Sum == "" || !a.given[a.value(c)] {
			f.Why = "all that the graphs compute is what eager execution computes; what is returned comes from what is not within them"
			return f
		}
		wanted[p.Sum] = true
	}
	missing := -1
	for j := len(a.plain.ops) - 1; j >= 0; j-- {
		p := a.plain.ops[j]
		if !slices.ContainsFunc(p.Outs, func(d Digest) bool { return wanted[d.Sum] }) {
			continue
		}
		for _, d := range p.Args {
			wanted[d.Sum] = d.Sum != ""
		}
		if a.lacks(j) {
			missing = j
		}
	}
	if missing < 0 {
		f.Why = "all that the graphs compute is what eager execution computes"
		return f
	}
	f.Eager, f.EagerPos = a.plain.ops[missing].Text, a.plain.ops[missing].Pos
	return f
}

func nodeText(c *Operator) string {
	if c.Node == "" {
		return c.Text
	}
	return c.Text + ", node " + c.Node + ","
}
