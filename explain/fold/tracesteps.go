package fold

import (
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file folds the steps of traces: those that our engine records, which stay in the trace,
// and those of PyTorch's logs trace_source and trace_bytecode.

// tcdbgTraceSteps takes the steps of a trace; of one that was started over the last attempt's.
func tcdbgTraceSteps(f *Fold, r *logs.Record) {
	var v logs.TraceSteps
	if !f.versioned(r, &v) {
		return
	}
	if v.Missing != "" {
		f.stepsMissing = f.intern(v.Missing)
		return
	}
	c := f.compileOf(r)
	if c == nil {
		return
	}
	load := r.Loader()
	f.hold(heldEvent)
	c.Trace = &explain.Trace{Count: len(v.Steps), Load: func() *logs.TraceSteps {
		var whole logs.TraceSteps
		decodePayload([]byte(load()), &whole) // it was read once; a file that is gone leaves it empty
		return &whole
	}}
}

// maxLoggedSteps bounds what is kept of a text log's trace.
const maxLoggedSteps = 8192

// loggedTrace is the steps of one compile that a text log tells.
type loggedTrace struct {
	attempt int
	steps   logs.TraceSteps
	depth   int
	lines   []int // place of the newest line of each depth
}

// traceLine takes a line of PyTorch's single-step logs.
func traceLine(f *Fold, r *logs.Record, name, text string) {
	c := f.compileOf(r)
	if c == nil || name != "trace_source" && name != "trace_bytecode" {
		return
	}
	t := c.logged
	if t == nil || t.attempt != r.ID.Attempt {
		t = &loggedTrace{attempt: r.ID.Attempt}
		c.logged = t
	}
	if at, depth, ok := startsLine(text); ok {
		t.depth = depth
		t.steps.Places = append(t.steps.Places, f.pos(at))
		f.hold(heldEvent)
		t.lines = append(t.lines[:min(depth, len(t.lines))], len(t.steps.Places)-1)
		t.add(f, logs.StepOnce{Instr: "line", At: len(t.steps.Places) - 1, Depth: depth})
	} else if step, ok := tracedInstr(text); ok && len(t.lines) > 0 {
		step.At, step.Depth = t.lines[len(t.lines)-1], t.depth
		t.add(f, step)
		if strings.HasPrefix(step.Instr, "RETURN_") && len(t.lines) > 1 { // the caller goes on in its line
			t.lines, t.depth = t.lines[:len(t.lines)-1], max(0, t.depth-1)
		}
	}
	steps := t.steps // what comes later is appended, or counted in a copy of its own
	if c.Trace != nil && !c.Trace.Logged {
		return // recorded by us, with what each step added
	}
	c.Trace = &explain.Trace{Count: len(steps.Steps), Logged: true, Load: func() *logs.TraceSteps { return &steps }}
}

func (t *loggedTrace) add(f *Fold, s logs.StepOnce) {
	if len(t.steps.Steps) >= maxLoggedSteps {
		t.steps.Left++
		return
	}
	f.hold(heldEvent)
	t.steps.Steps = append(t.steps.Steps, s)
}

// startsLine reads "TRACE starts_line FILE:LINE in FUNC (NAME) (inline depth: N)" and the line of
// code below it.
func startsLine(text string) (p logs.Pos, depth int, ok bool) {
	head, code, _ := strings.Cut(text, "\n")
	rest, ok := strings.CutPrefix(strings.TrimSpace(head), "TRACE starts_line ")
	if !ok {
		return p, 0, false
	}
	if at, tail, found := strings.Cut(rest, "(inline depth: "); found {
		rest = at
		depth, _ = strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(tail), ")"))
	}
	where, fn, ok := strings.Cut(rest, " in ")
	i := strings.LastIndexByte(where, ':')
	if !ok || i < 0 {
		return p, 0, false
	}
	n, err := strconv.Atoi(where[i+1:])
	if err != nil || n <= 0 || depth < 0 {
		return p, 0, false
	}
	fn, _, _ = strings.Cut(fn, " (")
	return logs.Pos{File: where[:i], Line: n, Func: strings.TrimSpace(fn), Code: strings.TrimRight(code, " \t\r\n")}, depth, true
}

// tracedInstr reads "TRACE BINARY_OP 5 [TensorVariable(), ConstantVariable(int: 3)]".
func tracedInstr(text string) (s logs.StepOnce, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "TRACE ")
	if !ok {
		return s, false
	}
	instr, stack, ok := strings.Cut(rest, " [")
	if !ok {
		return s, false
	}
	s.Instr = strings.TrimSuffix(instr, " None")
	if stack = strings.TrimSuffix(stack, "]"); stack != "" {
		s.On = topLevel(stack)
	}
	return s, true
}

// topLevel parts a list at the commas that are within no bracket.
func topLevel(list string) []string {
	var out []string
	depth, from := 0, 0
	for i, c := range []byte(list) {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(list[from:i]))
				from = i + 1
			}
		}
	}
	return append(out, strings.TrimSpace(list[from:]))
}
