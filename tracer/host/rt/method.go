package rt

import "unsafe"

// This file is error adapters, written by hand: package errors probes them for
// optional methods, so an adapter has them only where the value has them.

type errorBase struct{ Boxed }

func (e errorBase) Error() (s string) {
	e.T.Owner.CallMethod(e.Boxed, "Error", nil, unsafe.Pointer(&s))
	return s
}

type errorUnwrap struct{ errorBase }

func (e errorUnwrap) Unwrap() (err error) {
	e.T.Owner.CallMethod(e.Boxed, "Unwrap", nil, unsafe.Pointer(&err))
	return err
}

type errorUnwraps struct{ errorBase }

func (e errorUnwraps) Unwrap() (errs []error) {
	e.T.Owner.CallMethod(e.Boxed, "Unwrap", nil, unsafe.Pointer(&errs))
	return errs
}

type errorIs struct{ errorUnwrap }

func (e errorIs) Is(target error) (ok bool) {
	e.T.Owner.CallMethod(e.Boxed, "Is", []unsafe.Pointer{unsafe.Pointer(&target)}, unsafe.Pointer(&ok))
	return ok
}

// Unwrap hides errorUnwrap's: the value may lack the method.
func (e errorIs) Unwrap() (err error) {
	if e.T.Owner.HasMethod(e.Boxed, "Unwrap") {
		return e.errorUnwrap.Unwrap()
	}
	return nil
}

// WrapError makes a boxed value an error. many says that its Unwrap returns
// several errors.
func WrapError(b Boxed, many bool) error {
	base := errorBase{b}
	switch {
	case b.T.Owner.HasMethod(b, "Is"):
		return errorIs{errorUnwrap{base}}
	case many:
		return errorUnwraps{base}
	case b.T.Owner.HasMethod(b, "Unwrap"):
		return errorUnwrap{base}
	}
	return base
}
