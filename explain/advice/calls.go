package advice

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/tracer/breaks"
)

// This file is breaks at a call: what acts on the outside world, what is never traced, and
// operators that lack what tracing needs.

var calls = []Row{
	{
		ID: "wrapped-model", Kind: Break, Effect: Removes,
		Pattern: "torch.compile of what wraps a model (DistributedDataParallel) compiles nothing",
		When:    func(f *Finding) bool { return f.Wraps },
		Text:    say("compile the model and wrap the result, as in DDP(torch.compile(model))"),
	},
	{
		ID: "library-call", Kind: Break, Effect: Removes,
		Pattern: "a call of torch or of the standard library that breaks within it",
		When:    func(f *Finding) bool { return f.Inner != "" && f.Code != breaks.ParameterMade },
		Text:    say("Leave this call outside of the compiled function."),
	},
	{
		ID: "graph-break-call", Kind: Break, Effect: Removes,
		Pattern: "a call of torch._dynamo.graph_break()",
		When:    code(breaks.GraphBreakCall),
		Text:    say("Remove the call of graph_break() if one graph is wanted."),
	},
	{
		ID: "step-unsupported", Kind: Break, Effect: Removes,
		Pattern: "a call of torch._dynamo.step_unsupported()",
		When:    func(f *Finding) bool { return has(f.Line, "step_unsupported()") && hints(f, "step_unsupported()") },
		Text:    say("Remove the call of torch._dynamo.step_unsupported()."),
	},
	{
		ID: "skip-frame", Kind: Break, Effect: Removes,
		Pattern: "a call of torch._dynamo.skip_frame()",
		When:    func(f *Finding) bool { return has(f.Line, "skip_frame(") && hints(f, "skip_frame()") },
		Text:    say("Remove the call of torch._dynamo.skip_frame(): it leaves the whole function eager."),
	},
	{
		ID: "break-in-loop", Kind: Break, Effect: Removes,
		Pattern: "a graph break within a loop, which leaves the whole function eager",
		When:    code(breaks.BreakInLoop),
		Text:    say("Remove the break inside of the loop, or leave the loop outside of the compiled function."),
	},
	{
		ID: "backward", Kind: Break, Effect: Removes,
		Pattern: "backward() in a compiled function",
		When:    code(breaks.TensorBackward),
		Text:    say("Compile the function that returns the loss and call backward() outside of it."),
	},
	{
		ID: "print", Kind: Break, Effect: Removes,
		Pattern: "print in a compiled function",
		When:    func(f *Finding) bool { return f.Code == breaks.BuiltinPrint && f.Builtin == "print" },
		Text: func(f *Finding) string {
			if !printsPlainly(f.Line) {
				return "Print outside of the compiled function."
			}
			return "Print outside of the compiled function; or torch._dynamo.config.reorderable_logging_functions.add(print) before " +
				"the first call, which prints after the graph has run."
		},
	},
	{
		ID: "write-stream", Kind: Break, Effect: Removes,
		Pattern: "sys.stdout.write or sys.stderr.write in a compiled function",
		When: func(f *Finding) bool {
			return has(f.Line, "stdout.write(", "stderr.write(", "stdout.flush(", "stderr.flush(") && has(
				f.Context, "TextIOWrapper", "stdout", "stderr",
			)
		},
		Text: say("Write outside of the compiled function."),
	},
	{
		ID: "open", Kind: Break, Effect: Removes,
		Pattern: "open() in a compiled function",
		When: func(f *Finding) bool {
			return f.Code == breaks.BuiltinPrint && f.Builtin == "open" ||
				f.Code == breaks.UnsupportedContext &&
					has(f.Context+f.Explanation, "TextIOWrapper", "BufferedWriter", "BufferedReader") ||
				f.Code == breaks.SkippedFunction && f.Callee == "open" || f.Code == unsupportedMethod && has(
				f.Context, "TextIOWrapper", "BufferedWriter", "BufferedReader",
			)
		},
		Text: say("Read and write files outside of the compiled function."),
	},
	{
		ID: "logger", Kind: Break, Effect: Removes,
		Pattern: "a call of a logger",
		When:    func(f *Finding) bool { return f.Code == breaks.LoggerCall && loggerCall(f) != "" },
		Text: func(f *Finding) string {
			text := "Log outside of the compiled function"
			// releases have one of them, and their hints name it
			for _, set := range []string{"ignore_logging_functions", "ignore_logger_methods"} {
				if has(strings.Join(f.Hints, "\n"), set) {
					return text + "; where compiled calls need not log, torch._dynamo.config." + set + ".add(" + loggerCall(f) + ")."
				}
			}
			return text + "."
		},
	},
	{
		ID: "clock", Kind: Break, Effect: Removes,
		Pattern: "a clock is read",
		When: func(f *Finding) bool {
			return f.Code == breaks.TimeFunction || f.Code == breaks.SkippedFunction && slices.Contains(
				[]string{"time.time", "time.perf_counter", "time.monotonic", "time.process_time", "perf_counter"},
				f.Callee,
			)
		},
		Text: say("Measure outside of the compiled function."),
	},
	{
		ID: "scheduled-step", Kind: Break, Effect: Accept,
		Pattern: "step() of an optimizer with a learning-rate schedule",
		When: func(f *Finding) bool {
			return f.Code == breaks.SkippedFunction && has(f.Context, "optim/lr_scheduler.py")
		},
		Text: say("A learning-rate schedule wraps step() in a function that is never traced; the step inside of it is compiled as a " +
			"graph of its own: nothing to change."),
	},
	{
		ID: "packed", Kind: Break, Effect: Removes,
		Pattern: "packed sequences (pack_padded_sequence, and an RNN over them)",
		When: func(f *Finding) bool {
			return f.Code == breaks.SkippedFunction &&
				has(f.Callee+f.Line, "pack_padded_sequence", "pack_sequence", "pad_packed_sequence") || f.Packed && recurrent(f)
		},
		Text: say("Packed sequences are never compiled: leave pack_padded_sequence, the RNN and pad_packed_sequence outside of the " +
			"compiled function, all of them, and compile what comes before and after."),
	},
	{
		ID: "method-across-break", Kind: Break, Effect: Removes, Follows: true,
		Pattern: "a tensor's method whose arguments break the graph, as x.fill_(y.item()) does",
		When: func(f *Finding) bool {
			return f.Code == breaks.SkippedFunction && f.Resumed && has(f.Context, "module: <unknown module>, qualname: Tensor.")
		},
		Text: say("Follows from another graph break of this line: the method is looked up before its arguments are computed, and is " +
			"handed across that break. What removes that one removes this."),
	},
	{
		ID: "statement-call", Kind: Break, Effect: Removes,
		Pattern: "a call for its effect of a function that is never traced (time.sleep, warnings.warn, gc.collect)",
		When: func(f *Finding) bool {
			return f.Code == breaks.SkippedFunction && f.Callee != "" && strings.HasPrefix(strings.TrimSpace(f.Line), f.Callee+"(")
		},
		Text: func(f *Finding) string {
			return "Call " + f.Callee + " outside of the compiled function, before or after it."
		},
	},
	{
		ID: "call-without-arguments", Kind: Break, Effect: Removes,
		Pattern: "a call without arguments of a function that is never traced (os.getpid())",
		When: func(f *Finding) bool {
			return f.Code == breaks.SkippedFunction && f.Callee != "" && !has(f.Callee, "random") && strings.Contains(f.Line, f.Callee+"()")
		},
		Text: func(f *Finding) string {
			return "Call " + f.Callee + " before the compiled function and pass its result in."
		},
	},
	{
		ID: "skipped-call", Kind: Break, Effect: Removes,
		Pattern: "a call with arguments of a function that is never traced",
		When:    code(breaks.SkippedFunction),
		Text: func(f *Finding) string {
			return "Call " + orElse(f.Callee, "it") +
				" outside of the compiled function: before it where its arguments are known there, else after it, on what it returns."
		},
	},
	{
		ID: "disabled", Kind: Break, Effect: Removes,
		Pattern: "a call of a function under torch.compiler.disable",
		When:    func(f *Finding) bool { return f.Code == breaks.Disabled || f.Code == breaks.DisabledInline },
		Text: func(f *Finding) string {
			text := "Leave the call of " + orElse(f.Callee, "the callee") + " outside of the compiled function"
			if f.Reason != "" { // it has to stay
				return text + "."
			}
			return text + "; or remove torch.compiler.disable from " + orElse(f.Callee, "the callee") +
				", if what it was put there for is gone."
		},
	},
	{
		ID: "zero-grad", Kind: Break, Effect: Removes,
		Pattern: "zero_grad() of an optimizer",
		When: func(f *Finding) bool {
			return f.Code == breaks.SkippedInline && has(f.Context, "Optimizer.zero_grad")
		},
		Text: say("Call zero_grad() outside of the compiled function."),
	},
	{
		ID: "skipped-method", Kind: Break, Effect: Removes,
		Pattern: "a call of another function of PyTorch that is never traced (GradScaler.scale)",
		When: func(f *Finding) bool {
			return f.Code == breaks.SkippedInline && qualifiedName(f.Context) != ""
		},
		Text: func(f *Finding) string {
			return "Call " + qualifiedName(f.Context) + " outside of the compiled function."
		},
	},
	{
		ID: "numpy-function", Kind: Break, Effect: Removes,
		Pattern: "a NumPy function that torch has no form of",
		When:    code("GB0294"),
		Text:    say("torch has no form of this NumPy function: call it outside of the compiled function."),
	},
	{
		ID: "metadata-of-input", Kind: Break, Effect: Removes,
		Pattern: "an input's size is changed in place (resize_, transpose_)",
		When: func(f *Finding) bool {
			return has(strings.Join(f.Hints, "\n"), "in-place view call outside", "tensor metadata with in-place view ops")
		},
		Text: say("This changes the size or layout of an input in place: do that outside of the compiled function, or make a new " +
			"tensor instead."),
	},
	{
		ID: "requires-grad", Kind: Break, Effect: Removes,
		Pattern: "requires_grad_() in a compiled function",
		When:    code(breaks.TensorRequiresGrad),
		Text:    say("Call requires_grad_() before the compiled function, and pass the tensor in."),
	},
	{
		ID: "register-fake-lib", Kind: Break, Effect: Removes,
		Pattern: "an operator without a shape rule",
		When: func(f *Finding) bool {
			return (f.Code == "GB0090" || f.Code == "GB0037") && !ownOperator(f.Context)
		},
		Text: func(f *Finding) string {
			return "Register a shape rule for the operator with torch.library.register_fake(" + operatorName(f.Context) + ")."
		},
	},
	{
		ID: "context-manager", Kind: Break, Effect: Removes,
		Pattern: "a with statement on an object that tracing cannot enter (a lock)",
		When:    func(f *Finding) bool { return f.Code == breaks.UnsupportedContext && opens(f.Line, "with") },
		Text:    say("Enter it outside of the compiled function, around the call."),
	},
	{
		ID: "generator", Kind: Break, Effect: Removes,
		Pattern: "random numbers from a torch.Generator",
		When: func(f *Finding) bool {
			return has(f.Context, "torch._C.Generator") || strings.HasPrefix(f.Context, "torch.Generator.") ||
				f.Code == breaks.ArgumentNotProxy && has(f.Context, "Variable(Generator)")
		},
		Text: say("A graph holds no torch.Generator: draw such numbers outside of the compiled function and pass them in."),
	},
	{
		ID: "sparse", Kind: Break, Effect: Removes,
		Pattern: "sparse tensors",
		When:    func(f *Finding) bool { return f.Code == "GB0015" || f.Code == "GB0277" },
		Text: say("A graph holds no sparse tensors: keep what works on them outside of the compiled function, and compile the " +
			"dense rest."),
	},
	{
		ID: "parameter-made", Kind: Break, Effect: Removes,
		Pattern: "modules or parameters are made in a compiled function",
		When:    code(breaks.ParameterMade),
		Text:    say("Make modules and parameters outside of the compiled function."),
	},
	{
		ID: "rnn", Kind: Break, Effect: Removes,
		Pattern: "nn.LSTM, nn.GRU or nn.RNN",
		When: func(f *Finding) bool {
			return recurrent(f) && !f.Packed // a packed sequence breaks with the setting, too
		},
		Text: say("Set torch._dynamo.config.allow_rnn = True before the first call; an RNN that is given packed sequences belongs " +
			"outside of the compiled function."),
	},
	{
		ID: "checkpoint-side-effect", Kind: Break, Effect: Removes,
		Pattern: "a function given to checkpoint (or another higher-order operator) changes state outside of itself",
		When:    code("GB4413"),
		Text: func(f *Finding) string {
			what := "state"
			if _, rest, ok := strings.Cut(f.Context, "Attribute '"); ok {
				what, _, _ = strings.Cut(rest, "'")
			}
			return "The function that is passed here changes " + what +
				", and it may run more than once: change it in the caller, outside of that function."
		},
	},
	{
		ID: "format", Kind: Break, Effect: Removes,
		Pattern: "a string is formatted from a tensor's values",
		When: func(f *Finding) bool {
			return has(f.Raw, "formatting an f-string") || f.Code == "GB0569" ||
				f.Code == breaks.DataDependentOperator && has(f.Line, `" % `, "' % ", ".format(")
		},
		Text: say("Format the string outside of the compiled function: it needs the tensor's values."),
	},
	{
		ID: "comprehension", Kind: Break, Effect: Removes, Follows: true,
		Pattern: "a comprehension is compiled by itself, as the function around it runs eagerly there after a graph break",
		When:    func(f *Finding) bool { return OfComprehension(f.In) && has(f.Context, "name=__next__") },
		Text: say("The comprehension is compiled by itself, because the function around it runs eagerly there after a graph " +
			"break: what removes that break removes this."),
	},
	{
		ID: "comprehension-iterator", Kind: Break, Effect: Removes, Follows: true,
		Pattern: "what a comprehension runs over (enumerate, zip) is half used, as the comprehension itself breaks",
		When: func(f *Finding) bool {
			return f.Code == "GB8335" && has(f.Context, "IteratorVariable") && has(f.Expr, " for ") &&
				has(f.Expr, "enumerate(", "zip(", "map(")
		},
		Text: say("The line runs over an iterator (enumerate, zip), which no break in the midst of it can hand on: what removes the " +
			"break in the comprehension removes this."),
	},
	{
		ID: "untraceable", Kind: Break, Effect: Removes,
		Pattern: "a method, an operator or a function without a rule for tracing (of a queue, a Decimal, an array)",
		When: func(f *Finding) bool {
			return slices.Contains([]string{"GB0147", unsupportedMethod, "GB9493"}, f.Code) && f.Expr != ""
		},
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"Tracing has no rule for %s: do it outside of the compiled function, before it where what it needs is known there, "+
					"and else after it, on what it returns.",
				f.Expr,
			)
		},
	},
	{
		ID: "within-transform", Kind: Break, Effect: Removes,
		Pattern: "a compiled function is called within a transform of torch.func that runs eagerly",
		When:    code("GB0149"),
		Text: say("It is called within a transform of torch.func (vmap, grad) that runs eagerly: what removes the break there " +
			"removes this."),
	},
	{
		ID: "number-operator", Kind: Break, Effect: Removes,
		Pattern: "divmod or pow(a, b, c) of a size, or of a number that is an input, for which tracing raises and Python does not",
		When:    func(f *Finding) bool { return f.Code == breaks.ObservedPanic && tracingAlone(f.Context) != "" },
		Text: func(f *Finding) string {
			name, instead := tracingAlone(f.Context), "write n // k and n % k for divmod(n, k)."
			if name == "pow" {
				name, instead = "pow with three numbers", "write pow(a, b) % c for pow(a, b, c)."
			}
			if has(f.Context, "'float'") {
				instead = "do it outside of the compiled function."
			}
			return "Dynamo computes no " + name + " of a size, or of a number that is an input, and raises where Python does not: " +
				instead
		},
	},
	{
		ID: "raises", Kind: Break, Effect: Accept,
		Pattern: "an exception leaves the compiled function",
		When:    code(breaks.ObservedPanic),
		Text: say("Tracing met an exception that leaves the function, so the function runs eagerly: run it without " +
			"torch.compile; if it raises there too, the exception is the program's own."),
	},
}

// failures are compiles that ended in an error.
var failures = []Row{
	{
		ID: "format-spec", Kind: Failure, Effect: Removes,
		Pattern: "an f-string formats a number that is no constant while tracing, with a format spec (f\"{step:03d}\")",
		When: func(f *Finding) bool {
			return has(f.Explanation, "Unknown format code") && has(f.Explanation, "for object of type 'str'") && has(f.Line, `f"`, "f'")
		},
		Text: say("Dynamo fails on a number that an f-string formats with a format spec: make the string outside of the compiled " +
			"function."),
	},
	{
		ID: "register-fake", Kind: Failure, Effect: Removes,
		Pattern: "a custom operator without a shape rule",
		When:    func(f *Finding) bool { return has(f.Explanation, "no fake impl registered", "There was no fake impl") },
		Text: func(f *Finding) string {
			name := "the operator"
			if _, rest, ok := strings.Cut(f.Explanation, "<CustomOpDef("); ok {
				name, _, _ = strings.Cut(rest, ")")
			}
			return "Register a shape rule for " + name +
				" with its register_fake: a function of the same arguments that returns an empty tensor of the result's shape and dtype."
		},
	},
	{
		ID: "branch-failed", Kind: Failure, Effect: Removes,
		Pattern: "a branch on a number that has no value while tracing, with capture_scalar_outputs",
		When: func(f *Finding) bool {
			return has(f.Explanation, "Could not guard on data-dependent expression") && opens(f.Line, "if", "elif", "while", "assert")
		},
		Text: say("The line branches on a number that was read out of a tensor and has no value while tracing: compare the tensor " +
			"and choose with torch.where, or branch outside of the compiled function."),
	},
	{
		ID: "register-autograd", Kind: Failure, Effect: Removes,
		Pattern: "a custom operator without a derivative, where gradients are asked for",
		When:    func(f *Finding) bool { return has(f.Explanation, "no autograd formula was registered") },
		Text: func(f *Finding) string {
			name := "the operator"
			if _, rest, ok := strings.Cut(f.Explanation, "Trying to backward through "); ok {
				name, _, _ = strings.Cut(rest, " ")
			}
			return "Gradients are asked for through " + strings.TrimSuffix(name, ".default") +
				", which has no derivative: register one with its " +
				"register_autograd, or call it under torch.no_grad() where none is wanted."
		},
	},
	{
		ID: "double-backward", Kind: Failure, Effect: Removes,
		Pattern: "the gradient of a compiled function is differentiated again (create_graph=True)",
		When:    func(f *Finding) bool { return has(f.Explanation, "does not currently support double backward") },
		Text: say("A gradient of a compiled function is differentiated again here (it was taken with create_graph=True), " +
			"which its compiled backward does not support: where that gradient is taken, call the function without torch.compile; " +
			"or compile it with torch.compile(..., backend=\"eager\"), which leaves the backward pass to autograd."),
	},
	{
		ID: "small-buckets", Kind: Failure, Effect: Removes,
		Pattern: "bucket_cap_mb of DistributedDataParallel is below its first bucket, of 1 MB",
		When: func(f *Finding) bool {
			return has(f.Explanation, "First bucket should be smaller/equal to other buckets")
		},
		Text: say("DDP's first bucket is 1 MB, and torch.compile refuses smaller ones after it: " +
			"give DistributedDataParallel bucket_cap_mb=1 or more; " +
			"or set torch._dynamo.config.optimize_ddp = False before the first call, " +
			"which keeps the buckets but compiles without regard to them."),
	},
	{
		ID: "backend-failed", Kind: Failure, Effect: Removes,
		Pattern: "a backend other than Inductor raises an exception",
		When: func(f *Finding) bool {
			return f.Raw == "BackendCompilerFailed" && has(f.Explanation, "backend='") && !has(f.Explanation, "backend='inductor'")
		},
		Text: func(f *Finding) string {
			_, rest, _ := strings.Cut(f.Explanation, "backend='")
			name, _, _ := strings.Cut(rest, "'")
			return fmt.Sprintf(
				"The graph was captured, and the backend %s failed on it: read its error; torch.compile(..., backend=\"eager\") "+
					"runs the graph without it.",
				name,
			)
		},
	},
	{
		ID: "constraint", Kind: Failure, Effect: Removes,
		Pattern: "a size that was marked dynamic is made a constant by the code",
		When:    func(f *Finding) bool { return f.Marked != "" && f.MarkedDim != "" },
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"call torch._dynamo.maybe_mark_dynamic(%s, %s) instead of mark_dynamic, which allows a constant (Dim.AUTO in "+
					"torch.export); for one graph for all sizes, let this line hold for every size",
				f.Marked, f.MarkedDim,
			)
		},
	},
	{
		ID: "constraint-export", Kind: Failure, Effect: Removes,
		Pattern: "a named dimension of torch.export is made a constant by the code",
		When:    func(f *Finding) bool { return f.Marked != "" },
		Text: func(f *Finding) string {
			return fmt.Sprintf(
				"give Dim.AUTO instead of %s, which allows a constant; for one program for all sizes, let this line hold for every size",
				f.Marked,
			)
		},
	},
}

// printsPlainly says whether a line prints names and constants alone: a string that is
// formatted from a tensor's values cannot be put off until the graph has run.
func printsPlainly(line string) bool {
	args, ok := strings.CutPrefix(strings.TrimSpace(line), "print(")
	return ok && strings.HasSuffix(args, ")") && !has(args, `f"`, "f'", ".format(", " % ", ".item()", ".tolist()", "float(", "int(")
}

// recurrent says whether a break is that at an RNN.
func recurrent(f *Finding) bool {
	return has(f.Explanation+f.Raw, "RNN, GRU, LSTM", "RNN, GRU, or LSTM", "allow_rnn")
}

// unsupportedMethod is the code of a call of a method that Dynamo has no rule for.
const unsupportedMethod = "GB0156"

// code is a row's pattern that a code suffices for.
func code(want string) func(*Finding) bool {
	return func(f *Finding) bool { return f.Code == want }
}

// qualifiedName reads "GradScaler.scale" out of "qualname: GradScaler.scale, name: scale, ...".
func qualifiedName(context string) string {
	_, rest, ok := strings.Cut(context, "qualname: ")
	name, _, closed := strings.Cut(rest, ",")
	if !ok || !closed || strings.ContainsAny(name, " <>") {
		return ""
	}
	return name
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// hints says whether PyTorch's own hints have a text.
func hints(f *Finding, text string) bool { return strings.Contains(strings.Join(f.Hints, "\n"), text) }

// loggerCall is the method of a logger as the line spells it: log.info.
func loggerCall(f *Finding) string {
	_, rest, ok := strings.Cut(f.Context, ">.")
	method, _, _ := strings.Cut(rest, ",")
	at := strings.Index(f.Line, "."+method+"(")
	if !ok || method == "" || at < 0 {
		return ""
	}
	from := at
	for from > 0 && (f.Line[from-1] == '.' || f.Line[from-1] == '_' || f.Line[from-1] >= '0' && f.Line[from-1] <= '9' ||
		f.Line[from-1] >= 'A' && f.Line[from-1] <= 'Z' || f.Line[from-1] >= 'a' && f.Line[from-1] <= 'z') {
		from--
	}
	if from == at {
		return ""
	}
	return f.Line[from : at+1+len(method)]
}

// ownOperator says whether an operator is one of PyTorch's own, "unsupported operator:
// aten.histogram.bin_ct", for which no program can register a shape rule.
func ownOperator(context string) bool {
	_, name, _ := strings.Cut(context, "operator: ")
	name = strings.TrimSpace(name)
	return strings.HasPrefix(name, "aten.") || strings.HasPrefix(name, "prims.")
}

// operatorName reads "t2::raw" out of "unsupported operator: t2.raw.default".
func operatorName(context string) string {
	_, name, ok := strings.Cut(context, "operator: ")
	parts := strings.Split(strings.TrimSpace(firstWord(name)), ".")
	if !ok || len(parts) < 2 {
		return "..."
	}
	return `"` + parts[0] + "::" + parts[1] + `"`
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	return word
}

// OfComprehension says whether a code object is that of a comprehension, which no program
// compiles for itself.
func OfComprehension(name string) bool {
	return slices.Contains([]string{"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}, name)
}

// tracingAlone names what tracing refuses of Python's own numbers, which Python computes: divmod,
// and pow with three ints. "" where the exception may be the program's.
func tracingAlone(context string) string {
	for name, numbers := range map[string][]string{"divmod": {"int", "float", "bool"}, "pow": {"int", "bool"}} {
		spelled := name
		if name == "pow" {
			spelled = "** or pow"
		}
		_, types, ok := strings.Cut(context, "unsupported operand type(s) for "+spelled+"(): ")
		for i, part := range strings.Split(types, "'") { // every second one is a type
			ok = ok && (i%2 == 0 || slices.Contains(numbers, part))
		}
		if ok {
			return name
		}
	}
	return ""
}
