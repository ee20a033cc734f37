// Package modes knows which backends and modes torch.Compile takes, so that a program
// hears the same words under go run and under tcdbg.
//
// It imports nothing of ours.
package modes

import (
	"fmt"
	"slices"
	"strings"
)

// The modes.
const (
	Default        = "default"
	ReduceOverhead = "reduce-overhead"
)

// backends lists the backends by name, each with the modes that it honours; it
// passes over those of others.
var backends = []struct {
	name    string
	honours []string
}{
	{"aot_eager", []string{Default}},
	{"eager", []string{Default}},
	{"inductor", []string{Default, ReduceOverhead}},
}

// known are the modes that some backend honours.
var known = []string{Default, ReduceOverhead}

// Backends lists the backends.
func Backends() []string {
	var out []string
	for _, b := range backends {
		out = append(out, b.name)
	}
	return out
}

// CheckBackend refuses a backend that is not there.
func CheckBackend(name string) error {
	if !slices.Contains(Backends(), name) {
		return fmt.Errorf("backend %q is not known; there are %s", name, strings.Join(Backends(), ", "))
	}
	return nil
}

// Check says whether a backend honours a mode or passes over it, which is so where a
// program is to run under another backend for once; and refuses others.
func Check(backend, mode string) (passedOver bool, err error) {
	i := slices.IndexFunc(backends, func(b struct {
		name    string
		honours []string
	},
	) bool {
		return b.name == backend
	})
	switch {
	case mode == "" || mode == Default:
		return false, nil
	case !slices.Contains(known, mode):
		return false, fmt.Errorf("mode %q is not supported; there are %s", mode, quoted(known))
	case i >= 0 && slices.Contains(backends[i].honours, mode):
		return false, nil
	case i >= 0:
		return true, nil
	}
	return false, fmt.Errorf("mode %q is not supported by backend %s; use %q", mode, backend, Default)
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(out, " and ")
}
