package torch

import (
	"errors"
	"fmt"

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

// fail panics with an Error.
func fail(op, kind, format string, args ...any) {
	panic(&Error{Op: op, Kind: kind, Msg: fmt.Sprintf(format, args...)})
}

// raise turns the error of a rule into a panic.
func raise(op *ops.Op, err error) {
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
