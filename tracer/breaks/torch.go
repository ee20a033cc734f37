package breaks

// torchAdvice is what a PyTorch program is to change, for causes whose hints
// are worded for Go programs or name what only PyTorch has.
var torchAdvice = map[string]string{
	DataDependentBranching: "Compute both sides and choose with torch.where; where both are expensive, use torch.cond.",
	DataDependentOperator:  "Stay with tensors: use the operator's tensor form and consume it with torch.where or masked arithmetic.",
	DynamicShapeOperator:   "Use a mask with torch.where instead of selecting elements, or set torch._dynamo.config.capture_dynamic_output_shape_ops = True.",
	GraphBreakCall:         "Remove the call of graph_break() if one graph is wanted.",
	TensorBackward:         "Compile the function that returns the loss and call backward() outside of it; PyTorch 2.15 traces it with torch._dynamo.config.trace_autograd_ops = True.",
	TensorItem:             "Keep the value as a 0-dimensional tensor, or set torch._dynamo.config.capture_scalar_outputs = True.",
	MutateTensorData:       "Use copy_ or another in-place operator on the tensor itself instead of its .data.",
	SkippedFunction:        "Call it before the compiled function and pass its result in; if it works on tensors alone, make it a torch.library.custom_op.",
	SkippedInline:          "Call it outside of the compiled function, or (PyTorch 2.9 on) let it be traced with torch._dynamo.dont_skip_tracing.",
	NoSource:               "Register the function with torch.library.custom_op.",
	LoggerCall:             "Log outside of the compiled function, or add the method to torch._dynamo.config.ignore_logger_methods.",
	Disabled:               "Remove torch.compiler.disable from the callee, or leave the call outside of the compiled function.",
	DisabledInline:         "Remove torch.compiler.disable from the callee, or call it outside of the compiled function.",
	ObservedPanic:          "Run it without torch.compile: where it raises there too, the program is at fault; where it does not, move this line out of the compiled function.",
	RecompileLimit:         "Find the guard that fails with each call among the recompiles; mark changing sizes with torch._dynamo.mark_dynamic and keep changing numbers in tensors.",
	BackendFailed:          `Read the backend's error; torch.compile(..., backend="eager") tells whether capture alone works.`,
	"GB0015":               "A graph holds no sparse tensors: keep what works on them outside of the compiled function, or in a function under torch.compiler.disable, and compile the dense rest.",
	"GB0277":               "A graph holds no sparse tensors: keep what works on them outside of the compiled function, or in a function under torch.compiler.disable, and compile the dense rest.",
	"GB0149":               "It is called within a transform of torch.func (vmap, grad) that runs eager: what removes the break there removes this, or call the compiled function outside of the transform.",
	ParameterMade:          "Make modules and parameters outside of the compiled function and pass them in.",
	"GB0294":               "torch has no form of this NumPy function: call it outside of the compiled function, or make it a torch.library.custom_op.",
	"GB0037":               "Register a shape rule with torch.library.register_fake.",
}

// TorchAdvice is the advice on a code for a PyTorch program: a row of its own,
// else the first hint of the cause; "" where there is none.
func TorchAdvice(code string) string {
	if a, ok := torchAdvice[code]; ok {
		return a
	}
	if c, ok := Lookup(code); ok && len(c.Hints) > 0 {
		return c.Hints[0]
	}
	return ""
}
