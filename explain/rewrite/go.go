package rewrite

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"sync"

	"tcdbg/explain"
	"tcdbg/tracer/breaks"
)

// This file rewrites Go programs: a branch on a tensor's value that chooses between
// two elementwise results of one tensor becomes a Where (of others see gocond.go); a print, a log call or a
// reading of the clock is left out of compiled calls.

// goFile is a parsed file of a program.
type goFile struct {
	lines    []string
	text     string
	set      *token.FileSet
	file     *ast.File
	begins   map[int]goStatement            // by line
	compiler func() (string, *explain.Hunk) // compilerImport
}

// goStatement is a statement and the function around it.
type goStatement struct {
	ast.Stmt
	fn ast.Node // *ast.FuncDecl or *ast.FuncLit
}

// parseGo parses a file, nil where it is no Go.
func parseGo(lines []string) *goFile {
	g := &goFile{lines: lines, text: strings.Join(lines, "\n"), set: token.NewFileSet(), begins: map[int]goStatement{}}
	parsed, err := parser.ParseFile(g.set, "", g.text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	g.file = parsed
	g.index()
	g.compiler = sync.OnceValues(g.compilerImport)
	return g
}

// goRewrite finds the rewrite for a break, nil for none that is certain.
func goRewrite(b *explain.Break, f *file) *explain.Rewrite {
	if !explain.SameLine(f.lines, b.Pos) {
		return nil
	}
	g := f.parsed()
	if g == nil {
		return nil
	}
	s, ok := g.begins[b.Pos.Line]
	if !ok || !g.alone(s) {
		return nil
	}
	switch b.Code {
	case breaks.DataDependentBranching:
		if strings.HasSuffix(b.Context, breaks.SideWork) {
			return g.condRewrite(s)
		}
		return g.where(b, s)
	case breaks.BuiltinPrint, breaks.LoggerCall, breaks.UnknownNativeCall, breaks.TimeFunction:
		return g.outOfCompiled(s)
	}
	return nil
}

// index finds the outermost statement that begins at each line, within a block of a
// function.
func (g *goFile) index() {
	var around []ast.Node // the nodes that are open
	var fns []ast.Node    // of them the functions
	ast.Inspect(g.file, func(n ast.Node) bool {
		if n == nil {
			last := around[len(around)-1]
			around = around[:len(around)-1]
			if isFunction(last) {
				fns = fns[:len(fns)-1]
			}
			return true
		}
		around = append(around, n)
		if isFunction(n) {
			fns = append(fns, n)
		}
		list, _ := blockOf(n)
		for _, s := range list {
			if _, taken := g.begins[g.line(s.Pos())]; !taken {
				g.begins[g.line(s.Pos())] = goStatement{s, fns[len(fns)-1]}
			}
		}
		return true
	})
}

func isFunction(n ast.Node) bool {
	switch n.(type) {
	case *ast.FuncDecl, *ast.FuncLit:
		return true
	}
	return false
}

// blockOf are the statements of a node that is a list of them.
func blockOf(n ast.Node) ([]ast.Stmt, bool) {
	switch b := n.(type) {
	case *ast.BlockStmt:
		return b.List, true
	case *ast.CaseClause:
		return b.Body, true
	case *ast.CommClause:
		return b.Body, true
	}
	return nil, false
}

func (g *goFile) line(p token.Pos) int { return g.set.Position(p).Line }

// alone says whether a statement has its lines for itself.
func (g *goFile) alone(s ast.Stmt) bool {
	from, to := g.set.Position(s.Pos()), g.set.Position(s.End())
	before, after := g.lines[from.Line-1][:from.Column-1], strings.TrimSpace(g.lines[to.Line-1][to.Column-1:])
	return strings.TrimSpace(before) == "" && (after == "" || strings.HasPrefix(after, "//"))
}

func (g *goFile) source(n ast.Node) string { return g.text[n.Pos()-1 : n.End()-1] } // the file begins at 1

// where turns
//
//	if COND.Bool() {
//		v = A
//	} else {
//		v = B
//	}
//
// into v = torch.Where(COND, A, B), and the same of two returns; without an else, B is
// v itself.
func (g *goFile) where(b *explain.Break, s goStatement) *explain.Rewrite {
	branch, ok := s.Stmt.(*ast.IfStmt)
	torch := importName(g.file, "tcdbg/torch")
	if !ok || torch == "" || branch.Init != nil {
		return nil
	}
	cond := boolOf(branch.Cond)
	if cond == nil || !isScalarBool(cond) {
		return nil
	}
	target, yes := assignment(branch.Body.List)
	no := target
	if branch.Else != nil {
		block, isBlock := branch.Else.(*ast.BlockStmt)
		if !isBlock {
			return nil
		}
		var same ast.Expr
		if same, no = assignment(block.List); (same == nil) != (target == nil) || target != nil && g.source(same) != g.source(target) {
			return nil
		}
	}
	if yes == nil || no == nil {
		return nil
	}
	base, c := elementwise(yes, torch)
	other, d := elementwise(no, torch)
	if base == "" || base != other || !min(c, d).holds(inputDtype(b, base)) || writesInPlace(s.fn, base) ||
		target != nil && writesInPlace(s.fn, g.source(target)) {
		return nil
	}
	text := fmt.Sprintf("%s.Where(%s, %s, %s)", torch, g.source(cond), g.source(yes), g.source(no))
	if target != nil {
		text = g.source(target) + " = " + text
	} else {
		text = "return " + text
	}
	return &explain.Rewrite{Hunks: []explain.Hunk{hunkAt(g.lines, g.line(s.Pos()), g.line(s.End()), text)}}
}

// boolOf is X of X.Bool().
func boolOf(cond ast.Expr) ast.Expr {
	call, ok := cond.(*ast.CallExpr)
	if !ok || len(call.Args) > 0 {
		return nil
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Bool" {
		return nil
	}
	return sel.X
}

// assignment is the only statement of a block: v = X, or return X with a nil target.
func assignment(list []ast.Stmt) (target, value ast.Expr) {
	if len(list) != 1 {
		return nil, nil
	}
	switch s := list[0].(type) {
	case *ast.AssignStmt:
		if v, ok := s.Lhs[0].(*ast.Ident); ok && s.Tok == token.ASSIGN && len(s.Lhs) == 1 && len(s.Rhs) == 1 && v.Name != "_" {
			return v, s.Rhs[0]
		}
	case *ast.ReturnStmt:
		if len(s.Results) == 1 {
			return nil, s.Results[0]
		}
	}
	return nil, nil
}

// Methods by what they keep. toScalar gives a tensor of one number; compares gives
// bools of the same shape.
var (
	toScalar  = words2set("Sum Mean Max Min Any All Norm Prod")
	compares  = words2set("Lt Gt Le Ge Eq Ne")
	ofAny     = words2set("Neg Relu Abs")
	ofAnyInt  = words2set("Add Sub Mul")
	ofFloat   = words2set("Tanh Sigmoid Sin Cos Gelu Silu")
	ofFloatBy = words2set("Add Sub Mul Div")
)

func words2set(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

// isScalarBool says whether a condition is one bool for certain: x.Sum().Lt(0), or
// x.Any().
func isScalarBool(x ast.Expr) bool {
	recv, name, args := methodCall(x)
	switch {
	case (name == "Any" || name == "All") && len(args) == 0:
		return true
	case compares[name] && len(args) == 1 && goNumber(args[0]):
		_, inner, none := methodCall(recv)
		for inner == "Abs" || inner == "Neg" || inner == "Sqrt" {
			recv, _, _ = methodCall(recv)
			_, inner, none = methodCall(recv)
		}
		return toScalar[inner] && inner != "Any" && inner != "All" && len(none) == 0
	}
	return false
}

func methodCall(x ast.Expr) (recv ast.Expr, name string, args []ast.Expr) {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return nil, "", nil
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil, "", nil
	}
	return sel.X, sel.Sel.Name, call.Args
}

func goNumber(x ast.Expr) bool {
	if u, ok := x.(*ast.UnaryExpr); ok && u.Op == token.SUB {
		x = u.X
	}
	l, ok := x.(*ast.BasicLit)
	return ok && (l.Kind == token.INT || l.Kind == token.FLOAT)
}

func goInteger(x ast.Expr) bool {
	if u, ok := x.(*ast.UnaryExpr); ok && u.Op == token.SUB {
		x = u.X
	}
	l, ok := x.(*ast.BasicLit)
	return ok && l.Kind == token.INT
}

// elementwise is the one variable that an expression computes from, keeping its shape
// and dtype; "" where it is not certain to.
func elementwise(x ast.Expr, torch string) (base string, c certainty) {
	if v, ok := x.(*ast.Ident); ok && v.Name != "nil" {
		return v.Name, ofNumbers
	}
	recv, name, args := methodCall(x)
	if v, ok := recv.(*ast.Ident); ok && v.Name == torch {
		if len(args) == 0 {
			return "", uncertain
		}
		recv, args = args[0], args[1:]
	}
	if recv == nil {
		return "", uncertain
	}
	base, c = elementwise(recv, torch)
	return base, min(c, keeps(name, args))
}

// keeps is what a method needs of its tensor to keep shape and dtype.
func keeps(name string, args []ast.Expr) certainty {
	switch {
	case len(args) == 0 && ofAny[name], len(args) == 1 && ofAnyInt[name] && goInteger(args[0]):
		return ofNumbers
	case len(args) == 0 && ofFloat[name]:
		return ofFloats
	case len(args) == 1 && ofFloatBy[name] && goNumber(args[0]):
		if name == "Div" && strings.Trim(numberText(args[0]), "-0.") == "" {
			return uncertain // x/0 is infinite, and its gradient no number
		}
		return ofFloats
	}
	return uncertain
}

func numberText(x ast.Expr) string {
	if u, ok := x.(*ast.UnaryExpr); ok {
		x = u.X
	}
	if l, ok := x.(*ast.BasicLit); ok {
		return l.Value
	}
	return ""
}

// writesInPlace says whether the function changes a tensor in place: there the tensor
// that was not replaced is another one than the result of Where.
func writesInPlace(fn ast.Node, name string) bool {
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		if x, ok := n.(ast.Expr); ok {
			if recv, method, _ := methodCall(x); method != "" && strings.HasSuffix(method, "_") {
				if v, ok := recv.(*ast.Ident); ok && v.Name == name {
					found = true
				}
			}
		}
		return !found
	})
	return found
}

// outOfCompiled leaves a print, a log call or a clock reading out of compiled calls.
func (g *goFile) outOfCompiled(at goStatement) *explain.Rewrite {
	name, hunk := g.compiler()
	if name == "" {
		return nil
	}
	from, to := g.line(at.Pos()), g.line(at.End())
	indent := explain.LeadingSpace(g.lines[from-1])
	ask := "if !" + name + ".IsCompiling() {"
	var added []string
	switch s := at.Stmt.(type) {
	case *ast.ExprStmt:
		if !g.prints(s) {
			return nil
		}
		added = []string{ask}
		for _, l := range g.lines[from-1 : to] {
			added = append(added, "\t"+strings.TrimPrefix(strings.TrimRight(l, " \t\r"), indent))
		}
		added = append(added, "}")
	case *ast.AssignStmt:
		typ := g.clockType(s)
		if typ == "" || from != to {
			return nil
		}
		v := s.Lhs[0].(*ast.Ident)
		set := "\t" + v.Name + " = " + g.source(s.Rhs[0])
		switch {
		case v.Name != "_" && (s.Tok != token.DEFINE || !g.onlyPrinted(at.fn, v.Name, s)):
			return nil
		case v.Name != "_":
			added = append(added, "var "+v.Name+" "+typ)
		}
		added = append(added, ask, set, "}")
	default:
		return nil
	}
	r := &explain.Rewrite{Note: skippedNote, Hunks: []explain.Hunk{hunkAt(g.lines, from, to, added...)}}
	if hunk != nil {
		r.Hunks = append([]explain.Hunk{*hunk}, r.Hunks...)
	}
	return r
}

// The package that a fix may need.
const compilerName, compilerPath = "compiler", "tcdbg/torch/compiler"

// compilerImport is the name of package compiler in the file, and the hunk that
// imports it where it is not; "" where the name means something else.
func (g *goFile) compilerImport() (string, *explain.Hunk) {
	const torch = `"tcdbg/torch"`
	if name := importName(g.file, compilerPath); name != "" {
		return name, nil
	}
	taken := uses(g.file, compilerName)
	for _, d := range g.file.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok || gen.Tok != token.IMPORT || taken {
			continue
		}
		for _, spec := range gen.Specs {
			im := spec.(*ast.ImportSpec)
			line := g.line(im.Pos())
			if im.Path.Value != torch || g.line(gen.Pos()) == line && gen.Lparen.IsValid() {
				continue
			}
			old := strings.TrimSpace(g.lines[line-1])
			added := `"` + compilerPath + `"`
			if !gen.Lparen.IsValid() {
				added = "import " + added
			}
			h := explain.Hunk{Line: line, Lines: []string{"  " + old, "+ " + added}} // the import above stays as it is
			return compilerName, &h
		}
	}
	return "", nil
}

// prints says whether a statement prints or logs, and does nothing else.
func (g *goFile) prints(s *ast.ExprStmt) bool {
	recv, name, args := methodCall(s.X)
	pkg, ok := recv.(*ast.Ident)
	if !ok {
		return false
	}
	switch importPath(g.file, pkg.Name) {
	case "fmt":
		ok = strings.HasPrefix(name, "Print")
	case "log":
		ok = strings.HasPrefix(name, "Print") // the others end the program
	case "log/slog":
		ok = name == "Debug" || name == "Info" || name == "Warn" || name == "Error"
	default:
		ok = false
	}
	for _, a := range args {
		ok = ok && g.changesNothing(a)
	}
	return ok
}

// reading are methods and functions that leave everything as it is.
var reading = words2set(
	"Shape Size Dim Item Float Int Bool Sum Mean Max Min Norm Abs Any All Numel Dtype String Since Sub Seconds Milliseconds " +
		"Microseconds Round Sprint Sprintf Sprintln",
)

// changesNothing says whether evaluating an expression has no effect.
func (g *goFile) changesNothing(x ast.Expr) bool {
	ok := true
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			switch f := n.Fun.(type) {
			case *ast.SelectorExpr:
				ok = ok && reading[f.Sel.Name]
			case *ast.Ident:
				ok = ok && (f.Name == "len" || f.Name == "cap" || f.Name == "string" || f.Name == "float64" || f.Name == "int")
			default:
				ok = false
			}
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.ARROW
		case *ast.FuncLit:
			ok = false
		}
		return ok
	})
	return ok
}

// clockType is the type of what a statement reads from the clock, "" where it does not.
func (g *goFile) clockType(s *ast.AssignStmt) string {
	if len(s.Lhs) != 1 || len(s.Rhs) != 1 {
		return ""
	}
	if _, ok := s.Lhs[0].(*ast.Ident); !ok {
		return ""
	}
	recv, name, args := methodCall(s.Rhs[0])
	pkg, ok := recv.(*ast.Ident)
	if !ok || importPath(g.file, pkg.Name) != "time" {
		return ""
	}
	switch {
	case name == "Now" && len(args) == 0:
		return pkg.Name + ".Time"
	case (name == "Since" || name == "Until") && len(args) == 1 && g.changesNothing(args[0]):
		return pkg.Name + ".Duration"
	}
	return ""
}

// onlyPrinted says whether a variable of the function goes nowhere but into prints, log
// calls and other readings of the clock that go nowhere else themselves.
func (g *goFile) onlyPrinted(fn ast.Node, name string, made ast.Stmt) bool {
	ok := true
	ast.Inspect(fn, func(n ast.Node) bool {
		if n == made || !ok {
			return false
		}
		switch s := n.(type) {
		case *ast.ExprStmt:
			if g.prints(s) {
				return false
			}
		case *ast.AssignStmt:
			if v, isName := s.Lhs[0].(*ast.Ident); isName && g.clockType(s) != "" && v.Name != name && mentions(s.Rhs[0], name) &&
				(v.Name == "_" || s.Tok == token.DEFINE && g.onlyPrinted(fn, v.Name, s)) {
				return false
			}
		case *ast.Ident:
			ok = ok && s.Name != name
		}
		return ok
	})
	return ok
}

func mentions(x ast.Expr, name string) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		v, ok := n.(*ast.Ident)
		found = found || ok && v.Name == name
		return !found
	})
	return found
}

// importName is the name of a package in a file, "" where it is not imported.
func importName(f *ast.File, path string) string {
	for _, im := range f.Imports {
		if im.Path.Value != `"`+path+`"` {
			continue
		}
		if im.Name == nil {
			return path[strings.LastIndexByte(path, '/')+1:]
		}
		if n := im.Name.Name; n != "_" && n != "." {
			return n
		}
	}
	return ""
}

// importPath is the package that a name of a file means, "" for none.
func importPath(f *ast.File, name string) string {
	for _, im := range f.Imports {
		path := strings.Trim(im.Path.Value, `"`)
		if importName(f, path) == name {
			return path
		}
	}
	return ""
}
