// Package rewrite turns advice into a change of the program's file, where a change keeps its
// meaning for certain: branches into torch.where or compiler.Cond, prints, logs and clocks out of compiled
// functions. What is not certain is not offered.
//
// It imports explain, logs and tracer/breaks; it reads no file and writes none. Open this file
// first, then go.go, gocond.go and python.go.
package rewrite

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"tcdbg/explain"
	"tcdbg/tracer/breaks"
)

// skippedNote is what a rewrite changes that leaves something out of compiled calls.
const skippedNote = "Compiled calls skip this; eager ones still do it."

// AddRewrites gives the breaks of a report the rewrites that need the source file, as
// source returns it, by lines. A file that can no longer be read, or whose line is
// not the recorded one, gives none. It changes r, which nobody else may be reading.
func AddRewrites(r *explain.Report, source func(file string) ([]string, error)) {
	var names []string
	byFile := map[string][]*explain.BreakGroup{}
	for _, g := range r.Breaks {
		b := g.Lead
		if b == nil || b.Noise || b.Pos.File == "" || b.Pos.Line < 1 || !rewritable(b.Code) || explain.InstalledPackage(b.Pos.File) != "" {
			continue
		}
		if byFile[b.Pos.File] == nil {
			names = append(names, b.Pos.File)
		}
		byFile[b.Pos.File] = append(byFile[b.Pos.File], g)
	}
	for _, name := range names { // one file is in memory at a time, and parsed once
		lines, _ := source(name) // none: no rewrite
		f := newFile(lines)
		for _, g := range byFile[name] {
			f.addRewrite(g)
		}
	}
	for i := range r.Advice {
		if a := &r.Advice[i]; a.Break != nil {
			a.Fix.Lines = a.Break.Fix.Lines
		}
	}
}

// rewritable says whether there are rewrites for a cause.
func rewritable(code string) bool {
	switch code {
	case breaks.DataDependentBranching, breaks.BuiltinPrint, breaks.LoggerCall, breaks.TimeFunction, breaks.UnknownNativeCall,
		breaks.SkippedFunction, breaks.GraphBreakCall, breaks.TensorItem:
		return true
	}
	return false
}

// file is a source file, with what the rewrites of all its breaks ask of it.
type file struct {
	lines       []string
	parsed      func() *goFile         // nil: it does not parse
	importTorch func() bool            // a Python file does so
	inPlace     func() map[string]bool // variables that a Python file changes in place
}

func newFile(lines []string) *file {
	return &file{
		lines:       lines,
		parsed:      sync.OnceValue(func() *goFile { return parseGo(lines) }),
		importTorch: sync.OnceValue(func() bool { return pyImportsTorch().MatchString(strings.Join(lines, "\n")) }),
		inPlace:     sync.OnceValue(func() map[string]bool { return pyInPlace(lines) }),
	}
}

// addRewrite gives the breaks at a place of the file their rewrite.
func (f *file) addRewrite(g *explain.BreakGroup) {
	g.Rewrite = f.rewriteOf(g.Lead, g.Fix)
	if g.Lead.Code == breaks.DataDependentBranching {
		g.Fix.Lines = nil // what one line suggests is not certain
		if g.Rewrite != nil {
			g.Fix.Lines = g.Rewrite.Hunks[len(g.Rewrite.Hunks)-1].Lines
		}
	}
}

func (f *file) rewriteOf(b *explain.Break, fix explain.Fix) *explain.Rewrite {
	if !explain.SameLine(f.lines, b.Pos) {
		return nil
	}
	switch {
	case b.Code == breaks.GraphBreakCall:
		if len(fix.Lines) == 0 {
			return nil
		}
		return &explain.Rewrite{Hunks: []explain.Hunk{{Line: b.Pos.Line, Lines: fix.Lines}}}
	case strings.HasSuffix(b.Pos.File, ".go"):
		return goRewrite(b, f)
	case strings.HasSuffix(b.Pos.File, ".py"):
		return pyRewrite(b, f)
	}
	return nil
}

// WhyNoRewrite says why a break has no rewrite.
func WhyNoRewrite(b *explain.Break) string {
	switch {
	case b.Noise:
		return "the break is inside torch or the standard library, whose files are not rewritten"
	case b.Pos.File == "":
		return "the trace does not say where the break is"
	case b.Code == breaks.DataDependentBranching && strings.HasSuffix(b.Context, breaks.SideWork):
		return "only a branch that assigns one tensor, or returns one, on either side can be rewritten, in a file that has not changed"
	case b.Code == breaks.DataDependentBranching:
		return "only a branch that chooses between elementwise results of one tensor can be rewritten, in a file that has not changed"
	case rewritable(b.Code):
		return "only a print, log call or clock reading on lines of its own, whose value goes nowhere else, can be rewritten"
	}
	return "there is no rewrite for this cause; the advice is in words"
}

// inputDtype is the dtype of a local variable where the code after a break takes it as
// an input: f32 and the like; "" where that is not known.
func inputDtype(b *explain.Break, name string) string {
	if b.After == nil {
		return ""
	}
	want := strings.ToLower("l_" + name + "_")
	for _, n := range b.After.Nodes() {
		if n.Op == "placeholder" && strings.ToLower(n.Name) == want {
			dtype, _, _ := strings.Cut(n.Type, "[")
			return strings.Trim(dtype, `" `)
		}
	}
	return ""
}

// certainty is what an expression needs of its operand to keep shape and dtype.
type certainty int

const (
	uncertain certainty = iota
	ofFloats            // it does for floating-point numbers
	ofNumbers           // it does for every number
)

// holds reports whether an operand of this dtype, "" for unknown, is good enough.
func (c certainty) holds(dtype string) bool {
	switch c {
	case ofNumbers:
		return dtype != "b8" && dtype != "bool"
	case ofFloats:
		return dtype == "f64" || dtype == "f32" || dtype == "f16" || dtype == "bf16"
	}
	return false
}

// ErrChanged says that a fix no longer fits the file.
var ErrChanged = errors.New("the file has changed since this run: run the program again for a fix of what it is now")

// Fixes of the same run that were written before another one is.
var (
	ErrWritten = errors.New("this fix is written already")
	ErrOverlap = errors.New("a fix that is written already changed these lines: run the program again for a fix of what they are now")
)

// AfterFixes says where the hunks of a fix are after others of the same run were written:
// all count their lines in the file as the run read it. A hunk that the others have too,
// as an import that both need, is left out.
func AfterFixes(hunks, written []explain.Hunk) ([]explain.Hunk, error) {
	has := func(list []explain.Hunk, h explain.Hunk) bool {
		return slices.ContainsFunc(list, func(w explain.Hunk) bool { return w.Line == h.Line && slices.Equal(w.Lines, h.Lines) })
	}
	var once []explain.Hunk // a shared one is in each of the fixes
	for _, w := range written {
		if !has(once, w) {
			once = append(once, w)
		}
	}
	var out []explain.Hunk
	for _, h := range hunks {
		if has(once, h) {
			continue
		}
		moved := h
		for _, w := range once {
			was, is := w.Sizes()
			mine, _ := h.Sizes()
			switch {
			case h.Line >= w.Line+was:
				moved.Line += is - was
			case h.Line+mine > w.Line:
				return nil, ErrOverlap
			}
		}
		out = append(out, moved)
	}
	if len(out) == 0 {
		return nil, ErrWritten
	}
	return out, nil
}

// ApplyRewrite makes the changes of a rewrite and returns the new file. It fails with
// ErrChanged where other lines are in one of its places.
func ApplyRewrite(lines []string, hunks []explain.Hunk) ([]string, error) {
	out := lines
	for i := len(hunks) - 1; i >= 0; i-- { // from the end: lines above keep their numbers
		var err error
		if out, err = ApplyFix(out, hunks[i].Line, hunks[i].Lines); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ApplyFix replaces the removed lines of a fix, which begin at a line of the
// file, by the added ones, and returns the new file. It fails with ErrChanged
// where other lines are there. Line ends stay as they are.
func ApplyFix(lines []string, line int, fix []string) ([]string, error) {
	var old, added []string
	for _, l := range fix {
		mark, text := l, ""
		if len(l) > 1 {
			mark, text = l[:1], strings.TrimPrefix(l[1:], " ")
		}
		switch mark {
		case "-":
			old = append(old, text)
		case "+":
			added = append(added, text)
		default:
			old, added = append(old, text), append(added, text)
		}
	}
	if len(old) == 0 || line < 1 || line-1+len(old) > len(lines) {
		return nil, ErrChanged
	}
	at := lines[line-1 : line-1+len(old)]
	for i := range old {
		if !explain.SameCode(at[i], old[i]) {
			return nil, ErrChanged
		}
	}
	indent := explain.LeadingSpace(at[0])
	end, last := lineEnd(at[0]), lineEnd(at[len(at)-1]) // the last line of a file may have none
	out := append([]string(nil), lines[:line-1]...)
	for i, l := range added {
		if i == len(added)-1 {
			end = last
		}
		if l != "" {
			l = indent + strings.TrimPrefix(l, explain.LeadingSpace(added[0]))
		}
		out = append(out, l+end)
	}
	return append(out, lines[line-1+len(old):]...), nil
}

// lineEnd is what of a line's end is left when the file was split at \n.
func lineEnd(l string) string {
	if strings.HasSuffix(l, "\r") {
		return "\r"
	}
	return ""
}

// removed are lines of a file as a hunk removes them, without their common indent.
func removed(lines []string, indent string) []string {
	var out []string
	for _, l := range lines {
		out = append(out, "- "+strings.TrimPrefix(strings.TrimRight(l, " \t\r"), indent))
	}
	return out
}

// hunkAt replaces the lines from and to, both counted from 1, by others.
func hunkAt(lines []string, from, to int, added ...string) explain.Hunk {
	h := explain.Hunk{Line: from, Lines: removed(lines[from-1:to], explain.LeadingSpace(lines[from-1]))}
	for _, a := range added {
		h.Lines = append(h.Lines, "+ "+a)
	}
	return h
}
