package rewrite

import (
	"go/ast"
	"go/token"
	"strings"

	"tcdbg/explain"
)

// This file turns a branch on a tensor's value whose sides do work into compiler.Cond, which
// runs one side in eager mode, too.

// side is a side of a branch that gives one tensor.
type side struct {
	stmts []ast.Stmt // but the last: new variables of its own
	value ast.Expr   // what the last one gives
	lines []string   // of a function's body that returns it
}

// condRewrite turns
//
//	if COND.Bool() {
//		v = A
//	} else {
//		v = B
//	}
//
// into v = compiler.Cond(COND, a function that returns A, one that returns B), and the same of
// two returns, of which the second may follow the branch; without an else, B is a clone of v.
func (g *goFile) condRewrite(s goStatement) *explain.Rewrite {
	branch, ok := s.Stmt.(*ast.IfStmt)
	torch := importName(g.file, "tcdbg/torch")
	if !ok || torch == "" || branch.Init != nil {
		return nil
	}
	test, swapped := branch.Cond, false
	if not, is := test.(*ast.UnaryExpr); is && not.Op == token.NOT {
		test, swapped = not.X, true
	}
	cond := boolOf(test)
	if cond == nil || strings.Contains(g.source(cond), "\n") {
		return nil
	}
	end := branch.End()
	target, yes := g.side(branch.Body.Lbrace+1, branch.Body.Rbrace, branch.Body.List)
	var no *side
	switch other := branch.Else.(type) {
	case *ast.BlockStmt:
		var same ast.Expr
		if same, no = g.side(other.Lbrace+1, other.Rbrace, other.List); no == nil || !g.sameTarget(target, same) {
			return nil
		}
	case nil:
		if target == nil {
			no, end = g.returnAfter(s)
			break
		}
		no = &side{value: target, lines: []string{"\treturn " + g.source(target) + ".Clone()"}}
	}
	if yes == nil || no == nil || !g.givesTensor(s.fn, target, torch) || !closed(s.fn, target, yes, no) {
		return nil
	}
	name, hunk := g.compiler()
	if name == "" {
		return nil
	}
	if swapped {
		yes, no = no, yes
	}
	first := "return "
	if target != nil {
		first = g.source(target) + " = "
	}
	head := "func(...*" + torch + ".Tensor) *" + torch + ".Tensor {"
	added := append([]string{first + name + ".Cond(" + g.source(cond) + ", " + head}, yes.lines...)
	added = append(append(append(added, "}, "+head), no.lines...), "})")
	r := &explain.Rewrite{Hunks: []explain.Hunk{hunkAt(g.lines, g.line(s.Pos()), g.line(end), added...)}}
	if hunk != nil {
		r.Hunks = append([]explain.Hunk{*hunk}, r.Hunks...)
	}
	return r
}

func (g *goFile) sameTarget(a, b ast.Expr) bool {
	return (a == nil) == (b == nil) && (a == nil || g.source(a) == g.source(b))
}

// side reads the statements between two positions, on lines of their own: new variables, and
// then v = A or return A. It is nil for all else.
func (g *goFile) side(from, to token.Pos, list []ast.Stmt) (target ast.Expr, s *side) {
	n := len(list)
	if n == 0 || g.line(from) == g.line(list[0].Pos()) || g.line(list[n-1].End()) == g.line(to) {
		return nil, nil
	}
	s = &side{stmts: list[:n-1]}
	for _, st := range s.stmts {
		if a, ok := st.(*ast.AssignStmt); !ok || a.Tok != token.DEFINE {
			return nil, nil
		}
	}
	target, s.value = assignment(list[n-1:])
	if s.value == nil {
		return nil, nil
	}
	last := g.line(list[n-1].Pos())
	if g.set.Position(list[n-1].Pos()).Column != len(explain.LeadingSpace(g.lines[last-1]))+1 {
		return nil, nil // two statements on a line
	}
	indent := explain.LeadingSpace(g.lines[last-1])
	for i := g.line(from) + 1; i < g.line(to); i++ {
		text := strings.TrimRight(g.lines[i-1], " \t\r")
		if i == last {
			text = indent + "return " + g.lineFrom(s.value, i)
		}
		if text = strings.TrimPrefix(text, indent); text != "" {
			text = "\t" + text
		}
		s.lines = append(s.lines, text)
	}
	return target, s
}

// lineFrom is the rest of a line from an expression on, which has to begin there.
func (g *goFile) lineFrom(x ast.Expr, line int) string {
	at := g.set.Position(x.Pos())
	if at.Line != line {
		return g.source(x)
	}
	return strings.TrimRight(g.lines[line-1][at.Column-1:], " \t\r")
}

// returnAfter is the return that follows a branch.
func (g *goFile) returnAfter(s goStatement) (*side, token.Pos) {
	next := g.follower(s)
	if next == nil || g.line(next.Pos()) <= g.line(s.End()) {
		return nil, token.NoPos
	}
	if !g.alone(goStatement{next, s.fn}) {
		return nil, token.NoPos
	}
	after := &side{}
	if _, after.value = assignment([]ast.Stmt{next}); after.value == nil {
		return nil, token.NoPos
	}
	indent := explain.LeadingSpace(g.lines[g.line(s.Pos())-1])
	blank := true // lines between the two
	for i := g.line(s.End()) + 1; i <= g.line(next.End()); i++ {
		text := strings.TrimPrefix(strings.TrimRight(g.lines[i-1], " \t\r"), indent)
		if blank = blank && text == ""; blank {
			continue
		}
		if text != "" {
			text = "\t" + text
		}
		after.lines = append(after.lines, text)
	}
	return after, next.End()
}

// follower is the return that follows a statement in its block, nil for none.
func (g *goFile) follower(s goStatement) ast.Stmt {
	var found ast.Stmt
	ast.Inspect(s.fn, func(n ast.Node) bool {
		list, _ := blockOf(n)
		for i, st := range list {
			if st != s.Stmt || i+1 == len(list) {
				continue
			}
			if r, ok := list[i+1].(*ast.ReturnStmt); ok {
				found = r
			}
		}
		return found == nil
	})
	return found
}

// givesTensor says whether what a branch gives is a *torch.Tensor: the break says so of a
// variable, the function's one result of a return.
func (g *goFile) givesTensor(fn ast.Node, target ast.Expr, torch string) bool {
	if target != nil {
		return true
	}
	var typ *ast.FuncType
	switch f := fn.(type) {
	case *ast.FuncDecl:
		typ = f.Type
	case *ast.FuncLit:
		typ = f.Type
	}
	return typ.Results.NumFields() == 1 && g.source(typ.Results.List[0].Type) == "*"+torch+".Tensor"
}

// closed says whether sides mean within a function of their own what they mean in place: no
// recover, no text over several lines, which is not to be indented, no nil, and a tensor of the
// outside only where nothing is written to one in place.
func closed(fn ast.Node, target ast.Expr, sides ...*side) bool {
	for _, s := range sides {
		if v, is := s.value.(*ast.Ident); is {
			if v.Name == "nil" || writesAnything(fn) {
				return false
			}
			if last := len(s.lines) - 1; !strings.HasSuffix(s.lines[last], ".Clone()") {
				if !strings.HasSuffix(s.lines[last], "return "+v.Name) {
					return false // with a comment after it
				}
				s.lines[last] += ".Clone()"
			}
		}
		nodes := []ast.Node{s.value}
		for _, st := range s.stmts {
			nodes = append(nodes, st)
			for _, made := range st.(*ast.AssignStmt).Lhs {
				if v, is := made.(*ast.Ident); is && target != nil && v.Name == target.(*ast.Ident).Name {
					return false // another variable of the same name
				}
			}
		}
		for _, n := range nodes {
			if !plain(n) {
				return false
			}
		}
	}
	return true
}

func plain(n ast.Node) bool {
	ok := true
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			ok = ok && !strings.Contains(n.Value, "\n")
		case *ast.Ident:
			ok = ok && n.Name != "recover"
		}
		return ok
	})
	return ok
}

// writesAnything says whether the function writes to any tensor in place.
func writesAnything(fn ast.Node) bool {
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		if x, ok := n.(ast.Expr); ok {
			_, name, _ := methodCall(x)
			found = found || strings.HasSuffix(name, "_") || name == "CopyFrom"
		}
		return !found
	})
	return found
}
