package breaks

// Codes that PyTorch and our tracer share.
const (
	ShapeAssertFailed      = "GB0002"
	TraceGenerator         = "GB0003"
	SkippedFunction        = "GB0007"
	SkippedInline          = "GB0008"
	GraphBreakCall         = "GB0025"
	DataDependentOperator  = "GB0033"
	DataDependentAssert    = "GB0034"
	DataDependentBool      = "GB0035"
	DynamicShapeOperator   = "GB0036"
	DynamicSlice           = "GB0038"
	RecompileLimit         = "GB0039"
	ExcessiveRestarts      = "GB0052"
	ArgumentNotProxy       = "GB0055"
	MutateTensorData       = "GB0056"
	SetTensorAttribute     = "GB0058"
	BuiltinPrint           = "GB0059"
	FakeTensorFailure      = "GB0064"
	InlinedBreak           = "GB0065"
	BreakUnderContext      = "GB0066"
	UnsafeSideEffect       = "GB0067"
	InplaceOnInput         = "GB0072"
	MissingInstructionRule = "GB0082"
	NotAConstant           = "GB0086"
	ObservedPanic          = "GB0088"
	ReconstructionFailure  = "GB0092"
	Disabled               = "GB0098"
	DisabledInline         = "GB0099"
	TensorToList           = "GB0109"
	TensorBackward         = "GB0123"
	TensorItem             = "GB0124"
	TensorRequiresGrad     = "GB0125"
	UnsupportedContext     = "GB0142"
	UnsupportedCall        = "GB0147"
	UnsupportedMethod      = "GB0156"
	WriteToImmutable       = "GB0169"
	DataDependentBranching = "GB0170"
	NoSource               = "GB0177"
	BackendFailed          = "GB0219"
	ParameterMade          = "GB0264"
	LoggerCall             = "GB0291"
	SkipFrameCall          = "GB4297"
	StepUnsupported        = "GB4636"
	BreakInLoop            = "GB7000"
	TimeFunction           = "GB9193"
)

// Codes of causes that only a Go program has.
const (
	GoroutineStarted    = "GB9000"
	ChannelOperation    = "GB9001"
	DeferRecover        = "GB9002"
	UnknownNativeCall   = "GB9003"
	UnsupportedOperator = "GB9004"
	OpaqueValue         = "GB9005"
	MapMutation         = "GB9006"
	MapIteration        = "GB9007"
	SelectStatement     = "GB9008"
	ReflectCall         = "GB9009"
	UnsafePointer       = "GB9010"
	DataIndex           = "GB9011"
	DataDependentLoop   = "GB9012"
	UserPanic           = "GB9013"
	TensorDataRead      = "GB9014"
	TensorDataWrite     = "GB9015"
	DynamicCall         = "GB9016"
	GlobalWrite         = "GB9017"
	UnsupportedInstr    = "GB9018"
	RecursiveCompile    = "GB9019"
	LockHeld            = "GB9020"
	RangeOverFunc       = "GB9021"
	TensorIdentity      = "GB9022"
	TraceTooLong        = "GB9023"
	RandomState         = "GB9024"
	AutogradFunction    = "GB9025"
	SliceGrown          = "GB9026"
	MapKey              = "GB9027"
	BodyNotCaptured     = "GB9028"
)

// What the context of a break that reads a tensor's value ends with, where no tensor can
// take the place of the value: Where cannot choose a side of the branch that it decides, or
// what it is read for is a message of the program's end.
const (
	NotWhole   = " is not captured: " // after compiler.Cond and its kind, with what is in the way
	Aliased    = "from outside of it, or a view of one: return a clone"
	LoopGrad   = "which no graph takes through a loop" // a tensor that requires gradients
	SideEnds   = ", a side of which ends the program"
	SideLeaves = ", a side of which leaves the loop"
	SideMore   = ", the sides of which differ in more than tensors"
	SideWork   = ", the sides of which compute tensors alone, and not element by element" // compiler.Cond runs one
	LoopTruth  = ", which ends a loop that computes tensors alone"                        // compiler.WhileLoop holds it
	TruthKept  = ", which no branch asks for"
	NumberEnds = ", for a branch of which a side ends the program"
	NumberExit = ", for a branch of which a side leaves the loop"
	NumberMore = ", for a branch whose sides differ in more than tensors"
	NumberUsed = ", which is used where no tensor can be"
	Unguarded  = "Could not guard on data-dependent expression " // before a question about a number that a tensor holds
	WayEnds    = ", where the program ends or panics in any case"
)

// What the context of a break at Tensor.Backward says where the call was to be captured
// and could not be: how these contexts begin, and parts of them.
const (
	NotCaptured    = "call of Tensor.Backward, which is not captured: "
	HistoryLeaves  = "gradients may still be asked for through "
	GradientLeaves = ", which gradients reach, is no leaf"
	ChangesInPlace = " changes in place "
)
