package plan

import (
	"math"
	"slices"

	"tcdbg/inductor/ir"
)

// This file counts what moves between the store of an element and the loads around
// it: a target stores past its caches (non-temporal stores) by that. Such a store
// saves reading the line of memory that it overwrites, and throws the line out where
// a cache holds it. So it pays where no cache holds the line before the store, and
// none would hold it any more when the next reader comes.

// traffic says how many bytes move between the steps and when buffers are read.
type traffic struct {
	before []int64              // [] /* step */ bytes that the steps before it move
	reads  map[*ir.Buffer][]int // the steps that read a buffer
}

// CountTraffic counts the bytes that steps move and notes who reads what.
func (p *Plan) CountTraffic() {
	t := &traffic{before: make([]int64, len(p.Groups)+1), reads: map[*ir.Buffer][]int{}}
	for i, g := range p.Groups {
		t.before[i+1] = t.before[i]
		if p.Kernels[i] != nil && !g.Hoisted {
			t.before[i+1] += p.Kernels[i].Traffic()
		}
		for _, it := range g.Members() {
			it.Node.Reads(func(b *ir.Buffer, _ *ir.Index) {
				if r := t.reads[b]; len(r) == 0 || r[len(r)-1] != i {
					t.reads[b] = append(r, i)
				}
			})
		}
	}
	p.traffic = t
}

// of is the bytes that a step moves itself.
func (t *traffic) of(step int) int64 { return t.before[step+1] - t.before[step] }

// UntilRead is how many bytes move between the store of an element of b in a step
// and its next load, on average: the first elements of a buffer wait for the rest
// of the loop that writes them, the last ones for the loop that reads them. Who
// reads what the program returns comes after all of it.
func (p *Plan) UntilRead(b *ir.Buffer, step int) int64 {
	t := p.traffic
	next, _ := slices.BinarySearch(t.reads[b], step+1)
	if next == len(t.reads[b]) {
		return t.before[len(p.Groups)] - t.before[step]
	}
	reader := t.reads[b][next]
	return t.before[reader] - t.before[step+1] + (t.of(step)+t.of(reader))/2
}

// SinceRead is how many bytes move between the last load of an element of the input
// in whose place b is written and its store: none where the loop that stores reads
// the input itself. A buffer with memory of its own was not read before.
func (p *Plan) SinceRead(b *ir.Buffer, step int) int64 {
	t := p.traffic
	out := &p.Buffers[p.Slot(b)]
	if out.Role != RoleOver {
		return math.MaxInt64
	}
	reads := t.reads[p.IR.Inputs[out.Over]]
	after, _ := slices.BinarySearch(reads, step+1)
	if after == 0 {
		return math.MaxInt64
	}
	last := reads[after-1]
	if last == step {
		return 0
	}
	return t.before[step] - t.before[last+1] + (t.of(step)+t.of(last))/2
}
