package logs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestHere: records name the line that made them.
func TestHere(t *testing.T) {
	_, _, line, _ := runtime.Caller(0)
	for i, got := range []string{
		Here(),
		Text(NoCompile, "x", "").Place,
		func() string { return Here() }(),
	} {
		if want := "logs/place_test.go:" + strconv.Itoa(line+2+i); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestPlacesAreTaken: nobody writes the line of a file of ours as text; it would be
// wrong after the next change.
func TestPlacesAreTaken(t *testing.T) {
	place := regexp.MustCompile(`^"[a-z0-9_/]+\.go:[0-9]+"$`)
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "fixtures" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(d.Name(), "sym_") {
			return nil
		}
		files++
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && place.MatchString(lit.Value) {
				t.Errorf("%s: the place %s is written as text: use logs.Here", fset.Position(lit.Pos()), lit.Value)
			}
			return true
		})
		return nil
	})
	if err != nil || files < 200 {
		t.Errorf("%d files, %v", files, err)
	}
}
