//go:build !linux || nodlopen

package backends

import "errors"

// canLoad tells that this build cannot load compiled code: graphs run on the
// interpreter.
const canLoad = false

var errNoLoad = errors.New("this build cannot load compiled code")

func dlopen(string) (uintptr, error) { return 0, errNoLoad }

func dlsym(uintptr, string) (uintptr, error) { return 0, errNoLoad }

func dlclose(uintptr) {}

func ccall(uintptr, ...uintptr) uintptr { panic(errNoLoad) }

func hugePages([]byte) {}
