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
// several operators share are in args_shared.go.

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
// says so spares the program one comparing function for each of the structs, 0.8 MB in all.
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
	var t T
	if unsafe.Sizeof(t) > uintptr(len(c.Args))*unsafe.Sizeof(Arg(nil)) || checking {
		mustFit(c, (*T)(nil))
	}
	return (*T)(unsafe.Pointer(unsafe.SliceData(c.Args)))
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
