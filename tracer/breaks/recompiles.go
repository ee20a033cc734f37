package breaks

// RecompileCause is one kind of guard failure.
type RecompileCause struct {
	Kind        string // size
	Short       string // a size changed
	Explanation string
	Advice      string // general advice; where the user's expression is known, better advice names it
}

// Kinds of guard failures, as reports name them.
const (
	SizeChanged         = "size"
	StrideChanged       = "stride"
	RankChanged         = "rank"
	DtypeChanged        = "dtype"
	DeviceChanged       = "device"
	RequiresGradChanged = "requires_grad"
	DispatchKeysChanged = "dispatch_keys"
	TypeChanged         = "type"
	ValueChanged        = "value"
	NoneChanged         = "none"
	LengthChanged       = "length"
	IdentityChanged     = "identity"
	DictKeyChanged      = "dict_key"
	TrainingChanged     = "training"
	ClosureChanged      = "closure"
	GlobalChanged       = "global"
	AliasingChanged     = "aliasing"
	GlobalStateChanged  = "global_state"
	MarkingChanged      = "marking"
	BackendChanged      = "backend"
	Raced               = "raced"
	ShapeRelation       = "shape_relation"
	SizeSpecialised     = "size_specialised"
	AttributeChanged    = "attribute"
	Deallocated         = "deallocated"
	OtherGuard          = "other"
)

// Recompile finds the cause by kind.
func Recompile(kind string) (RecompileCause, bool) {
	for _, c := range recompiles {
		if c.Kind == kind {
			return c, true
		}
	}
	return RecompileCause{}, false
}

// RecompileCauses lists all kinds.
func RecompileCauses() []RecompileCause { return append([]RecompileCause(nil), recompiles...) }

var recompiles = []RecompileCause{
	{SizeChanged, "a size changed", "The entry was compiled for another size of this dimension.", "Mark the dimension dynamic before the first call, or pad to a fixed size."},
	{StrideChanged, "a stride changed", "The tensor has the same kind but another layout in memory.", "Make it contiguous before the call."},
	{RankChanged, "the number of dimensions changed", "Each number of dimensions needs a graph of its own.", "Reshape to one rank before the call."},
	{DtypeChanged, "the dtype changed", "Each dtype needs a graph of its own.", "Convert before the call, or accept one entry a dtype."},
	{DeviceChanged, "the device changed", "Each device needs a graph of its own.", "Move the tensor before the call."},
	{RequiresGradChanged, "requires_grad changed", "A graph with gradients differs from one without.", "Call in one gradient mode, or detach before the call."},
	{DispatchKeysChanged, "the tensor's dispatch keys changed", "The tensor is of another make (inference, conjugate, subclass).", "Create tensors in the same mode."},
	{TypeChanged, "the type changed", "The argument has another type than the entry was compiled for.", "Pass one type; convert before the call."},
	{ValueChanged, "a constant changed", "The graph was specialised on the value of a native number, flag or string.", "Make it a tensor, or do not change it between calls."},
	{NoneChanged, "an optional value came or went", "One graph exists for the value being there and one for its absence.", "Pass a value always, or accept two entries."},
	{LengthChanged, "a length changed", "Loops over a container are unrolled, so its length is part of the graph.", "Stack the elements into one tensor, or keep the length."},
	{IdentityChanged, "another object was passed", "The graph is bound to this very object.", "Create the object once and pass the same one."},
	{DictKeyChanged, "the keys of a map changed", "The graph reads fixed keys of the map.", "Keep the same keys, in the same order."},
	{TrainingChanged, "training mode changed", "Modules behave differently in training and evaluation.", "Two entries are normal: one for training, one for evaluation."},
	{ClosureChanged, "a captured variable changed", "The graph was specialised on a variable that the closure captures.", "Make the variable a tensor or an argument."},
	{GlobalChanged, "a global variable changed", "The graph was specialised on a package-level variable.", "Pass the value as an argument, or make it a tensor."},
	{AliasingChanged, "arguments share memory now, or no longer do", "Aliasing changes what in-place operators mean.", "Pass distinct tensors."},
	{GlobalStateChanged, "global state changed", "Gradient mode, default dtype, autocast, threads or determinism differ.", "Set global state once, before the first call."},
	{MarkingChanged, "another dimension was marked", "The call marks a dimension that the entry does not leave open.", "Mark the same dimensions before every call."},
	{BackendChanged, "another backend", "The entry was made by another backend.", "Compile once with one backend."},
	{Raced, "no guard of the entry fails any more", "The entry was not there, or did not fit, when the call looked for one: another thread compiled at the same time.", "Make the first call before the threads start."},
	{ShapeRelation, "a relation between sizes no longer holds", "The entry assumed a relation or a range of sizes that the new sizes violate.", "Look at the line that asked for it; avoid branching on sizes, or accept one entry for each side."},
	{SizeSpecialised, "a size that the code needs as a number changed", "A line of the program turned the size into a constant: a loop over it, a conversion, a comparison that only one size passes.", "Pad to a few sizes, or keep the line that needs the number out of the compiled function."},
	{AttributeChanged, "an attribute changed", "The graph was specialised on an attribute of an object.", "Keep numbers that change in tensors, or outside of the object."},
	{Deallocated, "an object of the entry is gone", "Something that the entry refers to was freed.", "Keep the object alive between calls."},
	{OtherGuard, "a guard failed", "The check stands below as it was recorded.", ""},
}
