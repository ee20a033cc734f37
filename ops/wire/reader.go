package wire

import (
	"encoding/binary"
	"math"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// Reader takes off B what a Writer has written. After the first thing that is not there, Bad is set and all that is read is
// empty, so that it is enough to ask at the end.
type Reader struct {
	B   []byte
	Bad bool
	// Other reads an argument behind a letter that this package does not know; false: it knows it neither.
	Other func(letter byte) (ops.Arg, bool)
}

// Done reports whether all was there, and nothing else.
func (r *Reader) Done() bool { return !r.Bad && len(r.B) == 0 }

// Fail says that what was read is nothing that was written.
func (r *Reader) Fail() { r.Bad, r.B = true, nil }

// Take takes n bytes off; nil where there are not as many.
func (r *Reader) Take(n int) []byte {
	if n < 0 || n > len(r.B) {
		r.Fail()
		return nil
	}
	b := r.B[:n:n]
	r.B = r.B[n:]
	return b
}

// Int reads a number.
func (r *Reader) Int() int64 {
	v, n := binary.Varint(r.B)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.B = r.B[n:]
	return v
}

// AtMost reads a number from 0 to most.
func (r *Reader) AtMost(most int) int {
	n := r.Int()
	if n < 0 || n > int64(most) {
		r.Fail()
		return 0
	}
	return int(n)
}

// Len reads the length of a list, of which each member takes a byte at least.
func (r *Reader) Len() int { return r.AtMost(len(r.B)) }

// Bytes reads a text as the bytes that it is in B.
func (r *Reader) Bytes() []byte { return r.Take(r.Len()) }

// Text reads a text.
func (r *Reader) Text() string { return string(r.Bytes()) }

// Bool reads one truth value.
func (r *Reader) Bool() bool {
	b := r.Take(1)
	return len(b) == 1 && b[0] != 0
}

// Float reads a number with a fraction.
func (r *Reader) Float() float64 {
	b := r.Take(8)
	if b == nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// Size reads a size.
func (r *Reader) Size() sym.Int { return sym.Const(r.Int()) }

// DType reads an element type.
func (r *Reader) DType() ops.DType { return ops.DType(r.AtMost(int(ops.NumDTypes) - 1)) }

// List reads a list of what one reads.
func List[T any](r *Reader, one func() T) []T {
	out := make([]T, r.Len())
	for i := range out {
		out[i] = one()
	}
	return out
}

// Ints reads a list of numbers.
func (r *Reader) Ints() []int { return List(r, func() int { return int(r.Int()) }) }

// Sizes reads a list of sizes.
func (r *Reader) Sizes() []sym.Int { return List(r, r.Size) }

// Args reads a list of arguments.
func (r *Reader) Args() []ops.Arg { return List(r, r.Arg) }

// Arg reads an argument.
func (r *Reader) Arg() ops.Arg {
	letter := r.Take(1)
	if letter == nil {
		return nil
	}
	switch letter[0] {
	case 'n':
		return nil
	case 'l':
		return r.Args()
	case 'i':
		return r.Size()
	case 'I':
		return r.Sizes()
	case 'f':
		return r.Float()
	case 'F':
		return List(r, r.Float)
	case 'b':
		return r.Bool()
	case 'B':
		return List(r, r.Bool)
	case 's':
		return r.Text()
	case 'd':
		return r.DType()
	case 'D':
		return ops.Device(r.Text())
	}
	if r.Other != nil {
		if a, ok := r.Other(letter[0]); ok {
			return a
		}
	}
	r.Fail()
	return nil
}
