package logs

import (
	"bytes"
	"strings"
)

// This file reads the prefix of one line of a text log, in all the shapes that
// PyTorch and those who quote it gave it.

// textLine is one line without its prefix.
type textLine struct {
	prefixed bool
	old      bool // a prefix that comes before the first line of a message only
	level    byte
	micros   int64
	thread   int
	place    string
	rank     int // -1: none
	id       CompileID
	hasID    bool
	autograd int    // -1: none
	artifact string // graph_breaks, ...; "" when not tagged
	text     string
}

// lexLine reads a line in whatever form it has.
func lexLine(line []byte) textLine {
	line = stripColours(line)
	l := textLine{rank: -1, autograd: -1, id: NoCompile, level: 'V'}
	switch {
	case lexGlog(line, &l), lexShort(line, &l), lexOldBracket(line, &l), lexBracket(line, &l):
		l.prefixed = true
	default:
		rest := lexRank(line, &l)
		l.text = string(rest)
	}
	return l
}

// lexRank reads "[rank0]:" and torchrun's "[default0]:".
func lexRank(line []byte, l *textLine) []byte {
	for _, word := range []string{"[rank", "[default"} {
		if !bytes.HasPrefix(line, []byte(word)) {
			continue
		}
		j := bytes.IndexByte(line, ']')
		if j < 0 || j+1 >= len(line) || line[j+1] != ':' {
			continue
		}
		if n, ok := JSONInt(line[len(word):j]); ok {
			l.rank = int(n)
			return bytes.TrimPrefix(line[j+2:], []byte(" "))
		}
	}
	return line
}

// lexGlog reads "[rank0]:V1120 20:59:19.936000 400 path:28] [0/0] [__graph_breaks] text".
func lexGlog(line []byte, l *textLine) bool {
	var h header
	rest := lexRank(line, l)
	i := glogPrefix(rest, &h)
	if i < 0 {
		return false
	}
	if h.rank >= 0 {
		l.rank = h.rank
	}
	l.level, l.micros, l.thread, l.place = h.level, h.micros, h.thread, string(h.place)
	lexTags(string(rest[i:]), l)
	return true
}

// lexTags reads the optional compile id and artifact in front of the text;
// some messages have them the other way round.
func lexTags(s string, l *textLine) {
	for range 2 {
		if !strings.HasPrefix(s, "[") {
			break
		}
		j := strings.IndexByte(s, ']')
		if j < 0 {
			break
		}
		tag := s[1:j]
		if name, ok := strings.CutPrefix(tag, "__"); ok && findLog(name) != nil && l.artifact == "" {
			l.artifact = name
		} else if !l.hasID && parseID(tag, l) {
			l.hasID = true
		} else {
			break
		}
		s = s[j+1:]
		s = strings.TrimPrefix(s, " ")
	}
	l.text = s
}

// parseID reads 0/1, 0/1_2, !3/0/1 and !3.
func parseID(s string, l *textLine) bool {
	autograd := -1
	if rest, ok := strings.CutPrefix(s, "!"); ok {
		num, tail, more := strings.Cut(rest, "/")
		n, ok := JSONInt([]byte(num))
		if !ok {
			return false
		}
		autograd = int(n)
		if !more || tail == "-/-" {
			l.autograd = autograd
			return true
		}
		s = tail
	}
	frame, rest, ok := strings.Cut(s, "/")
	if !ok {
		return false
	}
	compile, attempt, _ := strings.Cut(rest, "_")
	f, ok1 := JSONInt([]byte(frame))
	c, ok2 := JSONInt([]byte(compile))
	if !ok1 || !ok2 || f < 0 || c < 0 || f > 1<<30 || c > 1<<30 {
		return false
	}
	a, _ := JSONInt([]byte(attempt))
	l.id = CompileID{int(f), int(c), int(min(max(a, 0), 1<<14))}
	l.autograd = autograd
	return true
}

// shortForm is "I0221 120624.445 file.py:282] text" and "I0221 12:06:24.445 file.py:282] text".
var shortForm = pattern(`^([VIWECD])(\d\d)(\d\d) (\d\d):?(\d\d):?(\d\d)(?:\.(\d+))? (?:\d+ )?([^\] ]+:\d+)\] ?`)

func lexShort(line []byte, l *textLine) bool {
	rest := lexRank(line, l)
	if len(rest) < 12 || !isLevel(rest[0]) || rest[1] < '0' || rest[1] > '9' {
		return false
	}
	m := shortForm().FindSubmatch(rest)
	if m == nil {
		return false
	}
	l.level, l.place = m[1][0], string(m[8])
	l.micros = microsOf(m[2], m[3], m[4], m[5], m[6], m[7])
	lexTags(string(rest[len(m[0]):]), l)
	return true
}

// microsOf is the time that a line's digits name; 0 where there is no such day.
func microsOf(mon, day, hh, mm, ss, frac []byte) int64 {
	n := func(b []byte) int64 {
		v, _ := JSONInt(bytes.TrimLeft(b[:max(len(b)-1, 0)], "0"))
		d, _ := JSONInt(b[len(b)-1:])
		return v*10 + d
	}
	m := n(mon)
	if m < 1 || m > 12 || n(day) < 1 || n(day) > 31 {
		return 0
	}
	us := ((int64(yearDay[m-1])+n(day)-1)*24+n(hh))*3600 + n(mm)*60 + n(ss)
	us *= 1_000_000
	f := append(bytes.Clone(frac), "000000"...)[:6]
	for _, c := range f {
		if c < '0' || c > '9' {
			return us
		}
	}
	return us + n(f[:3])*1000 + n(f[3:])
}

// oldForm is "[2023-07-01 12:00:00,123] [0/0] torch._dynamo.x.__graph_breaks: [DEBUG] text".
var oldForm = pattern(`^\[\d{4}-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d),(\d+)\] (?:\[([^\]]*)\] )?([\w.<>]+): \[(\w+)\] ?`)

func lexOldBracket(line []byte, l *textLine) bool {
	rest := lexRank(line, l)
	if len(rest) < 25 || rest[0] != '[' || rest[1] < '0' || rest[1] > '9' {
		return false
	}
	m := oldForm().FindSubmatch(rest)
	if m == nil {
		return false
	}
	l.old = true
	l.level = m[9][0]
	if l.level == 'D' {
		l.level = 'V'
	}
	l.micros = microsOf(m[1], m[2], m[3], m[4], m[5], m[6])
	if len(m[7]) > 0 {
		l.hasID = parseID(string(m[7]), l)
	}
	l.place = string(m[8])
	if i := strings.LastIndex(l.place, ".__"); i >= 0 && findLog(l.place[i+3:]) != nil {
		l.artifact = l.place[i+3:]
	}
	l.text = string(rest[len(m[0]):])
	if !l.hasID {
		lexTags(l.text, l)
	}
	return true
}

// bracketForm is "[W 250221 12:16:33 id:2] text" and c10's
// "[W1120 12:16:33.123456789 file.cpp:2] text".
var bracketForm = pattern(`^\[([VIWEC]) ?(?:\d\d)?(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d+))? ([^\] ]+:\d+)\] ?`)

func lexBracket(line []byte, l *textLine) bool {
	if len(line) < 20 || line[0] != '[' || !isLevel(line[1]) {
		return false
	}
	m := bracketForm().FindSubmatch(line)
	if m == nil {
		return false
	}
	l.level, l.place = m[1][0], string(m[8])
	l.micros = microsOf(m[2], m[3], m[4], m[5], m[6], m[7])
	lexTags(string(line[len(m[0]):]), l)
	return true
}

// stripColours removes terminal colour sequences.
func stripColours(line []byte) []byte {
	if bytes.IndexByte(line, 0x1b) < 0 {
		return line
	}
	return colours().ReplaceAll(line, nil)
}

var colours = pattern("\x1b\\[[0-9;]*m")
