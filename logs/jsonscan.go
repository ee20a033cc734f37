package logs

import (
	"bytes"
	"encoding/json"
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

// skipString returns the index behind the string that opens at b[i], -1 when
// it does not end.
func skipString(b []byte, i int) int {
	i++
	// Most strings are a few bytes long: looking at these one by one is faster
	// than to prepare for more.
	for end := min(i+16, len(b)); i < end && b[i] != '\\'; i++ {
		if b[i] == '"' {
			return i + 1
		}
	}
	for {
		j := bytes.IndexByte(b[i:], '"')
		if j < 0 {
			return -1
		}
		i += j
		k := i - 1
		for k >= 0 && b[k] == '\\' {
			k--
		}
		if (i-1-k)%2 == 0 {
			return i + 1
		}
		i++
	}
}

// skipValue returns the index behind the JSON value at b[i], -1 when it is cut
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

// EachField calls f with every key and value of the JSON object b, the value
// as raw JSON. It stops when f returns false and reports whether b was a whole
// object as far as it was read.
func EachField(b []byte, f func(key, val []byte) bool) bool {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return false
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return true
	}
	for i < len(b) && b[i] == '"' {
		ke := skipString(b, i)
		if ke < 0 {
			return false
		}
		key := b[i+1 : ke-1]
		if i = skipSpace(b, ke); i >= len(b) || b[i] != ':' {
			return false
		}
		i = skipSpace(b, i+1)
		ve := skipValue(b, i)
		if ve < 0 {
			return false
		}
		if !f(key, b[i:ve]) {
			return true
		}
		i = skipSpace(b, ve)
		if i >= len(b) {
			return false
		}
		if b[i] == '}' {
			return true
		}
		if b[i] != ',' {
			return false
		}
		i = skipSpace(b, i+1)
	}
	return false
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

// JSONString decodes a raw JSON string; other values come back as they stand,
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

// JSONFloat decodes a raw JSON number.
func JSONFloat(raw []byte) (float64, bool) {
	if len(raw) == 0 || len(raw) > 64 {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return f, err == nil
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
