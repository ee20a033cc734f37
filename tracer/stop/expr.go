package stop

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"slices"

	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// This file compiles an expression that is not part of the program, as if it was written
// at a place of it: it becomes a function of its own whose parameters are the variables
// there. So it means what Go says that it means: there is no second evaluator.

// scope is a place of the program as an expression sees it.
type scope struct {
	Fn   *ssa.Function
	Pos  token.Pos
	Vars []scopeVar // the innermost of a name alone
}

// scopeVar is one variable of a function.
type scopeVar struct {
	Name string
	Type types.Type
	// Place tells that an expression may take the variable's address: the argument is then
	// a pointer to it, else its value.
	Place bool
	// Unknown is why there is no value.
	Unknown string
}

// expr is a compiled expression.
type expr struct {
	Fn     *ssa.Function  // nil for a constant
	Args   []int          // what its parameters are: indices of scope.Vars
	Type   types.Type     // of the value, nil where there is none; a tuple of several
	Const  constant.Value // of a constant
	pkg    *types.Package
	params []*types.Var
	info   *types.Info
}

// compileExpr compiles a Go expression at a place of the program.
func compileExpr(p *host.Program, text string, sc scope) (e *expr, err error) {
	p.WithSSA(func(prog *ssa.Program) {
		defer func() { // the checker and SSA trust what they are given
			if r := recover(); r != nil {
				e, err = nil, fmt.Errorf("it cannot be compiled here: %v", r)
			}
		}()
		e, err = compileIn(p, prog, text, sc)
	})
	return e, err
}

func compileIn(p *host.Program, prog *ssa.Program, text string, sc scope) (*expr, error) {
	tree, err := parser.ParseExprFrom(p.Fset, "expression", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, short(err)
	}
	e := &expr{info: host.NewInfo()}
	vars, err := scopePackage(e, sc)
	if err != nil {
		return nil, err
	}
	if err := types.CheckExpr(p.Fset, e.pkg, token.NoPos, tree, e.info); err != nil {
		return nil, short(err)
	}
	tv := e.info.Types[tree]
	switch {
	case tv.IsType():
		return nil, fmt.Errorf("%s is a type, not a value", text)
	case tv.IsBuiltin():
		return nil, fmt.Errorf("%s must be called", text)
	case tv.Value != nil:
		e.Const, e.Type = tv.Value, types.Default(tv.Type)
		return e, nil
	case tv.IsNil():
		return nil, errors.New("nil has no type here")
	}
	if !tv.IsVoid() {
		e.Type = types.Default(tv.Type)
	}
	if tree, err = e.useVariables(tree, sc, vars); err != nil {
		return nil, err
	}
	e.build(prog, tree)
	return e, nil
}

// short is an error of the parser or checker without its place.
func short(err error) error {
	switch err := err.(type) {
	case scanner.ErrorList:
		return errors.New("syntax error: " + err[0].Msg)
	case types.Error:
		return errors.New(err.Msg)
	}
	return err
}

// scopePackage makes a package whose scope holds everything that is visible at a place.
// It has the path of the program's, so that names that are not exported are visible too.
func scopePackage(e *expr, sc scope) (map[*types.Var]int, error) {
	fn := sc.Fn
	for fn.Parent() != nil {
		fn = fn.Parent()
	}
	pkg := pkgOf(fn)
	if pkg == nil {
		return nil, fmt.Errorf("%s is made by the compiler and has no scope", fn.Name())
	}
	e.pkg = types.NewPackage(pkg.Path(), pkg.Name())
	names := e.pkg.Scope()
	vars := map[*types.Var]int{}
	for i, v := range sc.Vars {
		obj := types.NewVar(token.NoPos, e.pkg, v.Name, v.Type)
		if names.Insert(obj) == nil {
			vars[obj] = i
		}
	}
	for fn := sc.Fn; fn != nil; fn = fn.Parent() {
		for i := range fn.TypeParams().Len() {
			if i < len(fn.TypeArgs()) {
				name := types.NewTypeName(token.NoPos, e.pkg, fn.TypeParams().At(i).Obj().Name(), nil)
				types.NewAlias(name, fn.TypeArgs()[i])
				names.Insert(name)
			}
		}
	}
	for s := innermost(pkg, sc.Pos); s != nil && s != pkg.Scope() && s != types.Universe; s = s.Parent() {
		for _, name := range s.Names() {
			if _, o := s.LookupParent(name, sc.Pos); o == nil || o.Parent() != s {
				continue
			} else if v, isVar := o.(*types.Var); !isVar {
				insertAlias(e.pkg, o)
			} else if names.Lookup(name) == nil {
				obj := types.NewVar(token.NoPos, e.pkg, name, v.Type())
				names.Insert(obj)
				vars[obj] = -1
			}
		}
	}
	for _, name := range pkg.Scope().Names() {
		insertAlias(e.pkg, pkg.Scope().Lookup(name))
	}
	return vars, nil
}

// insertAlias makes o visible in pkg too, where nothing else has its name.
func insertAlias(pkg *types.Package, o types.Object) {
	names := pkg.Scope()
	if i, ok := o.(*types.PkgName); ok { // it belongs to one package
		o = types.NewPkgName(token.NoPos, pkg, i.Name(), i.Imported())
	}
	if names.Lookup(o.Name()) == nil {
		names.Insert(o)
	}
}

func pkgOf(fn *ssa.Function) *types.Package {
	switch {
	case fn.Pkg != nil:
		return fn.Pkg.Pkg
	case fn.Origin() != nil && fn.Origin().Pkg != nil:
		return fn.Origin().Pkg.Pkg
	case fn.Object() != nil:
		return fn.Object().Pkg()
	}
	return nil
}

// innermost is the scope of a place. The package's own scope has no extent.
func innermost(pkg *types.Package, pos token.Pos) *types.Scope {
	for i := range pkg.Scope().NumChildren() {
		if s := pkg.Scope().Child(i).Innermost(pos); s != nil {
			return s
		}
	}
	return nil
}

// visible lists the variables of the functions around a place whose scope it is in,
// innermost first, each name once.
func visible(fn *ssa.Function, pos token.Pos) []*types.Var {
	pkg := pkgOf(fn)
	if pkg == nil {
		return nil
	}
	var out []*types.Var
	seen := map[string]bool{}
	for s := innermost(pkg, pos); s != nil && s.Parent() != pkg.Scope() && s != pkg.Scope() && s != types.Universe; s = s.Parent() {
		var here []*types.Var
		for _, name := range s.Names() {
			_, o := s.LookupParent(name, pos)
			if o == nil || o.Parent() != s || seen[name] {
				continue
			}
			seen[name] = true
			if v, ok := o.(*types.Var); ok {
				here = append(here, v)
			}
		}
		slices.SortFunc(here, func(a, b *types.Var) int { return int(a.Pos()) - int(b.Pos()) })
		out = append(out, here...)
	}
	return out
}

// useVariables finds the variables that the expression reads and makes them parameters.
// One that has a place becomes what a pointer to it points to.
func (e *expr) useVariables(tree ast.Expr, sc scope, vars map[*types.Var]int) (ast.Expr, error) {
	var err error
	pointers := map[*types.Var]*types.Var{}
	used := map[*types.Var]bool{}
	out := astutil.Apply(tree, nil, func(c *astutil.Cursor) bool {
		id, ok := c.Node().(*ast.Ident)
		if !ok {
			return true
		}
		v, ok := e.info.Uses[id].(*types.Var)
		if !ok {
			return true
		}
		i, ok := vars[v]
		switch {
		case !ok:
			return true
		case i < 0:
			err = fmt.Errorf("%s: the function literal does not capture it", v.Name())
			return false
		case sc.Vars[i].Unknown != "":
			err = fmt.Errorf("%s: %s", v.Name(), sc.Vars[i].Unknown)
			return false
		}
		param := v
		if sc.Vars[i].Place {
			if pointers[v] == nil {
				pointers[v] = types.NewVar(token.NoPos, e.pkg, v.Name(), types.NewPointer(v.Type()))
			}
			param = pointers[v]
		}
		if !used[param] {
			used[param] = true
			e.Args, e.params = append(e.Args, i), append(e.params, param)
		}
		if param != v {
			c.Replace(e.pointee(id, param))
		}
		return true
	})
	return out.(ast.Expr), err
}

// pointee is *p, with what the type checker knows of the variable.
func (e *expr) pointee(id *ast.Ident, p *types.Var) ast.Expr {
	ptr := &ast.Ident{NamePos: id.NamePos, Name: id.Name}
	star := &ast.StarExpr{Star: id.NamePos, X: ptr}
	tv := e.info.Types[id]
	e.info.Types[star] = tv
	tv.Type = p.Type()
	e.info.Types[ptr] = tv
	e.info.Uses[ptr] = p
	paren := &ast.ParenExpr{X: star}
	e.info.Types[paren] = e.info.Types[star]
	return paren
}

// build makes the function. Its package is known to no other.
func (e *expr) build(prog *ssa.Program, tree ast.Expr) {
	const name = "expression"
	typ := &ast.FuncType{Params: &ast.FieldList{}, Results: &ast.FieldList{}}
	for _, v := range e.params {
		id := ast.NewIdent(v.Name())
		e.info.Defs[id] = v
		typ.Params.List = append(typ.Params.List, &ast.Field{Names: []*ast.Ident{id}, Type: ast.NewIdent("_")})
	}
	var results []*types.Var
	switch t := e.Type.(type) {
	case nil:
	case *types.Tuple:
		for v := range t.Variables() {
			results = append(results, types.NewVar(token.NoPos, e.pkg, "", v.Type()))
		}
	default:
		results = append(results, types.NewVar(token.NoPos, e.pkg, "", t))
	}
	for range results {
		typ.Results.List = append(typ.Results.List, &ast.Field{Type: ast.NewIdent("_")})
	}
	var body ast.Stmt = &ast.ReturnStmt{Results: []ast.Expr{tree}}
	if e.Type == nil {
		body = &ast.ExprStmt{X: tree}
	}
	id := ast.NewIdent(name)
	decl := &ast.FuncDecl{Name: id, Type: typ, Body: &ast.BlockStmt{List: []ast.Stmt{body}}}
	sig := types.NewSignatureType(nil, nil, nil, types.NewTuple(e.params...), types.NewTuple(results...), false)
	e.info.Defs[id] = types.NewFunc(token.NoPos, e.pkg, name, sig)
	file := &ast.File{Name: ast.NewIdent(e.pkg.Name()), Decls: []ast.Decl{decl}}
	pkg := prog.CreatePackage(e.pkg, []*ast.File{file}, e.info, false)
	pkg.Build()
	e.Fn, e.info, e.params = pkg.Func(name), nil, nil
}

// functions lists the functions of the program's own packages and of those of torch that
// are loaded from source: declared ones, methods, function literals and, as far as the
// program has them, instances of generic ones.
func functions(p *host.Program) []*ssa.Function {
	var out []*ssa.Function
	all := map[*ssa.Function]bool{}
	p.WithSSA(func(prog *ssa.Program) { all = ssautil.AllFunctions(prog) })
	for fn := range all {
		if fn.Blocks != nil && fn.TypeParams().Len() == len(fn.TypeArgs()) && (fn.Syntax() != nil || fn.Name() == "init") {
			if pkg := pkgOf(fn); pkg != nil && p.FromSource(pkg.Path()) {
				out = append(out, fn)
			}
		}
	}
	slices.SortFunc(out, func(a, b *ssa.Function) int { return int(a.Pos()) - int(b.Pos()) })
	return out
}
