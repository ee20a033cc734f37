package main

import (
	"go/ast"
	"go/parser"
	"go/token"
)

// idNames returns the Go names of the operators' IDs in their order: those of
// the constants in ops/zz_ids.go and ops/ids.go.
func idNames(paths ...string) ([]string, error) {
	var names []string
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST || len(g.Specs) < 2 {
				continue
			}
			for _, s := range g.Specs {
				if name := s.(*ast.ValueSpec).Names[0].Name; name != "numNamed" { // whose number the next has
					names = append(names, name)
				}
			}
		}
	}
	return names, nil
}
