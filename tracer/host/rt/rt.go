// Package rt is what the interpreter and its generated symbol tables share:
// the form in which values of interpreted types travel through native code,
// and the shape of a native package's table.
//
// It imports the standard library only. Open this file first, then method.go.
package rt

import (
	"fmt"
	"go/types"
	"reflect"
	"unsafe"
)

// TypeDesc identifies a type of the interpreted program that no reflect.Type
// identifies. Identical types have one descriptor, so descriptors compare by
// address.
type TypeDesc struct {
	Type  types.Type
	Rep   reflect.Type // the memory layout of its values
	Owner Owner
}

// Owner is the interpreter behind a descriptor.
type Owner interface {
	// CallMethod calls a method of a boxed value from native code; args are
	// the addresses of the arguments, result that of the results' struct.
	CallMethod(b Boxed, method string, args []unsafe.Pointer, result unsafe.Pointer)
	// HasMethod reports whether the boxed value has a method of that name.
	HasMethod(b Boxed, method string) bool
	// TypeName is the type of the boxed value as package fmt writes it.
	TypeName(b Boxed) string
	// Format prints the boxed value as package fmt prints it.
	Format(b Boxed, s fmt.State, verb rune)
}

// Boxed is a value of an interpreted type inside an interface. It compares and
// hashes as the value does.
type Boxed struct {
	T *TypeDesc
	V any // of type T.Rep
}

// HostBoxed returns b: adapters promote it, so that the value inside an
// adapter is found again.
func (b Boxed) HostBoxed() Boxed { return b }

// GoType is the name of the value's type, for messages of native code.
func (b Boxed) GoType() string {
	return b.T.Owner.TypeName(b)
}

// Format implements fmt.Formatter.
func (b Boxed) Format(s fmt.State, verb rune) { b.T.Owner.Format(b, s, verb) }

// Adapter makes interpreted values implement a native interface.
type Adapter struct {
	Iface reflect.Type
	Wrap  func(Boxed) any
}

// Pkg is the table of a native package.
type Pkg struct {
	Path     string
	Funcs    map[string]any          // functions by name
	Vars     map[string]any          // pointers to variables by name
	Types    map[string]reflect.Type // named types that are not generic
	Adapters []Adapter
}

// Thunk calls a native function: args are the addresses of the arguments,
// result that of the results' struct.
type Thunk func(args []unsafe.Pointer, result unsafe.Pointer)
