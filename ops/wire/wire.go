// Package wire writes numbers, texts, sizes and arguments of operators as bytes, and reads them again: what a graph is in the
// keys of what was compiled, and what is kept of a compile in the cache.
//
// Numbers are varints, texts and lists stand behind their length, arguments behind a letter of their kind, so that no two
// values are written alike. Sizes that vary have no bytes. Read what others may have written with a Reader, which never
// reads beyond the end and never makes more than there are bytes for.
//
// It imports ops and ops/sym alone. Open wire.go first: a Writer, then its Reader.
package wire

import (
	"encoding/binary"
	"math"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// Writer appends to B.
type Writer struct {
	B []byte
	// Lost: something was to be written that has no bytes, so B is of no use.
	Lost bool
	// Other writes an argument of a kind that this package does not know; false: it knows it neither.
	Other func(ops.Arg) bool
}

// Int writes a number.
func (w *Writer) Int(n int64) { w.B = binary.AppendVarint(w.B, n) }

// Len writes the length of a list.
func (w *Writer) Len(n int) { w.Int(int64(n)) }

// Ints writes a list of numbers.
func (w *Writer) Ints(list []int) {
	w.Len(len(list))
	for _, n := range list {
		w.Int(int64(n))
	}
}

// Texts writes one text after the other.
func (w *Writer) Texts(list ...string) {
	for _, s := range list {
		w.Len(len(s))
		w.B = append(w.B, s...)
	}
}

// Bytes writes what a Reader's Bytes reads.
func (w *Writer) Bytes(b []byte) {
	w.Len(len(b))
	w.B = append(w.B, b...)
}

// Bools writes one byte each.
func (w *Writer) Bools(list ...bool) {
	for _, v := range list {
		if v {
			w.B = append(w.B, 1)
		} else {
			w.B = append(w.B, 0)
		}
	}
}

// Float writes the bits of a number.
func (w *Writer) Float(x float64) { w.B = binary.LittleEndian.AppendUint64(w.B, math.Float64bits(x)) }

// Size writes a size that is known.
func (w *Writer) Size(x sym.Int) {
	n, known := x.IsConst()
	w.Lost = w.Lost || !known
	w.Int(n)
}

// Sizes writes a list of sizes.
func (w *Writer) Sizes(list []sym.Int) {
	w.Len(len(list))
	for _, x := range list {
		w.Size(x)
	}
}

// Args writes a list of arguments.
func (w *Writer) Args(list []ops.Arg) {
	w.Len(len(list))
	for _, a := range list {
		w.Arg(a)
	}
}

// Arg writes an argument of a bound call.
func (w *Writer) Arg(a ops.Arg) {
	switch a := a.(type) {
	case nil:
		w.Letter('n')
	case []ops.Arg:
		w.Letter('l')
		w.Args(a)
	case sym.Int:
		w.Letter('i')
		w.Size(a)
	case []sym.Int:
		w.Letter('I')
		w.Sizes(a)
	case float64:
		w.Letter('f')
		w.Float(a)
	case []float64:
		w.Letter('F')
		w.Len(len(a))
		for _, x := range a {
			w.Float(x)
		}
	case bool:
		w.Letter('b')
		w.Bools(a)
	case []bool:
		w.Letter('B')
		w.Len(len(a))
		w.Bools(a...)
	case string:
		w.Letter('s')
		w.Texts(a)
	case ops.DType:
		w.Letter('d')
		w.Int(int64(a))
	case ops.Device:
		w.Letter('D')
		w.Texts(string(a))
	default:
		w.Lost = w.Lost || w.Other == nil || !w.Other(a)
	}
}

// Letter begins an argument. Those of Other are capitals and signs that Arg does not use.
func (w *Writer) Letter(c byte) { w.B = append(w.B, c) }
