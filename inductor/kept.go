package inductor

import (
	"encoding/binary"
	"errors"

	"tcdbg/inductor/plan"
)

// This file writes what it takes to run a program whose code is built, and reads it again: no text, and nothing of how
// it was decided.

// Append appends the program to b. ok is false for one that is not kept: with sizes that vary or control flow.
func (p *Program) Append(b []byte) (out []byte, ok bool) {
	b = binary.AppendUvarint(b, uint64(p.Lanes))
	b = binary.AppendUvarint(b, uint64(len(p.Entry)))
	b = append(b, p.Entry...)
	b, ok = p.Layout.Append(b)
	return b, ok && len(p.Sizes) == 0 && len(p.Bodies) == 0
}

// Read reads what Append has written: a program that can be run where its code is loaded.
func Read(b []byte) (*Program, error) {
	bad := errors.New("it is no program that was kept")
	lanes, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, bad
	}
	b = b[n:]
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) {
		return nil, bad
	}
	b = b[n:]
	l, err := plan.ReadLayout(b[length:])
	if err != nil {
		return nil, err
	}
	return &Program{Layout: *l, Entry: string(b[:length]), Lanes: int(lanes)}, nil
}
