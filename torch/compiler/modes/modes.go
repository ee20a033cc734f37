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
	Default                 = "default"
	ReduceOverhead          = "reduce-overhead"
	MaxAutotune             = "max-autotune"
	MaxAutotuneNoCUDAGraphs = "max-autotune-no-cudagraphs"
)

// backend is a row: the modes that it honours, and PyTorch's tag.
type backend struct {
	name    string
	honours []string
	tag     string
}

// backends lists the backends by name; each passes over the modes of others.
var backends = []backend{
	{"aot_eager", []string{Default}, "debug"},
	{"eager", []string{Default}, "debug"},
	{"inductor", known, ""},
}

// known are the modes that some backend honours.
var known = []string{Default, ReduceOverhead, MaxAutotune, MaxAutotuneNoCUDAGraphs}

// Plans reports whether a mode has the results of calls without gradients keep their memory.
func Plans(mode string) bool { return mode == ReduceOverhead || mode == MaxAutotune }

// Backends lists the backends, those that the program has registered too, without those that have one of the tags.
func Backends(excludeTags ...string) []string {
	var out []string
	for _, b := range backends {
		if b.tag == "" || !slices.Contains(excludeTags, b.tag) {
			out = append(out, b.name)
		}
	}
	out = append(out, registeredNames(excludeTags)...)
	slices.Sort(out)
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
func Check(name, mode string) (passedOver bool, err error) {
	i := slices.IndexFunc(backends, func(b backend) bool { return b.name == name })
	switch {
	case mode == "" || mode == Default:
		return false, nil
	case !slices.Contains(known, mode):
		return false, unknownMode(mode)
	case i >= 0 && slices.Contains(backends[i].honours, mode):
		return false, nil
	case i >= 0:
		return true, nil
	}
	return false, fmt.Errorf("mode %q is not supported by backend %s; use %q", mode, name, Default)
}

func unknownMode(mode string) error {
	return fmt.Errorf("mode %q is not supported%s there are %s", mode, nearest(mode, known), quoted(known))
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	last := len(out) - 1
	return strings.Join(out[:last], ", ") + " and " + out[last]
}
