package explain

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"

	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file rewrites the user's source: fixes that need more of it than the one
// line that a trace holds, and the writing of a fix into a file's lines.

// AddRewrites gives the breaks of a report the fixes that need the source
// file, as source returns it, by lines. A file that can no longer be read, or
// whose line is not the recorded one, gives none. It changes r, which nobody
// else may be reading.
func AddRewrites(r *Report, source func(file string) ([]string, error)) {
	files := map[string][]string{}
	for _, g := range r.Breaks {
		b := g.Lead
		if b == nil || b.Noise || len(g.Fix.Lines) > 0 || b.Code != breaks.DataDependentBranching || !boolBranch(b.Pos.Code) {
			continue
		}
		lines, ok := files[b.Pos.File]
		if !ok {
			lines, _ = source(b.Pos.File) // none: no rewrite
			files[b.Pos.File] = lines
		}
		g.Fix.Lines = goWhere(lines, b.Pos)
	}
	for i := range r.Advice {
		if a := &r.Advice[i]; a.Break != nil {
			a.Fix.Lines = a.Break.Fix.Lines
		}
	}
}

// WhyNoRewrite says why a break has no fix in lines.
func WhyNoRewrite(b *Break) string {
	switch {
	case b.Noise:
		return "the break is inside the framework, there is no line of yours to change"
	case b.Pos.File == "":
		return "the trace does not say where the break is"
	case b.Code == breaks.DataDependentBranching:
		return "only a branch that assigns one tensor can be rewritten, in a file that has not changed"
	}
	return "for this cause no rewrite is known, the advice is in words"
}

// boolBranch reports whether a line may begin a branch that goWhere rewrites.
func boolBranch(code string) bool {
	return strings.HasPrefix(strings.TrimSpace(code), "if ") && strings.Contains(code, ".Bool() {")
}

// goWhere rewrites at a place
//
//	if COND.Bool() {
//		v = EXPR
//	}
//
// to v = torch.Where(COND, EXPR, v); nil where something else stands there.
func goWhere(lines []string, pos logs.Pos) []string {
	if pos.Line < 1 || pos.Line > len(lines) || !sameCode(lines[pos.Line-1], pos.Code) {
		return nil
	}
	text := strings.Join(lines, "\n")
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	name := torchName(file)
	var stmt *ast.IfStmt
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.IfStmt); ok && fset.Position(s.Pos()).Line == pos.Line {
			stmt = s
		}
		return stmt == nil
	})
	if stmt == nil || name == "" {
		return nil
	}
	cond, target, expr, ok := whereParts(stmt)
	from, to := fset.Position(stmt.Pos()), fset.Position(stmt.End())
	if !ok || strings.TrimSpace(lines[from.Line-1][:from.Column-1]) != "" || strings.TrimSpace(lines[to.Line-1][to.Column-1:]) != "" {
		return nil // it does not have its lines for itself
	}
	source := func(n ast.Node) string { return text[n.Pos()-1 : n.End()-1] } // the file begins at 1
	last := to.Line
	indent := leadingSpace(lines[pos.Line-1])
	var out []string
	for _, l := range lines[pos.Line-1 : last] {
		out = append(out, "- "+strings.TrimPrefix(strings.TrimRight(l, " \t\r"), indent))
	}
	return append(out, fmt.Sprintf("+ %s = %s.Where(%s, %s, %s)", target, name, source(cond), source(expr), target))
}

// whereParts takes the statement apart.
func whereParts(s *ast.IfStmt) (cond ast.Expr, target string, expr ast.Expr, ok bool) {
	call, isCall := s.Cond.(*ast.CallExpr)
	if s.Init != nil || s.Else != nil || !isCall || len(call.Args) > 0 || len(s.Body.List) != 1 {
		return nil, "", nil, false
	}
	sel, isSel := call.Fun.(*ast.SelectorExpr)
	set, isSet := s.Body.List[0].(*ast.AssignStmt)
	if !isSel || sel.Sel.Name != "Bool" || !isSet || set.Tok != token.ASSIGN || len(set.Lhs) != 1 || len(set.Rhs) != 1 {
		return nil, "", nil, false
	}
	v, isName := set.Lhs[0].(*ast.Ident)
	if !isName || v.Name == "_" || !givesTensor(set.Rhs[0]) {
		return nil, "", nil, false
	}
	return sel.X, v.Name, set.Rhs[0], true
}

// numbers are methods of tensors that give no tensor.
var numbers = map[string]bool{"Bool": true, "Dim": true, "Float": true, "Int": true, "Item": true, "Numel": true, "Shape": true, "Size": true}

// givesTensor reports whether an expression can be a tensor by its form: a call
// of a method or of a package's function.
func givesTensor(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && !numbers[sel.Sel.Name]
}

// torchName is the name of package torch in a file, "" where it is not imported.
func torchName(f *ast.File) string {
	for _, im := range f.Imports {
		if im.Path.Value != `"tcdbg/torch"` {
			continue
		}
		if im.Name == nil {
			return "torch"
		}
		if n := im.Name.Name; n != "_" && n != "." {
			return n
		}
	}
	return ""
}

// ErrChanged says that a fix no longer fits the file.
var ErrChanged = errors.New("the file has changed since: the lines of the fix are not there any more")

// ApplyFix replaces the removed lines of a fix, which begin at a line of the
// file, by the added ones, and returns the new file. It fails with ErrChanged
// where other lines stand there.
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
		if !sameCode(at[i], old[i]) {
			return nil, ErrChanged
		}
	}
	indent, end := leadingSpace(at[0]), ""
	if strings.HasSuffix(at[0], "\r") {
		end = "\r"
	}
	out := append([]string(nil), lines[:line-1]...)
	for _, l := range added {
		out = append(out, indent+strings.TrimPrefix(l, leadingSpace(added[0]))+end)
	}
	return append(out, lines[line-1+len(old):]...), nil
}

func sameCode(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

func leadingSpace(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }
