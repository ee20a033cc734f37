package app

import (
	"bytes"
	"strings"
	"sync"

	"tcdbg/logs"
	"tcdbg/tui"
)

// This file is the program's output within a text log: what a program prints stands
// between the messages of PyTorch's loggers where both went to one file or pipe.

// printedLog is the lines of the records that are output.
type printedLog struct {
	store *logs.Store

	mu    sync.Mutex
	text  bool       // a text log has been met: other traces hold no output
	lines []lineSpan // in the order of the log
	held  int64      // the record whose text is held, -1: none
	texts []string
}

// lineSpan is where a line is.
type lineSpan struct {
	record int64
	line   int32
}

func newPrintedLog(st *logs.Store) *printedLog { return &printedLog{store: st, held: -1} }

// add takes the next record of the store; a nil log wants none.
func (p *printedLog) add(r *logs.Record) {
	if p == nil || r.Kind != "torch_log" {
		return
	}
	output := r.IsOutput()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = true
	if !output {
		return
	}
	n := 1 + bytes.Count(r.Payload(), []byte("\n"))
	for i := range min(n, maxOutput-len(p.lines)) {
		p.lines = append(p.lines, lineSpan{r.Seq, int32(i)})
	}
}

// holds reports whether the trace could hold output, for all that was read of it.
func (p *printedLog) holds() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text || p.store.Len() == 0
}

// Len implements tui.Output.
func (p *printedLog) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines)
}

// Line implements tui.Output.
func (p *printedLog) Line(i int) tui.OutputLine {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.lines[i]
	if p.held != at.record {
		p.held, p.texts = at.record, nil
		if r, err := p.store.Record(int(at.record)); err == nil {
			p.texts = strings.Split(r.Text(), "\n")
		}
	}
	if int(at.line) >= len(p.texts) {
		return tui.OutputLine{}
	}
	text := p.texts[at.line]
	return tui.OutputLine{Text: strings.TrimRight(stripANSI(text[:min(len(text), maxLine)]), "\r")}
}
