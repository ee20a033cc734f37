package main

import (
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
)

// This file finds the rows and their schemas in the source of package ops, which
// need not compile: a new rule reads arguments whose struct is not there yet.

// source is package ops, parsed, with the constants that the type checker could work out.
type source struct {
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
	ids   map[string]bool // the operators that have rows
}

func readSource(dir string) (*source, error) {
	s := &source{
		fset: token.NewFileSet(), ids: map[string]bool{},
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}},
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(s.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, f)
	}
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	_, _ = conf.Check("tcdbg/ops", s.fset, s.files, s.info) // errors are expected
	for _, name := range s.rows() {
		s.ids[name] = true
	}
	return s, nil
}

// noImports knows no package: constants need none but the standard library's.
type noImports struct{}

func (noImports) Import(path string) (*types.Package, error) {
	if strings.Contains(path, "/") {
		return types.NewPackage(path, path[strings.LastIndexByte(path, '/')+1:]), nil
	}
	return importer.Default().Import(path)
}

// schemas maps operators to their schemas: the row, or the call that makes it, names
// both, or the function that makes the row has one schema for all of its operators.
func (s *source) schemas() map[string]string {
	out := map[string]string{}
	byMaker := map[string]string{} // a function's only schema
	for _, f := range s.files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Body != nil {
				if text, only := s.onlySchema(fn.Body); only {
					byMaker[fn.Name.Name] = text
				}
			}
		}
	}
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			id, text, maker := s.row(n)
			if id == "" {
				return true
			}
			if text == "" {
				text = byMaker[maker]
			}
			if text != "" && out[id] == "" {
				out[id] = text
			}
			return true
		})
	}
	return out
}

// row reads n as a row or as a call that makes one.
func (s *source) row(n ast.Node) (id, schema, maker string) {
	var parts []ast.Expr
	switch n := n.(type) {
	case *ast.CallExpr:
		parts = n.Args
		if fn, ok := n.Fun.(*ast.Ident); ok {
			maker = fn.Name
		}
	case *ast.CompositeLit:
		parts = n.Elts
	}
	for _, e := range parts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			e = kv.Value
		}
		if x, ok := e.(*ast.Ident); ok && s.ids[x.Name] && id == "" {
			id = x.Name
		}
		if text := s.schemaOf(e); text != "" && schema == "" {
			schema = text
		}
	}
	return id, schema, maker
}

// onlySchema is the one schema that a function mentions, if it is one.
func (s *source) onlySchema(body *ast.BlockStmt) (text string, only bool) {
	n := 0
	ast.Inspect(body, func(x ast.Node) bool {
		if e, ok := x.(ast.Expr); ok {
			if t := s.schemaOf(e); t != "" && t != text {
				text = t
				n++
				return false
			}
		}
		return true
	})
	return text, n == 1
}

// schemaOf is the schema that an expression spells: a constant, or the pattern of
// a Sprintf, whose numbers stand for lengths and do not matter here.
func (s *source) schemaOf(e ast.Expr) string {
	if v := s.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		if text := constant.StringVal(v); strings.HasPrefix(text, "(") && strings.Contains(text, ") ->") {
			return strings.ReplaceAll(text, "[%d]", "[]")
		}
	}
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) > 0 {
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sprintf" {
			return s.schemaOf(call.Args[0])
		}
	}
	return ""
}

// rows lists the operators that the package has rows for, in the order of their rows:
// what is named where a function or a struct wants the ID of the row that it makes, or in
// a list of IDs, of which a loop makes rows. An operator whose row is new has no constant yet.
func (s *source) rows() []string {
	var out []string
	seen := map[string]bool{}
	add := func(e ast.Expr) {
		if x, ok := e.(*ast.Ident); ok && x.IsExported() && !seen[x.Name] {
			seen[x.Name] = true
			out = append(out, x.Name)
		}
	}
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				sig, ok := s.typeOf(n.Fun).(*types.Signature)
				if !ok || !s.makesRow(sig) {
					break
				}
				for i := range min(sig.Params().Len(), len(n.Args)) {
					if isID(sig.Params().At(i).Type()) {
						add(n.Args[i])
					}
				}
			case *ast.CompositeLit:
				switch t := s.typeOf(n).(type) {
				case *types.Struct:
					fieldsOf(n, t, add)
				case interface{ Elem() types.Type }: // an array or a slice
					if _, pairs := t.(*types.Map); !pairs && isID(t.Elem()) {
						for _, e := range n.Elts {
							add(e)
						}
					}
				}
			}
			return true
		})
	}
	return out
}

// fieldsOf adds what a literal of a struct gives as an ID.
func fieldsOf(n *ast.CompositeLit, t *types.Struct, add func(ast.Expr)) {
	for i, e := range n.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && (key.Name == "ID" || key.Name == "id") {
				add(kv.Value)
			}
		} else if i < t.NumFields() && isID(t.Field(i).Type()) {
			add(e)
		}
	}
}

func (s *source) typeOf(e ast.Expr) types.Type {
	t := s.info.Types[e].Type
	if t == nil {
		if x, ok := e.(*ast.Ident); ok && s.info.Uses[x] != nil {
			t = s.info.Uses[x].Type()
		}
	}
	if t == nil {
		return nil
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	return t.Underlying()
}

// makesRow reports whether a function gives rows.
func (s *source) makesRow(sig *types.Signature) bool {
	for i := range sig.Results().Len() {
		if strings.HasSuffix(sig.Results().At(i).Type().String(), "ops.Op") {
			return true
		}
	}
	return false
}

func isID(t types.Type) bool { return strings.HasSuffix(t.String(), "ops.ID") }
