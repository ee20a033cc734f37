package refusal

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tcdbg/ops"
)

// Error is the panic value of an operator that refuses its arguments.
type Error struct {
	Op   string // PyTorch's name of the operator
	Kind string // the class that Python would raise: RuntimeError, IndexError, ...
	Msg  string
}

// Error is PyTorch's message.
func (e *Error) Error() string { return e.Msg }

// String is the message as Python prints an exception.
func (e *Error) String() string { return e.Kind + ": " + e.Msg }

// Fail panics with an Error.
func Fail(op, kind, format string, args ...any) {
	panic(&Error{Op: op, Kind: kind, Msg: fmt.Sprintf(format, args...)})
}

// Raise turns the error of a rule into a panic.
func Raise(op *ops.Op, err error) {
	e := &Error{Op: op.FullName(), Kind: "RuntimeError", Msg: err.Error()}
	var known *ops.Error
	var bind *ops.BindError
	switch {
	case errors.As(err, &known):
		if known.Kind != "" {
			e.Kind = known.Kind
		}
	case errors.As(err, &bind):
		e.Kind = "TypeError"
	}
	panic(e)
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
