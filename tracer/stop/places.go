package stop

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tcdbg/tracer/host"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file finds the instructions at which a line of the program begins. A line is that
// of a statement: the arguments of a call that goes over several lines belong to its
// first. An assignment to a variable in a register has no instruction; its debug reference
// says where it would be.

// start is the beginning of a line in one block.
type start struct {
	pc    int
	instr ssa.Instruction // perhaps a debug reference, which the instruction at pc follows
	file  string
	line  int
	// goesOn tells that every way to it comes from the same line: the condition of a loop
	// that is on one line with its counter.
	goesOn bool
}

// lines are the beginnings of lines in a function, by pc, in order.
type lines struct {
	starts []start
	at     map[int][]*start
	pcs    []int
}

// places keeps what was found out about the code of a program.
type places struct {
	prog  *host.Program
	codes sync.Map // *host.Code -> *lines
}

func (p *places) of(c *host.Code) *lines {
	if l, ok := p.codes.Load(c); ok {
		return l.(*lines)
	}
	l, _ := p.codes.LoadOrStore(c, p.find(c))
	return l.(*lines)
}

func (p *places) find(c *host.Code) *lines {
	l := &lines{at: map[int][]*start{}}
	stmts := statementsOf(c.Fn)
	for _, b := range c.Fn.Blocks {
		file, line := "", 0
		for _, in := range b.Instrs {
			pos := ownPos(in)
			if !pos.IsValid() {
				continue
			}
			at := p.prog.Fset.Position(stmts.begin(pos))
			if at.Filename == file && at.Line == line {
				continue
			}
			file, line = at.Filename, at.Line
			l.starts = append(l.starts, start{pc: c.PC(in), instr: in, file: file, line: line})
		}
	}
	l.markGoingOn(c.Fn)
	for i := range l.starts {
		s := &l.starts[i]
		if l.at[s.pc] == nil {
			l.pcs = append(l.pcs, s.pc)
		}
		l.at[s.pc] = append(l.at[s.pc], s)
	}
	slices.Sort(l.pcs)
	return l
}

// markGoingOn finds the beginnings of lines that a line of the same number leads to.
func (l *lines) markGoingOn(fn *ssa.Function) {
	first, exit := map[*ssa.BasicBlock]*start{}, map[*ssa.BasicBlock]int{}
	for i := range l.starts {
		s := &l.starts[i]
		b := s.instr.Block()
		if first[b] == nil {
			first[b] = s
		}
		exit[b] = s.line
	}
	common := func(b *ssa.BasicBlock) int {
		line := 0
		for i, p := range b.Preds {
			if i > 0 && exit[p] != line {
				return 0
			}
			line = exit[p]
		}
		return line
	}
	for range 3 { // blocks without lines of their own pass on what leads to them
		for _, b := range fn.Blocks {
			if first[b] == nil {
				exit[b] = common(b)
			}
		}
	}
	for b, s := range first {
		s.goesOn = len(b.Preds) > 0 && common(b) == s.line
	}
}

// entry is where a function is stopped when it is called: at its first line, when its
// parameters are in their places.
func (l *lines) entry(fn *ssa.Function) int {
	for _, s := range l.starts {
		if s.instr.Block().Index == 0 {
			return s.pc
		}
	}
	return 0
}

// ownPos is where the program has in, nowhere for what the compiler has added.
func ownPos(in ssa.Instruction) token.Pos {
	switch in := in.(type) {
	case *ssa.Phi:
		return token.NoPos
	case *ssa.Alloc:
		if isParamPlace(in) {
			return token.NoPos
		}
	case *ssa.Store:
		if _, ok := in.Val.(*ssa.Parameter); ok {
			return token.NoPos
		}
	case *ssa.DebugRef:
		return in.Expr.Pos()
	}
	return in.Pos()
}

// isParamPlace reports the memory of a parameter or named result, which is made before
// the first line.
func isParamPlace(a *ssa.Alloc) bool {
	for _, p := range a.Parent().Params {
		if p.Pos() == a.Pos() {
			return true
		}
	}
	for _, v := range namedResults(a.Parent()) {
		if v.Pos() == a.Pos() {
			return true
		}
	}
	return false
}

// statements are those of one function, without those of function literals in it.
type statements []ast.Stmt

func statementsOf(fn *ssa.Function) statements { return value.Fact(fn, findStatements) }

func findStatements(fn *ssa.Function) statements {
	var out statements
	root := fn.Syntax()
	if root == nil {
		return nil
	}
	ast.Inspect(root, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.FuncLit:
			return n == root
		case *ast.BlockStmt, *ast.LabeledStmt, *ast.EmptyStmt, nil:
		case ast.Stmt:
			out = append(out, s)
		}
		return true
	})
	return out
}

// begin is where the innermost statement around pos begins; pos where there is none.
func (ss statements) begin(pos token.Pos) token.Pos {
	best := pos
	for _, s := range ss { // outer ones come first
		if s.Pos() <= pos && pos < s.End() {
			best = s.Pos()
		}
	}
	return best
}

// onLine lists the pcs of c where a line of a file begins; of a line in the midst of a
// statement, those of its own instructions.
func (p *places) onLine(c *host.Code, file string, line int) []int {
	if !p.holds(c.Fn, file, line) {
		return nil
	}
	var out []int
	for _, s := range p.of(c).starts {
		if s.line == line && !s.goesOn && sameFile(s.file, file) {
			out = append(out, s.pc)
		}
	}
	if len(out) > 0 {
		slices.Sort(out)
		return slices.Compact(out)
	}
	for pc, in := range c.Instrs {
		if _, phi := in.(*ssa.Phi); phi || !in.Pos().IsValid() {
			continue
		}
		if at := p.prog.Fset.Position(in.Pos()); at.Line == line && sameFile(at.Filename, file) {
			return []int{pc}
		}
	}
	return nil
}

// holds reports whether a function's text has a line, quickly.
func (p *places) holds(fn *ssa.Function, file string, line int) bool {
	s := fn.Syntax()
	if s == nil {
		return fn.Name() == "init"
	}
	from, to := p.prog.Fset.Position(s.Pos()), p.prog.Fset.Position(s.End())
	return from.Line <= line && line <= to.Line && sameFile(from.Filename, file)
}

// sameFile compares a file of the program with what somebody calls it: a path, or its end.
func sameFile(file, named string) bool {
	file, named = filepath.ToSlash(filepath.Clean(file)), filepath.ToSlash(filepath.Clean(named))
	if file == named || strings.HasSuffix(file, "/"+named) || strings.HasSuffix(named, "/"+file) {
		return true
	}
	abs, err := filepath.Abs(file)
	return err == nil && filepath.ToSlash(abs) == named
}
