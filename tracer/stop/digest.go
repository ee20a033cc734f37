package stop

import (
	"encoding/binary"
	"encoding/json"
	"hash"
	"hash/fnv"
	"math"
	"regexp"
	"strconv"

	"tcdbg/logs"
	"tcdbg/torch"
)

// This file digests the state of a program that stands: the stack, its variables, what is
// in their tensors, and what was printed. Two runs that stand at the same place with the same
// values have the same digest.

// Sum is the digest of one variable, or of something else that a state has.
type Sum struct {
	Name string
	Hash uint64
}

// digest is that of a stop whose stack is fr, in parts: one for each variable.
func digest(d *Debugger, s *stopped, fr []logs.StackFrame) []Sum {
	var out []Sum
	add := func(name string, put func(h hash.Hash64)) {
		h := fnv.New64a()
		put(h)
		out = append(out, Sum{name, h.Sum64()})
	}
	for i := range fr {
		f := &fr[i]
		text, _ := json.Marshal(f.Pos)
		add("place", func(h hash.Hash64) { _, _ = h.Write(text) })
		for k := range f.Locals {
			v := &f.Locals[k]
			add("variable "+v.Name+" of "+f.Func, func(h hash.Hash64) { digestValue(h, v) })
		}
	}
	word := func(x uint64) func(hash.Hash64) {
		return func(h hash.Hash64) { _ = binary.Write(h, binary.LittleEndian, x) } // a hash takes all
	}
	add("elements of tensors", word(s.show.bytes))
	add("output", word(d.moments.tape.Output()))
	return out
}

// differs is the first part in which two states differ, "" for none.
func differs(a, b []Sum) string {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return a[i].Name
		}
	}
	if len(b) > len(a) {
		return b[len(a)].Name
	}
	return ""
}

// systems are types that hold what the system gives a process: numbers of files. Whether they are
// there counts, what is in them does not.
var systems = regexp.MustCompile(`\bos\.[Ff]ile\b|\bpoll\.|\bsyscall\.`)

// digestValue adds a value; addresses are not the same again.
func digestValue(h hash.Hash64, v *logs.Value) {
	put := func(s string) { _, _ = h.Write([]byte(s + "\x00")) }
	put(v.Name)
	put(v.Type)
	switch {
	case systems.MatchString(v.Type):
		put(strconv.FormatBool(v.Text == "nil"))
		return
	case v.Type == "uintptr" || v.Type == "unsafe.Pointer" || len(v.Items) > 0: // of items, the text is a summary
	default:
		put(v.Text)
	}
	put(v.Unknown)
	for _, t := range []*logs.TensorValue{v.Tensor, v.Fake} {
		if t != nil {
			text, _ := json.Marshal(t)
			_, _ = h.Write(text)
		}
	}
	_, _ = h.Write([]byte{byte(v.More), byte(len(v.Items))})
	for i := range v.Items {
		digestValue(h, &v.Items[i])
	}
}

// look adds what is in a tensor to the digest of a stop.
func (s *show) look(t *torch.Tensor) {
	if s.seen == nil || t == nil || t.Fake() != nil || t.Storage() == nil || s.seen[t] {
		return
	}
	s.seen[t] = true
	x := t
	if t.Numel() > sampled {
		x = firstOf(t)
	}
	s.bytes = mix(s.bytes, uint64(t.Numel()))
	if t.DType().IsComplex() {
		return // its first values are in its text
	}
	for _, f := range x.Data() {
		s.bytes = mix(s.bytes, math.Float64bits(f))
	}
}
