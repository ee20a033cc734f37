package sched

import (
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
	Offset   int64  // set by Plan
	Reuses   string // set by Plan: whose place it takes
}

// Plan places the buffers in one arena so that buffers alive at the same time
// do not overlap, each at the lowest offset where it fits, and returns the
// arena's size. The largest are placed first: their gaps hold the small ones.
func Plan(lives []*Life) int64 {
	byStart := slices.Clone(lives)
	slices.SortStableFunc(byStart, func(a, b *Life) int {
		if c := cmp64(b.Bytes, a.Bytes); c != 0 {
			return c
		}
		return a.From - b.From
	})
	var placed []*Life // by offset
	arena := int64(0)
	for _, l := range byStart {
		l.Offset = 0
		for _, p := range placed {
			if p.To < l.From || l.To < p.From {
				continue
			}
			if l.Offset+align(l.Bytes) <= p.Offset {
				break
			}
			l.Offset = max(l.Offset, p.Offset+align(p.Bytes))
		}
		at, _ := slices.BinarySearchFunc(placed, l.Offset, func(p *Life, off int64) int {
			if p.Offset <= off {
				return -1
			}
			return 1
		})
		placed = slices.Insert(placed, at, l)
		arena = max(arena, l.Offset+align(l.Bytes))
	}
	for _, l := range lives {
		l.Reuses = predecessor(l, lives)
	}
	return arena
}

func align(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }

// predecessor names the last buffer that held (a part of) l's place before it.
func predecessor(l *Life, lives []*Life) string {
	var best *Life
	for _, p := range lives {
		if p.To < l.From && p.Offset < l.Offset+l.Bytes && l.Offset < p.Offset+p.Bytes && (best == nil || p.To > best.To) {
			best = p
		}
	}
	if best == nil {
		return ""
	}
	return best.Name
}

// MemoryPlan is the plan as the trace records it.
func MemoryPlan(lives []*Life, arena int64) logs.MemoryPlan {
	m := logs.MemoryPlan{ArenaBytes: arena}
	for _, l := range lives {
		m.SumBytes += align(l.Bytes)
		m.Buffers = append(m.Buffers, logs.BufferPlan{Name: l.Name, Bytes: l.Bytes, Offset: l.Offset, From: l.From, To: l.To, Reuses: l.Reuses})
	}
	return m
}
