package logs

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// This file is the JSON reader of the trace: it walks over bytes without
// building values, since nine tenths of a trace are fields that nobody asks
// for (one compilation_metrics record carries 30 kB of configuration). It
// accepts what encoding/json accepts and a little more; nothing recurses, so
// that deep input costs no stack.

// skipSpace returns the index of the next byte that is not white space. TABs
// count as space, which lets payloads of one token a line be read undressed.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that opens at b[i], -1 when
// it does not end. It looks at eight bytes at a time: half of a trace may be
// JSON within strings, where every tenth byte is a backslash.
func skipString(b []byte, i int) int {
	const quotes, slashes = '"' * eachByte, '\\' * eachByte
	carry := uint64(0) // highBit when the byte before b[i] escapes it
	for i++; i+8 <= len(b); i += 8 {
		word := binary.LittleEndian.Uint64(b[i:])
		slash := zeroBytes(word ^ slashes)
		escaped := slash<<8 | carry
		if slash&escaped != 0 { // one backslash may escape the other
			slash, escaped = oneByOne(slash, carry)
		}
		if end := zeroBytes(word^quotes) &^ escaped; end != 0 {
			return i + bits.TrailingZeros64(end)/8 + 1
		}
		carry = slash >> 56
	}
	for ; i < len(b); i++ {
		switch {
		case carry != 0:
			carry = 0
		case b[i] == '\\':
			carry = highBit
		case b[i] == '"':
			return i + 1
		}
	}
	return -1
}

// oneByOne takes a run of backslashes apart: escaping are those that escape the
// byte after them, escaped the bytes that are.
func oneByOne(slash, carry uint64) (escaping, escaped uint64) {
	for at := uint64(highBit); at != 0; at <<= 8 {
		switch {
		case carry != 0:
			escaped |= at
			carry = 0
		case slash&at != 0:
			escaping |= at
			carry = highBit
		}
	}
	return escaping, escaped
}

const (
	eachByte = 0x0101010101010101
	highBit  = 0x80
)

// zeroBytes has the high bit of each byte that is zero in x.
func zeroBytes(x uint64) uint64 {
	const low = (highBit - 1) * eachByte
	return ^(x&low + low | x | low)
}

// skipValue returns the index after the JSON value at b[i], -1 when it is cut
// off or no value.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{' || c == '[':
		return skipNested(b, i)
	default:
		j := i
		for j < len(b) && !isDelimiter(b[j]) {
			j++
		}
		if j == i {
			return -1
		}
		return j
	}
}

func isDelimiter(c byte) bool {
	switch c {
	case ',', '}', ']', ':', ' ', '\t', '\n', '\r', '"', '{', '[':
		return true
	}
	return false
}

func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// object walks over the fields of the JSON object b.
type object struct {
	b     []byte
	i     int  // at a key, or at the value of the key that next gave
	ended bool // i is after the object
}

// open steps into the object at i.
func (o *object) open() bool {
	if o.i >= len(o.b) || o.b[o.i] != '{' {
		return false
	}
	o.i = skipSpace(o.b, o.i+1)
	if o.i < len(o.b) && o.b[o.i] == '}' {
		o.i, o.ended = o.i+1, true
	}
	return true
}

// next is the key at i; nil after the last one, or where there is none.
func (o *object) next() []byte {
	if o.ended || o.i >= len(o.b) || o.b[o.i] != '"' {
		return nil
	}
	end := skipString(o.b, o.i)
	if end < 0 {
		return nil
	}
	colon := skipSpace(o.b, end)
	if colon >= len(o.b) || o.b[colon] != ':' {
		return nil
	}
	key := o.b[o.i+1 : end-1]
	o.i = skipSpace(o.b, colon+1)
	return key
}

// pass goes on after a value that ends at end.
func (o *object) pass(end int) bool {
	if end < 0 {
		return false
	}
	i := skipSpace(o.b, end)
	switch {
	case i >= len(o.b):
		return false
	case o.b[i] == '}':
		o.i, o.ended = i+1, true
	case o.b[i] == ',':
		o.i = skipSpace(o.b, i+1)
	default:
		return false
	}
	return true
}

// EachField calls f with every key and value of the JSON object b, the value
// as raw JSON. It stops when f returns false and reports whether b was a whole
// object as far as it was read.
func EachField(b []byte, f func(key, val []byte) bool) bool {
	o := object{b: b, i: skipSpace(b, 0)}
	if !o.open() {
		return false
	}
	for key := o.next(); key != nil; key = o.next() {
		end := skipValue(b, o.i)
		if end < 0 {
			return false
		}
		if !f(key, b[o.i:end]) {
			return true
		}
		if !o.pass(end) {
			return false
		}
	}
	return o.ended
}

// field says where within an object a key and its value are.
type field struct{ key, keyEnd, val, end uint32 }

// appendFields appends the fields of the object at b[i] and returns the index
// after it, -1 where there is none that EachField would read to its end.
func appendFields(fields []field, b []byte, i int) ([]field, int) {
	o := object{b: b, i: i}
	if len(b) > math.MaxUint32 || !o.open() {
		return fields, -1
	}
	for key := o.next(); key != nil; key = o.next() {
		end := skipValue(b, o.i)
		if end < 0 {
			return fields, -1
		}
		// A key begins where its slice of b does.
		from := cap(b) - cap(key) - i
		fields = append(fields, field{uint32(from), uint32(from + len(key)), uint32(o.i - i), uint32(end - i)})
		if !o.pass(end) {
			return fields, -1
		}
	}
	if !o.ended {
		return fields, -1
	}
	return fields, o.i
}

// EachItem calls f with every element of the JSON array b.
func EachItem(b []byte, f func(val []byte) bool) bool {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return false
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return true
	}
	for i < len(b) {
		ve := skipValue(b, i)
		if ve < 0 {
			return false
		}
		if !f(b[i:ve]) {
			return true
		}
		i = skipSpace(b, ve)
		if i >= len(b) {
			return false
		}
		if b[i] == ']' {
			return true
		}
		if b[i] != ',' {
			return false
		}
		i = skipSpace(b, i+1)
	}
	return false
}

// JSONString decodes a raw JSON string; other values come back as they are,
// null as the empty string.
func JSONString(raw []byte) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if raw[0] != '"' || len(raw) < 2 {
		return string(raw)
	}
	in := raw[1 : len(raw)-1]
	if bytes.IndexByte(in, '\\') < 0 && utf8.Valid(in) {
		return string(in)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(in)
	}
	return s
}

// JSONInt decodes a raw JSON integer; ok is false for null and everything else.
func JSONInt(raw []byte) (n int64, ok bool) {
	if len(raw) == 0 || len(raw) > 20 {
		return 0, false
	}
	neg := raw[0] == '-'
	i := 0
	if neg {
		i = 1
	}
	if i == len(raw) {
		return 0, false
	}
	for ; i < len(raw); i++ {
		c := raw[i]
		if c < '0' || c > '9' || n > (1<<63-10)/10 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

// maxFloat bounds what is believed of a number: sums and products of such numbers are finite,
// and JSON has no other.
const maxFloat = 1e100

// JSONFloat decodes a raw JSON number.
func JSONFloat(raw []byte) (float64, bool) {
	if len(raw) == 0 || len(raw) > 64 {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.Abs(f) > maxFloat {
		return 0, false
	}
	return f, true
}

// JSONStrings decodes a raw JSON list of strings; other elements come back as
// raw text.
func JSONStrings(raw []byte) []string {
	var out []string
	EachItem(raw, func(v []byte) bool {
		out = append(out, JSONString(v))
		return true
	})
	return out
}
