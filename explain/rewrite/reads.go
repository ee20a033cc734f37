package rewrite

import (
	"go/ast"
	"path/filepath"

	"tcdbg/explain"
	"tcdbg/tracer/breaks"
)

// This file says which lines of a file the rewrites of its breaks read, beside the functions that
// the breaks are in: who keeps a part of the file keeps these.

// Reads are those lines. Of a Go file they are what comes before the declarations, and whole
// declarations: it still parses where the other lines are comments.
func Reads(r *explain.Report, name string, lines []string) []explain.Extent {
	var own []*explain.Break
	for _, g := range r.Breaks {
		if b := g.Lead; b != nil && b.Pos.File == name && !b.Noise && rewritable(b.Code) && explain.SameLine(lines, b.Pos) {
			own = append(own, b)
		}
	}
	if filepath.Ext(name) == ".go" {
		return goReads(lines, len(own) > 0)
	}
	if len(own) == 0 {
		return nil
	}
	return pyReads(own, lines)
}

// pyReads are the import of torch, and the lines that change what a branch chooses in place.
func pyReads(own []*explain.Break, lines []string) []explain.Extent {
	var out []explain.Extent
	names := map[string]bool{}
	for _, b := range own {
		if c, ok := pyBranch(lines, b.Pos.Line); ok && (b.Code == breaks.DataDependentBranching || b.Code == breaks.TensorItem) {
			base, _ := pyElementwise(c.yes)
			names[base], names[c.target] = true, true
		}
	}
	delete(names, "")
	for i, l := range lines {
		reads := pyImportsTorch().MatchString(l)
		if len(names) > 0 {
			for name := range pyInPlace(lines[i : i+1]) {
				reads = reads || names[name]
			}
		}
		if reads {
			out = append(out, explain.Extent{From: i + 1, To: i + 1})
		}
	}
	return out
}

// goReads are the package clause and the imports, and declarations that use the name of our package
// for something else: a fix that imports it asks for those.
func goReads(lines []string, rewrites bool) []explain.Extent {
	g := parseGo(lines)
	if g == nil {
		return nil
	}
	at := g.line(g.file.Package)
	out := []explain.Extent{{From: at, To: g.line(g.file.Name.End())}}
	for _, d := range g.file.Decls {
		gen, ok := d.(*ast.GenDecl)
		imports := ok && len(gen.Specs) > 0
		if imports {
			_, imports = gen.Specs[0].(*ast.ImportSpec)
		}
		if imports || rewrites && importName(g.file, compilerPath) == "" && uses(d, compilerName) {
			out = append(out, explain.Extent{From: g.line(d.Pos()), To: g.line(d.End())})
		}
	}
	return out
}

func uses(n ast.Node, name string) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if v, ok := n.(*ast.Ident); ok && v.Name == name {
			found = true
		}
		return !found
	})
	return found
}

// Declaration is the declaration of a Go file in which a line is, with its comment; false where
// it is in none, or the file does not parse.
func Declaration(lines []string) func(n int) (explain.Extent, bool) {
	g := parseGo(lines)
	return func(n int) (explain.Extent, bool) {
		if g == nil {
			return explain.Extent{}, false
		}
		for _, d := range g.file.Decls {
			if e := (explain.Extent{From: g.line(d.Pos()), To: g.line(d.End())}); e.From <= n && n <= e.To {
				return e, true
			}
		}
		return explain.Extent{}, false
	}
}
