package explain

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// This file knows the lines that start a Triton kernel of the program's own.

// tritonLaunch is the line that starts a kernel, kernel[(blocks,)](arguments), in which
// the grid tells it from a call of an element.
var tritonLaunch = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\w\[ *(?:\(|lambda\b|[^\]]*grid).*?\]\((.*)\)`)
})

// launchedWith reports whether a line starts a Triton kernel with an argument.
func launchedWith(code, name string) bool {
	m := tritonLaunch().FindStringSubmatch(code)
	return m != nil && slices.Contains(strings.FieldsFunc(m[1], func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), name)
}
