package ops

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"tcdbg/ops/sym"
)

// This file is element types, how they promote and round, and devices; and functions of
// float64 that differ from Go's where Go's are wrong: eager kernels and the interpreter share
// them; C++ kernels call the C library's, which agree.

// DType is the element type of a tensor.
type DType uint8

// The element types, in the order of PyTorch's ScalarType where both have one.
const (
	Uint8 DType = iota
	Int8
	Int16
	Int32
	Int64
	Float16
	Float32
	Float64
	Complex64
	Bool
	BFloat16
	NumDTypes
)

var dtypes = [NumDTypes]struct {
	name, short, scalar string
	size                int
	float               bool
}{
	Uint8:     {"uint8", "u8", "Byte", 1, false},
	Int8:      {"int8", "i8", "Char", 1, false},
	Int16:     {"int16", "i16", "Short", 2, false},
	Int32:     {"int32", "i32", "Int", 4, false},
	Int64:     {"int64", "i64", "Long", 8, false},
	Float16:   {"float16", "f16", "Half", 2, true},
	Float32:   {"float32", "f32", "Float", 4, true},
	Float64:   {"float64", "f64", "Double", 8, true},
	Complex64: {"complex64", "c64", "ComplexFloat", 8, false},
	Bool:      {"bool", "b8", "Bool", 1, false},
	BFloat16:  {"bfloat16", "bf16", "BFloat16", 2, true},
}

// String is PyTorch's name with its module: torch.float32.
func (d DType) String() string { return "torch." + d.Name() }

// Name is the bare name: float32.
func (d DType) Name() string { return dtypes[d].name }

// Short is the abbreviation of FX type comments: f32.
func (d DType) Short() string { return dtypes[d].short }

// ScalarType is the name that messages about mismatches use: Float.
func (d DType) ScalarType() string { return dtypes[d].scalar }

// Size is the number of bytes of one element.
func (d DType) Size() int { return dtypes[d].size }

// IsFloat reports whether d is a real floating-point type.
func (d DType) IsFloat() bool { return dtypes[d].float }

// IsComplex reports whether d is complex.
func (d DType) IsComplex() bool { return d == Complex64 }

// IsInt reports whether d is an integer type (bool is none).
func (d DType) IsInt() bool { return d <= Int64 }

// ParseDType finds a dtype by its bare name.
func ParseDType(name string) (DType, bool) {
	for d := range NumDTypes {
		if dtypes[d].name == name {
			return d, true
		}
	}
	return 0, false
}

// Promote returns the smallest type that holds both (torch.promote_types).
func Promote(a, b DType) DType {
	switch {
	case a == b:
		return a
	case a.IsComplex() || b.IsComplex():
		return Complex64
	case a.IsFloat() && b.IsFloat():
		if a == Float64 || b == Float64 {
			return Float64
		}
		return Float32 // float16 with bfloat16, or either with float32
	case a.IsFloat():
		return a
	case b.IsFloat():
		return b
	case a == Bool:
		return b
	case b == Bool:
		return a
	}
	return promoteInts(a, b)
}

func promoteInts(a, b DType) DType {
	if a == Uint8 || b == Uint8 {
		other := max(a, b) // Uint8 is the smallest value
		if other == Int8 {
			return Int16
		}
		return other
	}
	return max(a, b)
}

// scalarDType is the type of a Python number: int64, float32 (the default
// dtype), bool.
func scalarDType(a Arg) DType {
	switch x := a.(type) {
	case bool:
		return Bool
	case float64:
		return Float32
	case complex128:
		return Complex64
	case sym.Int:
		return Int64
	case scalarValue:
		if d, ok := x.ScalarDType(); ok {
			if d.IsFloat() {
				return Float32
			}
			return d
		}
	}
	return Int64
}

// scalarValue is a Value that may be a number (a graph node of item).
type scalarValue interface {
	ScalarDType() (DType, bool)
}

type tensorValue interface{ IsTensor() bool }

// MetaOf returns the description of a tensor argument, nil for everything else.
func MetaOf(a Arg) *TensorMeta {
	v, ok := a.(Value)
	if !ok || v == nil {
		return nil
	}
	if t, ok := a.(tensorValue); ok && !t.IsTensor() {
		return nil
	}
	return v.TensorMeta()
}

// category collects the operands of one rank of promotion.
type category struct {
	dtype DType
	set   bool
}

func (c *category) add(d DType) {
	if c.set {
		d = Promote(c.dtype, d)
	}
	c.dtype, c.set = d, true
}

// over lets the higher category win unless the lower one is of a higher kind.
func (c category) over(low category) category {
	switch {
	case !c.set:
		return low
	case !low.set:
		return c
	case c.dtype.IsComplex():
		return c
	case c.dtype.IsFloat() && !low.dtype.IsComplex():
		return c
	case c.dtype.IsFloat(), c.dtype == Bool, low.dtype.IsFloat(), low.dtype.IsComplex():
		return category{Promote(c.dtype, low.dtype), true}
	}
	return c
}

// ResultType is torch.result_type: tensors with dimensions decide, then 0-dim
// tensors, then numbers. A list counts as its elements.
func ResultType(args ...Arg) DType {
	var dims, zero, number category
	for _, a := range args {
		if a == nil {
			continue
		}
		if m := MetaOf(a); m != nil {
			if len(m.Shape) > 0 {
				dims.add(m.DType)
			} else {
				zero.add(m.DType)
			}
			continue
		}
		number.add(scalarDType(a))
	}
	return dims.over(zero.over(number)).dtype
}

// FloatType is d, or the default dtype float32 where d holds no fractions.
func FloatType(d DType) DType {
	if d.IsFloat() || d.IsComplex() {
		return d
	}
	return Float32
}

// numberAs is a number as an operator on tensors of type d takes it: integers
// lose its fraction.
func numberAs(d DType, a Arg) Arg {
	if f, ok := a.(float64); ok && d.IsInt() {
		return sym.Const(int64(f))
	}
	return a
}

// roundedTo is numberAs with the precision of d.
func roundedTo(d DType, a Arg) Arg {
	f, ok := a.(float64)
	switch {
	case !ok:
		return a
	case d == BFloat16:
		bits := math.Float32bits(float32(f))
		bits += 0x7fff + bits>>16&1
		return float64(math.Float32frombits(bits &^ 0xffff))
	case d == Float16: // 11 bits of precision, steps of 2^-24 at the least
		_, e := math.Frexp(f)
		step := math.Ldexp(1, max(e-11, -24))
		return math.RoundToEven(f/step) * step
	}
	return numberAs(d, a)
}

// OpMath is the type in which arithmetic on d is done.
func OpMath(d DType) DType {
	if d == Float16 || d == BFloat16 {
		return Float32
	}
	return d
}

// HalfToFloat widens a float16.
func HalfToFloat(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 0x1f
	man := uint32(h & 0x3ff)
	switch {
	case exp == 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	case exp == 0:
		f := float32(man) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// FloatToHalf rounds to the nearest float16, ties to even.
func FloatToHalf(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00
	case b >= 0x47800000: // 65536 and up
		return sign | 0x7c00
	case b < 0x38800000: // subnormal
		scaled := math.Float32frombits(b) + 0.5
		return sign | uint16(math.Float32bits(scaled)-0x3f000000)
	}
	b += 0xfff + (b>>13)&1
	return sign | uint16((b-0x38000000)>>13)
}

// BFloatToFloat widens a bfloat16.
func BFloatToFloat(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// FloatToBFloat rounds to the nearest bfloat16, ties to even.
func FloatToBFloat(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return 0x7fc0
	}
	return uint16((b + 0x7fff + (b>>16)&1) >> 16)
}

// LogOf is the natural logarithm. Go's takes a number below the normal ones for the least
// normal one on some processors.
func LogOf(x float64) float64 {
	const leastNormal, up = 0x1p-1022, 54
	if x > 0 && x < leastNormal {
		return math.Log(x*(1<<up)) - up*math.Ln2
	}
	return math.Log(x)
}

// Atan2Of is the angle of the point (x, y). Go's takes the sign of a quotient that is too
// small for a float64 for that of zero.
func Atan2Of(y, x float64) float64 {
	a := math.Atan2(y, x)
	if math.IsNaN(a) {
		return a
	}
	return math.Copysign(a, y)
}

// Device is where a tensor lives.
type Device string

// CPU is the host; Meta tensors have a shape but no data.
const (
	CPU  Device = "cpu"
	Meta Device = "meta"
)

// deviceTypes are the types that PyTorch's device strings begin with, in its order.
var deviceTypes = []string{
	"cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
	"vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
}

var deviceIndex = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

// ParseDevice reads a device string: cpu or meta, with or without an index, which
// means nothing for either. Devices that PyTorch has and we lack are refused as a
// PyTorch does that was built without them.
func ParseDevice(text string) (Device, error) {
	kind, err := DeviceType(text)
	switch {
	case err != nil:
		return "", err
	case kind == "cpu":
		return CPU, nil
	case kind == "meta":
		return Meta, nil
	}
	return "", &Error{Kind: "AssertionError", Msg: "Torch not compiled with " + strings.ToUpper(kind) + " enabled"}
}

// DeviceType is the type of a device string, of any that PyTorch has.
func DeviceType(text string) (string, error) {
	kind, index, indexed := strings.Cut(text, ":")
	switch {
	case text == "":
		return "", Errorf("Device string must not be empty")
	case !slices.Contains(deviceTypes, kind):
		return "", Errorf("Expected one of %s device type at start of device string: %s", strings.Join(deviceTypes, ", "), kind)
	case indexed && !deviceIndex.MatchString(index):
		return "", Errorf("Invalid device string: '%s'", text)
	}
	return kind, nil
}

// deviceArg reads the device that a call was given.
func deviceArg(a Arg) (Device, error) {
	switch a := a.(type) {
	case Device:
		return ParseDevice(string(a))
	case string:
		return ParseDevice(a)
	}
	return "", Errorf("expected a device, got %T", a)
}

// copies are the operators whose tensors may lie on different devices: from a tensor
// to a device. A tensor without data gives none.
func copies(op *Op, args []Arg) (from, to Device, ok bool) {
	switch strings.TrimSuffix(op.Name, "_") {
	case "copy":
		if dst, src := MetaOf(args[0]), MetaOf(args[1]); dst != nil && src != nil {
			return src.Device, dst.Device, true
		}
	case "to", "_to_copy":
		m := MetaOf(args[0])
		to = m.Device
		if d, given := args[2].(Device); given {
			to = d
		}
		return m.Device, to, true
	}
	return "", "", false
}

// deviceFirst puts the device of x.To(device, dtype) where the schema has it.
func deviceFirst(op *Op, pos []Arg) []Arg {
	if op.ID != To || len(pos) < 2 {
		return pos
	}
	switch pos[1].(type) {
	case string, Device:
	default:
		return pos
	}
	out := []Arg{pos[0], nil, pos[1]}
	if len(pos) > 2 {
		out[1] = pos[2]
		out = append(out, pos[3:]...)
	}
	return out
}

// CheckDevices refuses tensors of different devices in one call. A CPU tensor without
// dimensions goes along with any device, and so do whole numbers on the CPU that
// select from a tensor elsewhere.
func CheckDevices(op *Op, args []Arg) error {
	if from, to, ok := copies(op, args); ok {
		if from == Meta && to != Meta {
			return &Error{Kind: "NotImplementedError", Msg: "Cannot copy out of meta tensor; no data!"}
		}
		return nil
	}
	want := Device("")
	eachTensor(args, func(m *TensorMeta, _ int) {
		if want == "" && !(m.Device == CPU && len(m.Shape) == 0) {
			want = m.Device
		}
	})
	selects := strings.HasPrefix(op.Name, "index")
	var err error
	eachTensor(args, func(m *TensorMeta, i int) {
		along := m.Device == CPU && (len(m.Shape) == 0 || selects && i > 0)
		if m.Device != want && !along && want != "" && err == nil {
			err = Errorf("Tensor on device %s is not on the expected device %s!", m.Device, want)
		}
	})
	return err
}

// eachTensor calls f for the tensors among arguments, those of lists too.
func eachTensor(args []Arg, f func(m *TensorMeta, i int)) {
	i := 0
	visit := func(a Arg) {
		if isNil(a) {
			return
		}
		if m := MetaOf(a); m != nil {
			f(m, i)
			i++
		}
	}
	for _, a := range args {
		if list, ok := a.([]Value); ok {
			for _, v := range list {
				visit(v)
			}
			continue
		}
		visit(a)
	}
}

// What operators compute in under autocast on the CPU, as PyTorch's tables for it say: products in the
// type of half precision that was asked for; sums that are long or lose digits, such as losses, in
// float32; lists of tensors in the widest type among them. What is in no table takes its arguments
// as they come.

// autocastRule is what happens to an operator's tensors.
type autocastRule uint8

const (
	lowerPrecision autocastRule = iota + 1
	singlePrecision
	widestPrecision
)

// autocastRules holds compound operators, too, of products alone: PyTorch takes them apart first.
var autocastRules = func() map[ID]autocastRule {
	rules := map[ID]autocastRule{}
	for rule, ids := range map[autocastRule][]ID{
		lowerPrecision: {
			Mm, Bmm, Matmul, Linear, Addmm, Addbmm, Baddbmm, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d,
			Prelu, Sdpa, Einsum, LinalgMultiDot, LinalgVecdot,
		},
		singlePrecision: {
			Prod, MseLoss, L1Loss, SmoothL1Loss, HuberLoss, NllLoss, Bce, BceWithLogits, KlDiv, PoissonNllLoss, CosineEmbeddingLoss,
			HingeEmbeddingLoss, MarginRankingLoss, TripletMarginLoss, SoftMarginLoss, MultiMarginLoss, MultilabelMarginLoss, CtcLoss,
			CrossEntropy, Cdist, Trace, Quantile, Nanquantile, Inverse, Cholesky, CholeskyInverse, CholeskySolve, Pinverse,
			LinalgInv, LinalgCholesky, LinalgSolve, LinalgSvd, LinalgSvdvals, LinalgQr, AvgPool3d, MaxPool3d, AdaptiveAvgPool3d, GridSample,
		},
		widestPrecision: {Cat, Stack, Hstack, Vstack, Dstack, IndexCopy},
	} {
		for _, id := range ids {
			rules[id] = rule
		}
	}
	return rules
}()

// Autocast gives the bound arguments of a call the types that autocast to a type of half precision
// wants: cast makes one tensor another. Only floating-point tensors on the CPU take part, float64
// not.
func Autocast(op *Op, args []Arg, to DType, cast func(v Value, d DType) Value) []Arg {
	rule := autocastRules[op.ID]
	if rule == 0 {
		return args
	}
	switch rule {
	case singlePrecision:
		to = Float32
	case widestPrecision:
		to = widest(args, to)
	}
	one := func(a Arg) Arg {
		if m := autocastable(a); m != nil && m.DType != to {
			return cast(a.(Value), to)
		}
		return a
	}
	out := make([]Arg, len(args))
	for i, a := range args {
		list, ok := a.([]Value)
		if !ok {
			out[i] = one(a)
			continue
		}
		values := make([]Value, len(list))
		for k, v := range list {
			if values[k] = v; v != nil {
				values[k] = one(v).(Value)
			}
		}
		out[i] = values
	}
	return out
}

// widest is float32 where a tensor is, else low.
func widest(args []Arg, low DType) DType {
	for _, a := range args {
		list, ok := a.([]Value)
		if !ok {
			list = []Value{nil}
			list[0], _ = a.(Value)
		}
		for _, v := range list {
			if m := autocastable(v); m != nil && m.DType == Float32 {
				return Float32
			}
		}
	}
	return low
}

// autocastable is what is known of a tensor that takes part; nil for all else.
func autocastable(a Arg) *TensorMeta {
	m := MetaOf(a)
	if m == nil || !m.DType.IsFloat() || m.DType == Float64 || m.Device != CPU {
		return nil
	}
	return m
}
