package replay

import (
	"errors"
	"fmt"
	"go/types"
	"unsafe"
)

// This file makes the errors of a run.

// ErrorSpec is how an error is made on each run of a cache entry.
type ErrorSpec struct {
	Text     string
	Verbs    bool
	Operands []Reconstruction
}

// Error makes an error, once in each run.
type Error struct {
	Typ  types.Type
	Spec *ErrorSpec
}

func (r Error) write(m *run, dst unsafe.Pointer) {
	e, ok := m.errs[r.Spec]
	if !ok {
		e = r.Spec.make(m)
		if m.errs == nil {
			m.errs = map[*ErrorSpec]error{}
		}
		m.errs[r.Spec] = e
	}
	if i, ok := r.Typ.Underlying().(*types.Interface); ok && i.Empty() {
		*(*any)(dst) = e
		return
	}
	*(*error)(dst) = e // any interface that an error fits has its one method
}

func (s *ErrorSpec) make(m *run) error {
	if !s.Verbs {
		return errors.New(s.Text)
	}
	operands := make([]any, len(s.Operands))
	for i, r := range s.Operands {
		r.write(m, unsafe.Pointer(&operands[i]))
	}
	return fmt.Errorf(s.Text, operands...)
}
