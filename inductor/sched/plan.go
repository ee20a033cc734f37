package sched

import (
	"cmp"
	"slices"

	"tcdbg/logs"
)

// alignment of every buffer in the arena: a cache line, and the widest vector.
const alignment = 64

// Life is a buffer that needs memory between two steps, both counted.
type Life struct {
	Name     string
	Bytes    int64
	From, To int
	Offset   int64 // set by Plan
}

// Plan places the buffers in one arena so that buffers alive at the same time
// do not overlap, each at the lowest offset where it fits, and returns the
// arena's size. The largest are placed first: their gaps hold the small ones. This is
// offset calculation greedy by size (Pisarchyk and Lee, Efficient Memory Management for
// Deep Neural Net Inference, 2020), first fit where theirs takes the smallest gap.
func Plan(lives []*Life) int64 {
	bySize := slices.Clone(lives)
	slices.SortStableFunc(bySize, func(a, b *Life) int {
		if c := cmp.Compare(b.Bytes, a.Bytes); c != 0 {
			return c
		}
		return a.From - b.From
	})
	var placed timeline
	arena := int64(0)
	for _, l := range bySize {
		l.Offset = lowestGap(align(l.Bytes), placed.during(l))
		placed.add(l)
		arena = max(arena, l.Offset+align(l.Bytes))
	}
	return arena
}

// lowestGap is the lowest offset at which so many bytes lie free between others.
func lowestGap(bytes int64, others []*Life) int64 {
	slices.SortFunc(others, func(a, b *Life) int { return cmp.Compare(a.Offset, b.Offset) })
	at := int64(0)
	for _, p := range others {
		if at+bytes <= p.Offset {
			break
		}
		at = max(at, p.Offset+align(p.Bytes))
	}
	return at
}

// timeline finds the placed buffers by the steps at which they live.
type timeline struct {
	starts [][]*Life // [] /* step */ those that begin to live
	alive  [][]*Life // [] /* step */ those that lived before and still do
}

func (t *timeline) add(l *Life) {
	for len(t.starts) <= l.To {
		t.starts, t.alive = append(t.starts, nil), append(t.alive, nil)
	}
	t.starts[l.From] = append(t.starts[l.From], l)
	for s := l.From + 1; s <= l.To; s++ {
		t.alive[s] = append(t.alive[s], l)
	}
}

// during lists the buffers that live at some step of l's life.
func (t *timeline) during(l *Life) []*Life {
	var out []*Life
	if l.From < len(t.alive) {
		out = append(out, t.alive[l.From]...)
	}
	for s := l.From; s <= l.To && s < len(t.starts); s++ {
		out = append(out, t.starts[s]...)
	}
	return out
}

func align(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }

// reuses tells for each buffer whose place it takes: the last one that held (a
// part of) it before.
func reuses(lives []*Life) map[*Life]*Life {
	byEnd := slices.Clone(lives)
	slices.SortStableFunc(byEnd, func(a, b *Life) int { return b.To - a.To }) // latest first
	out := map[*Life]*Life{}
	for _, l := range lives {
		first, _ := slices.BinarySearchFunc(byEnd, l.From-1, func(p *Life, step int) int { return step - p.To })
		for _, p := range byEnd[first:] {
			if p.Offset < l.Offset+l.Bytes && l.Offset < p.Offset+p.Bytes {
				out[l] = p
				break
			}
		}
	}
	return out
}

// MemoryPlan is the plan as the trace records it.
func MemoryPlan(lives []*Life, arena int64) logs.MemoryPlan {
	m := logs.MemoryPlan{ArenaBytes: arena}
	before := reuses(lives)
	for _, l := range lives {
		m.SumBytes += align(l.Bytes)
		m.Buffers = append(m.Buffers, logs.BufferPlan{Name: l.Name, Bytes: l.Bytes, Offset: l.Offset, From: l.From, To: l.To})
		if p := before[l]; p != nil {
			m.Buffers[len(m.Buffers)-1].Reuses = p.Name
		}
	}
	return m
}
