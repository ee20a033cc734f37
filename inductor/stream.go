package inductor

import (
	"math"
	"slices"

	"tcdbg/inductor/ir"
)

// This file decides which stores go past the caches (non-temporal stores). Such a
// store saves reading the line of memory that it overwrites, and throws the line
// out where a cache holds it. So it pays where no cache holds the line before the
// store, and none would hold it any more when the next reader comes.

// traffic says how many bytes move between the steps and when buffers are read.
type traffic struct {
	before []int64              // [] /* step */ bytes that the steps before it move
	reads  map[*ir.Buffer][]int // the steps that read a buffer
}

func (c *compiler) countTraffic() {
	t := &traffic{before: make([]int64, len(c.groups)+1), reads: map[*ir.Buffer][]int{}}
	for i, g := range c.groups {
		t.before[i+1] = t.before[i]
		if c.ks[i] != nil && !g.Once {
			t.before[i+1] += c.ks[i].Traffic()
		}
		for _, it := range g.Items {
			it.Node.Reads(func(b *ir.Buffer, _ *ir.Index) {
				if r := t.reads[b]; len(r) == 0 || r[len(r)-1] != i {
					t.reads[b] = append(r, i)
				}
			})
		}
	}
	c.traffic = t
}

// of is the bytes that a step moves itself.
func (t *traffic) of(step int) int64 { return t.before[step+1] - t.before[step] }

// streams tells for the buffers that a step writes whether they are stored past
// the caches.
func (c *compiler) streams(step int) func(b *ir.Buffer) bool {
	return func(b *ir.Buffer) bool {
		if c.ks[step] != nil && c.ks[step].Rereads(b) {
			return false
		}
		return c.untilRead(b, step) > c.opt.Target.Cache && c.sinceRead(b, step) > c.opt.Target.Cache
	}
}

// untilRead is how many bytes move between the store of an element of b in a step
// and its next load, on average: the first elements of a buffer wait for the rest
// of the loop that writes them, the last ones for the loop that reads them. Who
// reads what the program returns comes after all of it.
func (c *compiler) untilRead(b *ir.Buffer, step int) int64 {
	t := c.traffic
	next, _ := slices.BinarySearch(t.reads[b], step+1)
	if next == len(t.reads[b]) {
		return t.before[len(c.groups)] - t.before[step]
	}
	reader := t.reads[b][next]
	return t.before[reader] - t.before[step+1] + (t.of(step)+t.of(reader))/2
}

// sinceRead is how many bytes move between the last load of an element of the input
// in whose place b is written and its store: none where the loop that stores reads
// the input itself. A buffer with memory of its own was not read before.
func (c *compiler) sinceRead(b *ir.Buffer, step int) int64 {
	t := c.traffic
	out := &c.out.Buffers[c.slot(b)]
	if out.Role != RoleOver {
		return math.MaxInt64
	}
	reads := t.reads[c.ir.Inputs[out.Over]]
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
