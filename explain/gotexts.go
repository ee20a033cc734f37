package explain

import (
	"fmt"
	"slices"

	"tcdbg/tracer/breaks"
)

// This file is the table of everything that a Go program is advised. Each text is proven by
// a pair of programs (internal/app, goadvice*_test.go): the first one has the finding and
// gets the text, in the second one, which follows it, the finding is gone, nothing new came
// and the output is the same. A text without a pair is not in the table, and what is not in
// the table is not shown.

// goText is one text about a recompile of a Go program; those about breaks are the hints of
// package breaks.
type goText struct {
	id, format string
	settled    bool // nothing is to be done
	follows    bool // another finding is to be removed first
}

var goTexts = []goText{
	{id: "learning-rate", format: "the learning rate changes: make it a tensor, kw.Lr(torch.NewTensor(...)), which the graph reads with every step"},
	{id: "after-break", format: "%s is handed across the graph break at %s to the rest of the function: what removes that break removes this", follows: true},
	{id: "made-again", format: "torch.Compile at %s is called %d times, and %s, which the function captures, is not always the same: move torch.Compile out of the loop and pass %[3]s to what it returns, as a tensor"},

	{id: "compiled-apart", format: "under a mode, or with a function as its backend, each call of torch.Compile makes entries of its own: call it once, before the loop"},

	{id: "size", format: "size %d of %s changes (%s -> %s): call compiler.MarkDynamic(%[2]s, %[1]d) before the first call"},
	{id: "size-static", format: "size %d of %s changes (%s -> %s), and kw.Dynamic(false) asks for an entry of each size: leave that option out"},
	{id: "size-one", format: "size %d of %s changes (%s -> %s): 0 and 1 have an entry of their own in any case; pad to 2 or more, or accept it"},
	{id: "size-constant", format: "%s needs size %d of %s as a number, so each size is a compile of its own: pad to a few sizes, or keep that line out of the compiled function"},
	{id: "layout", format: "the layout of %s changes: pass %[1]s.Contiguous()"},
	{id: "dtype", format: "%s comes as %s and as %s: convert it before the call"},
	{id: "rank", format: "the number of dimensions of %s changes: reshape it before the call"},
	{id: "requires-grad", format: "%s comes with and without requires_grad: a graph that computes gradients is another one, so two entries are normal", settled: true},

	{id: "flag", format: "%s is a flag: two entries are normal; if it changes with every call, use torch.Where on it as a tensor"},
	{id: "text", format: "there is an entry for each value of %s (here %s): keep them few, or choose by it before the compiled function"},
	{id: "number-branch", format: "the marked line asks whether %s %s: an entry for each answer is normal", settled: true},
	{id: "rounds", format: "the loop at the marked line is unrolled, so there is an entry for each number of rounds: keep these few, or leave the loop outside and compile its body"},
	{id: "number", format: "the graph is specialised on %s %s: pass %[1]s as a tensor"},
	{id: "number-field", format: "the graph is specialised on the attribute %s %s: keep it in a tensor (a buffer), or hoist it out of the compiled function"},
	{id: "number-global", format: "the graph is specialised on the global %s %s: make it a tensor"},
	{id: "number-captured", format: "the graph is specialised on the captured variable %s %s: make it a tensor"},
	{id: "number-dynamic", format: "%s was baked in by the first compile and is now dynamic: new values do not recompile (an int that becomes 0 or 1 does), nothing to do", settled: true},
	{id: "counter", format: "%s counts up with every call: keep the counter outside of the compiled function, or make it a tensor"},
	{id: "counter-field", format: "%s is another number with every call: where it counts, keep it outside of the compiled function; where each module has its own, make it a tensor (a buffer)"},

	{id: "size-branch", format: "the marked line branches on a size: an entry for each side is normal", settled: true},
	{id: "small-size", format: "a size of 0 or 1 has an entry of its own: accept one entry more, or pass at least 2"},
	{id: "length-grows", format: "%s grows with every call: append to it outside of the compiled function"},
	{id: "length", format: "loops over %s are unrolled: keep its length, or stack its tensors into one"},
	{id: "keys", format: "the keys of %s change: keep the same keys in the same order"},
	{id: "type", format: "%s changes its type from %s: pass one type"},
	{id: "nil", format: "%s is sometimes nil: pass a value always, or accept two entries"},
	{id: "nil-field", format: "%s is nil in one call and not in another: set it before the first call, or accept two entries"},
	{id: "function", format: "there is an entry for each function that %s is: keep them few, and make each once, not in every call"},
	{id: "training", format: "%s changes between training and evaluation: two entries are normal", settled: true},
	{id: "grad-mode", format: "%s differs between calls: set it once before the first call, or accept one entry for each setting"},
}

// goBreakTexts are texts about a break that know more than the hint of its cause.
var goBreakTexts = []struct{ id, code, context, text string }{
	{"grad", breaks.TensorBackward, "call of torch.Grad", "Gradients are computed between two graphs: where they are part of the result (a second derivative, an inner step) leave the call here, CreateGraph works across it; else compile what gives the loss and call Grad outside."},
	{"bincount", breaks.DynamicShapeOperator, "operator bincount", "Where the number of classes is known, count with ScatterAdd: torch.Zeros(n).ScatterAdd(0, index, torch.Ones(...)), or sum a OneHot."},
	{"nonzero", breaks.DynamicShapeOperator, "operator nonzero", selectStatic},
	{"argwhere", breaks.DynamicShapeOperator, "operator argwhere", selectStatic},
}

const selectStatic = "Use a mask and Where instead of selecting elements, or NonzeroStatic where a bound on their number is known."

// goFix is the advice of one row of the table; there is none where the table has no such row.
func goFix(id string, args ...any) Fix {
	i := slices.IndexFunc(goTexts, func(t goText) bool { return t.id == id })
	if i < 0 {
		return Fix{}
	}
	t := &goTexts[i]
	return Fix{Text: fmt.Sprintf(t.format, args...), Row: goRow + id, Settled: t.settled}
}

// goRow begins the rows of this table, which those of package advice do not.
const goRow = "go "

// goFollows reports whether a row sends the reader to another finding.
func goFollows(row string) bool {
	return slices.ContainsFunc(goTexts, func(t goText) bool { return t.follows && goRow+t.id == row })
}

// goBreak is the advice on a break of a Go program: where the break names what it is about,
// the text on that, else the first hint of its cause.
func goBreak(b *Break) Fix {
	for _, t := range goBreakTexts {
		if b.Code == t.code && b.Context == t.context {
			return Fix{Text: t.text, Row: goRow + t.id}
		}
	}
	if c, ok := breaks.Lookup(b.Code); ok && len(c.Hints) > 0 {
		return Fix{Text: naming(c.Hints[0], callee(b)), Row: hintRow(b.Code, 0)}
	}
	return Fix{}
}

// hintRow is the row of one hint of a cause.
func hintRow(code string, n int) string { return goRow + code + "/" + itoa(n) }

// GoRows lists the rows of all texts that a Go program can be shown as advice.
func GoRows() []string {
	var out []string
	for _, code := range breaks.Codes() {
		c, _ := breaks.Lookup(code)
		for n := range c.Hints {
			out = append(out, hintRow(code, n))
		}
	}
	for _, t := range goBreakTexts {
		out = append(out, goRow+t.id)
	}
	for _, t := range goTexts {
		out = append(out, goRow+t.id)
	}
	return out
}
