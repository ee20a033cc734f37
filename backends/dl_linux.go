//go:build linux && !nodlopen

package backends

import (
	"fmt"

	"github.com/ebitengine/purego"
)

// canLoad tells that compiled code can be loaded into this process.
const canLoad = true

func dlopen(path string) (uintptr, error) {
	h, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return 0, fmt.Errorf("loading compiled code: %w", err)
	}
	return h, nil
}

// dlclose gives up one dlopen of a library.
func dlclose(lib uintptr) { _ = purego.Dlclose(lib) }

func dlsym(lib uintptr, name string) (uintptr, error) {
	p, err := purego.Dlsym(lib, name)
	if err != nil {
		return 0, fmt.Errorf("loading compiled code: %w", err)
	}
	return p, nil
}

// ccall calls a C function of integer and pointer arguments.
//
//go:uintptrescapes
func ccall(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}
