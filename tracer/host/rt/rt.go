// Package rt is what the interpreter and its generated symbol tables share: the
// shape of a native package's table.
//
// It imports the standard library only.
package rt

import (
	"reflect"
	"unsafe"
)

// Pkg is the table of a native package.
type Pkg struct {
	Path  string
	Funcs map[string]any          // functions by name
	Vars  map[string]any          // pointers to variables by name
	Types map[string]reflect.Type // named types that are not generic
}

// Thunk calls a native function: args are the addresses of the arguments,
// result that of the results' struct.
type Thunk func(args []unsafe.Pointer, result unsafe.Pointer)
