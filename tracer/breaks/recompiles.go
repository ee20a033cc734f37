package breaks

// RecompileCause is one kind of guard failure.
type RecompileCause struct {
	Kind        string // size
	Short       string // a size changed
	Explanation string
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
	{SizeChanged, "a size changed", "The entry was compiled for another size of this dimension."},
	{StrideChanged, "a stride changed", "The tensor has the same kind but another layout in memory."},
	{RankChanged, "the number of dimensions changed", "Each number of dimensions needs a graph of its own."},
	{DtypeChanged, "the dtype changed", "Each dtype needs a graph of its own."},
	{DeviceChanged, "the device changed", "Each device needs a graph of its own."},
	{RequiresGradChanged, "requires_grad changed", "A graph with gradients differs from one without."},
	{DispatchKeysChanged, "the tensor's dispatch keys changed", "The tensor is of a different kind (inference, conjugate, subclass)."},
	{TypeChanged, "the type changed", "The argument has another type than the entry was compiled for."},
	{ValueChanged, "a constant changed", "The graph was specialised on the value of a native number, flag or string."},
	{NoneChanged, "an optional value came or went", "One graph exists for the value being there and one for its absence."},
	{LengthChanged, "a length changed", "Loops over a container are unrolled, so its length is part of the graph."},
	{IdentityChanged, "another object was passed", "The graph is bound to this very object."},
	{DictKeyChanged, "the keys of a map changed", "The graph reads fixed keys of the map."},
	{TrainingChanged, "training mode changed", "Modules behave differently in training and evaluation."},
	{ClosureChanged, "a captured variable changed", "The graph was specialised on a variable that the closure captures."},
	{GlobalChanged, "a global variable changed", "The graph was specialised on a package-level variable."},
	{AliasingChanged, "arguments share memory now, or no longer do", "Aliasing changes what in-place operators mean."},
	{GlobalStateChanged, "global state changed", "Gradient mode, default dtype, autocast, threads or determinism differ."},
	{MarkingChanged, "another dimension was marked", "The call marks a dimension that the entry does not leave open."},
	{BackendChanged, "another backend", "The entry was made by another backend."},
	{
		Raced, "no guard of the entry fails any more",
		"The entry was not there, or did not fit, when the call looked for one: another thread compiled at the same time.",
	},
	{
		ShapeRelation, "a relation between sizes no longer holds",
		"The entry assumed a relation or a range of sizes that the new sizes violate.",
	},
	{
		SizeSpecialised, "a size that the code needs as a number changed",
		"A line of the program turned the size into a constant: a loop over it, a conversion, a comparison that only one size passes.",
	},
	{AttributeChanged, "an attribute changed", "The graph was specialised on an attribute of an object."},
	{Deallocated, "an object of the entry is gone", "Something that the entry refers to was freed."},
	{OtherGuard, "a guard failed", "The check is shown below as it was recorded."},
}
