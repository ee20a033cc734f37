package advice

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tcdbg/tracer/breaks"
)

// This file is recompiles for what an input tensor is: its sizes, layout, dtype, whether it
// is another input, and the modes that the call is made in.

var inputs = []Row{
	{
		ID: "skips-for-good", Kind: Recompile, Effect: Removes,
		Pattern: "a later call meets no operator, for which PyTorch skips the function from then on, with the graphs it had compiled",
		When:    func(f *Finding) bool { return f.NoOperator && !f.Rest },
		Text: say("With this change the call meets no operator, and for that PyTorch runs the function eagerly from then on, " +
			"also where it had compiled it: where nothing is to be computed, do not call the compiled function, " +
			"but decide that in the caller."),
	},
	{
		ID: "no-entry", Kind: Recompile, Effect: Removes, Follows: true,
		Pattern: "the compile after a change ends at a graph break that leaves no entry, so that the next call compiles again",
		When:    func(f *Finding) bool { return f.NoEntry != "" && f.Name != "" },
		Text: func(f *Finding) string {
			if !f.Often { // whether further calls compile again has not been seen
				return fmt.Sprintf(
					"%s changed, and this compile ends at the graph break at %s and leaves no entry: remove that break first",
					f.Name, f.NoEntry,
				)
			}
			return fmt.Sprintf(
				"%s changed, and the compiles after it end at the graph break at %s and leave no entry, so that further calls "+
					"compile again: remove that break first",
				f.Name, f.NoEntry,
			)
		},
	},
	{
		ID: "library-frame", Kind: Recompile, Effect: Removes, Follows: true,
		Pattern: "a function of PyTorch's modules or of the standard library is compiled by itself, as a graph break in what calls " +
			"it left it",
		When: func(f *Finding) bool { return f.LibraryFrame && (f.Name == "" || f.CutBy != "") },
		Text: func(f *Finding) string {
			text := f.Function + " is not the program's own and is compiled by itself, " +
				"because what calls it runs eagerly after a graph break: "
			if f.Guard == breaks.SizeChanged {
				return text + removeFirst
			}
			return text + "what removes that break removes this"
		},
	},
	{
		ID: "after-break-width", Kind: Recompile, Effect: Accept,
		Pattern: "a size that crosses a graph break changes, and a line after the break needs it as a number",
		When: func(f *Finding) bool {
			return f.CutBy != "" && f.Guard == breaks.SizeChanged && f.NeededAt != "" && !f.CalledWithin
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s needs this size as a number, so there is an entry for each size, with the graph break at %s and without it: "+
					"accept them, or pad to a few sizes",
				f.NeededAt, f.CutBy,
			)
		},
	},
	{
		ID: "after-break-one", Kind: Recompile, Effect: Accept,
		Pattern: "a size of an argument is 0 or 1 in some calls, which the function asks for after a graph break alone",
		When: func(f *Finding) bool {
			return f.CutBy != "" && f.OfArgument != "" && (ownEntry(f.Expected) || ownEntry(f.Actual))
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"size %d of %s changes (%s -> %s): 0 and 1 have an entry of their own, "+
					"with the graph break at %s and without it; pad to 2 or more, or accept it",
				f.Dim, f.OfArgument, f.Expected, f.Actual, f.CutBy,
			)
		},
	},
	{
		ID: "after-break-argument", Kind: Recompile, Effect: Removes, Follows: true,
		Pattern: "a size of an argument, or of what one holds, changes, which the function asks for after a graph break alone",
		When: func(f *Finding) bool {
			return f.CutBy != "" && f.OfArgument != ""
		},
		Text: func(f *Finding) string {
			text := fmt.Sprintf(
				"follows from the graph break at %s, across which %s is handed: remove that break; "+
					"what is left then is a size of an argument, for which call %s before every call",
				f.CutBy, f.OfArgument, listed(markings(f)),
			)
			if f.Partial {
				text += ", and the same for every other input that has this size"
			}
			return text
		},
	},
	{
		ID: "after-break-own", Kind: Recompile, Effect: Removes, Follows: true,
		Pattern: "an argument of the function changes, which the function asks for after a graph break alone",
		When: func(f *Finding) bool {
			return f.CutBy != "" && !f.Reachable && f.OwnArgument != ""
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s, %s, is asked for after the graph break at %s alone: remove that break first; "+
					"unless %s is then a part of its caller's graph, it is recompiled for %s without the break, too",
				f.OwnArgument, ofArguments(f.OwnArgument), f.CutBy, f.Function, f.OwnArgument,
			)
		},
	},
	{
		ID: "after-break", Kind: Recompile, Effect: Removes, Follows: true,
		Pattern: "a tensor or number that crosses a graph break changes, and what follows the break is recompiled",
		When: func(f *Finding) bool {
			return f.CutBy != "" && !f.Reachable
		},
		Text: func(f *Finding) string {
			if f.MayBeArgument != "" {
				return fmt.Sprintf(
					"follows from the graph break at %s, across which %s is handed: look at that break first; "+
						"where %s is an argument, its size is left then and has advice of its own",
					f.CutBy, f.MayBeArgument, f.MayBeArgument,
				)
			}
			return fmt.Sprintf(
				"follows from the graph break at %s: %s is handed across it to the rest of the function; what removes that break "+
					"removes this",
				f.CutBy, orElse(f.Name, "what changed"),
			) + unlessPassedIn(f)
		},
	},
	{
		ID: "called-within", Kind: Recompile, Effect: Removes, Follows: true,
		Pattern: "a function is called by a compiled one that runs eagerly there after a break",
		When:    func(f *Finding) bool { return f.Within && f.CutBy == "" && f.Name != "" },
		Text: func(f *Finding) string {
			return f.Function + " is compiled by itself, " +
				"because the compiled function that calls it runs eagerly there after a graph break: " + removeFirst
		},
	},
	{
		ID: "nested-function", Kind: Recompile, Effect: Removes, Follows: true,
		Pattern: "a lambda or a comprehension is compiled by itself, as the function around it runs eagerly there after a graph break",
		When: func(f *Finding) bool {
			return f.Nested && f.CutBy == "" && f.Name != "" && !has(f.Name, ".")
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s is compiled by itself, because the function around it runs eagerly there after a graph break: what removes that "+
					"break removes this",
				f.Function,
			)
		},
	},
	{
		ID: "set-by-break", Kind: Recompile, Effect: Removes, Follows: true,
		Pattern: "a value changes that the line of a graph break sets (start = time.time())",
		When:    func(f *Finding) bool { return f.SetBy != "" && !beginning(f) },
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s is set by the call that breaks the graph at %s: what removes that break removes this",
				f.named("what changed"), f.SetBy,
			) + unlessPassedIn(f)
		},
	},
	{
		ID: "learning-rate", Kind: Recompile, Effect: Removes,
		Pattern: "the learning rate changes",
		When:    func(f *Finding) bool { return strings.HasSuffix(f.Name, "['lr']") && has(f.Name, "param_groups") },
		Text:    say("the learning rate changes: make it a tensor, lr=torch.tensor(...), and write new values into it with fill_"),
	},
	{
		ID: "size-and-filled", Kind: Recompile, Effect: Removes,
		Pattern: "a size changed, and the compiled function fills a dict (a cache by size), to whose length each entry is bound",
		When: func(f *Finding) bool {
			return f.Guard == breaks.SizeChanged && f.Filled != "" && fills(f.FilledLine, f.Filled)
		},
		Text: func(f *Finding) string {
			text := fmt.Sprintf(
				"the compiled function puts elements into %s, and each entry holds for one length of it, "+
					"so that sizes which have an entry need another: make and keep what it holds outside of the compiled function, "+
					"and pass it in",
				f.Filled,
			)
			if markable(f) { // what it holds is not of one size
				text += fmt.Sprintf("; what is left then is that size %d of %s changes, for which call %s before every call",
					f.Dim, f.Name, listed(markings(f)))
			}
			return text
		},
	},
	{
		ID: "width", Kind: Recompile, Effect: Accept,
		Pattern: "a size changed, and a line of the program or of a module's weights needs it as a number",
		When: func(f *Finding) bool {
			return f.Guard == breaks.SizeChanged && f.Number == Constant || f.Guard == breaks.SizeSpecialised
		},
		Text: func(f *Finding) string {
			at := f.NumberPlace
			if at == "" {
				at = "the marked line"
			}
			return fmt.Sprintf(
				"%s needs size %d of %s as a number, so marking it dynamic fails: accept one entry per size, or pad to a few sizes",
				at, f.Dim, f.named("a tensor"),
			)
		},
	},
	{
		ID: "size-failed", Kind: Recompile, Effect: Removes,
		Pattern: "a size changed, and the compile that leaves it open failed",
		When:    func(f *Finding) bool { return f.Guard == breaks.SizeChanged && f.Failed && f.Name != "" },
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"size %d of %s changes (%s -> %s), and the compile that leaves it open failed: pass one size", f.Dim,
				f.Name, f.Expected, f.Actual,
			)
		},
	},
	{
		ID: "size-one", Kind: Recompile, Effect: Accept,
		Pattern: "a size is 0 or 1 in some calls",
		When: func(f *Finding) bool {
			return f.Guard == breaks.SizeChanged && (ownEntry(f.Expected) || ownEntry(f.Actual)) && f.Name != ""
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"size %d of %s changes (%s -> %s): 0 and 1 have an entry of their own in any case; pad to 2 or more, or accept it",
				f.Dim, f.Name, f.Expected, f.Actual,
			)
		},
	},
	{
		ID: "size-and-value", Kind: Recompile, Effect: Accept,
		Pattern: "a size of an argument changed, and with it a number that the entry has as a constant",
		When: func(f *Finding) bool {
			return f.Guard == breaks.SizeChanged && f.AlsoChanged != "" && f.Name != ""
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"size %d of %s changes (%s -> %s), and %s with it, which needs the new entry even where the size is marked: one "+
					"entry more is normal",
				f.Dim, f.Name, f.Expected, f.Actual, f.AlsoChanged,
			)
		},
	},
	{
		ID: "size-past-bound", Kind: Recompile, Effect: Accept,
		Pattern: "a size changed to the other side of a bound at which an operator works otherwise (a convolution, a batch of 16)",
		When:    func(f *Finding) bool { return f.Guard == breaks.SizeChanged && f.BoundAt != "" && f.Name != "" },
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"size %d of %s changes (%s -> %s), and %s makes cases of its own of the two, "+
					"which have an entry each even where the size is marked: one entry more is normal",
				f.Dim, f.Name, f.Expected, f.Actual, f.BoundAt,
			)
		},
	},
	{
		ID: "size-every-call", Kind: Recompile, Effect: Removes,
		Pattern: "a size of an argument changed, and an entry was made for another cause before, from tensors that may not be marked",
		When:    func(f *Finding) bool { return f.Recompiled && markable(f) },
		Text:    func(f *Finding) string { return markText(f, "before every call (other causes make entries, too)") },
	},
	{
		ID: "size", Kind: Recompile, Effect: Removes,
		Pattern: "a size of an argument changed, and the next compile left it open",
		When:    markable,
		Text:    func(f *Finding) string { return markText(f, "before the first call") },
	},
	{
		ID: "numpy-size", Kind: Recompile, Effect: Removes,
		Pattern: "a size of a NumPy array that is an argument changed",
		When:    func(f *Finding) bool { return f.Guard == breaks.SizeChanged && has(f.Name, "___from_numpy(") },
		Text: func(f *Finding) string {
			_, rest, _ := strings.Cut(f.Name, "___from_numpy(")
			array := strings.TrimSuffix(rest, ")")
			return fmt.Sprintf(
				"a size of the NumPy array %s changes: pass torch.from_numpy(%s) instead, and call torch._dynamo.maybe_mark_dynamic "+
					"on that, dimension %d, before the first call",
				array, array, f.Dim,
			)
		},
	},
	{
		ID: "size-now-open", Kind: Recompile, Effect: Accept,
		Pattern: "a size of a tensor that is no argument (a cache that grows), or may be none, changed, and the next compile left it open",
		When: func(f *Finding) bool {
			return f.Guard == breaks.SizeChanged && f.Number != Unknown && f.Name != ""
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"size %d of %s changes (%s -> %s), and from this compile on it is open: nothing to change", f.Dim,
				f.Name, f.Expected, f.Actual,
			)
		},
	},
	{
		ID: "size-static", Kind: Recompile, Effect: Accept,
		Pattern: "sizes change where dynamic=False was asked for",
		When: func(f *Finding) bool {
			return f.Guard == breaks.SizeChanged && f.Static && f.Name != "" && !ofParameter(f.Name)
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"size %d of %s changes (%s -> %s), and the compile after it leaves no size open, as with dynamic=False: one entry "+
					"per size; pad to a few sizes, or leave out dynamic=False",
				f.Dim, f.Name, f.Expected, f.Actual,
			)
		},
	},
	{
		ID: "size-of-parameter", Kind: Recompile, Effect: Accept,
		Pattern: "models of other sizes share a function",
		When:    func(f *Finding) bool { return f.Guard == breaks.SizeChanged && ofParameter(f.Name) },
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s is a parameter (size %d: %s -> %s), whose sizes are constants: an entry for each model is normal",
				f.Name, f.Dim, f.Expected, f.Actual,
			)
		},
	},
	{
		ID: "stride", Kind: Recompile, Effect: Removes,
		Pattern: "the layout of an argument changed",
		When: func(f *Finding) bool {
			return f.Guard == breaks.StrideChanged && f.Reachable && f.Direct && !deep(f.Name)
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf("the layout of %s changes: pass %s.contiguous()", f.Name, f.Name)
		},
	},
	{
		ID: "stride-now-open", Kind: Recompile, Effect: Accept,
		Pattern: "the layout of a tensor that is no argument (a cache) changed, and the next compile left the stride open",
		When: func(f *Finding) bool {
			return f.Guard == breaks.StrideChanged && f.StrideOpen && f.Name != ""
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"stride %d of %s changes (%s -> %s), and from this compile on it is open: nothing to change", f.Dim,
				f.Name, f.Expected, f.Actual,
			)
		},
	},
	{
		ID: "stride-relation", Kind: Recompile, Effect: Removes,
		Pattern: "a stride of an argument has another value than an entry holds for",
		When: func(f *Finding) bool {
			tensor, ok := StrideOf(f.Name)
			return f.Guard == breaks.ShapeRelation && ok && f.Reachable && f.Direct && !deep(tensor)
		},
		Text: func(f *Finding) string {
			tensor, _ := StrideOf(f.Name)
			return fmt.Sprintf("the layout of %s changes, and an entry holds for some of its strides: pass %s.contiguous()", tensor, tensor)
		},
	},
	{
		ID: "dtype", Kind: Recompile, Effect: Removes,
		Pattern: "the dtype of an argument changed",
		When: func(f *Finding) bool {
			return f.Guard == breaks.DtypeChanged && f.Reachable && f.Direct && !deep(f.Name)
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf("%s comes as %s and as %s: convert it before the call", f.Name, f.Expected, f.Actual)
		},
	},
	{
		ID: "rank", Kind: Recompile, Effect: Accept,
		Pattern: "the number of dimensions of an argument changed",
		When:    func(f *Finding) bool { return f.Guard == breaks.RankChanged && f.Reachable },
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s has %s dimensions in one call and %s in another: an entry for each is normal; where one is meant, reshape it "+
					"before the call",
				f.named("an argument"), f.Expected, f.Actual,
			)
		},
	},
	{
		ID: "device", Kind: Recompile, Effect: Accept,
		Pattern: "an argument comes on several devices",
		When: func(f *Finding) bool {
			return f.Reachable && (f.Guard == breaks.DeviceChanged ||
				f.Guard == breaks.DispatchKeysChanged && deviceKey(f.Expected) != deviceKey(f.Actual))
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s comes on several devices: an entry for each is normal; where one is meant, move it before the call",
				f.named("an argument"),
			)
		},
	},
	{
		ID: "dispatch-keys", Kind: Recompile, Effect: Removes,
		Pattern: "an argument is made in torch.inference_mode, or a call is, in some cases",
		When: func(f *Finding) bool {
			return f.Guard == breaks.DispatchKeysChanged && f.Reachable && has(f.Expected, "Autograd") != has(f.Actual, "Autograd")
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s was made in torch.inference_mode, or the call was, in one case and not in another: use torch.no_grad in its place",
				f.Name,
			)
		},
	},
	{
		ID: "requires-grad-differs", Kind: Recompile, Effect: Accept,
		Pattern: "an argument comes with and without requires_grad",
		When:    func(f *Finding) bool { return f.Guard == breaks.RequiresGradChanged && f.Reachable },
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"%s comes with and without requires_grad: a graph that computes gradients is another one, so two entries are normal",
				f.named("an argument"),
			)
		},
	},
	{
		ID: "global-state", Kind: Recompile, Effect: Accept,
		Pattern: "gradient mode, autocast or another setting of torch differs between calls",
		When:    func(f *Finding) bool { return f.Guard == breaks.GlobalStateChanged },
		Text: func(f *Finding) string {
			differ := "differs"
			if strings.Contains(f.Name, ", ") {
				differ = "differ"
			}
			return fmt.Sprintf(
				"%s %s between calls: one entry for each setting is normal; where one is meant, set it once before the first call",
				f.named("a setting of torch"), differ,
			)
		},
	},
	{
		ID: "aliasing", Kind: Recompile, Effect: Accept,
		Pattern: "two arguments, or what they hold, are one object in some calls",
		When:    func(f *Finding) bool { return f.Guard == breaks.AliasingChanged && f.Name != "" },
		Text: func(f *Finding) string {
			return fmt.Sprintf("%s are the same object in one call and different ones in another: two entries are normal", f.Name)
		},
	},
	{
		ID: "marking", Kind: Recompile, Effect: Removes,
		Pattern: "a call marks another dimension dynamic than the entry's did",
		When:    func(f *Finding) bool { return f.Guard == breaks.MarkingChanged },
		Text: func(f *Finding) string {
			if f.Actual == "" {
				return "the call marks dimensions dynamic and the entry's call did not, or the other way round: mark the same ones " +
					"before every call"
			}
			return fmt.Sprintf(
				"%s marks the dimensions %s now and %s when the entry was made: mark the same ones before every call",
				f.named("a call"), f.Actual, f.Expected,
			)
		},
	},
	{
		ID: "branch-on-size", Kind: Recompile, Effect: Accept,
		Pattern: "a line branches on a size, or compares the sizes of two tensors",
		When: func(f *Finding) bool {
			return f.Guard == breaks.ShapeRelation && opens(f.Line, "if", "elif", "while", "assert") && mayAskSize(f.Line)
		},
		Text: say("the marked line branches on a size: an entry for each side is normal"),
	},
	{
		ID: "equal-sizes", Kind: Recompile, Effect: Accept,
		Pattern: "two sizes were equal in the call that the entry was made in",
		When: func(f *Finding) bool {
			left, right, ok := strings.Cut(f.Name, " == ")
			return f.Guard == breaks.ShapeRelation && ok && has(left, ".size()") && has(right, ".size()")
		},
		Text: func(f *Finding) string {
			left, right, _ := strings.Cut(f.Name, " == ")
			return fmt.Sprintf(
				"%s and %s were equal when the entry was made and are not now: an entry for each case is normal", left,
				right,
			)
		},
	},
	{
		ID: "size-special-case", Kind: Recompile, Effect: Accept,
		Pattern: "an expression of sizes is 0 or 1 in the call that the entry was made in",
		When: func(f *Finding) bool {
			return f.Guard == breaks.ShapeRelation && (f.Expected == "1" || f.Expected == "0")
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf("the entry was made in a call where %s is %s, a special case: one entry more is normal", f.Name, f.Expected)
		},
	},
	{
		ID: "size-bound", Kind: Recompile, Effect: Accept,
		Pattern: "an operator works otherwise above a size than below it (a convolution, from a batch of 16 on)",
		When: func(f *Finding) bool {
			return f.Guard == breaks.ShapeRelation && (sizeBound(f.Name) || bounded(f.Name, f.Expected))
		},
		Text: func(f *Finding) string {
			if bounded(f.Name, f.Expected) { // each convolution may have another one
				return fmt.Sprintf(
					"the entry holds for %s %s alone, of which the marked line makes a case of its own: "+
						"an entry on each side of such a bound is normal",
					f.Name, f.Expected,
				)
			}
			return fmt.Sprintf(
				"the entry holds for %s alone, of which the marked line makes a case of its own: one entry more is normal",
				f.Name,
			)
		},
	},
	{
		ID: "size-special", Kind: Recompile, Effect: Accept,
		Pattern: "the entry holds for sizes of 2 and more, or for one special size",
		When: func(f *Finding) bool {
			return f.Guard == breaks.ShapeRelation && (strings.HasPrefix(f.Name, "2 <= ") && strings.Count(f.Name, "<") == 1)
		},
		Text: say("a size of 0 or 1 has an entry of its own: accept one entry more, or pass at least 2"),
	},
}

// removeFirst is what becomes of a recompile in a part of a function, for a property of a tensor,
// with the break that made it a part.
const removeFirst = "remove that break first; where the caller's own arguments change like this, the caller is recompiled instead"

// ofArguments says what a name of an argument, or of what one holds, is.
func ofArguments(name string) string {
	if has(name, "[") {
		return "which an argument holds"
	}
	return "an argument"
}

// mayAskSize says whether a condition may be one on a size: it compares, or names what has
// one; the guards of sizes of 2 and more name any line, "if t.is_floating_point():".
func mayAskSize(line string) bool {
	return !has(line, "(") || has(line, "<", ">", "==", "!=", "%", ".shape", ".size(", ".numel(", "len(")
}

// markable says whether the caller can mark all sizes that changed.
func markable(f *Finding) bool {
	return f.Guard == breaks.SizeChanged && f.Reachable && f.Direct && !f.Relaid && !f.Hidden &&
		len(f.Changed) > 0 && !slices.ContainsFunc(f.Changed, deep)
}

// markText says to mark the sizes that changed, and when.
func markText(f *Finding, when string) string {
	all := markings(f)
	if f.Partial {
		when += ", and the same for every other input that has this size"
	} else if f.Uneven {
		when += ", all of them that are tensors in that call: leaving one out makes the others constants"
	} else if len(all) > 1 {
		when += ", all of them: leaving one out makes the others constants"
	}
	return fmt.Sprintf("size %d of %s changes (%s -> %s): call %s %s", f.Dim, f.Name, f.Expected, f.Actual, listed(all), when)
}

// beginning says whether what an entry holds for is what a value is before anything is computed
// (best = inf, best = None), and not what the line of a break gave it.
func beginning(f *Finding) bool {
	return infinite(f.Expected) || f.Guard == breaks.NoneChanged || f.Expected == "NoneType" || f.Expected == "None"
}

// sizeBound says whether a relation is that of one size to a number above 2, "16 <= x.size()[0]"
// or "2 <= x.size()[0] <= 15".
func sizeBound(relation string) bool {
	parts := strings.Split(relation, " <= ")
	size, bounded := "", false
	for _, p := range parts {
		if n, err := strconv.Atoi(p); err == nil {
			bounded = bounded || n > 2
		} else if _, _, ok := strings.Cut(p, ".size()["); ok && size == "" && !strings.ContainsAny(p, " *+/") {
			size = p
		} else {
			return false
		}
	}
	return len(parts) > 1 && size != "" && bounded
}

// bounded says whether an expression of sizes has a bound above 2, "3*x.size()[2]*x.size()[3]"
// of "<= 20480": the number of elements from which on an operator works otherwise.
func bounded(expr, bound string) bool {
	op, number, _ := strings.Cut(bound, " ")
	n, err := strconv.Atoi(number)
	return has(expr, ".size()[") && slices.Contains([]string{"<", "<=", ">", ">="}, op) && err == nil && n > 2
}

// StrideOf is the tensor of which an expression is a stride, "x" of "x.stride()[0]"; that of
// a view's base is no argument's.
func StrideOf(name string) (tensor string, ok bool) {
	tensor, rest, ok := strings.Cut(name, ".stride()[")
	return tensor, ok && strings.Trim(rest, "0123456789") == "]" && !strings.ContainsAny(tensor, " .(")
}

// deep says whether an expression is what something holds that another object holds, such
// as cache[0][0]: such tensors are seldom made by the caller.
func deep(name string) bool {
	name, _, _ = strings.Cut(name, ", ")
	return strings.Count(name, "[")+strings.Count(name, ".") > 1 || strings.Contains(name, "(")
}

// ownEntry says whether a size is one that no open size includes.
func ownEntry(size string) bool { return size == "0" || size == "1" }

// listed joins words by commas and "and".
func listed(all []string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " and " + all[last]
}

// deviceKey is the device of a set of dispatch keys, "DispatchKeySet(CPU, BackendSelect)".
func deviceKey(set string) string {
	_, rest, _ := strings.Cut(set, "(")
	keys := strings.Split(strings.TrimSuffix(rest, ")"), ", ")
	for _, k := range keys {
		if slices.Contains([]string{"CPU", "CUDA", "Meta", "XPU", "MPS", "HPU", "XLA"}, k) {
			return k
		}
	}
	return ""
}

// marking is the call that marks a size, given as "x, 0"; what the program gives no name,
// as "argument 1, 0", is described and not written as code.
func marking(size string) string {
	const call = "torch._dynamo.maybe_mark_dynamic"
	if what, dim, ok := strings.Cut(size, ", "); ok && strings.HasPrefix(what, "argument ") {
		return call + " on " + what + ", dimension " + dim + ","
	}
	return call + "(" + size + ")"
}

// markings are the calls that mark all sizes which changed.
func markings(f *Finding) []string {
	var all []string
	for _, c := range f.Changed {
		all = append(all, marking(c))
	}
	return all
}

// ofParameter reports whether a tensor is a parameter of a module, as guards name it.
func ofParameter(name string) bool { return has(name, "._parameters[") }

// unlessPassedIn says of a number that crosses a graph break, or of what its line gives, what is
// left where the break is removed by making that outside: an argument that is a number, or a tensor
// with sizes. What the line held before it broke may be an object that the function has anyway.
func unlessPassedIn(f *Finding) string {
	switch {
	case f.Given && f.Guard == breaks.SizeChanged:
		return ", unless the tensor is then an argument, for whose sizes the function is recompiled, too"
	case f.Operand && f.Guard == breaks.LengthChanged:
		return ", unless what has that length is an object that the function has anyway: it is recompiled for it without the break, too"
	}
	if _, err := strconv.ParseFloat(f.Expected, 64); err != nil || !slices.Contains(valueKinds, f.Guard) {
		return ""
	}
	if has(f.Name, ".") {
		return ", unless the function then reads the number itself, for which it is recompiled, too"
	}
	return ", unless the number is then an argument, for which the function is recompiled, too"
}
