package logs

import (
	"strings"

	"tcdbg/logs/fx"
)

// This file finds messages in lines without any prefix: pasted breaks, tables,
// explain() output, tracebacks; what is none of these is program output.

// plainKind is what an unprefixed block is.
type plainKind int

const (
	plainOutput plainKind = iota
	plainBreak
	plainError
	plainRecompile
	plainTable
	plainCode
	plainGuards
	plainExplain
	plainWrapper
	plainLimit
)

// plainState is the open unprefixed block.
type plainState struct {
	kind  plainKind
	m     *message
	stack bool // within the user's stack of a break
	blank int  // blank lines not yet given to the block
	error bool // the block holds its exception's line
	link  bool // the block holds the link that ends a cause
}

// takePlain takes a line without prefix.
func (t *textReader) takePlain(l textLine) {
	if m := t.oldStyle(); m != nil {
		if continuesOld(m, l.text) {
			m.add(l.text)
			return
		}
		m.old = false // its lines have ended
	}
	p := &t.plain
	if p.m != nil && p.m.rank != l.rank {
		p.flush(t)
	}
	if kind, ok := startsBlock(l.text); ok && !(p.m != nil && p.inside(kind, l.text)) {
		p.flush(t)
		p.begin(t, kind, l)
		return
	}
	if strings.HasPrefix(l.text, "  Explanation: ") && (p.m == nil || p.kind == plainOutput) {
		t.adoptType(l)
		return
	}
	if p.m != nil && p.kind != plainOutput {
		if p.belongs(l.text) {
			p.add(l.text)
			return
		}
		p.flush(t)
	}
	if p.m == nil {
		p.begin(t, plainOutput, l)
		return
	}
	p.m.add(l.text)
}

// oldStyle is the open message of a prefix that comes before first lines only.
func (t *textReader) oldStyle() *message {
	if len(t.open) == 0 {
		return nil
	}
	var last *message
	for _, m := range t.open {
		if m.old && (last == nil || m.first > last.first) {
			last = m
		}
	}
	return last
}

// continuesOld says whether an unprefixed line goes on with an old message.
func continuesOld(m *message, text string) bool {
	if m.stop || m.artifact == "" && !startsMessage(m.lines[0]) {
		return false
	}
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return true
	case text[0] == ' ' || text[0] == '\t':
		return true
	case m.artifact == "graph" || m.artifact == "graph_code" || m.artifact == "aot_graphs" || m.artifact == "output_code":
		return isTableRow(text) || strings.HasPrefix(text, "---") || fx.IsTableHead(text) || strings.HasPrefix(text, "class ") ||
			strings.HasPrefix(text, "=====") || m.artifact == "output_code"
	case strings.HasPrefix(text, "+- "), strings.HasPrefix(text, "| "):
		return true
	}
	return false
}

// startsBlock says whether a line opens a block, and of which kind.
func startsBlock(s string) (plainKind, bool) {
	switch {
	case strings.HasPrefix(s, "Graph break in user code at "), strings.HasPrefix(s, "Graph break ("), strings.HasPrefix(s, "Graph break: "):
		return plainBreak, true
	case strings.HasPrefix(s, "Recompiling function "):
		return plainRecompile, true
	case fx.IsTableHead(s):
		return plainTable, true
	case strings.HasPrefix(s, "class ") && strings.Contains(s, "torch.nn.Module"),
		strings.Contains(s, " class GraphModule(torch.nn.Module):"), strings.HasPrefix(s, "graph():"):
		return plainCode, true
	case strings.HasPrefix(s, "TREE_GUARD_MANAGER:"):
		return plainGuards, true
	case strings.Contains(s, "Graph Count: ") && strings.HasSuffix(strings.TrimRight(s, "0123456789"), "Graph Count: "):
		return plainExplain, true
	case strings.HasPrefix(s, "Traceback (most recent call last):"), strings.HasPrefix(s, "torch._dynamo.exc."):
		return plainError, true
	case strings.HasPrefix(s, "# AOT ID: ["):
		return plainWrapper, true
	case strings.HasPrefix(s, "torch._dynamo hit config."):
		return plainLimit, true
	}
	return 0, false
}

// startsMessage says whether the text of a prefixed line begins a message.
func startsMessage(s string) bool {
	for _, p := range messageStarts {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

var messageStarts = []string{
	"Graph break in user code", "Graph break (", "Graph break: ", "Graph break from", "Recompiling function ", "TRACED GRAPH",
	"GUARDS:", "Output code:",
	"Schedule:", "Mutating object of type", "torch._dynamo hit config.", "aot_config id:", "Step 1:", "Step 2:", "Step 3:",
	"ORIGINAL BYTECODE", "MODIFIED BYTECODE", "skipping cudagraphs", "Recording cudagraph", "TRACE ", "create_symbol ", "create_env",
}

// isOneLine says whether an untagged message is complete in its line.
func isOneLine(s string) bool {
	for _, p := range []string{
		"create_symbol ", "create_env", "produce_guards", "eval ", "set_replacement ", "torchdynamo start", "Step ",
	} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// inside says whether a line that could open a block belongs to the open one:
// tracebacks within errors, graphs within explain output.
func (p *plainState) inside(kind plainKind, text string) bool {
	switch p.kind {
	case plainError:
		return kind == plainError
	case plainWrapper:
		return kind == plainCode
	case plainBreak:
		return kind == plainError && strings.HasPrefix(text, "Traceback")
	}
	return false
}

// belongs says whether a line goes on with the open block.
func (p *plainState) belongs(s string) bool {
	trimmed := strings.TrimSpace(s)
	indented := s != "" && (s[0] == ' ' || s[0] == '\t')
	switch p.kind {
	case plainBreak:
		if trimmed == "User code traceback:" || strings.HasSuffix(trimmed, " from user code at:") {
			p.stack = true
			return true
		}
		if p.stack {
			return indented || trimmed == ""
		}
		return true
	case plainError:
		if strings.HasPrefix(trimmed, "from user code:") {
			p.stack = true
			return true
		}
		if p.stack && !indented && trimmed != "" {
			return strings.HasPrefix(trimmed, "Set TORCHDYNAMO_VERBOSE") || strings.HasPrefix(trimmed, "Set TORCH_LOGS") ||
				strings.HasPrefix(trimmed, "You can suppress")
		}
		if p.stack || indented || trimmed == "" {
			return true
		}
		if p.link { // after it comes a further cause, the stack, or what the program prints
			return strings.HasPrefix(trimmed, "*** While handling") || strings.HasPrefix(trimmed, "Set TORCHDYNAMO_VERBOSE")
		}
		return isErrorHead(trimmed) || strings.HasPrefix(trimmed, "The above exception") ||
			strings.HasPrefix(trimmed, "During handling of") || !p.error
	case plainRecompile:
		return indented
	case plainTable:
		return strings.HasPrefix(s, "---") || isTableRow(s)
	case plainCode:
		return indented || trimmed == ""
	case plainGuards:
		return strings.HasPrefix(s, "+- ") || strings.HasPrefix(s, "| ") || strings.HasPrefix(s, "Guard ") || trimmed == ""
	case plainExplain:
		return indented || trimmed == "" || explainHead(trimmed) || p.inReason()
	case plainWrapper:
		return !strings.HasPrefix(trimmed, "=====")
	case plainLimit:
		return indented || strings.HasPrefix(trimmed, "To ")
	}
	return false
}

func isErrorHead(s string) bool {
	name, _, ok := strings.Cut(s, ": ")
	if !ok {
		name = strings.TrimSuffix(s, ":")
	}
	if name == "" || strings.ContainsAny(name, " \t(") || name[0] < 'A' {
		return false
	}
	return strings.HasSuffix(name, "Error") || strings.HasSuffix(name, "Exception") || strings.Contains(name, "exc.") ||
		strings.HasSuffix(name, "Unsupported")
}

// inReason says whether explain's unindented Reason block is open: it lacks
// the layout's indentation until the user stack comes.
func (p *plainState) inReason() bool {
	for i := len(p.m.lines) - 1; i >= 0 && i > len(p.m.lines)-200; i-- {
		l := strings.TrimSpace(p.m.lines[i])
		if strings.HasPrefix(l, "User Stack:") || strings.HasPrefix(l, "Ops per Graph:") {
			return false
		}
		if strings.HasPrefix(l, "Reason: ") {
			return true
		}
	}
	return false
}

func explainHead(s string) bool {
	for _, p := range []string{
		"Graph Break Count:", "Op Count:", "Break Reasons:", "Ops per Graph:", "Out Guards:", "Compile Times:",
		"Function ", "Function,", "---", "Function  ",
	} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func isTableRow(s string) bool {
	op, _, _ := strings.Cut(s, " ")
	switch op {
	case "placeholder", "get_attr", "call_function", "call_method", "call_module", "output":
		return true
	}
	return false
}

// adoptType opens an error or break whose type was the last line of output:
// "EXC <class 'torch._dynamo.exc.Unsupported'> TYPE" or the bare type.
func (t *textReader) adoptType(l textLine) {
	p := &t.plain
	head := ""
	if p.m != nil && len(p.m.lines) > 0 {
		n := len(p.m.lines) - 1
		head = p.m.lines[n]
		p.m.lines = p.m.lines[:n]
	}
	p.flush(t)
	l2 := l
	kind := plainBreak
	if strings.Contains(head, "exc.") || strings.Contains(head, "Unsupported") || strings.Contains(head, "Error") {
		kind = plainError
	}
	l2.text = head
	p.begin(t, kind, l2)
	p.add(l.text)
}

func (p *plainState) begin(t *textReader, kind plainKind, l textLine) {
	p.kind, p.stack, p.blank = kind, strings.HasSuffix(l.text, " from user code at:"), 0
	p.m = &message{textLine: l, first: t.num}
	p.error, p.link = isErrorHead(l.text), false
	p.m.add(l.text)
}

func (p *plainState) add(text string) {
	p.error = p.error || isErrorHead(text)
	if !p.link {
		p.link = p.kind == plainError && strings.Contains(text, "compile-graph-break-site")
	} else if strings.HasPrefix(strings.TrimSpace(text), "*** While handling") {
		p.link = false
	}
	p.m.add(text)
}

// flush converts the open block.
func (p *plainState) flush(t *textReader) {
	m := p.m
	p.m = nil
	if m == nil {
		return
	}
	t.conv.plain(&t.out, p.kind, m)
}
