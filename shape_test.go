package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// This file bounds the size of the rooms, so that a newcomer can carry one in the head: how
// many methods a type may have, how many files a package, how long a line. What is larger is listed
// with the reason; a row may only get smaller and goes when the bound is met.

const (
	maxMethods = 60  // hand-written, a receiver
	maxFiles   = 40  // hand-written, without tests, a package
	maxColumns = 140 // a line that people write, a tab being four
)

// large is a receiver or a package beyond its bound.
type large struct {
	name string // package, or package.Type
	n    int    // at most
	why  string
}

var largeReceivers []large // none: keep it so

var largePackages []large // none: keep it so

// TestShapeOfReceivers counts methods.
func TestShapeOfReceivers(t *testing.T) {
	counts := map[string]int{}
	eachHandWritten(t, func(pkg string, f *ast.File) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				counts[pkg+"."+receiverName(fn.Recv.List[0].Type)]++
			}
		}
	})
	checkShape(t, counts, maxMethods, largeReceivers, "methods")
}

// TestShapeOfPackages counts files.
func TestShapeOfPackages(t *testing.T) {
	counts := map[string]int{}
	eachHandWritten(t, func(pkg string, _ *ast.File) { counts[pkg]++ })
	checkShape(t, counts, maxFiles, largePackages, "files")
}

func checkShape(t *testing.T, counts map[string]int, bound int, listed []large, what string) {
	t.Helper()
	if len(counts) < 20 {
		t.Fatalf("only %d were counted", len(counts))
	}
	for name, n := range counts {
		i := slices.IndexFunc(listed, func(l large) bool { return l.name == name })
		switch {
		case i < 0 && n > bound:
			t.Errorf("%s has %d %s, the bound is %d: part it", name, n, what, bound)
		case i >= 0 && n > listed[i].n:
			t.Errorf("%s has %d %s, %d more than are listed (%s): rows may only get smaller", name, n, what, n-listed[i].n, listed[i].why)
		}
	}
	for _, l := range listed {
		if counts[l.name] <= bound {
			t.Errorf("%s has %d %s now: its row can go", l.name, counts[l.name], what)
		}
	}
}

// eachHandWritten parses every file that people write, tests apart.
func eachHandWritten(t *testing.T, visit func(pkg string, f *ast.File)) {
	t.Helper()
	eachGoFile(t, func(p string) {
		pkg := path.Dir(filepath.ToSlash(p))
		if pkg == "." || strings.HasSuffix(p, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if !ast.IsGenerated(f) {
			visit(pkg, f)
		}
	})
}

// eachGoFile visits the Go files of the house, tests included, programs that are data apart.
func eachGoFile(t *testing.T, visit func(p string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		data := d.Name() == "testdata" || d.Name() == "fixtures" || d.Name() == "build" || strings.HasPrefix(d.Name(), ".")
		switch {
		case d.IsDir() && p != "." && data:
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(p, ".go"):
			visit(p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestShapeOfLines bounds lines that people write, what a string of several lines holds apart.
func TestShapeOfLines(t *testing.T) {
	files := 0
	eachGoFile(t, func(p string) {
		src, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(src, []byte("// Code generated")) || bytes.Contains(src, []byte("\n// Code generated")) {
			return
		}
		files++
		lines := bytes.Split(src, []byte("\n"))
		quoted := quotedLines(src, len(lines))
		for i, line := range lines {
			columns := utf8.RuneCount(line) + 3*bytes.Count(line, []byte("\t"))
			if columns <= maxColumns || quoted[i] {
				continue
			}
			t.Errorf("%s:%d has %d columns, the bound is %d", p, i+1, columns, maxColumns)
		}
	})
	if files < 500 {
		t.Fatalf("only %d files were read", files)
	}
}

// quotedLines marks the lines that a string of several lines covers.
func quotedLines(src []byte, lines int) []bool {
	quoted := make([]bool, lines)
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return quoted
		}
		n := strings.Count(text, "\n")
		if tok != token.STRING || n == 0 {
			continue
		}
		first := file.Line(pos) - 1
		for i := first; i <= first+n; i++ {
			quoted[i] = true
		}
	}
}

func receiverName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// docFile finds what a package comment says to open.
var docFile = regexp.MustCompile(`\b[a-z][a-z0-9_]*\.go\b`)

// TestShapeOfDocs wants the files that a package comment names to exist.
func TestShapeOfDocs(t *testing.T) {
	named, files := 0, map[string]bool{}
	err := filepath.WalkDir(".", func(p string, _ fs.DirEntry, err error) error {
		files[filepath.Base(p)] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	eachHandWritten(t, func(pkg string, f *ast.File) {
		if f.Doc == nil {
			return
		}
		for _, name := range docFile.FindAllString(f.Doc.Text(), -1) {
			named++
			if name == "model.go" || name == "main.go" { // a user's
				continue
			}
			if !files[name] {
				t.Errorf("the comment of package %s names %s, which is not there", pkg, name)
			}
		}
	})
	if named < 30 {
		t.Errorf("only %d files are named", named)
	}
}

// positional lists the functions that read an argument by its place, with the reason.
// What else reads one asks by name: In[SoftmaxArgs](c).Dim, see ops/args.go.
var positional = map[string]string{
	"graph.Item":                 "a getitem is no operator: it has no schema",
	"graph.getitem":              "a getitem is no operator",
	"graph.flowParts":            "control flow is no operator",
	"graph.otherText":            "a getitem is no operator",
	"graph/fxtext.readArguments": "the receiver of a method in a text, whatever its name",
}

// TestShapeOfArguments wants code about operators to read arguments by their names.
func TestShapeOfArguments(t *testing.T) {
	read, met := 0, map[string]bool{}
	eachHandWritten(t, func(pkg string, f *ast.File) {
		if top, _, _ := strings.Cut(pkg, "/"); !slices.Contains([]string{"ops", "torch", "graph", "aot"}, top) && pkg != "inductor/lower" {
			return
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if takesPosition(fn) {
				t.Errorf("%s.%s: a call's arguments have names, no positions: see ops/args.go", pkg, fn.Name.Name)
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				at, ok := argumentAt(n)
				read++
				switch name := pkg + "." + fn.Name.Name; {
				case !ok:
				case positional[name] != "":
					met[name] = true
				default:
					t.Errorf("%s reads an argument by its position, %s: use the struct of its arguments, see ops/args.go", name, at)
				}
				return true
			})
		}
	})
	if read < 1000 {
		t.Fatalf("only %d expressions were read", read)
	}
	for name := range positional {
		if !met[name] {
			t.Errorf("%s reads no argument by its position: its row can go", name)
		}
	}
}

// takesPosition reports whether a method of a call takes the place of an argument, and
// nothing else.
func takesPosition(fn *ast.FuncDecl) bool {
	if fn.Recv == nil || !slices.Contains([]string{"Call", "BackwardCall"}, receiverName(fn.Recv.List[0].Type)) {
		return false
	}
	params := fn.Type.Params.List
	if len(params) == 0 {
		return false
	}
	typ, ok := params[0].Type.(*ast.Ident)
	return ok && typ.Name == "int" && len(params) == 1
}

// argumentAt reports whether n is an element or a part of a call's Args at a place that
// is written down: c.Args[1], c.Args[flags+1], c.Args[2:].
func argumentAt(n ast.Node) (at string, ok bool) {
	var of ast.Expr
	var places []ast.Expr
	switch n := n.(type) {
	case *ast.IndexExpr:
		of, places = n.X, []ast.Expr{n.Index}
	case *ast.SliceExpr:
		of, places = n.X, []ast.Expr{n.Low, n.High}
	}
	if list, is := of.(*ast.SelectorExpr); !is || list.Sel.Name != "Args" {
		return "", false
	}
	for _, p := range places {
		if p == nil {
			continue
		}
		ast.Inspect(p, func(n ast.Node) bool {
			if l, is := n.(*ast.BasicLit); is {
				at, ok = l.Value, true
			}
			return true
		})
	}
	return at, ok
}
