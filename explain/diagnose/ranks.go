package diagnose

import (
	"fmt"
	"strconv"
	"strings"

	"tcdbg/explain"
)

// This file compares the ranks of a distributed run. Ids diverge as soon as one
// rank breaks, so functions and places are compared: breaks, graphs, recompiles,
// outcomes, what the caches answered, and what must be alike on all ranks: tensors and collectives.

// CompareRanks fills in what is different about each rank, and which break or
// recompile made the ranks part.
func CompareRanks(r *explain.Report) {
	if len(r.Ranks) < 2 {
		return
	}
	work, functions := rankWork(r)
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
	r.Stragglers = stragglers(r)
	r.RankGroups = rankGroups(r, work, functions)
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
	inputs                               []explain.InputType // of all compiles, in their order
	collectives, tensors                 []string
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
	at := detailsOf(r)
	for _, fr := range r.Frames { // by compile, as they come
		fn := of(fr.ID.Rank, byID[rankFrame{fr.ID.Rank, fr.ID.Epoch, fr.ID.Frame}])
		for _, c := range fr.Compiles {
			d := at[rankCompileOf(c.ID)]
			fn.collectives = append(fn.collectives, d.collectives...)
			fn.tensors = append(fn.tensors, d.tensors...)
		}
	}
	for rank, events := range eventsByRank(r, names, at) {
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
		w.inputs = append(w.inputs, c.InputTypes...)
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
	h := newHistory()
	for _, part := range [][]string{
		keys(w.breaks), w.recompiles, {Tallied(w.outcomes)}, w.graphs, {Tallied(w.caches)}, w.collectives, w.tensors,
	} {
		h.list(part)
	}
	h.inputs(w.inputs)
	return h.sum()
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
	if listed(mine.recompiles) == listed(theirs.recompiles) { // else there are other compiles
		if s := otherInput(mine.inputs, theirs.inputs, other); s != "" {
			say("%s", s)
		}
	}
	if s := otherLine("collective", lines(mine.collectives), lines(theirs.collectives), other); s != "" {
		say("%s", s)
	} else if s := otherLine("scheduled node", lines(mine.tensors), lines(theirs.tensors), other); s != "" && sameBreaks &&
		len(mine.tensors) > 0 && len(theirs.tensors) > 0 {
		say("%s", s)
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
