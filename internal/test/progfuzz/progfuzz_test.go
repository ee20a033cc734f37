package progfuzz

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestGenerate wants programs that parse, and the same one for the same seed.
func TestGenerate(t *testing.T) {
	for seed := range int64(200) {
		text := Generate(seed)
		if text != Generate(seed) {
			t.Fatalf("seed %d gives two programs", seed)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "model.go", "package main\n"+Prelude+text, 0); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, text)
		}
	}
}

// TestGenerateModel wants the same of model programs.
func TestGenerateModel(t *testing.T) {
	for seed := range int64(200) {
		text := GenerateModel(seed)
		if text != GenerateModel(seed) {
			t.Fatalf("seed %d gives two programs", seed)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "model.go", "package main\n"+ModelPrelude+text, 0); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, text)
		}
	}
}

// TestGenerateMixed wants the same of mixed programs.
func TestGenerateMixed(t *testing.T) {
	for seed := range int64(200) {
		text := GenerateMixed(seed)
		if text != GenerateMixed(seed) {
			t.Fatalf("seed %d gives two programs", seed)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "model.go", "package main\n"+ModelPrelude+text, 0); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, text)
		}
	}
}

// TestShrink wants what matters to stay and everything else to go.
func TestShrink(t *testing.T) {
	text := "func f() {\nfor {\na()\nif x {\nbad()\n}\nb()\n}\n}\nfunc g() {\nc()\n}"
	small := Shrink(text, func(s string) bool { return strings.Contains(s, "bad()") })
	if small != "bad()" {
		t.Errorf("shrunk to %q", small)
	}
}
