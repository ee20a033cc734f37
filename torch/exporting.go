package torch

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"sync/atomic"

	"tcdbg/torch/export"
	"tcdbg/torch/internal/refusal"
)

// This file is torch.Export: a function becomes a program.

// Dim is a size that may differ from call to call, as torch.export.Dim. What shares a Dim has the same size.
type Dim struct {
	Name     string
	Min, Max int
	// Auto leaves it to the code whether the size is a constant (Dim.AUTO).
	Auto bool
}

// NewDim makes a Dim. Options: kw.Min and kw.Max, the range that the program is for.
func NewDim(name string, opts ...Option) *Dim {
	d := &Dim{Name: name, Max: math.MaxInt}
	for _, o := range opts {
		n, ok := o.Value.(int)
		switch {
		case o.Name == "min" && ok:
			d.Min = n
		case o.Name == "max" && ok:
			d.Max = n
		default:
			refusal.Fail("torch.NewDim", "TypeError", "Dim.__init__() got an unexpected keyword argument '%s' of type %T", o.Name, o.Value)
		}
	}
	if d.Min > d.Max || d.Max < 0 {
		refusal.Fail("torch.NewDim", "AssertionError", "Cannot create Dim %s with inconsistent min=%d, max=%d", name, d.Min, d.Max)
	}
	return d
}

// AutoDim makes a Dim that is dynamic where the code leaves it open, as Dim.AUTO.
func AutoDim() *Dim { return &Dim{Max: math.MaxInt, Auto: true} }

// DynamicShapes are the sizes that differ from call to call: by the name of an argument, as
// ExportedProgram.InputNames has it, and by the dimension.
type DynamicShapes map[string]map[int]*Dim

// Exporter makes the program of a function; see ExportBy.
type Exporter func(fn any, args []any, shapes DynamicShapes) (*ExportedProgram, error)

var exporter atomic.Pointer[Exporter]

// ExportBy has Export made by f; nil ends that. It is for the compiler.
func ExportBy(f Exporter) {
	if f == nil {
		exporter.Store(nil)
		return
	}
	exporter.Store(&f)
}

// Packager makes a shared library of a program; see PackageBy.
type Packager func(p *ExportedProgram, folder, name string, sizes map[string]int64) error

var packager atomic.Pointer[Packager]

// PackageBy has Package made by f; nil ends that. It is for the compiler.
func PackageBy(f Packager) {
	if f == nil {
		packager.Store(nil)
		return
	}
	packager.Store(&f)
}

// Package compiles the program for inference and writes lib<name>.so and <name>.h into the folder: a shared library
// with the weights inside, which a C program calls without tcdbg, as those that PyTorch's
// torch._inductor.aoti_compile_and_package makes. A program that changes buffers, or that
// has operators which run outside of generated code, is refused, and they are named.
//
// It needs the compiler: under `go run` it returns an error that says so.
func (p *ExportedProgram) Package(folder, name string) error {
	run := packager.Load()
	if run == nil {
		return errors.New("packaging needs the compiler: run this program with `tcdbg run`, or use `tcdbg package`")
	}
	if err := (*run)(p, folder, name, nil); err != nil {
		return fmt.Errorf("packaging %s: %w", name, err)
	}
	return nil
}

// Export captures a function as one graph without breaks, as torch.export.export does. args are what an
// example call passes; kw.DynamicShapes says which sizes may differ from it. All others are constants, and so
// are the values of numbers and what the function reads besides tensors: of a method, or of
// a function that captures a module, parameters and buffers are the program's state; other tensors that it reads
// are constants of the program. A call that cannot be part of the graph is an error that names its line; so is
// code that makes a constant of a size that was said to differ.
//
// It needs the compiler: under `go run` it returns an error that says so.
func Export(fn any, args []any, opts ...Option) (*ExportedProgram, error) {
	var shapes DynamicShapes
	for _, o := range opts {
		given, ok := o.Value.(DynamicShapes)
		if m, plain := o.Value.(map[string]map[int]*Dim); plain {
			given, ok = m, true
		}
		if o.Name != "dynamic_shapes" || !ok {
			return nil, fmt.Errorf("torch.Export: unexpected option %s of type %T", o.Name, o.Value)
		}
		shapes = given
	}
	if v := reflect.ValueOf(fn); v.Kind() != reflect.Func || v.IsNil() {
		return nil, fmt.Errorf("torch.Export: the argument is no function but of type %T; of a module pass net.Forward", fn)
	}
	run := exporter.Load()
	if run == nil {
		return nil, errors.New("torch.Export needs the compiler: run this program with `tcdbg run`")
	}
	p, err := (*run)(fn, args, shapes)
	if err != nil {
		return nil, fmt.Errorf("torch.Export: %w", err)
	}
	return p, nil
}

// NewExported is for the compiler: a program with its weights and the arguments of an example call. stored has
// a tensor for each input of the program that no caller gives.
func NewExported(prog *export.Program, stored []*Tensor, example []any) *ExportedProgram {
	p := &ExportedProgram{prog: prog, stored: stored, named: map[string]*Tensor{}, path: "exported"}
	for i, t := range stored {
		if t != nil {
			p.named[prog.Inputs[i].Target] = t
		}
	}
	p.example = append(append([]any{}, example...), OrderedDict{})
	return p
}

// String is the program as PyTorch prints it: its graph, what its inputs and outputs are, and the ranges of its sizes.
func (p *ExportedProgram) String() string { return p.prog.String() }
