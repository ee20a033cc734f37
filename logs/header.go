package logs

import (
	"bytes"
)

// This file reads one header line: the glog prefix and the JSON envelope.

// header is what one header line says. Slices point into the line.
type header struct {
	level  byte
	micros int64 // since the start of the (unwritten) year
	thread int
	place  []byte // path:line

	kind     []byte // event key
	meta     []byte // its value, raw JSON
	md5      []byte // nil: no payload
	stack    []byte // framework stack of records outside a compile
	subgraph []byte
	rank     int // -1: none
	autograd int // compiled autograd id, -1: none
	id       CompileID
	hasID    bool
	hasTry   bool // an attempt is named

	fields []field // of this and earlier headers
	first  int     // those of meta are the ones from here on; -1: it is no object
}

// glogPrefix finds "V1120 20:59:19.936000 400 path:28] " at the start of line
// and returns the index after it, -1 when there is none. "[rank0]:" may come
// before it.
func glogPrefix(line []byte, h *header) int {
	i := 0
	h.rank = -1
	if len(line) > 6 && line[0] == '[' && string(line[1:5]) == "rank" {
		j := bytes.IndexByte(line, ']')
		if j < 0 || j+1 >= len(line) || line[j+1] != ':' {
			return -1
		}
		if n, ok := JSONInt(line[5:j]); ok {
			h.rank = int(n)
		}
		i = j + 2
	}
	b := line[i:]
	if len(b) < 24 || !isLevel(b[0]) || b[5] != ' ' || b[8] != ':' || b[11] != ':' || b[14] != '.' {
		return -1
	}
	mon, ok1 := two(b[1:])
	day, ok2 := two(b[3:])
	hh, ok3 := two(b[6:])
	mm, ok4 := two(b[9:])
	ss, ok5 := two(b[12:])
	if !(ok1 && ok2 && ok3 && ok4 && ok5) || mon < 1 || mon > 12 || day < 1 || day > 31 {
		return -1
	}
	j := 15
	frac, digits := 0, 0
	for ; j < len(b) && b[j] >= '0' && b[j] <= '9'; j++ {
		if digits < 6 {
			frac = frac*10 + int(b[j]-'0')
			digits++
		}
	}
	for ; digits < 6; digits++ {
		frac *= 10
	}
	if j >= len(b) || b[j] != ' ' {
		return -1
	}
	for j < len(b) && b[j] == ' ' {
		j++
	}
	n := 0
	start := j
	for ; j < len(b) && b[j] >= '0' && b[j] <= '9'; j++ {
		n = n*10%(1<<40) + int(b[j]-'0')
	}
	if j == start || j >= len(b) || b[j] != ' ' {
		return -1
	}
	end := bytes.Index(b[j:], []byte("] "))
	if end < 0 {
		if b[len(b)-1] != ']' {
			return -1
		}
		end = len(b) - 1 - j
	}
	h.level = b[0]
	h.micros = ((int64(yearDay[mon-1]+day-1)*24+int64(hh))*60+int64(mm))*60_000_000 + int64(ss)*1_000_000 + int64(frac)
	h.thread = n
	h.place = b[j+1 : j+end]
	return min(i+j+end+2, len(line))
}

// yearDay is the day of a leap year at which each month begins: without a year
// in the log, February 29 must fit.
var yearDay = [12]int{0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335}

func isLevel(c byte) bool {
	return c == 'V' || c == 'I' || c == 'W' || c == 'E' || c == 'C' || c == 'D'
}

func two(b []byte) (int, bool) {
	if b[0] < '0' || b[0] > '9' || b[1] < '0' || b[1] > '9' {
		return 0, false
	}
	return int(b[0]-'0')*10 + int(b[1]-'0'), true
}

// isTraceHeader says whether line opens a record of a trace: prefix and JSON.
func isTraceHeader(line []byte, h *header) int {
	if len(line) == 0 || line[0] == '\t' {
		return -1
	}
	i := glogPrefix(line, h)
	if i < 0 || i >= len(line) || line[i] != '{' {
		return -1
	}
	return i
}

// parseEnvelope reads the JSON object of a header line. It reports false for
// broken JSON; h then holds what was read.
func parseEnvelope(b []byte, h *header) bool {
	h.kind, h.meta, h.md5, h.stack, h.subgraph = nil, nil, nil, nil, nil
	h.autograd, h.id, h.hasTry = -1, NoCompile, false
	o := object{b: b, i: skipSpace(b, 0)}
	ok := o.open()
	for key := o.next(); ok && key != nil; key = o.next() {
		at := o.i
		var end int
		if h.kind == nil && !isContext(key) {
			end = h.event(key, b, at)
		} else if end = skipValue(b, at); end > 0 {
			h.context(key, b[at:end])
		}
		ok = o.pass(end)
	}
	h.hasID = h.id.Frame >= 0
	return ok && o.ended && h.kind != nil
}

// event takes the event key with its value, which begins at b[at], and returns
// the value's end.
func (h *header) event(key, b []byte, at int) int {
	was := len(h.fields)
	var end int
	if h.fields, end = appendFields(h.fields, b, at); end < 0 {
		h.fields, was = h.fields[:was], -1
		end = skipValue(b, at)
	}
	if end > 0 {
		h.kind, h.meta, h.first = key, b[at:end], was
	}
	return end
}

// isContext says whether a key belongs to a record of any kind.
func isContext(key []byte) bool {
	switch string(key) {
	case "rank", "compiled_autograd_id", "frame_id", "frame_compile_id", "attempt", "has_payload", "stack", "subgraph_name",
		"severity", "timestamp", "pathname", "thread":
		return true
	}
	return false
}

// context takes a field that any record may have.
func (h *header) context(key, val []byte) {
	switch string(key) {
	case "rank":
		h.rank = intOr(val, h.rank)
	case "compiled_autograd_id":
		h.autograd = intOr(val, -1)
	case "frame_id":
		h.id.Frame = intOr(val, -1)
	case "frame_compile_id":
		h.id.Compile = intOr(val, -1)
	case "attempt":
		h.id.Attempt = intOr(val, 0)
		h.hasTry = string(val) != "null"
	case "has_payload":
		if len(val) == 34 && val[0] == '"' {
			h.md5 = val[1:33]
		} else {
			h.md5 = []byte{}
		}
	case "stack":
		h.stack = val
	case "subgraph_name":
		h.subgraph = val
	}
}

func intOr(raw []byte, or int) int {
	if n, ok := JSONInt(raw); ok {
		return int(n)
	}
	return or
}
