// Package compiler is torch.compiler: what a program says to the compiler.
// The bodies are what `go run` should do, which is mostly nothing; the engine
// replaces the functions while it interprets a program.
//
// It imports torch, torch/kw, torch/compiler/artifacts and torch/compiler/modes only. Open this file first.
package compiler

import (
	"fmt"
	"reflect"
	"sync/atomic"

	"tcdbg/torch"
)

// Disable returns f marked so that calls of it are not compiled: a call breaks
// the graph and runs eagerly, with everything that it calls. With
// kw.Recursive(false) its callees still compile as frames of their own.
func Disable[F any](f F, opts ...torch.Option) F {
	checkFunc("Disable", f)
	return f
}

// AllowInGraph returns f for use in graphs. Unlike in PyTorch a call of it is
// inlined: its operators become nodes, it is not one node of its own.
func AllowInGraph[F any](f F) F {
	checkFunc("AllowInGraph", f)
	return f
}

// AssumeConstantResult returns f marked so that a call of it runs at once where it
// is compiled, and its results are constants of the compiled code, which does not
// call f again. The arguments become constants too. f sees the program as it was
// before the compiled call.
func AssumeConstantResult[F any](f F) F {
	checkFunc("AssumeConstantResult", f)
	return f
}

func checkFunc(name string, f any) {
	if reflect.ValueOf(f).Kind() != reflect.Func {
		panic("compiler." + name + ": argument is not a function")
	}
}

// IsCompiling reports whether the code runs under the compiler's tracer.
func IsCompiling() bool { return false }

// Reset forgets all compiled code.
func Reset() {}

// GraphBreak ends the graph here, on purpose.
func GraphBreak(reason ...string) {}

// The stances that SetStance takes.
const (
	Default           = "default"
	EagerOnRecompile  = "eager_on_recompile"
	FailOnRecompile   = "fail_on_recompile"
	ForceEager        = "force_eager"
	EagerThenCompile  = "eager_then_compile"
	ConfigUnspecified = ""
)

var stance atomic.Pointer[string]

// SetStance says what happens when a compiled function meets inputs that no
// compiled code fits: compile (default, and eager_then_compile after a first
// call that runs eagerly), run eagerly, or fail. Under force_eager compiled code
// is not used at all. It panics for an unknown stance.
func SetStance(name string) {
	switch name {
	case Default, EagerOnRecompile, FailOnRecompile, ForceEager, EagerThenCompile:
	default:
		panic(fmt.Sprintf("compiler.SetStance: unknown stance %q", name))
	}
	stance.Store(&name)
}

// Stance returns what SetStance set.
func Stance() string {
	if p := stance.Load(); p != nil {
		return *p
	}
	return Default
}

// MarkDynamic says that dimensions of t vary from call to call: they are
// compiled as symbols. A compiled function whose code makes one a constant panics with
// PyTorch's ConstraintViolationError. It panics for a dimension that t does not have.
func MarkDynamic(t *torch.Tensor, dims ...int) { mark(t, torch.DimDynamic, dims) }

// MaybeMarkDynamic is MarkDynamic for dimensions that the code may make constants.
func MaybeMarkDynamic(t *torch.Tensor, dims ...int) { mark(t, torch.DimMaybe, dims) }

// MarkUnbacked says that the sizes of dimensions of t are not known to the compiled code: one
// compile serves all of them, 0 and 1 as well. A question of the code about such a size, which
// torch.Check does not answer, breaks the graph. It panics for a dimension that t does not have.
func MarkUnbacked(t *torch.Tensor, dims ...int) { mark(t, torch.DimUnbacked, dims) }

// Unbacked is what MarkUnbackedWith says of sizes, as the keywords of PyTorch's mark_unbacked do. Its
// hint_override has no counterpart: no kernel is chosen by what such a size is likely to be; nor has specialize_on:
// for a size that deserves code of its own a tensor is passed that is not marked.
type Unbacked struct {
	// Min and Max bound the size: a call with another size panics. Max 0: no bound.
	Min, Max int
	// ShapeID names a size: dimensions with one name have one symbol, and a call in which they differ panics.
	ShapeID string
	// Strict has code that makes the size a constant be an error, in place of a break of the graph.
	Strict bool
}

// MarkUnbackedWith is MarkUnbacked with bounds, a name that several sizes share, or strictness. It panics
// for bounds that contradict each other.
func MarkUnbackedWith(t *torch.Tensor, u Unbacked, dims ...int) {
	if u.Min < 0 || u.Max < 0 || u.Max > 0 && u.Max < u.Min {
		panic(fmt.Sprintf("compiler.MarkUnbackedWith: no size is at least %d and at most %d", u.Min, u.Max))
	}
	for _, d := range dims {
		t.Size(d)
	}
	t.SetUnbacked(torch.Unbacked(u), dims...)
}

func mark(t *torch.Tensor, m torch.DimMark, dims []int) {
	for _, d := range dims {
		t.Size(d)
	}
	t.SetDynamic(m, dims...)
}

// MarkStatic says that dimensions of t (all, when none is named) are to be
// compiled as constants.
func MarkStatic(t *torch.Tensor, dims ...int) {
	if len(dims) == 0 {
		for d := range t.Dim() {
			dims = append(dims, d)
		}
	}
	mark(t, torch.DimStatic, dims)
}
