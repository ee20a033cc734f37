package app

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"tcdbg/logs/regular"
	"tcdbg/tui"
)

// This file tails the program's output: two files, an index of their lines in
// the order in which they came, and texts on demand.

// outputLog is the output of one run.
type outputLog struct {
	files [2]*os.File // stdout, stderr
	// hide leaves out lines: TORCH_LOGS text that PyTorch repeats on stderr.
	hide *regexp.Regexp

	mu    sync.Mutex
	ends  [2]int64 // how much was indexed
	open  [2]int   // index of the line that has no end yet, noLine or hiddenLine
	lines []outputSpan
	cache map[int]tui.OutputLine
}

// What is open where no line of the index is.
const (
	noLine     = -1
	hiddenLine = -2 // the rest of one that is left out
)

// outputSpan is where a line lies.
type outputSpan struct {
	off int64
	n   int32
	err bool
}

// maxOutput bounds the index; a program that prints more has its files.
const maxOutput = 4_000_000

// torchLine is a line of PyTorch's own loggers, its warnings included: where
// they go into a file as well, the Logs screen has them, and the Output screen
// is the program's alone.
var torchLine = pattern(`^(\[rank\d+\]:\s*)?[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ (\S*/)?torch/\S+:\d+\] `)

// torchLogLine is a line of a TORCH_LOGS artifact: the part of these that
// nobody but us asked for.
var torchLogLine = pattern(`^(\[rank\d+\]:\s*)?[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ \S+:\d+\] .*\[__[a-z_]+\]`)

// pattern is a regular expression that is compiled when it is first used: most
// commands never meet the output of a program.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// openOutput opens a run's output files; nil where there are none.
func openOutput(r *Run, hide bool) *outputLog {
	o := &outputLog{open: [2]int{noLine, noLine}, cache: map[int]tui.OutputLine{}}
	for i, name := range []string{stdoutFile, stderrFile} {
		f, err := regular.Open(r.file(name))
		if err != nil {
			return nil
		}
		o.files[i] = f
	}
	if hide {
		o.hide = torchLine()
	}
	return o
}

// outputEvery is how often the files are looked at.
const outputEvery = 40 * time.Millisecond

// follow indexes the files as they grow, until ctx ends; then once more.
func (o *outputLog) follow(ctx context.Context, live bool) {
	buf := make([]byte, 256<<10)
	for {
		last := ctx.Err() != nil || !live
		for {
			n := o.take(0, buf, last) + o.take(1, buf, last)
			if n == 0 {
				break
			}
		}
		if last {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(outputEvery):
		}
	}
}

// take indexes what came to one file, up to a buffer full. The beginning of a line that
// may turn out to be one that is left out waits for more, unless no more comes.
func (o *outputLog) take(which int, buf []byte, last bool) int {
	n, _ := o.files[which].ReadAt(buf, o.ends[which])
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.hide != nil && which == 1 && !last {
		begins := bytes.LastIndexByte(buf[:n], '\n') + 1
		if tail := buf[begins:n]; (begins > 0 || o.open[which] == noLine) && len(tail) > 0 && len(tail) < longestHead && mayBeLog(tail) {
			n = begins
		}
	}
	if n == 0 {
		return 0
	}
	at := o.ends[which]
	for b := buf[:n]; len(b) > 0; {
		i := bytes.IndexByte(b, '\n')
		ended := i >= 0
		if !ended {
			i = len(b)
		}
		o.piece(which, at, b[:i], ended)
		if ended {
			i++
		}
		at += int64(i)
		b = b[i:]
	}
	o.ends[which] = at
	return n
}

// longestHead is enough of a line to tell whether it is one of PyTorch's loggers.
const longestHead = 4 << 10

// piece adds a line, or more of a line that has no end yet.
func (o *outputLog) piece(which int, at int64, text []byte, ended bool) {
	k := o.open[which]
	switch {
	case k >= 0:
		o.lines[k].n += int32(len(text))
		delete(o.cache, k)
	case k == hiddenLine, len(o.lines) >= maxOutput:
	case o.hide != nil && which == 1 && o.hide.Match(text):
		k = hiddenLine
	default:
		k = len(o.lines)
		o.lines = append(o.lines, outputSpan{at, int32(len(text)), which == 1})
	}
	if o.open[which] = k; ended {
		o.open[which] = noLine
	}
}

// Len implements tui.Output.
func (o *outputLog) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.lines)
}

// maxLine is how much of a line is shown.
const maxLine = 16 << 10

// Line implements tui.Output.
func (o *outputLog) Line(i int) tui.OutputLine {
	o.mu.Lock()
	defer o.mu.Unlock()
	if l, ok := o.cache[i]; ok {
		return l
	}
	s := o.lines[i]
	which := 0
	if s.err {
		which = 1
	}
	b := make([]byte, min(int(s.n), maxLine))
	n, _ := o.files[which].ReadAt(b, s.off)
	l := tui.OutputLine{Text: strings.TrimRight(stripANSI(string(b[:n])), "\r"), Err: s.err}
	if len(o.cache) > 2048 {
		clear(o.cache)
	}
	o.cache[i] = l
	return l
}

// escape is a control sequence: programs colour their output, and the screens
// show its text.
var escape = pattern("\x1b\\[[0-9;?]*[A-Za-z]|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)")

func stripANSI(s string) string {
	if strings.IndexByte(s, 0x1b) < 0 {
		return s
	}
	return escape().ReplaceAllString(s, "")
}

// firstError is the first line of standard error.
func (o *outputLog) firstError() string {
	for i := range min(o.Len(), 100) {
		if l := o.Line(i); l.Err {
			return shown(l.Text)
		}
	}
	return ""
}

// panicLine is the last line of standard error that begins a Go panic.
func (o *outputLog) panicLine() string {
	n := o.Len()
	for i := n - 1; i >= 0 && i > n-2000; i-- {
		if l := o.Line(i); l.Err && (strings.HasPrefix(l.Text, "panic: ") || strings.HasPrefix(l.Text, "fatal error: ")) {
			return shown(l.Text)
		}
	}
	return ""
}
