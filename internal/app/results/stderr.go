package results

import (
	"regexp"
	"strings"
)

// This file takes out of standard error what the compilers and tcdbg log: it is another in each
// trial, and no result of the program.

// logLine is a record of PyTorch's loggers in Python and C++, of our engine's, or of tcdbg itself.
var logLine = regexp.MustCompile(`^(\[rank\d+\]:\s*)?([VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ .*\S+\.(py|go|cpp):\d+\]|` +
	`\[[WEIF]\d* ?\d\d:\d\d:\d\d\.\d+ \S+:\d+\]|tcdbg: )`)

// warningLine begins a warning that torch gives; the line of source that follows is indented.
var warningLine = regexp.MustCompile(`[/\\](torch|triton)[/\\]\S*\.py:\d+: \w*Warning: `)

// maxWarning is how many lines such a warning may have.
const maxWarning = 12

// Programs takes the lines of the program out of its standard error.
func Programs(stderr string) string {
	var out []string
	lines := strings.Split(stderr, "\n")
	for i := 0; i < len(lines); i++ {
		switch {
		case logLine.MatchString(lines[i]):
		case warningLine.MatchString(lines[i]):
			for k := i + 1; k < min(i+maxWarning, len(lines)); k++ {
				if strings.HasPrefix(lines[k], "  ") {
					i = k
					break
				}
			}
		default:
			out = append(out, lines[i])
		}
	}
	return strings.Join(out, "\n")
}
