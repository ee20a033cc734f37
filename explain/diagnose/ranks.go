package diagnose

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"tcdbg/explain"
)

// This file compares the ranks of a distributed run. Ids diverge as soon as one
// rank breaks, so functions and places are compared: breaks, graphs, recompiles,
// outcomes and what the caches answered.

// CompareRanks fills in what is different about each rank, and which break or
// recompile made the ranks part.
func CompareRanks(r *explain.Report) {
	if len(r.Ranks) < 2 {
		return
	}
	work, functions := rankWork(r)
	usual := usualRank(r, func(rank int) string { return historyOf(work[rank].events) })
	for _, fn := range functions {
		ref := usualRank(r, func(rank int) string { return work[rank].functions[fn.key].signature() })
		for _, rk := range r.Ranks {
			other := ref
			if len(r.Ranks) == 2 { // neither of two is the usual one
				other = r.Ranks[0].Rank + r.Ranks[1].Rank - rk.Rank
			}
			if other != rk.Rank {
				rk.Diverged = append(rk.Diverged,
					differences(fn.text, work[rk.Rank].functions[fn.key], work[other].functions[fn.key], other)...)
			}
		}
	}
	for _, rk := range r.Ranks {
		if s := parting(work[rk.Rank].events, work[usual].events, rk.Rank, usual); s != "" && rk.Rank != usual {
			r.Divergence = append(r.Divergence, s)
		}
	}
}

// told is what ranks have in common or not. The key is the same wherever the program
// lies on a rank's machine; the text names files as the rest of the report does.
type told struct{ key, text string }

// worked is what one rank did: its functions, and its compiles in order.
type worked struct {
	functions map[string]*functionWork
	events    []compileEvent
}

// functionWork is what one rank did with one function and its resumed parts.
type functionWork struct {
	breaks                               []told
	recompiles, outcomes, graphs, caches []string
}

// compileEvent is one compile as another rank can be compared with it.
type compileEvent struct {
	function told
	breaks   []told
	cause    string
}

// rankFrame names a frame among all ranks and epochs.
type rankFrame struct{ rank, epoch, frame int }

// outside is where a cache was asked without a compile.
var outside = told{"outside of a compile", "outside of a compile"}

// rankWork gathers every rank's work by function, and the functions by first
// appearance.
func rankWork(r *explain.Report) (map[int]*worked, []told) {
	names := explain.BriefNames(r)
	work := map[int]*worked{}
	for _, rk := range r.Ranks {
		work[rk.Rank] = &worked{functions: map[string]*functionWork{}}
	}
	var functions []told
	known := map[string]bool{}
	of := func(rank int, fn told) *functionWork {
		if !known[fn.key] {
			known[fn.key] = true
			functions = append(functions, fn)
		}
		w := work[rank]
		if w == nil { // records that came before the rank was known
			return &functionWork{}
		}
		if w.functions[fn.key] == nil {
			w.functions[fn.key] = &functionWork{}
		}
		return w.functions[fn.key]
	}
	byID := map[rankFrame]told{}
	for _, fr := range r.Frames {
		fn := functionPlace(fr, names)
		byID[rankFrame{fr.ID.Rank, fr.ID.Epoch, fr.ID.Frame}] = fn
		of(fr.ID.Rank, fn).add(fr, names)
	}
	for _, c := range r.Caches {
		if work[c.ID.Rank] == nil {
			continue
		}
		fn, ok := byID[rankFrame{c.ID.Rank, c.ID.Epoch, c.ID.Frame}]
		if !ok {
			fn = outside
		}
		w := of(c.ID.Rank, fn)
		w.caches = append(w.caches, c.Cache+" "+c.Hit)
	}
	for rank, events := range eventsByRank(r, names) {
		if w := work[rank]; w != nil {
			w.events = events
		}
	}
	return work, functions
}

// functionPlace names the function that a frame belongs to, with its place.
func functionPlace(fr *explain.Frame, names explain.Names) told {
	base := fr
	if fr.Parent != nil {
		base = fr.Parent
	}
	title := func(place string) string { return base.Name + " (" + place + ")" }
	return told{title(explain.Names{}.At(base.Pos)), title(names.At(base.Pos))}
}

func (w *functionWork) add(fr *explain.Frame, names explain.Names) {
	for _, c := range fr.Compiles {
		w.breaks = append(w.breaks, breakWords(c, names)...)
		w.outcomes = append(w.outcomes, string(c.Status))
		if c.Graph != nil {
			w.graphs = append(w.graphs, strconv.Itoa(len(c.Graph.Ops)))
		}
		if cause := causeWords(c); cause != "" {
			w.recompiles = append(w.recompiles, cause)
		}
	}
}

func breakWords(c *explain.Compile, names explain.Names) []told {
	var out []told
	for _, b := range c.Breaks {
		what := strings.TrimSpace(b.Code+" "+b.Title()) + " at "
		out = append(out, told{what + explain.Names{}.At(b.Pos), what + names.At(b.Pos)})
	}
	return out
}

func causeWords(c *explain.Compile) string {
	if c.Recompile == nil || len(c.Recompile.Failures) == 0 {
		return ""
	}
	return explain.FailureText(&c.Recompile.Failures[0])
}

// signature is equal where two ranks did the same; nil is a function that the
// rank never compiled.
func (w *functionWork) signature() string {
	if w == nil {
		return ""
	}
	return strings.Join(
		[]string{listed(keys(w.breaks)), listed(w.recompiles), Tallied(w.outcomes), listed(w.graphs), Tallied(w.caches)},
		"\x00",
	)
}

func listed(list []string) string { return strings.Join(list, "\n") }

func keys(list []told) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = x.key
	}
	return out
}

// Tallied words a multiset: "2 x fx_graph miss, 1 x fx_graph hit".
func Tallied(list []string) string {
	n := map[string]int{}
	for _, s := range list {
		n[s]++
	}
	var out []string
	for _, k := range explain.ByCount(n) {
		out = append(out, fmt.Sprintf("%d x %s", n[k], k))
	}
	return strings.Join(out, ", ")
}

// usualRank is the lowest rank among those that most others equal.
func usualRank(r *explain.Report, signature func(rank int) string) int {
	n := map[string]int{}
	for _, rk := range r.Ranks {
		n[signature(rk.Rank)]++
	}
	best, most := -1, 0
	for _, rk := range r.Ranks { // by rank
		if k := n[signature(rk.Rank)]; k > most {
			best, most = rk.Rank, k
		}
	}
	return best
}

// differences words what one rank did otherwise with a function than another.
// Other graphs follow from other breaks, so these alone are told then.
func differences(function string, mine, theirs *functionWork, other int) []string {
	switch {
	case mine == nil && theirs == nil:
		return nil
	case mine == nil:
		return []string{function + ": not compiled here, but on rank " + strconv.Itoa(other)}
	case theirs == nil:
		return []string{function + ": compiled here, but not on rank " + strconv.Itoa(other)}
	}
	var out []string
	say := func(format string, args ...any) { out = append(out, function+": "+fmt.Sprintf(format, args...)) }
	if s := Surplus(mine.breaks, theirs.breaks); s != "" {
		say("breaks here alone: %s", s)
	}
	if s := Surplus(Plain(mine.recompiles), Plain(theirs.recompiles)); s != "" {
		say("recompiles here alone: %s", s)
	}
	sameBreaks := Surplus(mine.breaks, theirs.breaks)+Surplus(theirs.breaks, mine.breaks) == ""
	if a, b := Tallied(mine.outcomes), Tallied(theirs.outcomes); a != b && sameBreaks &&
		listed(mine.recompiles) == listed(theirs.recompiles) {
		say("%s here, %s on rank %d", a, b, other)
	}
	if a, b := listed(mine.graphs), listed(theirs.graphs); a != b && sameBreaks && len(mine.recompiles) == len(theirs.recompiles) {
		say("graphs of [%s] operators here, of [%s] on rank %d", opsWords(mine.graphs), opsWords(theirs.graphs), other)
	}
	if a, b := Tallied(mine.caches), Tallied(theirs.caches); a != b &&
		(sameBreaks || Tallied(results(mine.caches)) != Tallied(results(theirs.caches))) {
		say("caches: %s here, %s on rank %d", explain.OrNothing(a), explain.OrNothing(b), other)
	}
	return out
}

// results drops the repeats of a list of cache answers: how often each came
// follows from the number of graphs.
func results(list []string) []string { return explain.Distinct(list) }

func opsWords(list []string) string {
	if len(list) == 0 {
		return "no"
	}
	if len(list) > 12 {
		return strings.Join(list[:12], ", ") + ", ..."
	}
	return strings.Join(list, ", ")
}

// Surplus lists what is in a and not in b, each once: how often follows from the
// number of compiles.
func Surplus(a, b []told) string {
	known := map[string]bool{}
	for _, w := range b {
		known[w.key] = true
	}
	var out []string
	for _, w := range a {
		if !known[w.key] {
			known[w.key] = true
			out = append(out, w.text)
		}
	}
	return strings.Join(out, "; ")
}

// Plain tells what names no places.
func Plain(list []string) []told {
	out := make([]told, len(list))
	for i, s := range list {
		out[i] = told{s, s}
	}
	return out
}

// eventsByRank lists each rank's compiles in the order in which they began.
func eventsByRank(r *explain.Report, names explain.Names) map[int][]compileEvent {
	byRank := map[int][]*explain.Compile{}
	for _, fr := range r.Frames {
		byRank[fr.ID.Rank] = append(byRank[fr.ID.Rank], fr.Compiles...)
	}
	out := map[int][]compileEvent{}
	for rank, list := range byRank {
		sort.SliceStable(list, func(i, j int) bool { return list[i].Start.Before(list[j].Start) })
		for _, c := range list {
			out[rank] = append(out[rank], compileEvent{functionPlace(c.Frame, names), breakWords(c, names), causeWords(c)})
		}
	}
	return out
}

func historyOf(events []compileEvent) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%s\x00%s\x00%s\n", e.function.key, listed(keys(e.breaks)), e.cause)
	}
	return b.String()
}

// parting words where a rank's compiles first differ from another's; "" where
// they never do.
func parting(mine, theirs []compileEvent, rank, other int) string {
	for i := range max(len(mine), len(theirs)) {
		switch {
		case i >= len(mine):
			return fmt.Sprintf("rank %d compiles nothing more where rank %d compiles %s", rank, other, theirs[i].function.text)
		case i >= len(theirs):
			return fmt.Sprintf("rank %d compiles %s where rank %d compiles nothing more", rank, mine[i].what(), other)
		}
		a, b := mine[i], theirs[i]
		here, there := Surplus(a.breaks, b.breaks), Surplus(b.breaks, a.breaks)
		switch {
		case a.function.key != b.function.key:
			return fmt.Sprintf("rank %d compiles %s where rank %d compiles %s", rank, a.what(), other, b.what())
		case here != "":
			return fmt.Sprintf("rank %d breaks in %s where rank %d does not: %s", rank, a.function.text, other, here)
		case there != "":
			return fmt.Sprintf("rank %d does not break in %s where rank %d does: %s", rank, a.function.text, other, there)
		case a.cause != b.cause:
			return fmt.Sprintf(
				"rank %d recompiles %s because %s, rank %d because %s", rank, a.function.text,
				explain.OrNothing(a.cause), other, explain.OrNothing(b.cause),
			)
		}
	}
	return ""
}

// what names a compile with the reason for it, where it is a recompile.
func (e compileEvent) what() string {
	if e.cause == "" {
		return e.function.text
	}
	return e.function.text + " again (" + e.cause + ")"
}
