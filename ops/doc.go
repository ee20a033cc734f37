// Package ops is THE operator table: for every operator its name, overloads,
// schema, tags, the rule that gives dtype, shape and strides of its results
// over symbolic sizes, its derivative and its decomposition into core
// operators. Derivatives and decompositions are written once, over Builder;
// the eager tape, aot and the tracer all run the same functions.
//
// It imports ops/sym and nothing else of ours; in particular it knows
// neither tensors with data (torch) nor graphs (graph): both meet it through
// Value and Builder. Open op.go first, then one family file (unary.go).
package ops
