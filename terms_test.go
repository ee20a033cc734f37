package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// retired reads the words that docs/terms.md retires.
func retired(t *testing.T) map[string]*regexp.Regexp {
	t.Helper()
	text, err := os.ReadFile("docs/terms.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*regexp.Regexp{}
	for _, l := range strings.Split(string(text), "\n") {
		cells := strings.Split(l, "|")
		if len(cells) != 5 || strings.HasPrefix(l, "|---") || strings.TrimSpace(cells[1]) == "term" {
			continue
		}
		for _, w := range strings.Split(cells[3], ",") {
			if w = strings.TrimSpace(w); w != "" {
				out[w] = regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(w) + `\b`)
			}
		}
	}
	if len(out) < 10 {
		t.Fatalf("docs/terms.md retires %d words only", len(out))
	}
	return out
}

// quotesOthers are files whose strings are words of PyTorch's that are recognised.
var quotesOthers = map[string]bool{"explain/oldreason.go": true, "explain/breaktext.go": true}

// What a person reads does not use the words that docs/terms.md retires: the strings
// in the source of screens, reports, help and reasons, the screens as they are drawn,
// and the documents.
func TestDocsRetiredWords(t *testing.T) {
	words := retired(t)
	check := func(where, text string) {
		for w, re := range words {
			if re.MatchString(text) {
				t.Errorf("%s: %q, which docs/terms.md retires: %.160q", where, w, text)
			}
		}
	}
	for _, dir := range []string{"tui", "explain", "internal/app", "tracer", "inductor", "aot", "backends", "logs", "cmd/advice"} {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			slash := filepath.ToSlash(path)
			switch {
			case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !quotesOthers[slash]:
				for pos, s := range literals(t, path) {
					check(pos, s)
				}
			case strings.HasPrefix(filepath.Base(path), "frames-"):
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range strings.Split(string(text), "\n") {
					check(path, regexp.MustCompile(`␛\[[0-9;]*m`).ReplaceAllString(l, ""))
				}
			}
			return nil
		})
	}
	docs, _ := filepath.Glob("docs/*.md")
	for _, path := range append(docs, "README.md") {
		if filepath.ToSlash(path) == "docs/terms.md" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range strings.Split(string(text), "\n") {
			check(path, l)
		}
	}
}

// literals are the strings of a source file that may be shown: those of several words.
func literals(t *testing.T, path string) map[string]string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok && f.Tag != nil {
			return false
		}
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if s, err := strconv.Unquote(l.Value); err == nil && strings.ContainsAny(s, " -") {
				out[set.Position(l.Pos()).String()] = s
			}
		}
		return true
	})
	return out
}
