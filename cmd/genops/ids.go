package main

import (
	"go/ast"
	"go/parser"
	"go/token"
)

// idNames returns the Go names of the operators' IDs in their order: those of
// the constants in ops/zz_ids.go.
func idNames(path string) ([]string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
			for _, s := range g.Specs {
				names = append(names, s.(*ast.ValueSpec).Names[0].Name)
			}
		}
	}
	return names, nil
}
