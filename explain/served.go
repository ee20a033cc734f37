package explain

import (
	"fmt"
	"strings"

	"tcdbg/logs"
)

// This file is what the calls cost that a cache entry serves: time, and memory that is allocated
// and copied.

// Served is the calls of one entry, without the one that it was compiled for.
type Served struct {
	Inside  logs.Spent // in its code
	Outside logs.Spent // after its break, until the next graph began or the call returned
}

// BreakMemory is the bytes of one steady call.
type BreakMemory struct {
	Results int64 // new tensors of the graphs that end at the break
	Copied  int64 // copied by these graphs, without an operator that says so
	Outside int64 // new tensors after the break, until the next graph begins
}

// perCall is a mean, rounded to whole bytes.
func perCall(total, times int64) int64 {
	if times == 0 {
		return 0
	}
	return (total + times/2) / times
}

// Allocated is the bytes of new tensors in one stretch, false where they were not counted.
func Allocated(s logs.Spent) (int64, bool) { return perCall(s.Allocated, s.Metered), s.Metered > 0 }

// Copied is the bytes that compiled code copies in one stretch, false where they were not counted.
func Copied(s logs.Spent) (int64, bool) { return perCall(s.Copied, s.Metered), s.Metered > 0 }

// Lines say what a call costs that the compile's entry serves, one stretch a line.
func (c *Compile) Lines() []string {
	s := c.Served
	if s == nil {
		return []string{"what a call costs, in time and memory: not measured"}
	}
	out := []string{fmt.Sprintf("%s after the one that it was compiled for", Count(int(s.Inside.Times), "call"))}
	if f := c.Frame; f != nil && f.GuardTimed > 0 {
		out = append(out, "finding an entry: "+Nanos(f.GuardNanos/f.GuardTimed)+" a call of the function")
	} else {
		out = append(out, "finding an entry: not measured")
	}
	out = append(out, "compiled code: "+stretch(s.Inside))
	if s.Outside.Times > 0 {
		out = append(out, "after its break: "+stretch(s.Outside))
	}
	return out
}

// stretch is "8.1 us a call, 64 B in new tensors, 0 B copied".
func stretch(s logs.Spent) string {
	text := Nanos(s.Nanos/max(s.Times, 1)) + " a call, "
	n, ok := Allocated(s)
	if !ok {
		return text + "memory not measured"
	}
	copied, _ := Copied(s)
	return text + fmt.Sprintf("%s in new tensors, %s copied", Bytes(n), Bytes(copied))
}

// Text is what the graphs before the break and the operators after it allocate.
func (m *BreakMemory) Text() string {
	parts := []string{Bytes(m.Results) + " a call in results of its graph", Bytes(m.Outside) + " by operators after it"}
	if m.Copied > 0 {
		parts = append(parts, Bytes(m.Copied)+" copied")
	}
	return strings.Join(parts, ", ")
}
