package explain

import "slices"

// This file computes the numbers that docs/numbers.md defines: each in one place, for
// screens and reports alike.

// Sum is what the compiles of a function come to.
type Sum struct {
	Compiles   int // that took place: one that the limit refused is none
	Graphs     int // captured, once per compile
	Ops        int // operators in these graphs
	Breaks     int // once per compile
	Recompiles int // compiles after the first that an entry's guards asked for
	Restarts   int
	Seconds    float64 // of compiling, backward compiles included
	// CompiledOps are the operators of the newest graph of each part: what a call runs
	// compiled.
	CompiledOps int
	EagerOps    int64 // operators that a call left eager, the most of any; -1: not recorded
	RunNanos    int64 // of all calls
}

// Add adds the figures of o.
func (s *Sum) Add(o Sum) {
	s.Compiles += o.Compiles
	s.Graphs += o.Graphs
	s.Ops += o.Ops
	s.Breaks += o.Breaks
	s.Recompiles += o.Recompiles
	s.Restarts += o.Restarts
	s.Seconds += o.Seconds
	s.CompiledOps += o.CompiledOps
	s.RunNanos += o.RunNanos
	if s.EagerOps < 0 || o.EagerOps < 0 {
		s.EagerOps = -1
	} else {
		s.EagerOps += o.EagerOps
	}
}

// Sum is that of the frame alone, without the parts that resume it.
func (fr *Frame) Sum() Sum {
	s := Sum{EagerOps: fr.EagerOps, RunNanos: fr.RunNanos}
	for _, c := range fr.Compiles {
		if c.Status != Limit {
			s.Compiles++
		}
		if c.Graph != nil {
			s.Graphs++
			s.CompiledOps = len(c.Graph.Ops)
			s.Ops += s.CompiledOps
		}
		s.Breaks += len(c.Breaks)
		s.Restarts += len(c.Restarts)
		s.Seconds += c.Seconds
	}
	for c := range fr.Recompiles {
		if c.Status != Limit {
			s.Recompiles++
		}
	}
	return s
}

// Parts are the frame and the parts that resume it, each before those that resume it.
func (fr *Frame) Parts() []*Frame {
	var out []*Frame
	seen := map[*Frame]bool{}
	for open := []*Frame{fr}; len(open) > 0; {
		part := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[part] {
			continue
		}
		seen[part] = true
		out = append(out, part)
		for _, res := range slices.Backward(part.Resumes) {
			open = append(open, res)
		}
	}
	return out
}

// Whole is the sum of a function with the parts that resume it.
func (fr *Frame) Whole() Sum {
	var s Sum
	for _, part := range fr.Parts() {
		s.Add(part.Sum())
	}
	return s
}

// Roots are the functions: the frames that resume no other.
func (r *Report) Roots() []*Frame {
	var out []*Frame
	for _, fr := range r.Frames {
		if fr.Parent == nil || !ParentShown(fr) {
			out = append(out, fr)
		}
	}
	return out
}

// Share is how many operators a call of each function runs compiled, and how many it
// leaves eager; known is false where a function does not tell (PyTorch does not record it).
func (r *Report) Share() (compiled, eager int64, known bool) {
	known = len(r.Frames) > 0
	for _, fr := range r.Frames {
		s := fr.Sum()
		compiled += int64(s.CompiledOps)
		eager += max(s.EagerOps, 0)
		known = known && s.EagerOps >= 0
	}
	return compiled, eager, known
}

// Repeat is a function that was compiled under several ids: each torch.Compile of it
// has entries of its own.
type Repeat struct {
	Frame *Frame // the first
	Times int
}

// Repeats lists the functions of a Go program that several calls of torch.Compile compiled,
// as one in a loop does. None of these compiles is a recompile: there was no entry that it
// could use. (PyTorch has one list of entries for a function, however often it is compiled.)
func (r *Report) Repeats() []Repeat {
	if !r.OfGo() {
		return nil
	}
	type function struct {
		rank, epoch int
		name, file  string
		line, col   int
	}
	var out []Repeat
	at := map[function]int{}
	for _, fr := range r.Roots() {
		if fr.Name == "" || fr.Pos.File == "" || len(fr.Compiles) == 0 || fr.Again {
			continue
		}
		key := function{fr.ID.Rank, fr.ID.Epoch, fr.Name, fr.Pos.File, fr.Pos.Line, fr.Pos.Col}
		i, known := at[key]
		if !known {
			i = len(out)
			at[key] = i
			out = append(out, Repeat{Frame: fr})
		}
		out[i].Times++
	}
	return slices.DeleteFunc(out, func(x Repeat) bool { return x.Times < 2 })
}
