package ssainfo

import (
	"go/types"
	"slices"
	"strings"
)

// This file tells tensors, and functions that never return, by their names.

// IsTensor reports whether a type is that of tensors.
func IsTensor(t types.Type) bool {
	p, ok := t.Underlying().(*types.Pointer)
	if !ok {
		return false
	}
	n, ok := types.Unalias(p.Elem()).(*types.Named)
	return ok && n.Obj().Name() == "Tensor" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "tcdbg/torch"
}

// lastCalls are the native functions that never return, by prefix.
var lastCalls = []string{
	"os.Exit", "runtime.Goexit", "log.Fatal", "log.Panic", "(*log.Logger).Fatal", "(*log.Logger).Panic",
}

// IsLastCall reports whether a function of that name never returns.
func IsLastCall(name string) bool {
	return slices.ContainsFunc(lastCalls, func(p string) bool { return strings.HasPrefix(name, p) })
}
