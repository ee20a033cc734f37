package explain

import (
	"slices"
	"strings"
	"sync"

	"tcdbg/logs"
)

// Source is the files of a program; nil has none. Each is read once.
type Source struct {
	read  func(file string) ([]string, error)
	most  int64
	mu    sync.Mutex
	files map[string][]string
	size  int64                      // of files, in bytes
	asked map[string]map[Extent]bool // see Asked
}

// Extent is some lines of a file, of which the first is 1; both ends are in it.
type Extent struct{ From, To int }

// maxSources bounds the files of a program that advice reads, whose names come from a trace.
// Beyond it, nothing is known of a file.
const maxSources = 64 << 20

// NewSource reads files by lines.
func NewSource(read func(file string) ([]string, error)) *Source {
	return &Source{read: read, most: maxSources, files: map[string][]string{}}
}

// File is the lines of the file that a place is in, nil where it is none of the program's
// own or has another line there than the recorded one.
func (s *Source) File(p logs.Pos) []string {
	if s == nil || p.Line < 1 || p.Code == "" || !strings.HasSuffix(p.File, ".py") || InstalledPackage(p.File) != "" ||
		FrameworkFile(p.File) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, ok := s.files[p.File]
	if !ok && s.size < s.most {
		lines, _ = s.read(p.File) // none: nothing is known of it
		s.files[p.File] = lines
		for _, l := range lines {
			s.size += int64(len(l)) + 1
		}
	}
	if !SameLine(lines, p) {
		return nil
	}
	return lines
}

// Function is the lines of the Python function that a place is in, and which of them the
// place is; nil where that cannot be read.
func (s *Source) Function(p logs.Pos) (body []string, at int) {
	lines := s.File(p)
	if lines == nil {
		return nil, 0
	}
	from, to, ok := FunctionAround(lines, p.Line-1)
	if !ok {
		return nil, 0
	}
	s.ask(p.File, Extent{from + 1, to})
	return lines[from:to], p.Line - 1 - from
}

// FunctionAround finds the innermost Python function that a line is in, from its def on: the lines
// [from, to), of which the first is 0.
func FunctionAround(lines []string, at int) (from, to int, ok bool) {
	indent := len(LeadingSpace(lines[at])) + 1 // its own line may be the whole function
	for from = at; from >= 0; from-- {
		if blankOrComment(lines[from]) {
			continue
		}
		depth := len(LeadingSpace(lines[from]))
		if depth < indent && opensFunction(lines[from]) {
			break
		}
		indent = min(indent, max(depth, 1))
	}
	if from < 0 {
		return 0, 0, false
	}
	depth := len(LeadingSpace(lines[from]))
	for to = from + 1; to < len(lines); to++ {
		l := lines[to]
		// which ends a long signature
		if !blankOrComment(l) && len(LeadingSpace(l)) <= depth && !strings.HasPrefix(strings.TrimSpace(l), ")") {
			break
		}
	}
	return from, to, at < to
}

func blankOrComment(line string) bool {
	if LeftOut(line) {
		return false // a function whose lines are here ends before those that are not
	}
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, "#")
}

func opensFunction(line string) bool {
	line = strings.TrimPrefix(strings.TrimSpace(line), "async ")
	return strings.HasPrefix(line, "def ")
}

// mayBegin says whether the function that a place is in may begin at a line, its decorators
// counted: no other function begins between the two. Where that cannot be read it may.
func (s *Source) mayBegin(p logs.Pos, first int) bool {
	lines := s.File(p)
	if lines == nil || first < 1 || first > p.Line {
		return true
	}
	from, _, ok := FunctionAround(lines, p.Line-1)
	return ok && from+1 >= first && !slices.ContainsFunc(lines[first-1:from], opensFunction)
}

// SameLine says whether a file has, at a recorded place, the line that was recorded there.
func SameLine(lines []string, p logs.Pos) bool {
	return p.Line >= 1 && p.Line <= len(lines) && SameCode(lines[p.Line-1], FirstLine(p.Code))
}

// TellsFile says whether a recorded line is long enough to tell one file from others: a trace may be a stranger's, and name any file.
func TellsFile(p logs.Pos) bool { return len(strings.TrimSpace(p.Code)) > 2 }

// SameCode compares lines without what is around them.
func SameCode(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

// LeadingSpace is the indentation of a line.
func LeadingSpace(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }
