package refusal

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tcdbg/ops"
)

// New makes the error of an operator (PyTorch's name) that Python would raise as kind
// (RuntimeError, IndexError, ...). Package torch installs it: what users recover is a
// *torch.Error.
var New = func(op, kind, msg string) error { return errors.New(op + ": " + kind + ": " + msg) }

// Fail panics with the error of an operator that refuses its arguments.
func Fail(op, kind, format string, args ...any) {
	panic(New(op, kind, fmt.Sprintf(format, args...)))
}

// Raise turns the error of a rule into a panic.
func Raise(op *ops.Op, err error) {
	kind := "RuntimeError"
	var known *ops.Error
	var bind *ops.BindError
	switch {
	case errors.As(err, &known):
		if known.Kind != "" {
			kind = known.Kind
		}
	case errors.As(err, &bind):
		kind = "TypeError"
	}
	panic(New(op.FullName(), kind, err.Error()))
}

// CheckRule runs the rule for its refusals alone.
func CheckRule(c *ops.Call) {
	_, err := c.Op.Meta(c)
	var unknown *ops.DataDependentError
	if err != nil && !errors.As(err, &unknown) {
		Raise(c.Op, err)
	}
}

// ResultDType is the type of the first result by the rule.
func ResultDType(c *ops.Call) ops.DType {
	res, err := c.Op.Meta(c)
	if err != nil {
		Raise(c.Op, err)
	}
	return res[0].(*ops.TensorMeta).DType
}

func Ints(s []int) string { return "[" + JoinInts(s) + "]" }

func JoinInts(s []int) string {
	parts := make([]string, len(s))
	for i, x := range s {
		parts[i] = strconv.Itoa(x)
	}
	return strings.Join(parts, ", ")
}
