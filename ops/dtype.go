package ops

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
