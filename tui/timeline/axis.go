package timeline

import (
	"cmp"
	"slices"
	"sort"
)

// This file is the axis: time without the long gaps in which nothing ran.

// Axis maps moments to places on the axis, both in nanoseconds; places begin at 0.
type Axis struct {
	segs  []segment
	whole []segment // with the gaps as long as they are
	cut   []segment
}

// segment is a stretch of the axis: time at its own length, or a gap.
type segment struct {
	from, to int64 // moments
	at, len  int64 // on the axis
	gap      bool
}

// What a gap has to be to be cut, as parts of all the time in which something ran, and what is
// left of it.
const (
	gapPart  = 8
	gapShown = 40
)

// newAxis finds when something ran in any track.
func newAxis(ix *Index) Axis {
	type span struct{ from, to int64 }
	var busy []span
	for _, t := range ix.tracks {
		if len(t) == 0 {
			continue
		}
		for _, i := range t[0] {
			busy = append(busy, span{ix.Events[i].Start, ix.Events[i].End()})
		}
	}
	if len(busy) == 0 {
		return Axis{}
	}
	slices.SortFunc(busy, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	joined := busy[:1]
	for _, s := range busy[1:] {
		if last := &joined[len(joined)-1]; s.from <= last.to {
			last.to = max(last.to, s.to)
		} else {
			joined = append(joined, s)
		}
	}
	total := int64(0)
	for _, s := range joined {
		total += s.to - s.from
	}
	var a Axis
	from, n := joined[0].from, int64(0)
	for i := 1; i < len(joined); i++ {
		if joined[i].from-joined[i-1].to > total/gapPart {
			n++
		}
	}
	shown := max(1, min(total/gapShown, total/max(1, 2*n)))
	at := int64(0)
	add := func(from, to, length int64, gap bool) {
		a.cut = append(a.cut, segment{from, to, at, length, gap})
		at += length
	}
	for i := 1; i < len(joined); i++ {
		if end, next := joined[i-1].to, joined[i].from; next-end > total/gapPart {
			add(from, end, end-from, false)
			add(end, next, shown, true)
			from = next
		}
	}
	last := joined[len(joined)-1].to
	add(from, last, last-from, false)
	a.whole = []segment{{joined[0].from, last, 0, last - joined[0].from, false}}
	a.segs = a.cut
	return a
}

// Whole is the axis with its gaps as long as they are, or cut again.
func (a Axis) Whole(on bool) Axis {
	a.segs = a.cut
	if on {
		a.segs = a.whole
	}
	return a
}

// Until is the axis to a later end: what runs has no other.
func (a Axis) Until(end int64) Axis {
	n := len(a.segs)
	if n == 0 || end <= a.segs[n-1].to {
		return a
	}
	a.segs = slices.Clone(a.segs)
	s := &a.segs[n-1]
	s.len += end - s.to
	s.to = end
	return a
}

// Len is the length of the axis.
func (a Axis) Len() int64 {
	if len(a.segs) == 0 {
		return 0
	}
	s := a.segs[len(a.segs)-1]
	return s.at + s.len
}

// Span is the first and the last moment.
func (a Axis) Span() (from, to int64) {
	if len(a.segs) == 0 {
		return 0, 0
	}
	return a.segs[0].from, a.segs[len(a.segs)-1].to
}

// Cut is how many gaps are cut, and how long they are.
func (a Axis) Cut() (n int, length int64) {
	for _, s := range a.segs {
		if s.gap {
			n++
			length += s.to - s.from
		}
	}
	return n, length
}

// On is where a moment is on the axis.
func (a Axis) On(t int64) int64 {
	i := sort.Search(len(a.segs), func(i int) bool { return a.segs[i].to > t })
	if i == len(a.segs) {
		return a.Len()
	}
	s := a.segs[i]
	if s.gap {
		return s.at + int64(float64(max(0, t-s.from))/float64(s.to-s.from)*float64(s.len))
	}
	return s.at + max(0, t-s.from)
}

// Moment is what moment a place of the axis is.
func (a Axis) Moment(x int64) int64 {
	i := sort.Search(len(a.segs), func(i int) bool { return a.segs[i].at+a.segs[i].len > x })
	if i == len(a.segs) {
		_, to := a.Span()
		return to
	}
	s := a.segs[i]
	if s.gap {
		return s.from + int64(float64(max(0, x-s.at))/float64(s.len)*float64(s.to-s.from))
	}
	return s.from + max(0, x-s.at)
}
