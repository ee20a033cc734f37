package diagnose

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file reads what PyTorch says of CUDA graphs: a graph that was asked for
// (mode="reduce-overhead") and is not recorded leaves every call to launch its kernels one
// by one, which is the whole of what the mode is for, and no error tells so.

// cudaGraphNote is one such message.
type cudaGraphNote struct {
	reason string // mutated inputs, cpu device, ...
	Pos    logs.Pos
	sizes  int // graphs that were recorded for one function, one for each size
}

// cudaGraphPatterns read the messages; few runs have any, so that they are made when the
// first comes.
var cudaGraphPatterns = sync.OnceValue(func() *struct{ skip, place, sizes *regexp.Regexp } {
	return &struct{ skip, place, sizes *regexp.Regexp }{
		regexp.MustCompile(`^(?:skipping|disabling) cudagraphs? due to ([^\n]*)`),
		regexp.MustCompile(`(?m)^ *File "([^"\n]+)", line (\d+), in ([^\n]+)\n *([^\n]*)`),
		regexp.MustCompile(`We have observed (\d+) distinct sizes`),
	}
})

// ReadCudaGraphNote reads a message; ok is false for those that tell of nothing lost.
func ReadCudaGraphNote(text string) (n cudaGraphNote, ok bool) {
	text = strings.TrimSpace(text)
	patterns := cudaGraphPatterns()
	if m := patterns.sizes.FindStringSubmatch(text); m != nil && strings.HasPrefix(text, "CUDAGraph supports dynamic shapes") {
		n.sizes, _ = strconv.Atoi(m[1])
		return n, true
	}
	m := patterns.skip.FindStringSubmatch(text)
	if m == nil {
		return n, false
	}
	n.reason, _, _ = strings.Cut(m[1], ". Found from")
	if at := patterns.place.FindStringSubmatch(text); at != nil {
		n.Pos = logs.Pos{File: at[1], Line: explain.Atoi(at[2]), Func: strings.TrimSpace(at[3]), Code: strings.TrimSpace(at[4])}
	}
	return n, true
}

// cudaGraphWeight puts them after what takes seconds.
const cudaGraphWeight = 1

// cudaGraphWords put PyTorch's reasons in plainer words where they need some, by how they
// begin. What to change is not said: no advice on CUDA graphs has been tried.
var cudaGraphWords = []struct{ reason, said string }{
	{"mutated inputs", "an input is written to"},
	{"input storage mutation", "an input is given other memory"},
}

// Advice says what was recorded or left out, and why.
func (n *cudaGraphNote) Advice() explain.Advice {
	if n.sizes > 0 {
		return explain.Advice{
			Text: explain.Count(n.sizes, "CUDA graph") + " recorded, one for each size", Pos: n.Pos,
			Cost: "every new size",
		}
	}
	said := n.reason
	for _, w := range cudaGraphWords {
		if strings.HasPrefix(n.reason, w.reason) {
			said = w.said
			break
		}
	}
	return explain.Advice{Text: "no CUDA graph: " + said, Pos: n.Pos, Cost: "every call"}
}

// CudaGraphAdvice lists what asked for CUDA graphs in vain, each reason and place once.
// Where a message came with its compile and without, the one that has a place stays.
func CudaGraphAdvice(r *explain.Report) []explain.Advice {
	var placed, rest []explain.Advice
	var frames *frameIndex
	for _, s := range r.Side {
		if s.Kind != "cudagraphs" {
			continue
		}
		n, ok := ReadCudaGraphNote(s.Text)
		if !ok {
			continue
		}
		if frames == nil {
			frames = indexFrames(r)
		}
		a := n.Advice()
		if a.Frame = frames.of(s.ID, n.Pos); n.sizes > 0 && a.Frame == nil {
			a.Frame = frames.ranOften(n.sizes)
		}
		if a.Pos.File == "" && a.Frame != nil {
			a.Pos = a.Frame.Pos
		}
		if a.Pos.File != "" {
			placed = append(placed, a)
		} else {
			rest = append(rest, a)
		}
	}
	return distinctAdvice(append(placed, rest...))
}

// distinctAdvice leaves out what was said of the same place, and what has no place where
// it was said of any.
func distinctAdvice(list []explain.Advice) []explain.Advice {
	type key struct {
		text, file string
		line       int
	}
	var out []explain.Advice
	seen := map[key]bool{}
	for _, a := range list {
		k := key{a.Text, a.Pos.File, a.Pos.Line}
		if seen[k] || a.Pos.File == "" && seen[key{text: a.Text}] {
			continue
		}
		seen[k], seen[key{text: a.Text}] = true, true
		out = append(out, a)
	}
	return out
}

// frameIndex finds frames by id, and by the function that a line is in.
type frameIndex struct {
	byID       map[explain.ID]*explain.Frame
	byFunction map[[2]string]*explain.Frame // file and name
	runs       map[explain.ID]int           // that recorded a graph, or were timed, as such runs are
}

func indexFrames(r *explain.Report) *frameIndex {
	x := &frameIndex{map[explain.ID]*explain.Frame{}, map[[2]string]*explain.Frame{}, map[explain.ID]int{}}
	for _, fr := range r.Frames {
		x.byID[frameID(fr.ID)] = fr
		x.byFunction[[2]string{fr.Pos.File, fr.Name}] = fr
	}
	for _, s := range r.Side {
		if s.Kind == "runtime" || s.Kind == "cudagraphs" && strings.Contains(s.Text, "Running warmup function") {
			x.runs[frameID(s.ID)]++
		}
	}
	return x
}

func (x *frameIndex) of(id explain.ID, at logs.Pos) *explain.Frame {
	if fr := x.byID[frameID(id)]; fr != nil {
		return fr
	}
	return x.byFunction[[2]string{at.File, at.Func}]
}

// ranOften is the only frame that was timed so many times; nil: none or several.
func (x *frameIndex) ranOften(times int) *explain.Frame {
	var found *explain.Frame
	for id, n := range x.runs {
		if n < times || x.byID[id] == nil {
			continue
		}
		if found != nil {
			return nil
		}
		found = x.byID[id]
	}
	return found
}

// frameID is an id without what tells the compiles of a frame apart.
func frameID(id explain.ID) explain.ID {
	return explain.ID{Rank: id.Rank, Epoch: id.Epoch, CompileID: logs.CompileID{Frame: id.Frame}}
}
