package stop

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"strings"

	"tcdbg/logs"
	"tcdbg/tracer/host"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is the stack at a stop.

// level is one frame of the stack, at an instruction.
type level struct {
	frame *host.Frame
	pc    int
	at    *start // where the frame is at the beginning of a line
}

// maxLevels is how many levels of the stack a stop shows with their variables.
const maxLevels = 40

// levelsOf lists the frames from f outwards, innermost first. ran tells that f has run
// the instruction before its PC, as the frames below have.
func levelsOf(f *host.Frame, ran bool, at *start) []level {
	var out []level
	for ; f != nil; f, ran, at = f.Caller, true, nil {
		l := level{frame: f, pc: f.PC, at: at}
		if ran {
			l.pc--
		}
		if l.pc >= 0 && l.pc < len(f.Code.Instrs) && shown(f.Code.Fn) {
			out = append(out, l)
		}
	}
	return out
}

// shown reports whether a function is one that somebody wrote.
func shown(fn *ssa.Function) bool {
	return fn.Syntax() != nil || fn.Pkg != nil && fn.Name() == "init"
}

func (l *level) instr() ssa.Instruction {
	if l.at != nil {
		return l.at.instr
	}
	return l.frame.Code.Instrs[l.pc]
}

// index is the level's instruction in its block.
func (l *level) index() int {
	in := l.instr()
	for i, x := range in.Block().Instrs {
		if x == in {
			return i
		}
	}
	return 0
}

// pos is the level's place in the text, for what is visible there. The variables of a
// function are visible in its body, which its first instructions are before.
func (l *level) pos() token.Pos {
	in := l.instr()
	pos := host.PosOf(in)
	if ref, ok := in.(*ssa.DebugRef); ok {
		pos = ref.Expr.Pos()
	}
	var body *ast.BlockStmt
	switch s := in.Parent().Syntax().(type) {
	case *ast.FuncDecl:
		body = s.Body
	case *ast.FuncLit:
		body = s.Body
	case *ast.RangeStmt:
		body = s.Body
	}
	if body != nil && (pos <= body.Pos() || pos >= body.End()) {
		return body.Pos()
	}
	return pos
}

// place is where the level is, as records spell it.
func (l *level) place(prog *host.Program) logs.Pos {
	if l.at == nil {
		return posOf(prog, l.instr())
	}
	p := posOf(prog, l.instr())
	p.File, p.Line, p.Col = filepath.ToSlash(l.at.file), l.at.line, 0
	p.Code = strings.TrimRight(prog.SourceLine(l.at.file, l.at.line), " \t\r")
	return p
}

func posOf(prog *host.Program, in ssa.Instruction) logs.Pos {
	p := prog.Pos(in)
	if !p.IsValid() {
		return logs.Pos{}
	}
	return logs.Pos{
		File: filepath.ToSlash(p.Filename), Line: p.Line, Col: p.Column, Func: value.FuncName(in.Parent()),
		Code: strings.TrimRight(prog.SourceLine(p.Filename, p.Line), " \t\r"),
	}
}

// stack describes the levels.
func (d *Debugger) stack(s *stopped) []logs.StackFrame {
	var out []logs.StackFrame
	for i := range s.levels {
		l := &s.levels[i]
		fr := logs.StackFrame{Pos: l.place(d.prog)}
		if i < maxLevels {
			for _, loc := range l.locals(d.prog) {
				fr.Locals = append(fr.Locals, s.show.local(loc))
			}
		}
		out = append(out, fr)
	}
	return out
}

// ownFile reports whether a file is the user's.
func ownFile(file string) bool {
	return !value.OwnSource(file) && !strings.HasPrefix(file, "$GOROOT/") && file != ""
}
