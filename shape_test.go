package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// This file bounds the size of the rooms, so that a newcomer can carry one in the head: how
// many methods a type may have, and how many files a package. What is larger is listed
// with the reason; a row may only get smaller and goes when the bound is met.

const (
	maxMethods = 60 // hand-written, a receiver
	maxFiles   = 40 // hand-written, without tests, a package
)

// large is a receiver or a package beyond its bound.
type large struct {
	name string // package, or package.Type
	n    int    // at most
	why  string
}

var largeReceivers []large // none: keep it so

var largePackages = []large{
	{"ops", 66, "one file for each family of operators"},
}

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
			t.Errorf("%s has %d %s, %d more than are listed: rows may only get smaller", name, n, what, n-listed[i].n)
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
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && (d.Name() == "testdata" || d.Name() == "fixtures" || d.Name() == "build" ||
			strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		if pkg := path.Dir(filepath.ToSlash(p)); pkg != "." && !ast.IsGenerated(f) {
			visit(pkg, f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
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
