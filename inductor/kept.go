package inductor

import (
	"errors"

	"tcdbg/inductor/plan"
	"tcdbg/ops/wire"
)

// This file writes what it takes to run a program whose code is built, and reads it again: no text, and nothing of how
// it was decided.

// Append appends the program to b. ok is false for one that is not kept: with sizes that vary or control flow.
func (p *Program) Append(b []byte) (out []byte, ok bool) {
	w := wire.Writer{B: b}
	w.Int(int64(p.Lanes))
	w.Texts(p.Entry)
	b, ok = p.Layout.Append(w.B)
	return b, ok && len(p.Sizes) == 0 && len(p.Bodies) == 0
}

// Read reads what Append has written: a program that can be run where its code is loaded.
func Read(b []byte) (*Program, error) {
	r := wire.Reader{B: b}
	p := &Program{Lanes: int(r.Int()), Entry: r.Text()}
	if r.Bad {
		return nil, errors.New("it is no program that was kept")
	}
	l, err := plan.ReadLayout(r.B)
	if err != nil {
		return nil, err
	}
	p.Layout = *l
	return p, nil
}
