package explain

import (
	"slices"
	"strings"
	"sync"

	"tcdbg/logs"
)

// This file reads the lines around a place out of the program's own files, for advice that
// the line at fault does not settle: where a number that it reads goes to, whether it is
// within a loop. A file that is not there, or whose line is no longer the recorded one, is
// not asked: such advice then says less.

// SetSource gives the fold the files of the program, by lines. Without it no file is read.
func (f *Fold) SetSource(read func(file string) ([]string, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.source, f.dirty = &source{read: read, files: map[string][]string{}}, true
}

// source is the files of a program; nil has none. Each is read once.
type source struct {
	read  func(file string) ([]string, error)
	mu    sync.Mutex
	files map[string][]string
}

// file is the lines of the file that a place is in, nil where it is none of the program's
// own or has another line there than the recorded one.
func (s *source) file(p logs.Pos) []string {
	if s == nil || p.Line < 1 || p.Code == "" || !strings.HasSuffix(p.File, ".py") || installedPackage(p.File) != "" || frameworkFile(p.File) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, ok := s.files[p.File]
	if !ok {
		lines, _ = s.read(p.File) // none: nothing is known of it
		s.files[p.File] = lines
	}
	if p.Line > len(lines) || !sameCode(lines[p.Line-1], firstLine(p.Code)) {
		return nil
	}
	return lines
}

// function is the lines of the Python function that a place is in, and which of them the
// place is; nil where that cannot be read.
func (s *source) function(p logs.Pos) (body []string, at int) {
	lines := s.file(p)
	if lines == nil {
		return nil, 0
	}
	from, to, ok := functionAround(lines, p.Line-1)
	if !ok {
		return nil, 0
	}
	return lines[from:to], p.Line - 1 - from
}

// functionAround finds the innermost function that a line is in, from its def on.
func functionAround(lines []string, at int) (from, to int, ok bool) {
	indent := len(leadingSpace(lines[at])) + 1 // its own line may be the whole function
	for from = at; from >= 0; from-- {
		if blankOrComment(lines[from]) {
			continue
		}
		depth := len(leadingSpace(lines[from]))
		if depth < indent && opensFunction(lines[from]) {
			break
		}
		indent = min(indent, max(depth, 1))
	}
	if from < 0 {
		return 0, 0, false
	}
	depth := len(leadingSpace(lines[from]))
	for to = from + 1; to < len(lines); to++ {
		l := lines[to]
		if !blankOrComment(l) && len(leadingSpace(l)) <= depth && !strings.HasPrefix(strings.TrimSpace(l), ")") { // which ends a long signature
			break
		}
	}
	return from, to, at < to
}

func blankOrComment(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, "#")
}

func opensFunction(line string) bool {
	line = strings.TrimPrefix(strings.TrimSpace(line), "async ")
	return strings.HasPrefix(line, "def ")
}

// mayBegin says whether the function that a place is in may begin at a line, its decorators
// counted: no other function begins between the two. Where that cannot be read it may.
func (s *source) mayBegin(p logs.Pos, first int) bool {
	lines := s.file(p)
	if lines == nil || first < 1 || first > p.Line {
		return true
	}
	from, _, ok := functionAround(lines, p.Line-1)
	return ok && from+1 >= first && !slices.ContainsFunc(lines[first-1:from], opensFunction)
}
