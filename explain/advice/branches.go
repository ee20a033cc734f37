package advice

import (
	"fmt"
	"strings"

	"tcdbg/tracer/breaks"
)

// This file is breaks where the program asks for a tensor's value: a branch, a number read
// out of it, a result whose shape the value decides.

var branches = []Row{
	{
		ID: "branch-unknown-number", Kind: Break, Effect: Removes,
		Pattern: "a branch on a number that has no value while tracing (read out of a tensor, or marked unbacked)",
		When: func(f *Finding) bool {
			return f.Code == breaks.DataDependentBranching && has(f.Context, "SymNodeVariable")
		},
		Text: say("The number has no value while tracing (read out of a tensor, or marked unbacked): compare the tensor that it was " +
			"read from and choose with torch.where, or branch outside of the compiled function."),
	},
	{
		ID: "loop-on-tensor", Kind: Break, Effect: Removes,
		Pattern: "a while loop whose condition is a tensor",
		When: func(f *Finding) bool {
			return f.Code == breaks.DataDependentBranching && opens(f.Line, "while")
		},
		Text: say("Leave the loop outside of the compiled function and compile its body."),
	},
	{
		ID: "branch-on-random", Kind: Break, Effect: Removes,
		Pattern: "a branch on a random number (of Python's random, or of torch.rand)",
		When: func(f *Finding) bool {
			return f.Code == breaks.DataDependentBranching && f.FromRandom
		},
		Text: say("Draw the random number outside of the compiled function, pass in the decision as a tensor and choose with " +
			"torch.where; where a side draws random numbers or changes an object, branch outside, too."),
	},
	{
		ID: "branch-on-numpy", Kind: Break, Effect: Removes,
		Pattern: "a branch on what is computed of a number of NumPy's, which is traced as a tensor",
		When: func(f *Finding) bool {
			return f.Code == breaks.DataDependentBranching && f.OfNumPy != ""
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"The condition is computed of %s, a number of NumPy's, which is traced as a tensor: "+
					"pass a number of Python's, int(%s) or float(%s), which makes an entry for each outcome.",
				f.OfNumPy, f.OfNumPy, f.OfNumPy,
			)
		},
	},
	{
		ID: "check-on-tensor", Kind: Break, Effect: Removes,
		Pattern: "an assertion on a tensor's value, or a check for nan or inf",
		When: func(f *Finding) bool {
			return f.Code == breaks.DataDependentBranching && (opens(f.Line, "assert") || has(f.Line, "isnan(", "isinf(", "isfinite("))
		},
		Text: say("Check the values outside of the compiled function, on what it returns; where the branch repairs them, choose " +
			"with torch.where."),
	},
	{
		ID: "check-on-number", Kind: Break, Effect: Removes,
		Pattern: "a check of a number for nan or inf (math.isnan(loss.item())), once the number is an input of the graph",
		When: func(f *Finding) bool {
			return f.Code == nonTensorResult && has(f.Context, "function isnan>", "function isinf>", "function isfinite>")
		},
		Text: say("Check the number outside of the compiled function: before it where it is an argument, after it, on what it " +
			"returns, where it is read out of a tensor."),
	},
	{
		ID: "branch-leaves-loop", Kind: Break, Effect: Removes,
		Pattern: "a loop is left, or a turn of it is cut short, by a tensor's value (if ...: break)",
		When: func(f *Finding) bool {
			return f.Code == breaks.DataDependentBranching && (leaves(f.Line, "break") || leaves(f.Line, "continue"))
		},
		Text: say("Run the loop to its end and choose by a mask: done = done | condition, x = torch.where(done, x, new); or leave " +
			"the loop outside of the compiled function and compile its body."),
	},
	{
		ID: "branch-raises", Kind: Break, Effect: Removes,
		Pattern: "an exception is raised by a tensor's value (if ...: raise)",
		When: func(f *Finding) bool {
			return f.Code == breaks.DataDependentBranching && leaves(f.Line, "raise")
		},
		Text: say("Check the values outside of the compiled function, and raise there."),
	},
	{
		ID: "branch-on-tensor", Kind: Break, Effect: Removes,
		Pattern: "a branch on a tensor's value",
		When: func(f *Finding) bool {
			return f.Code == breaks.DataDependentBranching
		},
		Text: func(f *Finding) string {
			if opens(f.Line, "if", "elif") && strings.HasSuffix(strings.TrimSpace(f.Line), ":") { // what it does is not in the line
				return bothSides
			}
			return "Compute both sides and choose with torch.where."
		},
	},
	{
		ID: "loop-over-values", Kind: Break, Effect: Removes,
		Pattern: "a for loop over a tensor's values, or as often as one says",
		When: func(f *Finding) bool {
			read := f.Code == breaks.TensorItem || f.Code == breaks.TensorToList ||
				f.Code == breaks.DataDependentOperator && has(f.Context, "_local_scalar_dense")
			return read && opens(f.Line, "for") && reading(f.Line) != ""
		},
		Text: func(f *Finding) string {
			const outside = "The loop runs over a tensor's values, or as often as one says: leave the loop outside of the compiled function"
			if !computesOn(f) {
				return outside + "."
			}
			return outside + " and compile its body, which is to take tensors (x[i]) rather than indices (x, i): " +
				"an index may get an entry for each value."
		},
	},
	{
		ID: "flag-of-sizes", Kind: Break, Effect: Removes,
		Pattern: "a comparison of sizes as a flag of an operator (is_causal=n > 1)",
		When: func(f *Finding) bool {
			return f.Code == "GB0112" && has(f.Context, "must be bool, not SymBool")
		},
		Text: func(f *Finding) string {
			_, rest, _ := strings.Cut(f.Context, "argument '")
			name, _, ok := strings.Cut(rest, "'")
			if !ok {
				name = "the flag"
			}
			return "A comparison of sizes is no bool while tracing: choose " + name +
				" by a condition, as True if n > 1 else False, which makes an entry for each outcome."
		},
	},
	{
		ID: "random-in-sizes", Kind: Break, Effect: Removes,
		Pattern: "a number of Python's random is combined with a size or another number",
		When: func(f *Finding) bool {
			return f.Code == "GB0213" && has(f.Line, "random.") && has(f.Context, "UnspecializedPythonVariable()")
		},
		Text: say("Draw the random numbers outside of the compiled function, and pass in what is made of them (an index, a mask) as " +
			"a tensor."),
	},
	{
		ID: "random-operand", Kind: Break, Effect: Removes,
		Pattern: "a number that Python's random drew lines before, or a scalar of NumPy, is combined with a size or another number",
		When: func(f *Finding) bool {
			return f.Code == "GB0213" && has(f.Context, "UnspecializedPythonVariable()")
		},
		Text: say("A number that Python's random drew in the compiled function, or a scalar of NumPy, is combined with another " +
			"here: draw it outside of the compiled function, and pass it in as an int or a float."),
	},
	{
		ID: "compares-all", Kind: Break, Effect: Removes,
		Pattern: "torch.allclose or torch.equal, which give True or False and no tensor",
		When: func(f *Finding) bool {
			return f.Code == breaks.DataDependentOperator && has(f.Context, "aten.allclose.", "aten.equal.")
		},
		Text: func(f *Finding) string {
			name, tensor := "torch.allclose", "torch.isclose(...).all()"
			if has(f.Context, "aten.equal.") {
				name, tensor = "torch.equal", "(a == b).all() of two tensors of one shape"
			}
			return name + " gives True or False, for which it needs the tensors' values: compare outside of the compiled function, " +
				"and do there what depends on it; where the answer only chooses a tensor, " + tensor +
				" is a tensor, by which torch.where chooses."
		},
	},
	{
		ID: "item-slice", Kind: Break, Effect: Removes,
		Pattern: "a tensor as the bound of a slice",
		When: func(f *Finding) bool {
			return f.Code == breaks.TensorItem && sliceBound(f)
		},
		Text: func(f *Finding) string {
			if from, to, _ := strings.Cut(f.Expr, ":"); strings.TrimSpace(from) != "" && strings.TrimSpace(to) != "" {
				return "A tensor as the bound of a slice is read out as a number: where the slice has one width, index with a " +
					"range, as x[start + torch.arange(width)] does; else take it outside of the compiled function."
			}
			return "A tensor as the bound of a slice is read out as a number: where the slice is summed, mask what is beyond it, as " +
				"torch.where(torch.arange(n) < length, x, 0) does; else take it outside of the compiled function."
		},
	},
	{
		ID: "item-size", Kind: Break, Effect: Removes,
		Pattern: "a number read out of a tensor as a size of a new one",
		When: func(f *Finding) bool {
			return f.Code == breaks.TensorItem && (makesSize(f.Line) || sizeLater(f))
		},
		Text: say("The number is a size, which no tensor can be: read it outside of the compiled function and pass it in; where it " +
			"is computed here, do what needs it outside, too."),
	},
	{
		ID: "item-branch", Kind: Break, Effect: Removes,
		Pattern: "a number read out of a tensor decides a branch in the same line",
		When: func(f *Finding) bool {
			return f.Code == breaks.TensorItem && readsInCondition(f.Line) && takesNumber(f) == "" || asksMath(f) != ""
		},
		Text: func(f *Finding) string {
			if name := asksMath(f); name != "" {
				return "math." + name + " reads the number out of the tensor: ask torch." + name + ", which gives a tensor. " + bothSides
			}
			return "The number decides a branch: leave out " + reading(f.Line) + ". " + bothSides
		},
	},
	{
		ID: "index-in-loop", Kind: Break, Effect: Removes,
		Pattern: "a tensor without dimensions as an index, in a loop that may break at other lines, too",
		When:    func(f *Finding) bool { return tensorIndex(f) && f.InLoop && breaksElsewhere(f) },
		Text: say("The index is a tensor without dimensions, which is read out as a number, and the loop around it may break at " +
			"other lines, too: leave the loop outside of the compiled function."),
	},
	{
		ID: "item-index", Kind: Break, Effect: Removes,
		Pattern: "a tensor without dimensions as an index",
		When:    tensorIndex,
		Text: say("The index is a tensor without dimensions, which is read out as a number: give it one dimension, as x[i[None]] " +
			"for x[i] or order[:1] for order[0], and squeeze the result."),
	},
	{
		ID: "item-int", Kind: Break, Effect: Removes,
		Pattern: "a tensor as the index of a list, or as the end of range()",
		When: func(f *Finding) bool {
			return f.Code == breaks.TensorItem && reading(f.Expr) == "" &&
				(strings.HasPrefix(f.Expr, "range(") || strings.HasSuffix(f.Expr, "]") && !strings.HasPrefix(f.Expr, "["))
		},
		Text: say("A tensor is read out as a number here, the index of a list or the end of range(): read it outside of the " +
			"compiled function and pass the number in, which makes an entry for each value."),
	},
	{
		ID: "item-print", Kind: Break, Effect: Removes,
		Pattern: "a number read out of a tensor to be printed or logged",
		When: func(f *Finding) bool {
			return f.Code == breaks.TensorItem && has(f.Line, "print(", ".info(", ".debug(", ".warning(", ".write(", "add_scalar(")
		},
		Text: say("Print or log it outside of the compiled function: return the tensor, and read the number there."),
	},
	{
		ID: "item-decides", Kind: Break, Effect: Removes,
		Pattern: "a number read out of a tensor is collected as an index, within a lambda (the key of min), or decides when a loop ends",
		When: func(f *Finding) bool {
			return f.Code == breaks.TensorItem && (indexKept(f.Line) || inLambda(f.Line) || f.InLoop && endsLoop(f))
		},
		Text: func(f *Finding) string {
			first := "The number decides how the code goes on"
			if indexKept(f.Line) { // what is done with the list may be known nowhere
				first = "The number is collected in a list"
			}
			return first + ": leave this, and the loop around it, outside of the compiled function."
		},
	},
	{
		ID: "item-running", Kind: Break, Effect: Removes,
		Pattern: "a number read out of a tensor goes into an attribute that the line reads (a running minimum, mean or sum)",
		When: func(f *Finding) bool {
			return f.Code == breaks.TensorItem && reading(f.Line) != "" && running(f.Line) != "" && takesNumber(f) == ""
		},
		Text: func(f *Finding) string {
			name := running(f.Line)
			return fmt.Sprintf(
				"Keep %s as a tensor, torch.tensor(...) where it is first set: then .detach() does for %s, and torch.minimum, "+
					"torch.maximum and torch.clamp for min and max here and wherever the compiled function reads it; read the "+
					"number outside.",
				name, reading(f.Line),
			)
		},
	},
	{
		ID: "item-kept", Kind: Break, Effect: Removes,
		Pattern: "a number read out of a tensor is kept in a list, a dict or an attribute, by this line or a later one",
		When: func(f *Finding) bool {
			return f.Code == breaks.TensorItem && reading(f.Line) != "" && (keeps(f.Line) || keptLater(f))
		},
		Text: say("The number is kept in an object: return the tensor from the compiled function, and read and keep the number " +
			"outside of it, with what is computed from the number. (The tensor itself is not to be kept there: a list that grows is " +
			"compiled for each of its lengths.)"),
	},
	{
		ID: "item-math", Kind: Break, Effect: Removes,
		Pattern: "a number read out of a tensor for a function of package math that torch has, too",
		When: func(f *Finding) bool {
			return f.Code == breaks.TensorItem && torchMath(takesNumber(f)) != "" && !opens(f.Line, "return")
		},
		Text: func(f *Finding) string {
			name := takesNumber(f)
			if readsInCondition(f.Line) {
				return name + " takes a number: ask " + torchMath(name) + ", which takes the tensor. " + bothSides
			}
			return fmt.Sprintf(
				"%s takes a number: compute it with %s, which takes the tensor and gives one, and read the number outside of the "+
					"compiled function; where a line branches on it, choose with torch.where (torch.clamp for min and max).",
				name, torchMath(name),
			)
		},
	},
	{
		ID: "item-taken", Kind: Break, Effect: Removes,
		Pattern: "a number read out of a tensor for what a tensor does not do for (round, divmod, str)",
		When:    func(f *Finding) bool { return f.Code == breaks.TensorItem && takesNumber(f) != "" },
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"The number goes into %s, for which a tensor does not do: read it outside of the compiled function, and do there "+
					"what needs it.",
				takesNumber(f),
			)
		},
	},
	{
		ID: "math-of-tensor", Kind: Break, Effect: Removes,
		Pattern: "a function of package math that is given a tensor, or an element of an array",
		When: func(f *Finding) bool {
			return f.Code == breaks.DataDependentOperator && has(f.Context, "_local_scalar_dense") && mathCalled(f) != "" &&
				asksMath(f) == ""
		},
		Text: func(f *Finding) string {
			text := mathCalled(f) + " reads the number out: do this outside of the compiled function, with what needs the number"
			if torchMath(mathCalled(f)) != "" {
				text += "; or, of a tensor, compute it with " + torchMath(mathCalled(f)) + ", which gives a tensor"
			}
			return text + "."
		},
	},
	{
		ID: "item", Kind: Break, Effect: Removes,
		Pattern: "a number read out of a tensor",
		When: func(f *Finding) bool {
			return f.Code == breaks.TensorItem && reading(f.Line) != "" && !opens(f.Line, "for", "while") && !has(f.Line, "range(")
		},
		Text: func(f *Finding) string {
			text := "Leave out " + reading(f.Line) +
				": keep the value as a 0-dimensional tensor here, and read the number outside of the compiled function"
			if !opens(f.Line, "return") {
				text += "; where a line branches on it, choose with torch.where (torch.clamp for min and max); where it is an " +
					"index, give it a dimension, as x[i[None]]; and where it is a size or the bound of a slice, compute it outside " +
					"and pass it in"
			}
			return text + "."
		},
	},
	{
		ID: "number-of-array", Kind: Break, Effect: Removes,
		Pattern: "a number read out of an array of NumPy",
		When: func(f *Finding) bool {
			return f.Code == breaks.DataDependentOperator && has(f.Context, "_local_scalar_dense") &&
				(readByCall(f.Expr) || has(f.Line, ".numpy(", "np.") && reading(f.Line) != "") && !has(f.Line, "random.")
		},
		Text: say("A number is read out of an array: do this outside of the compiled function, before it where the array is known " +
			"there, and after it, on what it returns, else."),
	},
	{
		ID: "tolist", Kind: Break, Effect: Removes,
		Pattern: "a tensor read out as a list",
		When: func(f *Finding) bool {
			return f.Code == breaks.TensorToList && has(f.Line, ".tolist(") && !opens(f.Line, "for", "while", "if") && !needsList(f)
		},
		Text: say("Leave out .tolist(): keep the tensor here, and read the list outside of the compiled function."),
	},
	{
		ID: "tolist-numbers", Kind: Break, Effect: Removes,
		Pattern: "a tensor is read out as a list over which the line runs, or whose numbers are sizes",
		When: func(f *Finding) bool {
			return (f.Code == breaks.TensorToList ||
				f.Code == breaks.DataDependentOperator && has(f.Context, "_local_scalar_dense")) &&
				has(orElse(f.Expr, f.Line), ".tolist(") && needsList(f)
		},
		Text: say("The numbers of the list are needed here: read it outside of the compiled function, and do what runs over it " +
			"there, too; or pass it in, which makes an entry for each list."),
	},
	{
		ID: "drawn-by-numpy", Kind: Break, Effect: Removes,
		Pattern: "a random number of NumPy",
		When: func(f *Finding) bool {
			return f.Code == breaks.DataDependentOperator && has(f.Line, "random.") ||
				f.Code == unsupportedMethod && has(f.Context, "Variable(Generator)", "Variable(RandomState)") && !has(
					f.Context, " manual_seed ", " seed ", " initial_seed ", " get_state ", " set_state ", " device ",
				)
		},
		Text: say("Draw the numbers outside of the compiled function and pass them in as a tensor."),
	},
	{
		ID: "bincount", Kind: Break, Effect: Removes,
		Pattern: "torch.bincount",
		When: func(f *Finding) bool {
			return f.Code == breaks.DynamicShapeOperator && has(f.Context, "bincount")
		},
		Text: say("Where the number of classes n is known, count with scatter_add: torch.zeros(n, dtype=torch.long).scatter_add(0, " +
			"index, torch.ones_like(index))."),
	},
	{
		ID: "mask-select", Kind: Break, Effect: Removes,
		Pattern: "elements selected by a mask (x[mask], nonzero, torch.where of one argument)",
		When: func(f *Finding) bool {
			return f.Code == breaks.DynamicShapeOperator && has(f.Context, "aten.nonzero", "aten.masked_select")
		},
		Text: say("How many elements are selected is unknown while tracing: work on all of them with a mask, as torch.where(mask, " +
			"x, 0).sum() does for a sum (a mean divides that by mask.sum(), their number, which stays a tensor), instead of " +
			"selecting some; where the selected elements are the result, or their number has to be an int, select them outside of " +
			"the compiled function."),
	},
	{
		ID: "unique", Kind: Break, Effect: Removes,
		Pattern: "another operator whose result's shape depends on the data (unique, repeat_interleave)",
		When: func(f *Finding) bool {
			return f.Code == breaks.DynamicShapeOperator && has(f.Context, "aten._unique2", "aten.repeat_interleave", "aten.unique")
		},
		Text: func(f *Finding) string {
			text := "How many elements the result has is unknown while tracing: call it outside of the compiled function"
			if !opens(f.Line, "for", "while", "if", "elif") && !has(
				f.Line, ".tolist(", "len(", ".shape", ".size(", ".numel(", "range(", "[", " in ",
			) {
				text += "; or, where no line of the program asks for such a size (one that branches or loops on it ends the program " +
					"then), set torch._dynamo.config.capture_dynamic_output_shape_ops = True"
			}
			return text + "."
		},
	},
	{
		ID: "dynamic-shape", Kind: Break, Effect: Removes,
		Pattern: "an operator of a library, or a custom one, whose result's shape depends on the data (nms)",
		When: func(f *Finding) bool {
			return f.Code == breaks.DynamicShapeOperator && has(f.Context, ".") && !strings.HasPrefix(f.Context, "aten.")
		},
		Text: func(f *Finding) string {
			_, name, _ := strings.Cut(f.Context, ".")
			name, _, _ = strings.Cut(name, ".")
			return "How many elements " + name + " gives is unknown while tracing: leave the call that leads there outside of the " +
				"compiled function."
		},
	},
}

// nonTensorResult is a call of an operator, or of a function of the math module, whose result
// is no tensor.
const nonTensorResult = "GB0208"

// bothSides is how a branch is written without one, and when it cannot be.
const bothSides = "Compute both sides and choose with torch.where. A branch that raises, leaves a loop, draws random numbers, " +
	"changes an object or gives another shape belongs outside of the compiled function."

// tensorIndex says whether a break is at a tensor without dimensions that is an index.
func tensorIndex(f *Finding) bool {
	return f.Code == breaks.DataDependentOperator && has(f.Context, "_local_scalar_dense") && has(orElse(f.Expr, f.Line), "[") &&
		reading(orElse(f.Expr, f.Line)) == "" && !has(orElse(f.Expr, f.Line), "math.") && !has(
		f.Line, "random.", `" % `, "' % ", ".format(",
	)
}

// running is the attribute that a line sets from itself and from what it reads,
// self.low = min(self.low, x.min().item()); "" where it does something else.
func running(line string) string {
	for _, op := range []string{" += ", " -= ", " = "} {
		target, value, ok := strings.Cut(strings.TrimSpace(line), op)
		if !ok {
			continue
		}
		object, name, dotted := strings.Cut(target, ".")
		if dotted && identifier(object) && identifier(name) && object != "ctx" && (op != " = " || wordAt(value, target) >= 0) {
			return target
		}
		return ""
	}
	return ""
}

// leaves says whether a line is "if condition: break", with the jump in it.
func leaves(line, jump string) bool {
	line = strings.TrimSpace(line)
	at := strings.LastIndex(line, ": "+jump)
	return opens(line, "if", "elif") && at > 0 && (at+len(jump)+2 == len(line) || strings.ContainsRune(" (;#", rune(line[at+len(jump)+2])))
}

// sliceBound says whether a line that reads a number out of a tensor does so for a slice.
func sliceBound(f *Finding) bool {
	if f.Expr != "" { // the slice, or its bounds alone
		depth, bound := 0, false
		for _, c := range f.Expr {
			switch c {
			case '[', '(', '{':
				depth++
			case ']', ')', '}':
				depth--
			case ':':
				bound = bound || depth == 0 || depth == 1 && strings.HasSuffix(f.Expr, "]")
			}
		}
		return bound && reading(f.Expr) == "" && !has(f.Expr, "{", "lambda")
	}
	code := f.Line
	if reading(code) != "" {
		return false
	}
	_, index, ok := strings.Cut(code, "[")
	return ok && strings.Contains(index, ":") && !strings.HasSuffix(strings.TrimSpace(code), ":")
}

// reading is how a line reads a number out of a tensor, "" where that is not seen.
func reading(line string) string {
	for _, how := range []string{".item()", ".tolist()"} {
		if strings.Contains(line, how) {
			return how
		}
	}
	for _, how := range []string{"float", "int", "bool"} {
		if at := strings.Index(line, how+"("); at == 0 || at > 0 && strings.IndexByte(" (=[,*/+-", line[at-1]) >= 0 {
			return how + "(...)"
		}
	}
	return ""
}

// readByCall says whether an expression is float(x), int(x) or bool(x): of a tensor these are
// another break, so that x is an array of NumPy.
func readByCall(expr string) bool {
	for _, how := range []string{"float(", "int(", "bool("} {
		if rest, ok := strings.CutPrefix(expr, how); ok && argumentsOf(rest)+")" == rest {
			return true
		}
	}
	return false
}

// readsInCondition says whether a line reads a number for its condition: "if x.item() > 0:",
// "a if x.item() > 0 else b"; not "x.item() if x is not None else 0", nor a comprehension,
// for which there is no torch.where.
func readsInCondition(line string) bool {
	if opens(line, "if", "elif", "assert") {
		cond, _, _ := strings.Cut(line, ": ")
		return reading(cond) != ""
	}
	before, rest, ok := strings.Cut(line, " if ")
	cond, _, chosen := strings.Cut(rest, " else ")
	return ok && chosen && reading(cond) != "" && reading(before) == ""
}

// keeps says whether a line puts something into an object that outlives it: an attribute, or
// what a list or a dict holds; the context of an autograd.Function lives for one call, and what
// it holds is returned by none.
func keeps(line string) bool {
	if has(line, ".append(", ".extend(", ".update(", ".add(", ".appendleft(", ".insert(", ".setdefault(") {
		return true
	}
	for _, op := range []string{" = ", " += ", " -= ", " *= "} {
		if target, _, ok := strings.Cut(line, op); ok && strings.ContainsAny(target, ".[") && !strings.ContainsAny(target, "( ") &&
			!strings.HasPrefix(strings.TrimSpace(target), "ctx.") {
			return true
		}
	}
	return false
}

// indexKept says whether what a line appends is an int read out of a name alone, to a list
// that is no attribute, picked.append(int(i)): an index that the function goes on with.
func indexKept(line string) bool {
	list, arg, ok := strings.Cut(strings.TrimSpace(line), ".append(")
	arg, whole := strings.CutSuffix(arg, ")")
	read, isInt := strings.CutPrefix(arg, "int(")
	if isInt {
		arg = strings.TrimSuffix(read, ")")
	} else {
		arg, isInt = strings.CutSuffix(arg, ".item()")
	}
	return ok && whole && isInt && !strings.ContainsAny(list, ".[") && !strings.ContainsAny(arg, ".([ ")
}

// inLambda says whether a line reads its number within a function of its own, as of
// min(names, key=lambda n: scores[n].item()), which asks for the number there and then; not
// for one that only keeps it, lambda x: seen.append(x.item()).
func inLambda(line string) bool {
	_, rest, ok := strings.Cut(line, "lambda ")
	return ok && reading(rest) != "" && !keeps(rest)
}

// needsList says whether a line runs over the list that it reads out of a tensor, or gives it
// to what takes sizes, or a later line runs over it.
func needsList(f *Finding) bool {
	before, _, _ := strings.Cut(f.Line, ".tolist(")
	if name, _, ok := strings.Cut(strings.TrimSpace(f.Line), " = "); ok && identifier(name) && f.At < len(f.Body) {
		for _, line := range f.Body[f.At+1:] {
			if _, over, loops := strings.Cut(line, " in "); loops && has(line, "for ") && wordAt(over, name) >= 0 {
				return true
			}
		}
	}
	return has(f.Line, " for ") || opens(f.Line, "for") || unpacks(f.Line) || has(
		before, "split(", "zip(", "enumerate(", "range(", "zeros(", "view(", "reshape(", "map(",
	)
}

// unpacks says whether a line gives what it computes to several names: h, r, t = row.tolist().
func unpacks(line string) bool {
	targets, _, ok := strings.Cut(strings.TrimSpace(line), " = ")
	return ok && strings.Contains(targets, ",") && !strings.ContainsAny(targets, "[(:")
}

// sizeLater says whether a later line of the function makes a size of the number that a line
// reads into a variable: n = int(mask.sum()), torch.zeros(n).
func sizeLater(f *Finding) bool {
	name, _, ok := strings.Cut(strings.TrimSpace(f.Line), " = ")
	if !ok || !identifier(name) || reading(f.Line) == "" || f.At >= len(f.Body) {
		return false
	}
	for _, line := range f.Body[f.At+1:] {
		for _, call := range sizeCalls {
			if _, rest, ok := strings.Cut(line, call); ok && wordAt(rest, name) >= 0 {
				return true
			}
		}
	}
	return false
}

// sizeCalls begin what takes sizes.
var sizeCalls = []string{
	"zeros(", "ones(", "empty(", "full(", "arange(", "randn(", "rand(", "expand(", "view(", "reshape(", "repeat(",
	"linspace(", "eye(", "topk(", "range(",
}

// makesSize says whether the number that a line reads is the size of something.
func makesSize(line string) bool {
	for _, f := range sizeCalls {
		if _, rest, ok := strings.Cut(line, f); ok && reading(argumentsOf(rest)) != "" {
			return true
		}
	}
	return false
}

// argumentsOf is what a text has before the bracket that closes a call's arguments.
func argumentsOf(rest string) string {
	depth := 1
	for i, c := range rest {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return rest[:i]
			}
		}
	}
	return rest
}

// asksMath names the question of package math that a condition asks of a tensor, isfinite, isnan
// or isinf, which torch has as well; "" where it asks none.
func asksMath(f *Finding) string {
	if f.Code != breaks.DataDependentOperator || !has(f.Context, "_local_scalar_dense") || !opens(f.Line, "if", "elif") {
		return ""
	}
	for _, name := range []string{"isfinite", "isnan", "isinf"} {
		if has(orElse(f.Expr, f.Line), "math."+name+"(") {
			return name
		}
	}
	return ""
}
