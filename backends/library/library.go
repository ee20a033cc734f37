// Package library writes a compiled program as the C of a shared library that runs without tcdbg:
// tables of its buffers, inputs and outputs, what every library does with them (library.c.txt), and
// a header.
//
// It imports inductor, inductor/plan, ops and its subpackages; it runs no compiler: package backends does. Open
// this file first, then tables.go, header.go and library.c.txt.
package library

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tcdbg/inductor"
	"tcdbg/inductor/plan"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// Library is a program on its way to a shared library.
type Library struct {
	Name    string // a word of C: what it exports begins with it
	Program *inductor.Program
	Inputs  []Input  // [] /* placeholder of the program */
	Outputs []string // [] /* output of the program */ what the caller knows it as
	Guards  []sym.Rel
	// Features are those of the processor without which the code cannot run.
	Features []Feature
	BuiltOn  string // the processor, for the header
}

// Input is one input of the program.
type Input struct {
	Given  bool   // a caller gives it; else it is a weight
	Name   string // what the caller knows it as
	Weight int64  // where the weight begins in the file of all
}

// Feature is a set of instructions of x86-64.
type Feature struct {
	Name string // as the compiler's -m has it
	// Test is the expression of C that tells whether the processor has it.
	Test string
}

// Features are those that code for vectors of so many float32 uses; none are for processors other than x86-64,
// whose code needs no more than all of them have.
func Features(arch string, lanes int, bfloatDot bool) []Feature {
	if arch != "amd64" {
		return nil
	}
	var out []Feature
	add := func(names ...string) {
		for _, n := range names {
			out = append(out, Feature{n, fmt.Sprintf("__builtin_cpu_supports(%q)", n)})
		}
	}
	if lanes >= 8 {
		add("popcnt", "avx2", "fma", "bmi", "bmi2")
		out = append(out, Feature{"f16c", "has_f16c()"}) // older compilers do not know the name
	}
	if lanes >= 16 {
		add("avx512f", "avx512dq", "avx512bw", "avx512vl")
	}
	if bfloatDot {
		add("avx512bf16")
	}
	return out
}

// result is the type of an output: a whole number is a tensor without dimensions.
func (l *Library) result(i int) ops.DType {
	if b := l.Program.Outputs[i].Buffer; b >= 0 {
		return l.Program.Buffers[b].DType
	}
	return ops.Int64
}

// maxSize is the largest size that a call may have where the program sets no limit.
const maxSize = math.MaxInt32

// Check refuses what a library cannot run, by name and number.
func (l *Library) Check() error {
	p := l.Program
	if !Word(l.Name) {
		return fmt.Errorf("%q is no name for a library: it must be a word of C, letters, digits and _", l.Name)
	}
	if err := l.checkSteps(); err != nil {
		return err
	}
	for i, o := range p.Outputs {
		if _, size := o.Value.(sym.Int); o.Buffer < 0 && !size {
			return fmt.Errorf("%s is neither a tensor nor a whole number: a library cannot give it", Printable(l.Outputs[i]))
		}
	}
	for i, buf := range p.Inputs {
		if buf < 0 {
			return fmt.Errorf("%s is no tensor: a library takes tensors alone", Printable(l.Inputs[i].Name))
		}
	}
	for i := range p.Symbols {
		if s := &p.Symbols[i]; s.Stride || s.Dim < 0 || !l.Inputs[s.Input].Given {
			return fmt.Errorf("the size %s cannot be read from the shape of an input", s.Sym.Name)
		}
	}
	return l.checkSizes()
}

// checkSteps refuses steps that are no kernels.
func (l *Library) checkSteps() error {
	var names []string
	times := map[string]int{}
	for _, st := range slices.Concat(l.Program.Prologue, l.Program.Steps) {
		if st.Extern == nil {
			continue
		}
		var name string
		if st.Extern.Flow != nil {
			name = st.Extern.Flow.Op
		} else {
			name = ops.Get(st.Extern.Op).Name
		}
		if times[name]++; times[name] == 1 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	for i, n := range names {
		names[i] = fmt.Sprintf("%s (%d)", n, times[n])
	}
	return fmt.Errorf("operators that run outside of generated code cannot go into a library: %s", strings.Join(names, ", "))
}

// checkSizes refuses sizes that no input tells.
func (l *Library) checkSizes() error {
	known := map[*sym.Symbol]bool{}
	for i := range l.Program.Symbols {
		known[l.Program.Symbols[i].Sym] = true
	}
	check := func(xs ...sym.Int) error {
		for _, x := range xs {
			for _, s := range x.Symbols() {
				if _, fixed := s.Fixed(); !fixed && !known[s] {
					return fmt.Errorf("the size %s cannot be read from the shape of an input", s.Name)
				}
			}
		}
		return nil
	}
	for i := range l.Program.Buffers {
		b := &l.Program.Buffers[i]
		if b.Role == plan.RoleOver {
			return fmt.Errorf("%s is changed by the program: a library changes no inputs", Printable(b.Name))
		}
		if err := check(append(slices.Concat(b.Shape, b.Stride), b.Span)...); err != nil {
			return err
		}
	}
	for i := range l.Program.Outputs {
		if x, size := l.Program.Outputs[i].Value.(sym.Int); size {
			if err := check(x); err != nil {
				return err
			}
		}
	}
	for _, g := range l.Guards {
		if err := check(g.A, g.B); err != nil {
			return err
		}
	}
	return check(l.Program.Sizes...)
}

// Word reports whether names of C may begin with a text and an underscore.
func Word(name string) bool {
	for i, c := range []byte(name) {
		if c != '_' && !('a' <= c|32 && c|32 <= 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && name[0] != '_' && len(name) <= 64 && name != "tc" // as the runtime's names begin
}

// Printable is a name with what may stand in a comment and in a string of C.
func Printable(name string) string {
	return strings.Map(func(c rune) rune {
		if c == ' ' || c == '\'' || strings.ContainsRune("_.[]:", c) || c < 128 && (c >= '0' && c <= '9' || c|32 >= 'a' && c|32 <= 'z') {
			return c
		}
		return '_'
	}, name)
}
