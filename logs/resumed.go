package logs

import (
	"fmt"
	"strconv"
	"strings"
)

const resumePrefix = "torch_dynamo_resume_in_"

// ResumedFunction reads outer and 16 out of torch_dynamo_resume_in_outer_at_16, the name that the rest of a
// function after a graph break has in a trace.
func ResumedFunction(name string) (fn string, line int, ok bool) {
	rest, ok := strings.CutPrefix(name, resumePrefix)
	if !ok {
		return "", 0, false
	}
	i := strings.LastIndex(rest, "_at_")
	if i < 0 {
		return rest, 0, true
	}
	line, _ = strconv.Atoi(rest[i+len("_at_"):])
	return rest[:i], line, true
}

// FunctionTitle is what people call a compiled function: outer from line 16 on.
func FunctionTitle(name string) string {
	if fn, line, ok := ResumedFunction(name); ok {
		return fmt.Sprintf("%s from line %d on", fn, line)
	}
	return name
}
