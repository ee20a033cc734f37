package breaks

// explained gives the causes that people meet their full text, and adds our
// own codes. Type is empty where the registry has it; an empty Fixability
// keeps the registry's class.
var explained = []Cause{
	{
		Code: ShapeAssertFailed, Short: "shape assertion that is false",
		Explanation: "An assertion compares sizes, and with the sizes of this call it cannot hold; running the code would fail at " +
			"the same place.",
	},
	{
		Code: TraceGenerator, Short: "generator function compiled directly",
		Explanation: "A generator produces its values lazily, in a frame that is suspended between them; the tracer cannot capture " +
			"such a frame as one function.",
	},
	{
		Code: SkippedFunction, Short: "call to a skipped function", Fixability: FixableByYou,
		Explanation: "The callee is native code or a part of the standard library that the tracer must not enter, so its effect " +
			"cannot become part of a graph.",
	},
	{
		Code: SkippedInline, Short: "call to a function marked as skipped", Fixability: FixableByYou,
		Explanation: "The callee belongs to a package or file that is listed as not to be traced, so it cannot be inlined into the graph.",
	},
	{
		Code: GraphBreakCall, Short: "explicit graph break", Fixability: Intended,
		Explanation: "The program itself asks for a graph break at this line.",
		Hints:       []string{"Remove the call of GraphBreak if one graph is wanted."},
	},
	{
		Code: DataDependentOperator, Short: "data-dependent operator", Fixability: FixableByYou,
		Explanation: "The operator's result is not a tensor but a value that only the data can tell; a graph is built before the " +
			"data is known.",
	},
	{
		Code: DataDependentAssert, Short: "data-dependent assertion",
		Explanation: "The assertion needs the tensor's value, and the frame cannot be resumed after it because of what surrounds it.",
	},
	{
		Code: DataDependentBool, Short: "data-dependent truth value", Fixability: FixableByYou,
		Explanation: "The truth value of this object is computed by user code that does not give a constant while tracing.",
	},
	{
		Code: DynamicShapeOperator, Short: "data-dependent output shape", Fixability: FixableByYou,
		Explanation: "How large the result is depends on the values of the input, so its shape is unknown while the graph is built.",
		Hints:       []string{"Use a mask and Where instead of selecting elements."},
	},
	{
		Code: "GB0037", Short: "data-dependent output shape, no fake kernel", Fixability: FixableByYou,
		Explanation: "The operator has no rule that tells the shape of its result without running it.",
	},
	{
		Code: DynamicSlice, Short: "slice bound is a tensor", Fixability: FixableByYou,
		Explanation: "The bounds of the slice are tensor values, hence the shape of the result is unknown while tracing.",
	},
	{
		Code: RecompileLimit, Short: "recompile limit reached", Fixability: FixableByYou,
		Explanation: "The frame was compiled as often as is allowed and another variant is needed; from here on calls that no cache " +
			"entry fits run eagerly.",
	},
	{
		Code: ExcessiveRestarts, Short: "tracing restarted too often", Fixability: FrameworkBug,
		Explanation: "Tracing of this frame was restarted more than a hundred times.",
	},
	{
		Code: ArgumentNotProxy, Short: "argument cannot be put in a graph", Fixability: FixableByYou,
		Explanation: "An argument of the operator is an object that a graph node cannot hold.",
	},
	{
		Code: MutateTensorData, Short: "write to a tensor's data", Fixability: FixableByYou,
		Explanation: "The storage of a tensor is replaced or written without an operator, which a graph cannot express.",
	},
	{
		Code: SetTensorAttribute, Short: "tensor attribute set", Fixability: FixableByYou,
		Explanation: "The program changes metadata of a tensor for which no replay exists.",
	},
	{
		Code: BuiltinPrint, Short: "print call", Fixability: FixableByYou,
		Explanation: "The built-in has a side effect, or works on types that the tracer does not support, so the graph must end before it.",
		Hints: []string{"Move printing out of the compiled function or behind a constant debug flag; a function that is among the " +
			"setting ReorderableLoggingFunctions (compiler.Configure) prints when the graph has run."},
	},
	{
		Code: FakeTensorFailure, Short: "fake tensor propagation failed", Fixability: FixableByYou,
		Explanation: "Running the operator on shapes and dtypes alone raised an error; eager execution most often fails as well.",
		Hints:       []string{"Check the shapes and dtypes at the marked line."},
	},
	{
		Code: InlinedBreak, Short: "break inside an inlined function", Fixability: FixableByYou,
		Explanation: "Something in a callee cannot be traced; the break is moved up to the call in the compiled function.",
	},
	{
		Code: BreakUnderContext, Short: "break while a context manager is active",
		Explanation: "A break happened inside a region whose context cannot be left and entered again.",
	},
	{
		Code: UnsafeSideEffect, Short: "side effect inside a higher-order region", Fixability: FixableByYou,
		Explanation: "A function given to a higher-order operator changes state outside of itself; the operator may run it any " +
			"number of times.",
	},
	{
		Code: InplaceOnInput, Short: "view of an input changed in place",
		Explanation: "An operator changes the metadata of an input tensor in place.",
	},
	{
		Code: MissingInstructionRule, Short: "unsupported instruction",
		Explanation: "The tracer has no rule for this instruction.",
	},
	{
		Code: NotAConstant, Short: "expected a constant", Fixability: FixableByYou,
		Explanation: "The place needs a value that is constant while tracing, and this one is not.",
	},
	{
		Code: ObservedPanic, Short: "exception leaves the function",
		Explanation: "Tracing ran into an exception that the compiled code does not catch; executing it eagerly raises the same.",
	},
	{
		Code: ReconstructionFailure, Short: "value cannot be rebuilt at the break",
		Explanation: "At the break every live value must exist for real, and this one exists only in the tracer.",
	},
	{
		Code: Disabled, Short: "call to a disabled function", Fixability: Intended,
		Explanation: "The callee is marked as disabled for compilation, so the graph ends before the call.",
		Hints:       []string{"Remove the marker, or call the function outside of the compiled region."},
	},
	{
		Code: DisabledInline, Short: "disabled function reached by inlining", Fixability: Intended,
		Explanation: "Tracing reached the inside of a function that is marked as disabled.",
	},
	{
		Code: TensorToList, Short: "tensor read out as a list", Fixability: FixableByYou,
		Explanation: "The tensor's numbers are read out as native values, which do not exist while tracing.",
	},
	{
		Code: TensorBackward, Short: "backward pass inside a compiled function", Fixability: FixableByYou,
		Explanation: "The backward pass fills the gradients of leaf tensors, which exist only when the graph before it has run; it " +
			"runs between two graphs, on the compiled backward of each.",
		Hints: []string{"Compile the function that returns the loss and call Backward outside of it; or accept this one break: what " +
			"comes before and after it compiles."},
	},
	{
		Code: TensorRequiresGrad, Short: "requires_grad changed inside a compiled function", Fixability: FixableByYou,
		Explanation: "Whether a tensor requires gradients decides what autograd records after it; a tensor of the graph is none " +
			"yet, so the change waits until the graph before it has run.",
		Hints: []string{"Call RequiresGrad_ before the compiled function, and pass the tensor in."},
	},
	{
		Code: TensorItem, Short: "tensor value read as a number", Fixability: FixableByYou,
		Explanation: "Item turns a tensor element into a native number, which does not exist while tracing.",
		Hints: []string{"Keep the value as a 0-dimensional tensor; with the setting CaptureScalarOutputs (compiler.Configure) the " +
			"graph holds a whole number."},
	},
	{
		Code: UnsupportedContext, Short: "unsupported context manager", Fixability: FixableByYou,
		Explanation: "The region is opened by a context manager that the tracer cannot enter, leave and enter again.",
	},
	{
		Code: UnsupportedCall, Short: "unsupported callable", Fixability: FixableByYou,
		Explanation: "The value that is called has no rule that says what calling it means.",
	},
	{
		Code: "GB0148", Short: "unsupported object called", Fixability: FixableByYou,
		Explanation: "An object without tracing rules was carried along, and now it is used.",
	},
	{
		Code: UnsupportedMethod, Short: "unsupported method", Fixability: FixableByYou,
		Explanation: "The tracer knows the object but has no rule for this method of it.",
	},
	{
		Code: WriteToImmutable, Short: "write to an immutable captured variable",
		Explanation: "A captured variable whose cell must not change is written to, so the write cannot be replayed.",
	},
	{
		Code: DataDependentBranching, Short: "branch on a tensor's value", Fixability: FixableByYou,
		Explanation: "Which way the branch goes depends on values that do not exist before the graph runs, so the graph ends here " +
			"and the branch is taken on the real values.",
		Hints: []string{
			"Compute both sides and choose with Where.",
			"If the condition is about configuration, make it a constant or an argument that is not a tensor.",
		},
	},
	{
		Code: NoSource, Short: "callee has no source", Fixability: FixableByYou,
		Explanation: "The callee is not implemented in the traced language (C, assembly, cgo), so there is nothing to trace.",
	},
	{
		Code: BackendFailed, Short: "the backend could not compile the graph", Fixability: FrameworkBug,
		Explanation: "The graph was captured, but its backend failed to compile it; the region runs eagerly.",
	},
	{
		Code: LoggerCall, Short: "logging call", Fixability: FixableByYou,
		Explanation: "Logging is a side effect, so it cannot be part of a graph.",
	},
	{
		Code: "GB0296", Short: "print cannot be moved after the graph", Fixability: FixableByYou,
		Explanation: "A logging function that may be reordered got an argument that is not a tensor, constant or formatted string.",
	},
	{
		Code: SkipFrameCall, Short: "explicit skip of the frame", Fixability: Intended,
		Explanation: "The program itself asks to run this frame without compilation.",
	},
	{
		Code: StepUnsupported, Short: "explicit end of compilation", Fixability: Intended,
		Explanation: "The program itself asks to stop compiling at this line; the rest of the frame runs eagerly.",
	},
	{
		Code: BreakInLoop, Short: "break inside a loop",
		Explanation: "A break within a loop has no single place to resume at, so the whole frame runs eagerly.",
	},
	{
		Code: "GB4315", Short: "operator failed while shapes were propagated",
		Explanation: "Running the operator on shapes alone raised an error; eager execution most probably fails as well.",
	},
	{
		Code: TimeFunction, Short: "clock read", Fixability: FixableByYou,
		Explanation: "The time of the call must not be baked into a graph.",
		Hints:       []string{"Measure outside of the compiled function."},
	},
	{
		Code: "GB8977", Short: "class defined inside the function",
		Explanation: "A class body runs as code of its own and produces a new type at every call.",
	},

	// Ours.
	{
		Code: GoroutineStarted, Type: "Goroutine started in a compiled region", Short: "goroutine started", Fixability: FixableByYou,
		Explanation: "A goroutine runs beside the graph, in no fixed order with its operators; the graph ends before the go statement.",
		Hints:       []string{"Start goroutines outside of the compiled function, and compile what they run."},
	},
	{
		Code: ChannelOperation, Type: "Channel operation in a compiled region", Short: "channel operation", Fixability: FixableByYou,
		Explanation: "Sending to, receiving from or closing a channel waits for other goroutines, which a graph cannot do.",
		Hints:       []string{"Receive before the compiled call and pass the value in."},
	},
	{
		Code: DeferRecover, Type: "defer or recover across the region", Short: "defer or recover across the region",
		Fixability: FixableByYou,
		Explanation: "A deferred call that has side effects, or a recover, must see the frame's real stack when it runs, so the " +
			"region around it cannot become one graph.",
		Hints: []string{
			"Move the defer into the caller, or the tensor work into a function of its own, and compile that; what a " +
				"defer without recover does can also stand before each return.",
		},
	},
	{
		Code: UnknownNativeCall, Type: "Call of native code without a rule", Short: "call to native code", Fixability: FixableByYou,
		Explanation: "The callee is compiled Go code outside of the traced packages (the standard library or another native " +
			"function); its effect cannot become graph nodes.",
		Hints: []string{
			"Call it before or after the compiled region.",
			"If it only looks at sizes and constants, pass its result in as an argument.",
		},
	},
	{
		Code: UnsupportedOperator, Type: "Operator without a graph form", Short: "operator that cannot be captured",
		Fixability: Supportable,
		Explanation: "The operator runs eagerly but has no rule that puts it into a graph: it gives a tensor another shape in place, " +
			"or writes what the graph cannot follow; the reason is named.",
	},
	{
		Code: OpaqueValue, Type: "Opaque value used in a compiled region", Short: "opaque value", Fixability: FixableByYou,
		Explanation: "The compiler does not know where the value was stored when the call began, or whose memory it is, so no guard " +
			"can check it and nothing that depends on it may be baked into a graph.",
		Hints: []string{"Do what the line does before the compiled call, and pass the result in."},
	},
	{
		Code: MapMutation, Type: "Map mutation that cannot be replayed", Short: "map mutation", Fixability: FixableByYou,
		Explanation: "The map is changed in a way that depends on values unknown while tracing, so the change cannot be replayed " +
			"after the graph.",
		Hints: []string{"Change the map outside of the compiled function, or under constant keys."},
	},
	{
		Code: MapIteration, Type: "Iteration over a map", Short: "range over a map", Fixability: FixableByYou,
		Explanation: "Go's order of map iteration is random, so a graph made from one order would not be the program's behaviour.",
		Hints: []string{
			"Keep the keys in a slice beside the map, in their order, and iterate over that; where their number " +
				"changes from call to call, loop outside of the compiled function, for each number would be a compile.",
		},
	},
	{
		Code: SelectStatement, Type: "select statement in a compiled region", Short: "select statement", Fixability: FixableByYou,
		Explanation: "select waits for other goroutines, and which case runs is not known while tracing.",
		Hints:       []string{"Wait outside of the compiled function."},
	},
	{
		Code: ReflectCall, Type: "Reflection on values of the region", Short: "reflection", Fixability: FixableByYou,
		Explanation: "Reflection reads and writes values without the tracer seeing it, so their use cannot be guarded.",
		Hints:       []string{"Use the concrete type."},
	},
	{
		Code: UnsafePointer, Type: "unsafe.Pointer in a compiled region", Short: "unsafe pointer", Fixability: Fundamental,
		Explanation: "Memory that is reached through unsafe.Pointer cannot be followed or guarded.",
	},
	{
		Code: DataIndex, Type: "Index that depends on data", Short: "data-dependent index", Fixability: FixableByYou,
		Explanation: "Which element is taken depends on a tensor's numbers.",
	},
	{
		Code: DataDependentLoop, Type: "Loop bound that depends on data", Short: "data-dependent loop bound", Fixability: FixableByYou,
		Explanation: "How often the loop runs depends on a tensor's numbers, so it cannot be unrolled into a graph.",
		Hints:       []string{"Bound the loop by a constant and mask the surplus, or leave the loop outside and compile its body."},
	},
	{
		Code: UserPanic, Type: "panic in a compiled region", Short: "panic", Fixability: FixableByYou,
		Explanation: "The path that was traced panics; the panic is left to native execution, so that it shows as it does without " +
			"compilation.",
		Hints: []string{"Look at the panic: the program itself fails here."},
	},
	{
		Code: TensorDataRead, Type: "Tensor data read by native code", Short: "tensor data read", Fixability: FixableByYou,
		Explanation: "The call hands the tensor's numbers to native code, and they exist only after the graph has run.",
		Hints:       []string{"Express the computation with tensor operators, or read the data after the compiled call."},
	},
	{
		Code: TensorDataWrite, Type: "Tensor data written by native code", Short: "tensor data written", Fixability: FixableByYou,
		Explanation: "Native code writes into the tensor's storage, which the graph cannot see.",
	},
	{
		Code: DynamicCall, Type: "Call of a function value that is not known", Short: "unknown function value", Fixability: FixableByYou,
		Explanation: "Which function is called depends on a value that the tracer cannot guard.",
	},
	{
		Code: GlobalWrite, Type: "Write to a variable shared between goroutines", Short: "shared variable written",
		Fixability: FixableByYou,
		Explanation: "The write must be seen by other goroutines at this very moment (sync, atomic), so it cannot wait until the " +
			"graph has run.",
		Hints: []string{"Update shared state outside of the compiled function."},
	},
	{
		Code: UnsupportedInstr, Type: "Instruction without a rule", Short: "unsupported instruction", Fixability: Supportable,
		Explanation: "The tracer has no rule for this Go construct yet; it is executed natively between two graphs.",
	},
	{
		Code: RecursiveCompile, Type: "Compile called inside a compiled region", Short: "Compile inside a compiled region",
		Fixability:  FixableByYou,
		Explanation: "A compiled function makes a new compiled function while it is traced.",
		Hints:       []string{"Call Compile once, outside."},
	},
	{
		Code: LockHeld, Type: "Lock taken in a compiled region", Short: "lock taken", Fixability: FixableByYou,
		Explanation: "A lock orders this code against other goroutines, which a graph cannot do.",
		Hints:       []string{"Take the lock outside of the compiled function."},
	},
	{
		Code: RangeOverFunc, Type: "Range over a function that cannot be inlined", Short: "iterator that cannot be inlined",
		Fixability:  Supportable,
		Explanation: "The iterator is native or suspends itself, so its body cannot become part of the graph.",
	},
	{
		Code: TensorIdentity, Type: "Identity of a tensor", Short: "identity of a tensor", Fixability: FixableByYou,
		Explanation: "The program compares or stores a tensor's address, and tensors inside of a graph have none.",
	},
	{
		Code: TraceTooLong, Type: "Trace too long", Short: "trace too long", Fixability: FixableByYou,
		Explanation: "The region has more instructions than one graph may hold; most often a loop with many rounds is unrolled.",
		Hints:       []string{"Compile the body of the loop instead of the loop."},
	},
	{
		Code: RandomState, Type: "Random number from native code", Short: "native random number", Fixability: FixableByYou,
		Explanation: "A random number of the standard library would be baked into the graph.",
		Hints: []string{"Draw it before the call and pass it in; where only tensors are computed with it, torch.Rand draws it in " +
			"the graph."},
	},
	{
		Code: SliceGrown, Type: "Append to a slice from outside", Short: "append to a slice from outside", Fixability: FixableByYou,
		Explanation: "The slice existed before the call and has room left, so append would write into memory that other slices may share.",
		Hints:       []string{"Return what is appended, and append it in the caller."},
	},
	{
		Code: BodyNotCaptured, Type: "Function that no graph can hold", Short: "function not captured", Fixability: FixableByYou,
		Explanation: "A call of compiler.Map, compiler.Scan or compiler.AssociativeScan becomes one node that holds its function as " +
			"a graph, or none: this function does what no graph can hold, so the whole call runs eagerly.",
		Hints: []string{
			"A graph holds the call where its function changes nothing outside of it and returns new tensors, those that are " +
				"carried on like what it got: the break says what is in the way.",
		},
	},
	{
		Code: MapKey, Type: "Map key that no guard compares", Short: "map key", Fixability: FixableByYou,
		Explanation: "A map is read under keys that are constants of the graph: strings, numbers and bools. The key here is of " +
			"another type.",
		Hints: []string{"Look the entry up before the call and pass it in, or key the map by a string or a number."},
	},
	{
		Code: AutogradFunction, Type: "autograd.Function with a derivative of its own", Short: "custom autograd.Function",
		Fixability: FixableByYou,
		Explanation: "Forward and Backward of a function with a derivative of its own are captured together, as two bodies of one " +
			"node. Something in one of them prevents that; the call runs eagerly between two graphs.",
		Hints: []string{
			"Backward is traced when Forward is: what it needs, hand over by SaveForBackward or in fields of the function, " +
				"passed by value.",
			"Backward may change nothing but what it makes itself: counting and printing belong outside of it.",
			"For inference call the compiled function under torch.NoGrad, or without parameters that require gradients.",
		},
	},
}

// formerTypes are type names that older releases printed for the same code.
var formerTypes = map[string]string{
	"cache limit exceeded":               RecompileLimit,
	"Dynamo cache limit exceeded":        RecompileLimit,
	"Attempted to call skipped function": SkippedFunction,
	"Data-dependent jump":                DataDependentBranching,
	"generic_jump":                       DataDependentBranching,
	"Tensor.item":                        TensorItem,
}
