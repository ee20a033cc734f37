package logs

import (
	"regexp"
	"sync"
)

// This file keeps regular expressions out of the start of the program: only
// text logs need them, and compiling all of them takes longer than many a
// report of a trace.

// pattern is a regular expression that is compiled when it is first used.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
