package explain

import (
	"slices"
	"strings"

	"tcdbg/logs"
	"tcdbg/logs/fx"
	"tcdbg/tracer/breaks"
)

// This file reads the text of a graph break as PyTorch 2.0 to 2.15 write it,
// in traces and in TORCH_LOGS alike.

// BreakText is one parsed message.
type BreakText struct {
	Place     logs.Pos
	preamble  string
	Blocks    []BreakBlock // the cause first, then what happened while it was handled
	Stack     []logs.Pos   // outermost first
	Value     []logs.Pos   // how the offending value came about
	duplicate bool         // the stack was left out as already shown
	Skip      bool         // the frame cannot be resumed at all
}

// BreakBlock is one "type, explanation, hints, context, link".
type BreakBlock struct {
	Typ, Code, Explanation, Context, order string
	Hints                                  []string
}

const ChainMark = "*** While handling this graph break, another graph break occurred: ***"

// ParseBreak reads one message. It never fails: what it does not know ends up
// as type or explanation.
func ParseBreak(text string) *BreakText {
	if strings.HasPrefix(text, skipMark) || strings.HasPrefix(text, "Graph break: "+noResume) && strings.Contains(text, "\n"+unsupported) {
		return parseSkip(text)
	}
	if strings.HasPrefix(text, backendMark) {
		return parseBackend(text)
	}
	b := &BreakText{}
	head, stack := cutStack(CutTraceback(text))
	b.Stack = ParseStack(stack)
	lines := strings.Split(head, "\n")
	i := b.parsePlace(lines)
	b.parseReason(lines[i:])
	for _, bl := range b.Blocks {
		if len(b.Value) == 0 {
			b.Value = branchTrace(bl.Explanation)
		}
	}
	if b.Place.File == "" && len(b.Stack) > 0 {
		b.Place = b.Stack[len(b.Stack)-1]
	}
	if n := len(b.Stack); n > 0 && b.Stack[n-1].File == b.Place.File && b.Stack[n-1].Line == b.Place.Line {
		b.Place = b.Stack[n-1]
	}
	b.leavePolyfill()
	b.placeExecuting()
	return b
}

// leavePolyfill places a break in Dynamo's own Python form of a built-in at the
// line that calls the built-in, which is the one that the user can change.
func (b *BreakText) leavePolyfill() {
	if !isPolyfill(b.Place.File) {
		return
	}
	for _, p := range slices.Backward(b.Stack) {
		if !isPolyfill(p.File) {
			b.Place = p
			return
		}
	}
}

func isPolyfill(file string) bool { return strings.Contains(file, "torch/_dynamo/polyfills/") }

// Reasonless says whether a message has a stack and no more: a warning on item()
// prints one, and the break follows in a message of its own; that on a backend comes after its message.
func (b *BreakText) Reasonless() bool {
	if len(b.Blocks) == 1 && strings.HasPrefix(b.Blocks[0].Typ, backendWarning) {
		return true
	}
	return b.Place.Line > 0 && len(b.Blocks) == 1 && b.Blocks[0].Typ == "Graph break:" && b.Blocks[0].Explanation == ""
}

// skipMark opens the message on a frame that cannot be resumed, in releases 2.6
// to 2.10: no reason, the user's stack, and the error with the reason.
const skipMark = "Graph break: skip:"

// noResume opens that message in words, as 2.10 has it; unsupported the error below it.
const (
	noResume    = "torch.compile cannot properly resume"
	unsupported = "torch._dynamo.exc.Unsupported: "
)

func parseSkip(text string) *BreakText {
	b := ParseError(text)
	b.Skip = true
	for i := range b.Blocks {
		if bl := &b.Blocks[i]; bl.Code == "" && bl.Explanation == "" {
			*bl = oldReason(bl.Typ)
		}
	}
	if len(b.Stack) == 0 {
		_, stack := cutStack(CutTraceback(text))
		b.Stack = ParseStack(stack)
	}
	if n := len(b.Stack); n > 0 {
		b.Place = b.Stack[n-1]
	} else {
		b.Place = skippedFrame(text)
	}
	return b
}

// skippedFrame reads which function is left to eager execution, where no line of it is
// to blame: "skip tracing the frame NAME (FILE line N) and fall back to eager".
func skippedFrame(text string) logs.Pos {
	_, rest, _ := strings.Cut(text, "skip tracing the frame ")
	rest, _, ok := strings.Cut(rest, ") and fall back")
	name, rest, _ := strings.Cut(rest, " (")
	at := strings.LastIndex(rest, " line ")
	if !ok || at < 0 || strings.Contains(rest, "\n") {
		return logs.Pos{}
	}
	return logs.Pos{File: rest[:at], Line: Atoi(rest[at+len(" line "):]), Func: name}
}

// CutTraceback drops the framework's own traceback, which repeats the block.
func CutTraceback(text string) string {
	for _, mark := range []string{"\nTraceback (most recent call last):", "\nNoneType: None"} {
		if i := strings.Index(text, mark); i >= 0 {
			text = text[:i]
		}
	}
	return strings.TrimRight(text, "\n ")
}

// cutStack parts message and user stack.
func cutStack(text string) (head, stack string) {
	for _, mark := range []string{"\nUser code traceback:\n", "\nfrom user code:\n", " from user code at:\n", "\nUser stack trace:\n"} {
		if i := strings.Index(text, mark); i >= 0 {
			return text[:i], text[i+len(mark):]
		}
	}
	return text, ""
}

// parsePlace reads the first line and returns the number of lines consumed.
func (b *BreakText) parsePlace(lines []string) int {
	first := strings.TrimSpace(lines[0])
	if i := strings.Index(first, "in user code at "); i >= 0 {
		file, n, _ := fx.CutLine(strings.TrimSpace(first[i+len("in user code at "):]))
		b.Place = logs.Pos{File: file, Line: n}
		b.duplicate = strings.Contains(first[:i], "suppressed")
		return 1
	}
	if rest, ok := strings.CutPrefix(first, "Graph break: "); ok {
		if strings.HasPrefix(rest, noResume) {
			b.Skip = true
			b.Blocks = []BreakBlock{{Typ: "Graph break that cannot be resumed", Explanation: rest}}
			if len(lines) > 1 {
				b.Stack = append(b.Stack, ParseStack(strings.Join(lines[1:], "\n"))...)
			}
			return len(lines)
		}
		rest = strings.TrimSuffix(strings.TrimSpace(rest), " from user code at:")
		b.Blocks = []BreakBlock{oldReason(rest)}
		return len(lines)
	}
	return 0
}

// ParseReason reads preamble and blocks.
func (b *BreakText) parseReason(lines []string) {
	i := 0
	for i < len(lines) && strings.TrimSpace(lines[i]) == "" {
		i++
	}
	if i == len(lines) {
		return
	}
	reason, ok := strings.CutPrefix(lines[i], "Graph Break Reason:")
	if !ok {
		if reason, ok = strings.CutPrefix(strings.TrimSpace(lines[i]), "Reason: "); ok {
			b.Blocks = append(b.Blocks, oldReason(strings.TrimSpace(reason)))
			return
		}
		b.parseBlocks(lines[i:])
		return
	}
	reason = strings.TrimSpace(reason)
	if isPreamble(reason) {
		b.preamble = strings.TrimSuffix(reason, ":")
		b.parseBlocks(lines[i+1:])
		return
	}
	if reason == "" {
		b.parseBlocks(lines[i+1:])
		return
	}
	rest := append([]string{reason}, lines[i+1:]...)
	b.parseBlocks(rest)
}

func isPreamble(s string) bool {
	return strings.HasPrefix(s, "Encountered ") && (strings.HasSuffix(s, ":") || strings.Contains(s, "cannot resume")) ||
		strings.HasPrefix(s, "Failed to handle graph break gracefully")
}

// parseBlocks reads blocks until the text ends. Fields open with two spaces,
// their continuation lines are indented deeper.
func (b *BreakText) parseBlocks(lines []string) {
	var cur *BreakBlock
	var field *string
	var more []string // lines that go on with the field
	set := func(next *string) {
		if field != nil && len(more) > 0 {
			*field += "\n" + strings.Join(more, "\n")
		}
		field, more = next, more[:0]
	}
	flush := func() {
		set(nil)
		if cur != nil {
			cur.finish()
			b.Blocks = append(b.Blocks, *cur)
		}
		cur = nil
	}
	for _, line := range lines {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == ChainMark:
			flush()
		case strings.HasPrefix(trimmed, "Stack variable source attribution:"):
			flush()
			return
		case trimmed == "":
			more = append(more, "")
		case cur == nil:
			cur = &BreakBlock{Typ: trimmed}
		case strings.HasPrefix(trimmed, "For more details about this graph break"):
			cur.Code = codeInLink(trimmed)
			set(nil)
		case strings.HasPrefix(trimmed, "Explanation: "):
			set(&cur.Explanation)
			cur.Explanation = trimmed[len("Explanation: "):]
		case strings.HasPrefix(trimmed, "Higher Order Operator: "):
			set(nil)
			cur.order = trimmed[len("Higher Order Operator: "):]
		case strings.HasPrefix(trimmed, "Hint: "):
			set(nil) // the list may move in memory
			cur.Hints = append(cur.Hints, trimmed[len("Hint: "):])
			set(&cur.Hints[len(cur.Hints)-1])
		case strings.HasPrefix(trimmed, "Developer debug context:"):
			set(&cur.Context)
			cur.Context = strings.TrimSpace(trimmed[len("Developer debug context:"):])
		case field != nil:
			more = append(more, strings.TrimPrefix(line, "    "))
		}
	}
	flush()
}

func (bl *BreakBlock) finish() {
	bl.Explanation = strings.TrimSpace(bl.Explanation)
	bl.Context = strings.TrimSpace(bl.Context)
	for i := range bl.Hints {
		bl.Hints[i] = strings.TrimSpace(bl.Hints[i])
	}
	if bl.Code == "" {
		if c, ok := breaks.ByType(bl.Typ); ok {
			bl.Code = c.Code
		} else if old := oldReason(bl.Typ); old.Code != "" {
			bl.Typ, bl.Code, bl.Context = old.Typ, old.Code, old.Context
		} else {
			bl.Typ = withoutAddresses(bl.Typ)
		}
	}
}

// codeInLink reads GB0059 out of ".../gb/gb0059.html".
func codeInLink(s string) string {
	i := strings.LastIndex(s, "/gb")
	if i < 0 || len(s) < i+7 {
		return ""
	}
	digits := s[i+3:]
	j := 0
	for j < len(digits) && digits[j] >= '0' && digits[j] <= '9' {
		j++
	}
	if j == 0 {
		return ""
	}
	return "GB" + digits[:j]
}

// Outcome says what became of the frame, as far as the message tells.
func (b *BreakText) Outcome() string {
	switch {
	case b.Skip || strings.HasPrefix(b.preamble, "Failed to handle graph break gracefully"):
		return "skipped"
	case strings.Contains(b.preamble, "cannot resume from"):
		return "partial"
	}
	return "resumed"
}

// ParseStack reads a Python stack: per frame a File line, source lines, and
// under each an optional line of ~ and ^ that marks the part at fault.
func ParseStack(text string) []logs.Pos {
	var out []logs.Pos
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" {
			continue
		}
		if file, n, fn, ok := fileLine(trimmed); ok {
			out = append(out, logs.Pos{File: file, Line: n, Func: fn})
			continue
		}
		if len(out) == 0 {
			continue
		}
		p := &out[len(out)-1]
		switch {
		case isCarets(trimmed):
			if p.Col == 0 && p.Code != "" {
				p.Col, p.EndCol = caretColumns(line)
			}
		case p.Code == "":
			p.Code = trimmed
		}
		if len(out) > 5000 {
			break
		}
	}
	return out
}

// fileLine reads `File "F", line L, in f` and explain()'s
// `<FrameSummary file F, line L in f>`.
func fileLine(s string) (file string, line int, fn string, ok bool) {
	if rest, isSummary := strings.CutPrefix(s, "<FrameSummary file "); isSummary {
		file, rest, ok = strings.Cut(rest, ", line ")
		num, fn, _ := strings.Cut(strings.TrimSuffix(rest, ">"), " in ")
		return file, Atoi(num), fn, ok
	}
	if !strings.HasPrefix(s, `File "`) {
		return "", 0, "", false
	}
	src, ok := fx.ParseSource(s)
	return src.File, src.Line, src.Func, ok
}

func isCarets(s string) bool {
	return strings.Trim(s, "^~ ") == "" && strings.ContainsAny(s, "^~")
}

// caretColumns gives the marked columns; the source line above comes after
// four spaces more than its frame, as the carets do.
func caretColumns(line string) (from, to int) {
	first := strings.IndexAny(line, "^~")
	last := strings.LastIndexAny(line, "^~")
	indent := 4
	return max(first-indent, 0) + 1, max(last-indent, 0) + 2
}

// branchTrace reads "The branch condition involves a tensor computed as
// follows" out of an explanation.
func branchTrace(explanation string) []logs.Pos {
	_, rest, ok := strings.Cut(explanation, "computed as follows:")
	if !ok {
		return nil
	}
	var out []logs.Pos
	var at logs.Pos
	for line := range strings.SplitSeq(rest, "\n") {
		line = strings.TrimSpace(line)
		if src, ok := fx.ParseSource(line); ok && strings.HasPrefix(line, "#") {
			at = logs.Pos{File: src.File, Line: src.Line, Code: src.Code}
			continue
		}
		if line == "" || at.File == "" {
			continue
		}
		p := at
		p.Func = line
		out = append(out, p)
	}
	return out
}

// Atoi is the number at the start of s, 0 where there is none.
func Atoi(s string) int {
	n, _ := logs.JSONInt([]byte(strings.TrimSpace(s)))
	return int(n)
}
