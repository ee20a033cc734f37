package diagnose

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"
	"sort"
	"strings"

	"tcdbg/explain"
)

// This file is what a rank did, compile by compile, and where two ranks part.

// compileEvent is one compile as another rank can be compared with it.
type compileEvent struct {
	c        *explain.Compile
	function told
	breaks   []told
	cause    string
	ops      []string // of its graph
	details  compileDetails
}

// rankCompile names a compile among all ranks and epochs.
type rankCompile struct {
	rankFrame
	compile int
}

func rankCompileOf(id explain.ID) rankCompile {
	return rankCompile{rankFrame{id.Rank, id.Epoch, id.Frame}, max(id.Compile, 0)}
}

// compileDetails is what is recorded beside a compile.
type compileDetails struct{ caches, collectives, tensors []string }

// detailsOf gathers them.
func detailsOf(r *explain.Report) map[rankCompile]compileDetails {
	out := map[rankCompile]compileDetails{}
	for _, c := range r.Caches {
		k := rankCompileOf(c.ID)
		d := out[k]
		d.caches = append(d.caches, c.Cache+" "+c.Hit)
		out[k] = d
	}
	for _, s := range r.Schedules {
		k := rankCompileOf(s.ID)
		d := out[k]
		if s.Collective {
			d.collectives = append(d.collectives, s.Text)
		} else {
			d.tensors = append(d.tensors, s.Text)
		}
		out[k] = d
	}
	return out
}

// eventsByRank lists each rank's compiles in the order in which they began.
func eventsByRank(r *explain.Report, names explain.Names, at map[rankCompile]compileDetails) map[int][]compileEvent {
	byRank := map[int][]*explain.Compile{}
	for _, fr := range r.Frames {
		byRank[fr.ID.Rank] = append(byRank[fr.ID.Rank], fr.Compiles...)
	}
	out := map[int][]compileEvent{}
	for rank, list := range byRank {
		sort.SliceStable(list, func(i, j int) bool { return list[i].Start.Before(list[j].Start) })
		for _, c := range list {
			e := compileEvent{c: c, function: functionPlace(c.Frame, names), breaks: breakWords(c, names), cause: causeWords(c)}
			if c.Graph != nil {
				e.ops = c.Graph.Ops
			}
			e.details = at[rankCompileOf(c.ID)]
			out[rank] = append(out[rank], e)
		}
	}
	return out
}

// history is what was done, as a sum: those of a thousand ranks are compared.
type history struct{ h hash.Hash }

func newHistory() history { return history{sha256.New()} }

func (h history) list(texts []string) {
	fmt.Fprintf(h.h, "%d\n", len(texts))
	for _, s := range texts {
		fmt.Fprintf(h.h, "%d ", len(s))
		h.h.Write([]byte(s))
	}
}

func (h history) inputs(list []explain.InputType) {
	for _, in := range list {
		h.list([]string{in.Source, in.Type})
	}
}

func (h history) sum() string { return string(h.h.Sum(nil)) }

// add adds a compile.
func (h history) add(e *compileEvent) {
	h.list([]string{e.function.key, e.cause, string(e.c.Status)})
	for _, part := range [][]string{
		keys(e.breaks), e.ops, e.details.caches, e.details.collectives, e.details.tensors,
	} {
		h.list(part)
	}
	h.inputs(e.c.InputTypes)
}

// parting says where a rank's compiles first differ from another's; its text is "" where
// they never do. What comes first is told, not what follows from it. In a run that goes on a rank may do yet
// what another has done.
func parting(mine, theirs []compileEvent, other int, live bool) explain.Parting {
	for i := range max(len(mine), len(theirs)) {
		switch {
		case live && i >= len(mine):
			return explain.Parting{
				Kind: explain.PartBehind, At: theirs[i].c.ID, Pos: theirs[i].c.Frame.Pos, Has: true,
				Text: fmt.Sprintf("is behind: rank %d has begun to compile %s", other, theirs[i].function.text),
			}
		case i >= len(mine):
			return explain.Parting{
				Kind: explain.PartFunction, At: theirs[i].c.ID, Pos: theirs[i].c.Frame.Pos, Has: true,
				Text: fmt.Sprintf("compiles nothing more where rank %d compiles %s", other, theirs[i].function.text),
			}
		case i >= len(theirs):
			return mine[i].parts(explain.PartFunction, "compiles %s where rank %d compiles nothing more", mine[i].what(), other)
		}
		p := mine[i].against(&theirs[i], other)
		if live && i == len(mine)-1 && comesLater[p.Kind] {
			return mine[i].parts(explain.PartBehind, "is behind: it compiles %s, which rank %d has compiled", mine[i].function.text, other)
		}
		if p.Text != "" {
			return p
		}
	}
	return explain.Parting{}
}

// comesLater is what the records of a compile may tell yet.
var comesLater = map[explain.PartKind]bool{
	explain.PartGraph: true, explain.PartOutcome: true, explain.PartCache: true, explain.PartCollective: true,
}

func (e *compileEvent) parts(kind explain.PartKind, format string, args ...any) explain.Parting {
	p := explain.Parting{Kind: kind, Text: fmt.Sprintf(format, args...), At: e.c.ID, Pos: e.c.Frame.Pos, Has: true}
	if kind == explain.PartBreak && len(e.c.Breaks) > 0 {
		p.Pos = e.c.Breaks[len(e.c.Breaks)-1].Pos
	}
	return p
}

// against says what parts a compile from another rank's; no text where nothing does.
func (e *compileEvent) against(o *compileEvent, other int) explain.Parting {
	fn := e.function.text
	here, there := Surplus(e.breaks, o.breaks), Surplus(o.breaks, e.breaks)
	switch {
	case e.function.key != o.function.key:
		return e.parts(explain.PartFunction, "compiles %s where rank %d compiles %s", e.what(), other, o.what())
	case otherInput(e.c.InputTypes, o.c.InputTypes, other) != "":
		return e.parts(explain.PartTensor, "compiles %s for different tensors: %s", fn, otherInput(e.c.InputTypes, o.c.InputTypes, other))
	case here != "":
		return e.parts(explain.PartBreak, "breaks in %s where rank %d does not: %s", fn, other, here)
	case there != "":
		p := o.parts(explain.PartBreak, "does not break in %s where rank %d does: %s", fn, other, there)
		p.At = e.c.ID
		return p
	case e.cause != o.cause:
		return e.parts(explain.PartRecompile, "recompiles %s because %s, rank %d because %s",
			fn, explain.OrNothing(e.cause), other, explain.OrNothing(o.cause))
	case !slices.Equal(e.ops, o.ops):
		return e.parts(explain.PartGraph, "captures a different graph of %s: %s", fn, otherLine("operator", e.ops, o.ops, other))
	case e.c.Status != o.c.Status:
		return e.parts(explain.PartOutcome, "ends a compile of %s as %s, rank %d as %s", fn, e.c.Status, other, o.c.Status)
	}
	return e.detailsAgainst(o, other)
}

// detailsAgainst compares what is recorded beside compiles of one graph.
func (e *compileEvent) detailsAgainst(o *compileEvent, other int) explain.Parting {
	fn, a, b := e.function.text, e.details, o.details
	switch {
	case !slices.Equal(a.caches, b.caches):
		return e.parts(explain.PartCache, "finds in the caches for %s: %s; rank %d: %s", fn,
			explain.OrNothing(Tallied(a.caches)), other, explain.OrNothing(Tallied(b.caches)))
	case !slices.Equal(a.collectives, b.collectives):
		return e.parts(explain.PartCollective, "schedules different collectives in %s: %s", fn,
			otherLine("collective", lines(a.collectives), lines(b.collectives), other))
	case len(a.tensors) > 0 && len(b.tensors) > 0 && !slices.Equal(a.tensors, b.tensors):
		return e.parts(explain.PartTensor, "writes different tensors in %s: %s", fn,
			otherLine("scheduled node", lines(a.tensors), lines(b.tensors), other))
	}
	return explain.Parting{}
}

// lines joins lists of lines.
func lines(texts []string) []string {
	var out []string
	for _, t := range texts {
		out = append(out, strings.Split(t, "\n")...)
	}
	return out
}

// otherInput names the first input that both have, with other types; "" where there is none. What
// only one of them reads follows from how far it was traced.
func otherInput(mine, theirs []explain.InputType, other int) string {
	if slices.Equal(mine, theirs) {
		return ""
	}
	types := make(map[string]string, len(theirs))
	for _, in := range theirs {
		if types[in.Source] == "" {
			types[in.Source] = in.Type
		}
	}
	for _, in := range mine {
		if t := types[in.Source]; t != "" && t != in.Type {
			return fmt.Sprintf("%s is %s here, %s on rank %d", in.Source, in.Type, t, other)
		}
	}
	return ""
}

// otherLine names the first of two lists' lines that differ; "" where none does.
func otherLine(what string, mine, theirs []string, other int) string {
	for i := range max(len(mine), len(theirs)) {
		switch {
		case i >= len(mine):
			return fmt.Sprintf("no %s %d here, %s on rank %d", what, i+1, clipped(theirs[i]), other)
		case i >= len(theirs):
			return fmt.Sprintf("%s %d is %s here, rank %d has none", what, i+1, clipped(mine[i]), other)
		case mine[i] != theirs[i]:
			return fmt.Sprintf("%s %d is %s here, %s on rank %d", what, i+1, clipped(mine[i]), clipped(theirs[i]), other)
		}
	}
	return ""
}

// clipped shortens a line of a list so that it fits into a sentence.
func clipped(s string) string {
	return explain.ClipText(strings.TrimPrefix(strings.TrimPrefix(s, "torch.ops."), "_c10d_functional."), 160)
}

// what names a compile with the reason for it, where it is a recompile.
func (e *compileEvent) what() string {
	if e.cause == "" {
		return e.function.text
	}
	return e.function.text + " again (" + e.cause + ")"
}
