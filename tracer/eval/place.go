package eval

import (
	"path/filepath"
	"slices"
	"strings"

	"tcdbg/logs"
	"tcdbg/tracer/host"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file says where in the program's text a frame is.

// PosOf is the place in the program of the instruction that f is about to run.
func PosOf(prog *host.Program, f *host.Frame) logs.Pos { return posAt(prog, f, 0) }

// CallerPos is the place of the call in which f waits.
func CallerPos(prog *host.Program, f *host.Frame) logs.Pos { return posAt(prog, f, -1) }

func posAt(prog *host.Program, f *host.Frame, off int) logs.Pos {
	if f == nil || f.PC+off < 0 || f.PC+off >= len(f.Code.Instrs) {
		return logs.Pos{}
	}
	p := prog.Pos(f.Code.Instrs[f.PC+off])
	if !p.IsValid() || f.Code.Fn.Synthetic != "" && f.Code.Fn.Pkg == nil {
		return logs.Pos{}
	}
	return logs.Pos{
		File: filepath.ToSlash(p.Filename), Line: p.Line, Col: p.Column,
		Func: value.FuncName(f.Code.Fn), Code: strings.TrimRight(prog.SourceLine(p.Filename, p.Line), " \t\r"),
	}
}

// codeLines is what a trace has found out about where the instructions of a function are, by their number.
type codeLines struct {
	torch bool        // the function is torch's own
	pos   []*logs.Pos // nil: not asked for yet
	// steps is what the record of steps calls their lines, plus 2, and seen how often it has the instruction: up to maxRepeats.
	steps []int
	seen  []uint8
}

func (fs *frames) linesOf(c *host.Code) *codeLines {
	l := fs.lines[c]
	if l == nil {
		file := fs.env.Prog.Fset.Position(c.Fn.Pos()).Filename
		l = &codeLines{torch: value.OwnSource(filepath.ToSlash(file)), pos: make([]*logs.Pos, len(c.Instrs))}
		fs.lines[c] = l
	}
	return l
}

// placeAt is posAt, which a trace asks again and again of the same few calls.
func (fs *frames) placeAt(f *host.Frame, off int) logs.Pos {
	if f == nil || f.PC+off < 0 || f.PC+off >= len(f.Code.Instrs) {
		return logs.Pos{}
	}
	known := &fs.linesOf(f.Code).pos[f.PC+off]
	if *known == nil {
		p := posAt(fs.env.Prog, f, off)
		*known = &p
	}
	return **known
}

// fullName is the name of fn with its package, which a trace asks at each call.
func (fs *frames) fullName(fn *ssa.Function) string {
	name, known := fs.names[fn]
	if !known {
		name = fn.String()
		if fs.names == nil {
			fs.names = map[*ssa.Function]string{}
		}
		fs.names[fn] = name
	}
	return name
}

// LastOfProgram is the innermost place that is not torch's own, else the
// innermost.
func LastOfProgram(ps []logs.Pos) logs.Pos {
	return Last(ofProgram(ps))
}

// ofProgram is a stack without torch's own places at its end.
func ofProgram(ps []logs.Pos) []logs.Pos {
	for i, p := range slices.Backward(ps) {
		if !value.OwnSource(p.File) {
			return ps[:i+1]
		}
	}
	return ps
}

func Last(ps []logs.Pos) logs.Pos {
	if len(ps) == 0 {
		return logs.Pos{}
	}
	return ps[len(ps)-1]
}
