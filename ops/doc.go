// Package ops is THE operator table: for every operator its name, overloads,
// schema, tags, the rule that gives dtype, shape and strides of its results
// over symbolic sizes, its derivative and its decomposition into core
// operators. Derivatives and decompositions are written once, over Builder;
// the eager tape, aot and the tracer all run the same functions.
//
// It imports ops/sym and ops/schema and nothing else of ours; in particular it knows
// neither tensors with data (torch) nor graphs (graph): both meet it through
// Value and Builder. Open op.go first, then one family file (unary.go).
//
// # Adding an operator
//
// An operator that others make up is one row, in the file of its family:
//
//	composite(Sinus, "sinus", "(Tensor self, float scale=1.0) -> Tensor", 0, func(b B, c *Call) Value {
//		a := In[SinusArgs](c)
//		return b.mul(b.Emit(Sin, a.Self.Value()), a.Scale.Arg)
//	}),
//
// and `make generate`: cmd/genrows writes the constant Sinus and the struct SinusArgs from
// the row, cmd/genops torch.Sinus, the method and the tracer's binding. Its shapes and its
// derivative are those of the operators that it calls. That is all, unless PyTorch has
// more of it, which the row says: TagHasInPlace, TagComplex, second names in Aliases, what
// it writes in Mutates. Functions that make rows take them after the call:
// composite(...).and(TagHasInPlace | TagComplex).named("sinusoid").
//
// An operator with a kernel of its own is three edits: a row with Meta, and Backward where
// it has a slope (unaryRow and its like make both); a kernel in the table of its family in
// torch/internal/kernels (unary.go); a lowering in inductor/lower (pointwise.go), without which it is
// called and not fused. See Erfc. Where loops have no operation for it yet, that is added
// to inductor/ir, spelt in inductor/codegen/cpp and computed in inductor/interp.
//
// Rules, kernels and lowerings ask for arguments by name, through In: args.go says what a
// field can tell. A rule that several rows share takes what it needs as parameters, or asks
// named where their schemas have an argument in different places. No code reads one by its
// position, and a test holds it so.
package ops

//go:generate go run tcdbg/cmd/genrows -root .. -o ..
//go:generate go run tcdbg/cmd/genops -root .. -o ..
