package ops

import (
	"os"
	"reflect"
	"slices"
	"strconv"
	"unsafe"

	"tcdbg/ops/schema"
	"tcdbg/ops/sym"
)

// This file lets rules read arguments by their names: In[SoftmaxArgs](c).Dim.Int().
// Structs of one operator are generated from its schema (zz_args.go); those that
// several operators share are below.

// A field of such a struct is one argument of a call. What it holds is read when
// asked, as numbers may be symbols whose value leaves a guard.
type (
	// TensorArg is a tensor, a number where the schema says Operand, or None.
	TensorArg struct{ arg }
	// TensorsArg is a list of tensors.
	TensorsArg struct{ arg }
	// IntArg is an integer.
	IntArg struct{ arg }
	// IntsArg is a list of integers.
	IntsArg struct{ arg }
	// NumberArg is a number of any type.
	NumberArg struct{ arg }
	// BoolArg is a boolean.
	BoolArg struct{ arg }
	// StrArg is a string.
	StrArg struct{ arg }
	// DTypeArg is a dtype.
	DTypeArg struct{ arg }
	// DeviceArg is a device.
	DeviceArg struct{ arg }
	// ListArg is a list of numbers or booleans.
	ListArg struct{ arg }
	// EitherArg is a word or what the word stands for: padding="same", ord="fro".
	EitherArg struct{ arg }
)

// arg is the argument as it was bound. Arguments are never compared as they are; that the type
// says so spares the program one comparing function for each of the structs.
type arg struct {
	_ [0]func()
	Arg
}

// IsNone reports whether the argument was left out.
func (a arg) IsNone() bool { return a.Arg == nil }

// Meta describes the tensor; nil when it is a number or None.
func (a TensorArg) Meta() *TensorMeta { return MetaOf(a.Arg) }

// Value is the tensor; nil when it is a number or None.
func (a TensorArg) Value() Value {
	if MetaOf(a.Arg) == nil {
		return nil
	}
	return a.Arg.(Value)
}

// Float is a number as float64.
func (a TensorArg) Float() float64 { return NumberOf(a.Arg) }

// Values are the tensors of the list.
func (a TensorsArg) Values() []Value {
	v, _ := a.Arg.([]Value)
	return v
}

// Int is the integer, which may be a symbol.
func (a IntArg) Int() sym.Int {
	v, _ := a.Arg.(sym.Int)
	return v
}

// Num is the integer as a plain number, specialising a symbol.
func (a IntArg) Num() int { return int(sym.Force(a.Int())) }

// Float is the integer as float64.
func (a IntArg) Float() float64 { return NumberOf(a.Arg) }

// Ints are the integers; nil for None.
func (a IntsArg) Ints() []sym.Int {
	v, _ := a.Arg.([]sym.Int)
	return v
}

// Nums is Ints as plain numbers.
func (a IntsArg) Nums() []int { return forced(a.Ints()) }

func forced(v []sym.Int) []int {
	out := make([]int, len(v))
	for j, x := range v {
		out[j] = int(sym.Force(x))
	}
	return out
}

// Float is the number as float64; 0 for None.
func (a NumberArg) Float() float64 { return NumberOf(a.Arg) }

// Bool is the boolean; false for None.
func (a BoolArg) Bool() bool {
	v, _ := a.Arg.(bool)
	return v
}

// Str is the string; empty for None.
func (a StrArg) Str() string {
	v, _ := a.Arg.(string)
	return v
}

// Or is the dtype, or d for None.
func (a DTypeArg) Or(d DType) DType {
	if v, ok := a.Arg.(DType); ok {
		return v
	}
	return d
}

// Or is the device, or d for None.
func (a DeviceArg) Or(d Device) Device {
	if v, ok := a.Arg.(Device); ok {
		return v
	}
	return d
}

// Str is the word; empty where there is none.
func (a EitherArg) Str() string {
	v, _ := a.Arg.(string)
	return v
}

// Int is the integer in place of the word.
func (a EitherArg) Int() sym.Int {
	v, _ := a.Arg.(sym.Int)
	return v
}

// Ints are the integers in place of the word; nil where there is one.
func (a EitherArg) Ints() []sym.Int {
	v, _ := a.Arg.([]sym.Int)
	return v
}

// Nums is Ints as plain numbers.
func (a EitherArg) Nums() []int { return forced(a.Ints()) }

// Float is the number in place of the word.
func (a EitherArg) Float() float64 { return NumberOf(a.Arg) }

// In shows the arguments of a call as the fields of T, a struct of arguments in the
// order of the schema. It copies nothing: each field lies where the argument does.
func In[T any](c *Call) *T {
	return (*T)(view(c, unsafe.Sizeof(*new(T)), (*T)(nil)))
}

// view is In without its type: In is inlined, and the program has one view for all structs.
//
//go:noinline
func view(c *Call, size uintptr, ptr any) unsafe.Pointer {
	if size > uintptr(len(c.Args))*unsafe.Sizeof(Arg(nil)) || checking {
		mustFit(c, ptr)
	}
	return unsafe.Pointer(unsafe.SliceData(c.Args))
}

// named is the argument of one parameter, for rules that several operators share whose
// schemas have it in different places; None where an operator has no such parameter.
func named[T TensorArg | IntArg | IntsArg | NumberArg | BoolArg | StrArg | DTypeArg | DeviceArg | ListArg](c *Call, name string) (a T) {
	if i := c.Op.position(name); i >= 0 {
		a = T{arg{Arg: c.Args[i]}}
	}
	return a
}

// with is the call with another argument for one parameter.
func (c *Call) with(name string, a Arg) *Call {
	args := slices.Clone(c.Args)
	args[c.Op.position(name)] = a
	return &Call{c.Op, args}
}

// position is the place of a parameter in the schema; -1 where there is none.
func (op *Op) position(name string) int {
	return slices.IndexFunc(op.Params(), func(p Param) bool { return p.Name == name })
}

// checking compares the names and types of fields with the schema at every reading.
var checking = os.Getenv("TCDBG_CHECK") == "1"

// CheckArguments makes every reading of arguments by name compare the struct with the
// schema of the call. For tests, before the first call.
func CheckArguments() { checking = true }

// mustFit panics where the fields of a struct are not the first parameters of a call.
func mustFit(c *Call, ptr any) {
	t := reflect.TypeOf(ptr).Elem()
	if t.NumField() > len(c.Args) {
		panic("ops: " + t.Name() + " reads more arguments than a call has")
	}
	if c.Op == nil {
		return
	}
	params := c.Op.Params()
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "_" {
			continue
		}
		if i >= len(params) || !sameParameter(f, params[i], i) {
			panic("ops: " + t.Name() + "." + f.Name + " is not parameter " + strconv.Itoa(i) + " of " + c.Op.FullName() + c.Op.Schema)
		}
	}
}

// sameParameter reports whether a field is for a parameter. The first tensor is called
// self, input or x, and shared structs say Self.
func sameParameter(f reflect.StructField, p Param, at int) bool {
	name := schema.Field(p.Name)
	if at == 0 && f.Name == "Self" && (name == "Input" || name == "X") {
		name = "Self"
	}
	return f.Name == name && f.Type.Name() == schema.Kind(p.Type)
}

// NumberOf reads a scalar argument as float64.
func NumberOf(a Arg) float64 {
	switch x := a.(type) {
	case float64:
		return x
	case sym.Int:
		return float64(sym.Force(x))
	case bool:
		if x {
			return 1
		}
	}
	return 0
}

// of is the dimension as a position in x.
func (a IntArg) of(x TensorArg) int {
	d, err := WrapDim(a.Int(), len(x.Meta().Shape))
	refuse(err)
	return d
}

// of are the dimensions of x that a list names, in order: all where it is empty.
func (a IntsArg) of(x TensorArg) []int {
	m, err := wrapDims(a.Ints(), len(x.Meta().Shape), true)
	if err != nil {
		panic(err)
	}
	return trueDims(m)
}

// The structs that several operators share: the first parameters of their schemas, which
// rules for all of them read.
type (
	// AddOuterArgs is for addr.
	AddOuterArgs struct {
		Self  TensorArg
		Vec1  TensorArg
		Vec2  TensorArg
		Beta  NumberArg
		Alpha NumberArg
	}
	// AddProductArgs is for addmm, baddbmm.
	AddProductArgs struct {
		Self  TensorArg
		_     Arg
		_     Arg
		Beta  NumberArg
		Alpha NumberArg
	}
	// AvgPoolArgs is for avg_pool1d, avg_pool2d, avg_pool3d.
	AvgPoolArgs struct {
		Input           TensorArg
		KernelSize      IntsArg
		Stride          IntsArg
		Padding         IntsArg
		CeilMode        BoolArg
		CountIncludePad BoolArg
		DivisorOverride IntArg
	}
	// BinaryLossArgs is for binary_cross_entropy, binary_cross_entropy_with_logits.
	BinaryLossArgs struct {
		Input       TensorArg
		Target      TensorArg
		Weight      TensorArg
		SizeAverage BoolArg
		Reduce      BoolArg
		Reduction   StrArg
	}
	// ConvArgs is for conv1d, conv2d, conv3d.
	ConvArgs struct {
		Input    TensorArg
		Weight   TensorArg
		Bias     TensorArg
		Stride   IntsArg
		Padding  EitherArg
		Dilation IntsArg
		Groups   IntArg
	}
	// ConvTransposeArgs is for conv_transpose1d, conv_transpose2d, conv_transpose3d.
	ConvTransposeArgs struct {
		Input         TensorArg
		Weight        TensorArg
		Bias          TensorArg
		Stride        IntsArg
		Padding       IntsArg
		OutputPadding IntsArg
		Groups        IntArg
		Dilation      IntsArg
	}
	// FactoryArgs is for empty, ones, rand, randn, zeros.
	FactoryArgs struct {
		Size         IntsArg
		DType        DTypeArg
		Device       DeviceArg
		RequiresGrad BoolArg
	}
	// FilledLikeArgs is for ones_like, zeros_like.
	FilledLikeArgs struct {
		Self         TensorArg
		DType        DTypeArg
		Device       DeviceArg
		RequiresGrad BoolArg
		MemoryFormat StrArg
	}
	// FullLikeArgs is for full_like.
	FullLikeArgs struct {
		Self      TensorArg
		FillValue NumberArg
	}
	// GridSamplerArgs is for grid_sampler_2d, grid_sampler_3d.
	GridSamplerArgs struct {
		Input             TensorArg
		Grid              TensorArg
		InterpolationMode IntArg
		PaddingMode       IntArg
		AlignCorners      BoolArg
	}
	// IndexSourceArgs is for index_add, index_copy, index_reduce.
	IndexSourceArgs struct {
		Self   TensorArg
		Dim    IntArg
		Index  TensorArg
		Source TensorArg
	}
	// InputArgs is for _native_batch_norm_legit, adaptive_avg_pool1d, adaptive_avg_pool2d and 47 more.
	InputArgs struct {
		Input TensorArg
	}
	// InputIndicesArgs is for max_unpool1d, max_unpool2d, max_unpool3d.
	InputIndicesArgs struct {
		Input   TensorArg
		Indices TensorArg
	}
	// InputNormalizedShapeArgs is for layer_norm, native_layer_norm, rms_norm.
	InputNormalizedShapeArgs struct {
		Input           TensorArg
		NormalizedShape IntsArg
	}
	// InputOutputSizeArgs is for adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d and 3 more.
	InputOutputSizeArgs struct {
		Input      TensorArg
		OutputSize IntsArg
	}
	// InputWeightBiasArgs is for conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d.
	InputWeightBiasArgs struct {
		Input  TensorArg
		Weight TensorArg
		Bias   TensorArg
	}
	// MaskedNormArgs is for masked.norm.
	MaskedNormArgs struct {
		Input   TensorArg
		Ord     NumberArg
		Dim     IntsArg
		Keepdim BoolArg
	}
	// MaskedNormalizeArgs is for masked.normalize.
	MaskedNormalizeArgs struct {
		Input TensorArg
		Ord   NumberArg
		Dim   IntArg
		Eps   NumberArg
	}
	// MaskedSpreadArgs is for masked.std, masked.var.
	MaskedSpreadArgs struct {
		Input      TensorArg
		Dim        IntsArg
		Unbiased   BoolArg
		Correction NumberArg
		Keepdim    BoolArg
	}
	// MaxPoolArgs is for max_pool1d, max_pool2d, max_pool3d.
	MaxPoolArgs struct {
		Input         TensorArg
		KernelSize    IntsArg
		Stride        IntsArg
		Padding       IntsArg
		Dilation      IntsArg
		CeilMode      BoolArg
		ReturnIndices BoolArg
	}
	// MaxPoolIndicesArgs is for max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices.
	MaxPoolIndicesArgs struct {
		Input      TensorArg
		KernelSize IntsArg
		Stride     IntsArg
		Padding    IntsArg
		Dilation   IntsArg
		CeilMode   BoolArg
	}
	// MaxUnpoolArgs is for max_unpool1d, max_unpool2d, max_unpool3d.
	MaxUnpoolArgs struct {
		Input      TensorArg
		Indices    TensorArg
		KernelSize IntsArg
		Stride     IntsArg
		Padding    IntsArg
		OutputSize IntsArg
	}
	// MomentsArgs is for std, std_mean, var, var_mean.
	MomentsArgs struct {
		Self       TensorArg
		Dim        IntsArg
		Correction NumberArg
		Keepdim    BoolArg
	}
	// NormalizedArgs is for layer_norm, native_layer_norm.
	NormalizedArgs struct {
		Input           TensorArg
		NormalizedShape IntsArg
		Weight          TensorArg
		Bias            TensorArg
		Eps             NumberArg
	}
	// PoolWindowArgs is for avg_pool1d, avg_pool2d, avg_pool3d and 3 more.
	PoolWindowArgs struct {
		Input      TensorArg
		KernelSize IntsArg
		Stride     IntsArg
		Padding    IntsArg
	}
	// QuantilesArgs is for nanquantile, quantile.
	QuantilesArgs struct {
		Self          TensorArg
		Q             TensorArg
		Dim           IntArg
		Keepdim       BoolArg
		Interpolation StrArg
	}
	// RunningNormArgs is for batch_norm, instance_norm.
	RunningNormArgs struct {
		Input       TensorArg
		RunningMean TensorArg
		RunningVar  TensorArg
		Weight      TensorArg
		Bias        TensorArg
	}
	// ScatterSrcArgs is for scatter, scatter_add, scatter_reduce.
	ScatterSrcArgs struct {
		Self  TensorArg
		Dim   IntArg
		Index TensorArg
		Src   TensorArg
	}
	// SelfAnyDimArgs is for split, split_with_sizes.
	SelfAnyDimArgs struct {
		Self TensorArg
		_    Arg
		Dim  IntArg
	}
	// SelfArgs is for _conj_copy, abs, acos, acosh, add, addbmm and 198 more.
	SelfArgs struct {
		Self TensorArg
	}
	// SelfDiagonalArgs is for tril, triu.
	SelfDiagonalArgs struct {
		Self     TensorArg
		Diagonal IntArg
	}
	// SelfDim0Dim1Args is for swapaxes, swapdims, transpose.
	SelfDim0Dim1Args struct {
		Self TensorArg
		Dim0 IntArg
		Dim1 IntArg
	}
	// SelfDimArgs is for cummax, cummin, cumprod, cumsum.
	SelfDimArgs struct {
		Self TensorArg
		Dim  IntArg
	}
	// SelfDimDTypeArgs is for cumprod, cumsum, log_softmax, softmax.
	SelfDimDTypeArgs struct {
		Self  TensorArg
		Dim   IntArg
		DType DTypeArg
	}
	// SelfDimKeepdimArgs is for argmax, argmin, max.dim, median.dim, min.dim, mode and 2 more.
	SelfDimKeepdimArgs struct {
		Self    TensorArg
		Dim     IntArg
		Keepdim BoolArg
	}
	// SelfDimsArgs is for all, amax, amin, any, logsumexp, mean and 2 more.
	SelfDimsArgs struct {
		Self TensorArg
		Dim  IntsArg
	}
	// SelfDimsCorrectionArgs is for std, std_mean, var, var_mean.
	SelfDimsCorrectionArgs struct {
		Self       TensorArg
		Dim        IntsArg
		Correction NumberArg
	}
	// SelfDimsKeepdimArgs is for all, amax, amin, any, logsumexp, mean and 2 more.
	SelfDimsKeepdimArgs struct {
		Self    TensorArg
		Dim     IntsArg
		Keepdim BoolArg
	}
	// SelfIndicesOrSectionsArgs is for dsplit, hsplit, vsplit.
	SelfIndicesOrSectionsArgs struct {
		Self              TensorArg
		IndicesOrSections IntsArg
	}
	// SelfMat2Args is for bmm, mm.
	SelfMat2Args struct {
		Self TensorArg
		Mat2 TensorArg
	}
	// SelfNArgs is for linalg.matrix_power, matrix_power.
	SelfNArgs struct {
		Self TensorArg
		N    IntArg
	}
	// SelfOtherAlphaArgs is for add, rsub, sub.
	SelfOtherAlphaArgs struct {
		Self  TensorArg
		Other TensorArg
		Alpha NumberArg
	}
	// SelfOtherArgs is for fmax, fmin, heaviside, linalg.solve_ex, linalg.solve_triangular.
	SelfOtherArgs struct {
		Self  TensorArg
		Other TensorArg
	}
	// SelfSourceDestinationArgs is for moveaxis, movedim.
	SelfSourceDestinationArgs struct {
		Self        TensorArg
		Source      IntsArg
		Destination IntsArg
	}
	// SelfSrcArgs is for diagonal_scatter, select_scatter, slice_scatter.
	SelfSrcArgs struct {
		Self TensorArg
		Src  TensorArg
	}
	// SelfTensor1Tensor2Args is for addcdiv, addcmul.
	SelfTensor1Tensor2Args struct {
		Self    TensorArg
		Tensor1 TensorArg
		Tensor2 TensorArg
	}
	// SizeDTypeArgs is for ones, zeros.
	SizeDTypeArgs struct {
		Size  IntsArg
		DType DTypeArg
	}
	// SmoothLossArgs is for smooth_l1_loss.
	SmoothLossArgs struct {
		Input       TensorArg
		Target      TensorArg
		SizeAverage BoolArg
		Reduce      BoolArg
		Reduction   StrArg
		Beta        NumberArg
	}
	// SumDTypeArgs is for nansum, prod, sum.
	SumDTypeArgs struct {
		Self    TensorArg
		_       Arg
		Keepdim BoolArg
		DType   DTypeArg
	}
	// TensorsArgs is for dstack, hstack, vstack.
	TensorsArgs struct {
		Tensors TensorsArg
	}
)
