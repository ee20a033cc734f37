package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain"
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
	{id: "learning-rate", format: "the learning rate changes: make it a tensor, kw.Lr(torch.NewTensor(...)), which the graph reads " +
		"with every step"},
	{id: "after-break", format: "%s is handed across the graph break at %s to the rest of the function: look at that break first; " +
		"what is then left has advice of its own", follows: true},
	{id: "made-again", format: "torch.Compile at %s is called %d times, and %s, which the function captures, is not always the " +
		"same: move torch.Compile out of the loop and pass %[3]s to what it returns, as a tensor"},

	{id: "library-call", format: "the break is within the function that the marked line calls: leave that call outside of the " +
		"compiled function"},
	{id: "compiled-apart", format: "under a mode, or with a function as its backend, each call of torch.Compile makes entries of " +
		"its own: call it once, before the loop"},

	{id: "size", format: "size %d of %s changes (%s -> %s): call %s before the first call"},
	{id: "sizes", format: "size %d of %s changes (%s -> %s): call %s before the first call, all of them: one that is left out recompiles"},
	{id: "size-dynamic", format: "size %d of %s changed (%s -> %s) and is dynamic from this compile on: other sizes of 2 and more " +
		"do not recompile, nothing to do", settled: true},
	{id: "size-static", format: "size %d of %s changes (%s -> %s), and kw.Dynamic(false) asks for an entry of each size: leave that " +
		"option out"},
	{id: "size-bucket", format: "size %d of %s changes (%s -> %s): kw.Dynamic(false) asks for an entry of each size, and later calls " +
		"find theirs, nothing to do", settled: true},
	{id: "size-one", format: "size %d of %s changes (%s -> %s): 0 and 1 have an entry of their own in any case; pad to 2 or more, " +
		"or accept it"},
	{id: "size-constant", format: "%s needs size %d of %s as a number, so each size is a compile of its own: pad to a few sizes, or " +
		"keep that line out of the compiled function"},
	{
		id: "size-part",
		format: "%s needs %s as a number, so there is a compile for each value of it: pad to a few sizes, or keep that " +
			"line out of the compiled function",
	},
	{id: "layout", format: "the layout of %s changes: pass %[1]s.Contiguous()"},
	{id: "layout-one", format: "the stride of %s changes in dimension %d, whose size is 1, which Contiguous leaves as it is: pass " +
		"%[1]s.View(%[1]s.Shape()...), or accept an entry for each"},
	{id: "dtype", format: "%s comes as %s and as %s: convert it before the call"},
	{id: "rank", format: "the number of dimensions of %s changes: reshape it before the call"},
	{id: "requires-grad", format: "%s comes with and without requires_grad: a graph that computes gradients is another one, so two " +
		"entries are normal", settled: true},

	{id: "flag", format: "%s is a flag: two entries are normal; if it changes with every call, use torch.Where on it as a tensor"},
	{id: "text", format: "there is an entry for each value of %s (here %s): keep them few, or choose by it before the compiled function"},
	{id: "number-branch", format: "the marked line asks whether %s %s: an entry for each answer is normal", settled: true},
	{id: "rounds", format: "the loop at the marked line is unrolled, so there is an entry for each number of rounds: keep these " +
		"few, or leave the loop outside and compile its body"},
	{id: "number", format: "the graph is specialised on %s %s: pass %[1]s as a tensor"},
	{
		id: "number-constant", format: "the marked line needs %s as a number, so there is an entry for each value: keep them few",
		settled: true,
	},
	{id: "number-field", format: "the graph is specialised on the attribute %s %s: keep it in a tensor (a buffer), or hoist it out " +
		"of the compiled function"},
	{id: "number-global", format: "the graph is specialised on the global %s %s: make it a tensor"},
	{id: "number-captured", format: "the graph is specialised on the captured variable %s %s: make it a tensor"},
	{id: "number-dynamic", format: "%s was baked in by the first compile and is now dynamic: new values do not recompile (an int " +
		"that becomes 0 or 1 does), nothing to do", settled: true},
	{
		id: "number-asked",
		format: "%s was baked in by the first compile and is now dynamic: only a value that answers a comparison with it " +
			"in another way recompiles, nothing to do", settled: true,
	},
	{id: "number-one", format: "%s is dynamic in another entry, and 0 and 1 have an entry of their own: nothing to do", settled: true},
	{id: "counter", format: "%s counts up with every call: keep the counter outside of the compiled function, or make it a tensor"},
	{id: "counter-field", format: "%s is another number with every call: where it counts, keep it outside of the compiled function; " +
		"where each module has its own, make it a tensor (a buffer)"},

	{id: "size-branch", format: "the marked line branches on a size: an entry for each side is normal", settled: true},
	{id: "small-size", format: "a size of 0 or 1 has an entry of its own: accept one entry more, or pass at least 2"},
	{
		id: "length-grows",
		format: "%s grows with every call: append to it outside of the compiled function, and where that reads it too, " +
			"hand over a fixed number of elements, or one tensor of them",
	},
	{id: "length", format: "there is an entry for each length of %s: keep its length, or, where it holds tensors, stack them into one"},
	{
		id: "functions", format: "the functions in %s are a part of the graph, so there is an entry for each list of them: keep these few",
		settled: true,
	},
	{id: "numbers", format: "the marked line makes a tensor of numbers (%s), which are constants of the graph: make that tensor " +
		"before the call, and pass it"},
	{id: "keys", format: "the keys of %s change: give it all its keys before the first call, or change it outside of the " +
		"compiled function"},
	{id: "type", format: "%s changes its type from %s: pass one type, or accept an entry for each"},
	{id: "nil", format: "%s is sometimes nil: pass a value always, or accept two entries"},
	{id: "nil-field", format: "%s is nil in one call and not in another: set it before the first call, or accept two entries"},
	{id: "function", format: "there is an entry for each function that %s is: keep them few, and make each once, not in every call"},
	{id: "training", format: "%s changes between training and evaluation: two entries are normal", settled: true},
	{id: "grad-mode", format: "%s differs between calls: set it once before the first call, or accept one entry for each setting"},
}

// goBreakText is a text about a break that knows more than the first hint of its cause.
type goBreakText struct {
	id, code string
	context  string // what the trace names, "" where the line decides
	on       func(b *explain.Break) bool
	text     string // %s is the place within the body that breaks
}

var goBreakTexts = []goBreakText{
	{
		id: "no-grad-body", code: breaks.BreakUnderContext, on: hasPlace,
		text: "The body of torch.NoGrad breaks at %s, and no graph can go on under its mode: leave what that line does " +
			"to the caller of the compiled function.",
	},
	{
		id: "grad", code: breaks.TensorBackward, context: "call of torch.Grad",
		text: "Gradients are computed between two graphs: where they are part of the result (a second derivative, an inner step) " +
			"leave the call here, CreateGraph works across it; else compile what gives the loss and call Grad outside.",
	},
	{
		id: "backward", code: breaks.TensorBackward, context: "call of Tensor.Backward",
		text: "With torch.Compile(f, kw.CaptureBackward(true)) the pass is captured in the graph of the loss; or compile the " +
			"function that returns the loss and call Backward outside of it.",
	},
	{
		id: "backward-history", code: breaks.TensorBackward, on: notCaptured(breaks.HistoryLeaves),
		text: "The pass is captured where nothing but the loss's own history leaves the function: return other results detached, " +
			"or compute them under torch.NoGrad.",
	},
	{
		id: "backward-leaf", code: breaks.TensorBackward, on: notCaptured(breaks.GradientLeaves),
		text: "The pass is captured where it ends within the function: compile what computes this tensor together with it, or " +
			"hand over a leaf.",
	},
	{
		id: "backward-in-place", code: breaks.TensorBackward, on: notCaptured(breaks.ChangesInPlace),
		text: "The pass is captured where no in-place operator changes a view, or what has one, or an argument: write it without.",
	},
	{
		id: "bincount", code: breaks.DynamicShapeOperator, context: "operator bincount",
		text: "Where the number of classes is known, count with ScatterAdd: torch.Zeros(n).ScatterAdd(0, index, torch.Ones(...)), " +
			"or sum a OneHot.",
	},
	{id: "nonzero", code: breaks.DynamicShapeOperator, context: "operator nonzero", text: selectStatic + captureRows},
	{id: "argwhere", code: breaks.DynamicShapeOperator, context: "operator argwhere", text: selectStatic},
	{id: "unique", code: breaks.DynamicShapeOperator, context: "operator unique", text: callOutside + captureRows},
	{id: "unique-consecutive", code: breaks.DynamicShapeOperator, context: "operator unique_consecutive", text: callOutside + captureRows},
	{
		id: "masked-select", code: breaks.DynamicShapeOperator, context: "operator masked_select",
		text: "Use a mask and Where instead of selecting elements." + captureRows,
	},
	{
		id: "repeat-interleave", code: breaks.DynamicShapeOperator,
		context: "the shape of the result of repeat_interleave depends on data",
		text: "Where the sum n of the counts is known, x.IndexSelect(0, torch.Searchsorted(counts.Cumsum(0), torch.Arange(n), " +
			"kw.Right(true))) repeats the rows of x; else call it outside of the compiled function.",
	},
	{
		id: "cond-returns", code: breaks.DataDependentBranching, on: flowRefused(breaks.Aliased),
		text: "Have each branch return a tensor of its own, a Clone of what it was given: the graph then holds both branches.",
	},
	{
		id: "cond-captured", code: breaks.DataDependentBranching, on: flowRefused(""),
		text: "A graph holds both branches where they change nothing outside of them and return tensors that are alike: the break " +
			"says what is in the way.",
	},
	{
		id: "loop-captured", code: breaks.DataDependentLoop, on: loopRefused,
		text: "A graph holds the loop where its functions change nothing outside of them and its body returns new tensors that are " +
			"like what it got: the break says what is in the way.",
	},
	{
		id: "branch-number", code: breaks.DataDependentBranching,
		on: func(b *explain.Break) bool { return strings.HasPrefix(b.Context, breaks.Unguarded) },
		text: "torch.Check(condition) in front of the marked line tells what always holds of the number, and is tested when the " +
			"graph runs; where both answers occur, choose with Where on the tensor.",
	},
	{
		id: "branch-work", code: breaks.DataDependentBranching, on: contextHas(breaks.SideWork),
		text: "compiler.Cond(condition, a function for each side) has the graph hold both sides and run one, where both give " +
			"tensors that are alike; Where would compute both.",
	},
	{
		id: "branch-rounds", code: breaks.DataDependentBranching, on: contextHas(breaks.LoopTruth),
		text: "compiler.WhileLoop(condition, body, what is carried) has the graph hold the loop, where a round gives new tensors " +
			"that are like what it got.",
	},
	{
		id: "branch-ends", code: breaks.DataDependentBranching, on: contextHas(breaks.SideEnds),
		text: "A side of this branch ends the program or panics, so Where cannot choose: return the condition, and check it after " +
			"the call.",
	},
	{
		id: "branch-leaves", code: breaks.DataDependentBranching, on: contextHas(breaks.SideLeaves),
		text: "A side of this branch leaves the loop, so Where cannot choose: compile the body of the loop, and loop and check " +
			"outside of it.",
	},
	{
		id: "branch-more", code: breaks.DataDependentBranching, on: contextHas(breaks.SideMore),
		text: "The sides of this branch differ in what is no tensor (a flag, a text, an error, what is printed), so Where cannot " +
			"choose: return the condition, and branch on it after the call.",
	},
	{
		id: "truth-kept", code: breaks.DataDependentBranching, on: contextHas(breaks.TruthKept),
		text: "No branch asks for this truth here: return the tensor, and call Bool on it in the caller.",
	},
	{
		id: "item-fails", code: breaks.TensorItem, on: contextHas(breaks.WayEnds),
		text: "This line runs only where the program ends or panics: mend the branch that leads to it, and this break " +
			"goes too.",
	},
	{
		id: "item-ends", code: breaks.TensorItem, on: contextHas(breaks.NumberEnds),
		text: "The number decides whether the program ends or panics, so Where cannot choose: return the tensor, and " +
			"check its number after the call.",
	},
	{
		id: "item-leaves", code: breaks.TensorItem, on: contextHas(breaks.NumberExit),
		text: "The number decides whether to leave the loop, so Where cannot choose: compile the body of the loop, and " +
			"loop and check outside of it.",
	},
	{
		id: "item-more", code: breaks.TensorItem, on: contextHas(breaks.NumberMore),
		text: "The number decides on what is no tensor (a flag, a text, an error, what is printed), so Where cannot choose: return " +
			"the tensor, and branch on its number after the call.",
	},
	{id: "item-printed", code: breaks.TensorItem, on: printing, text: "Return the tensor, and print its number after the call."},
	{
		id: "item-branch", code: breaks.TensorItem, on: branching,
		text: "The branch needs the number: compute both sides and choose with Where on the tensor, or decide before the call.",
	},
	{id: "item-returned", code: breaks.TensorItem, on: returning, text: "Return the tensor, and call Item on it in the caller."},
	{
		id: "item-position", code: breaks.TensorItem, on: converting,
		text: "The number exists only after the graph: where it is a position, IndexSelect, Gather and IndexFill take the tensor as " +
			"it is; else read it after the call.",
	},
	{
		id: "item-used", code: breaks.TensorItem, on: contextHas(breaks.NumberUsed),
		text: "The number is used where no tensor can be (a size, a map's key, a text, a result): read it outside of the compiled " +
			"function, of an argument before the call, of a result after it; for a position, IndexSelect and Gather take the tensor." +
			captureNumber,
	},
}

const selectStatic = "Use a mask and Where instead of selecting elements, or NonzeroStatic where a bound on their number is known " +
	"and what fills it up is masked."

// captureRows and captureNumber end advice that a setting makes needless.
const (
	captureRows   = " With the setting CaptureDynamicOutputShapeOps (compiler.Configure) the graph holds the call."
	captureNumber = " With the setting CaptureScalarOutputs (compiler.Configure) the graph holds a whole number."
)

const callOutside = "How many values there are is known only when it has run: call it outside of the compiled function, and compile " +
	"what comes before and after it."

// goFix is the advice of one row of the table; there is none where the table has no such row.
func goFix(id string, args ...any) explain.Fix {
	i := slices.IndexFunc(goTexts, func(t goText) bool { return t.id == id })
	if i < 0 {
		return explain.Fix{}
	}
	t := &goTexts[i]
	return explain.Fix{Text: fmt.Sprintf(t.format, args...), Row: goRow + id, Settled: t.settled}
}

// goRow begins the rows of this table, which those of package advice do not.
const goRow = "go "

// goFollows reports whether a row sends the reader to another finding.
func goFollows(row string) bool {
	return slices.ContainsFunc(goTexts, func(t goText) bool { return t.follows && goRow+t.id == row })
}

// goBreak is the advice on a break of a Go program: where the break names what it is about,
// the text on that, else the first hint of its cause.
func goBreak(b *explain.Break) explain.Fix {
	for _, t := range goBreakTexts {
		if b.Code == t.code && (t.context == "" || b.Context == t.context) && (t.on == nil || t.on(b)) {
			return explain.Fix{Text: strings.Replace(t.text, "%s", placeWithin(b), 1), Row: goRow + t.id}
		}
	}
	if c, ok := breaks.Lookup(b.Code); ok && len(c.Hints) > 0 {
		n := goHint(b)
		return explain.Fix{Text: naming(c.Hints[n], callee(b)), Row: hintRow(b.Code, n)}
	}
	return explain.Fix{}
}

// goHint chooses the hint that fits a break whose cause has several: the first one, if the
// break says no more.
func goHint(b *explain.Break) int {
	if b.Code == breaks.AutogradFunction && strings.Contains(b.Context, "Backward changes ") {
		return 1
	}
	return 0
}

// placeWithin is the place of the break within a body that is inlined, which its context
// ends with: "... at main.go:97".
func placeWithin(b *explain.Break) string {
	if i := strings.LastIndex(b.Context, " at "); i >= 0 {
		return b.Context[i+len(" at "):]
	}
	return ""
}

func hasPlace(b *explain.Break) bool { return placeWithin(b) != "" }

// contextHas says whether a break's context ends in a remark.
func contextHas(remark string) func(*explain.Break) bool {
	return func(b *explain.Break) bool { return strings.HasSuffix(b.Context, remark) }
}

// flowRefused: control flow was to be captured, and what the reason ends with stood in the way.
func flowRefused(end string) func(*explain.Break) bool {
	return func(b *explain.Break) bool {
		return strings.Contains(b.Context, breaks.NotWhole) && strings.HasSuffix(b.Context, end)
	}
}

// loopRefused: a loop was to be captured, and could be if its functions were written otherwise.
func loopRefused(b *explain.Break) bool {
	return flowRefused("")(b) && !flowRefused(breaks.LoopGrad)(b)
}

// notCaptured: the call was to be captured, and what the reason holds stood in the way.
func notCaptured(part string) func(*explain.Break) bool {
	return func(b *explain.Break) bool {
		why, ok := strings.CutPrefix(b.Context, breaks.NotCaptured)
		return ok && strings.Contains(why, part)
	}
}

// printing says whether a line prints or logs a tensor's number.
func printing(b *explain.Break) bool {
	line := strings.TrimSpace(b.Pos.Code)
	return strings.HasPrefix(line, "fmt.Print") || strings.HasPrefix(line, "fmt.Fprint") || strings.HasPrefix(line, "log.Print")
}

// branching says whether a line chooses between two paths.
func branching(b *explain.Break) bool {
	line := strings.TrimSpace(b.Pos.Code)
	return strings.HasPrefix(line, "if ") || strings.HasPrefix(line, "switch ")
}

// converting says whether a line makes an int of a tensor's number, to work with.
func converting(b *explain.Break) bool {
	_, right, ok := strings.Cut(b.Pos.Code, ":= int(")
	return ok && strings.HasSuffix(strings.TrimSpace(right), ".Item())")
}

// returning says whether a line returns a tensor's number as it is, or converted.
func returning(b *explain.Break) bool {
	_, value, ok := strings.Cut(b.Pos.Code, "return ")
	value, _, read := strings.Cut(value, ".Item()")
	for _, name := range []string{"int(", "int64(", "float32("} {
		value = strings.TrimPrefix(value, name)
	}
	return ok && read && strings.Count(value, "(") == strings.Count(value, ")") && !strings.Contains(value, ",")
}

// hintRow is the row of one hint of a cause.
func hintRow(code string, n int) string { return goRow + code + "/" + strconv.Itoa(n) }

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
