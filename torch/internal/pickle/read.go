// Package pickle reads and writes the part of Python's pickle format that
// saved tensors use. It runs nothing: a global of the stream is a name that
// the caller turns into a value or refuses.
//
// It imports the standard library only. Open read.go first.
package pickle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
)

// Global is a name of the stream: a function or class of Python.
type Global struct{ Module, Name string }

// Tuple is a Python tuple.
type Tuple []any

// List is a Python list; Append changes it in place.
type List struct{ Items []any }

// Dict is a Python dict in insertion order.
type Dict struct {
	Items []Item
	index map[any]int
}

// Item is one entry of a Dict.
type Item struct{ Key, Value any }

// Set adds or replaces an entry. Keys that Go cannot compare are refused.
func (d *Dict) Set(key, value any) error {
	switch key.(type) {
	case string, int, float64, bool, nil:
	default:
		return fmt.Errorf("pickle: a dict key of type %T is not supported", key)
	}
	if d.index == nil {
		d.index = map[any]int{}
	}
	if i, ok := d.index[key]; ok {
		d.Items[i].Value = value
		return nil
	}
	d.index[key] = len(d.Items)
	d.Items = append(d.Items, Item{key, value})
	return nil
}

// Get returns the value under a key; nil without it.
func (d *Dict) Get(key any) any {
	if i, ok := d.index[key]; ok {
		return d.Items[i].Value
	}
	return nil
}

// Resolver gives meaning to what the stream names.
type Resolver interface {
	// Call is what REDUCE makes of a global and its arguments.
	Call(g Global, args Tuple) (any, error)
	// Persistent is an object stored outside the stream.
	Persistent(id any) (any, error)
}

// maxEntries bounds the stack and the memo of hostile streams.
const maxEntries = 1 << 24

type mark struct{}

type reader struct {
	in    *bytes.Reader
	stack []any
	memo  map[int]any
	with  Resolver
}

// Read decodes a stream of protocol 2 to 5.
func Read(data []byte, with Resolver) (any, error) {
	r := &reader{in: bytes.NewReader(data), memo: map[int]any{}, with: with}
	for {
		op, err := r.in.ReadByte()
		if err != nil {
			return nil, errors.New("pickle: the stream ends without STOP")
		}
		if op == '.' {
			v, err := r.pop()
			return v, err
		}
		at := int64(len(data)) - int64(r.in.Len()) - 1
		if err := r.step(op); err != nil {
			return nil, fmt.Errorf("pickle: opcode %q at byte %d: %w", op, at, err)
		}
		if len(r.stack) > maxEntries || len(r.memo) > maxEntries {
			return nil, errors.New("pickle: the stream is too large")
		}
	}
}

func (r *reader) push(v any) { r.stack = append(r.stack, v) }

var (
	errStack = errors.New("stack underflow")
	errMark  = errors.New("a mark where a value should be")
)

func (r *reader) pop() (any, error) {
	if len(r.stack) == 0 {
		return nil, errStack
	}
	v := r.stack[len(r.stack)-1]
	if _, ok := v.(mark); ok {
		return nil, errMark
	}
	r.stack = r.stack[:len(r.stack)-1]
	return v, nil
}

// popN takes the n values on top.
func (r *reader) popN(n int) ([]any, error) {
	if len(r.stack) < n {
		return nil, errStack
	}
	from := len(r.stack) - n
	for _, v := range r.stack[from:] {
		if _, ok := v.(mark); ok {
			return nil, errMark
		}
	}
	items := append([]any(nil), r.stack[from:]...)
	r.stack = r.stack[:from]
	return items, nil
}

// popMark takes everything above the last mark.
func (r *reader) popMark() ([]any, error) {
	for i := len(r.stack) - 1; i >= 0; i-- {
		if _, ok := r.stack[i].(mark); ok {
			items := append([]any(nil), r.stack[i+1:]...)
			r.stack = r.stack[:i]
			return items, nil
		}
	}
	return nil, errors.New("no mark")
}

func (r *reader) bytes(n int) ([]byte, error) {
	if n < 0 || n > r.in.Len() {
		return nil, errors.New("the stream is cut off")
	}
	b := make([]byte, n)
	_, err := r.in.Read(b)
	if n == 0 {
		err = nil
	}
	return b, err
}

func (r *reader) uint(n int) (int, error) {
	b, err := r.bytes(n)
	if err != nil {
		return 0, err
	}
	v := uint64(0)
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	if v > math.MaxInt32 && n == 8 {
		return 0, errors.New("a length is too large")
	}
	return int(v), nil
}

func (r *reader) line() (string, error) {
	var out []byte
	for {
		c, err := r.in.ReadByte()
		if err != nil {
			return "", errors.New("a line is cut off")
		}
		if c == '\n' {
			return string(out), nil
		}
		out = append(out, c)
	}
}

// step runs one opcode.
func (r *reader) step(op byte) error {
	if done, err := r.constant(op); done {
		return err
	}
	if done, err := r.memoOp(op); done {
		return err
	}
	return r.build(op)
}

// constant handles the opcodes that push a value of their own.
func (r *reader) constant(op byte) (bool, error) {
	switch op {
	case 0x80: // PROTO
		v, err := r.uint(1)
		if err == nil && (v < 2 || v > 5) {
			err = fmt.Errorf("protocol %d is not supported", v)
		}
		return true, err
	case 0x95: // FRAME
		_, err := r.bytes(8)
		return true, err
	case '(':
		r.push(mark{})
	case 'N':
		r.push(nil)
	case 0x88:
		r.push(true)
	case 0x89:
		r.push(false)
	case '}':
		r.push(&Dict{})
	case ']':
		r.push(&List{})
	case ')':
		r.push(Tuple{})
	case 'K':
		return true, r.number(1)
	case 'M':
		return true, r.number(2)
	case 'J':
		v, err := r.uint(4)
		r.push(int(int32(uint32(v))))
		return true, err
	case 0x8a:
		return true, r.long()
	case 'G':
		b, err := r.bytes(8)
		if err == nil {
			r.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
		}
		return true, err
	case 'X':
		return true, r.text(4)
	case 0x8c:
		return true, r.text(1)
	case 0x8d:
		return true, r.text(8)
	case 'c':
		return true, r.global()
	default:
		return false, nil
	}
	return true, nil
}

func (r *reader) number(n int) error {
	v, err := r.uint(n)
	r.push(v)
	return err
}

func (r *reader) text(n int) error {
	size, err := r.uint(n)
	if err != nil {
		return err
	}
	b, err := r.bytes(size)
	r.push(string(b))
	return err
}

// long reads LONG1: a little-endian two's-complement integer.
func (r *reader) long() error {
	n, err := r.uint(1)
	if err != nil {
		return err
	}
	b, err := r.bytes(n)
	if err != nil {
		return err
	}
	v := new(big.Int)
	for i := len(b) - 1; i >= 0; i-- {
		v.Lsh(v, 8).Or(v, big.NewInt(int64(b[i])))
	}
	if n > 0 && b[n-1]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
	}
	if !v.IsInt64() {
		return errors.New("an integer is too large")
	}
	r.push(int(v.Int64()))
	return nil
}

func (r *reader) global() error {
	module, err := r.line()
	if err != nil {
		return err
	}
	name, err := r.line()
	r.push(Global{module, name})
	return err
}

// memoOp handles the opcodes of the memo.
func (r *reader) memoOp(op byte) (bool, error) {
	switch op {
	case 'q', 'r', 0x94:
		i, err := len(r.memo), error(nil)
		switch op {
		case 'q':
			i, err = r.uint(1)
		case 'r':
			i, err = r.uint(4)
		}
		if err != nil {
			return true, err
		}
		v, err := r.pop()
		if err == nil {
			r.push(v)
			r.memo[i] = v
		}
		return true, err
	case 'h', 'j':
		n := 1
		if op == 'j' {
			n = 4
		}
		i, err := r.uint(n)
		if err != nil {
			return true, err
		}
		v, ok := r.memo[i]
		if !ok {
			return true, fmt.Errorf("memo entry %d is not there", i)
		}
		r.push(v)
		return true, nil
	}
	return false, nil
}
