package logs

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tcdbg/logs/fx"
)

// This file hands over the last message of a text log that is still growing. What
// ends a message is the beginning of the next one, for which nobody wants to wait: it
// counts as ended when nothing came for a while, sooner where it reads as whole. Lines
// that come for it even so become a plain record, which counts as nothing.

// How long nothing may have come, for a message that reads as whole and for others.
const (
	quietWhole = time.Second
	quietOpen  = 3 * time.Second
)

// settle converts what is open for too long.
func (t *textReader) settle(quiet time.Duration) {
	if quiet < quietWhole {
		return
	}
	partial := len(t.line) > 0 // the next line is being written
	ended := func(whole bool) bool { return quiet >= quietOpen || whole && !partial }
	if p := &t.plain; p.m != nil && ended(p.kind == plainOutput || wholeBreak(p.m.lines)) {
		p.flush(t)
	}
	var list []*message
	for _, m := range t.open {
		if len(m.lines) > m.told && ended(m.told > 0 || m.whole()) {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b *message) int { return cmp.Compare(a.first, b.first) })
	for _, m := range list {
		t.conv.convert(&t.out, m)
		m.told = len(m.lines)
	}
}

// whole says whether a message reads as if nothing were to follow.
func (m *message) whole() bool {
	if len(m.lines) == 1 && (oneLiners[m.artifact] || isOneLine(m.lines[0])) {
		return true
	}
	return wholeBreak(m.lines)
}

// wholeBreak says whether a message on a break has its user stack down to the line of
// the break, with the code there.
func wholeBreak(lines []string) bool {
	_, at, ok := strings.Cut(lines[0], "in user code at ")
	stack := slices.IndexFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "User code traceback:" })
	if !ok || stack < 0 {
		return false
	}
	file, line, _ := fx.CutLine(strings.TrimSpace(at))
	for i := len(lines) - 1; i > stack; i-- {
		if src, ok := fx.ParseSource(strings.TrimSpace(lines[i])); ok {
			return src.File == file && src.Line == line && i < len(lines)-1
		}
	}
	return false
}
