package export

import (
	"archive/zip"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzReadExported damages the texts of exported programs: each ends in one line of error, or in
// a program that can be tried.
func FuzzReadExported(f *testing.F) {
	files, err := filepath.Glob("../testdata/exported/*.pt2")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		z, err := zip.OpenReader(file)
		if err != nil {
			f.Fatal(err)
		}
		var texts [2][]byte
		for _, e := range z.File {
			for i, name := range []string{"/model.json", "/model_weights_config.json"} {
				if strings.HasSuffix(e.Name, name) {
					r, err := e.Open()
					if err != nil {
						f.Fatal(err)
					}
					if texts[i], err = io.ReadAll(r); err != nil {
						f.Fatal(err)
					}
				}
			}
		}
		f.Add(texts[0], texts[1])
		if err := z.Close(); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, model, weights []byte) {
		p, err := Read(Files{Model: model, Weights: weights})
		if err == nil {
			err = p.Check()
		}
		if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
			t.Errorf("an error of several lines: %q", err)
		}
		if err == nil { // what can be tried can be printed and written
			_ = p.String()
			_, _ = p.Write()
		}
	})
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"Symbol('s0', positive=True, integer=True)":                     5,
		"Add(Mul(Integer(4), Symbol('s0', integer=True)), Integer(-1))": 19,
		"FloorDiv(Symbol('s0', integer=True), Integer(2))":              2,
		"Mod(Symbol('s0', integer=True), 3)":                            2,
		"Max(Integer(1), Symbol('s0', integer=True), Integer(7))":       7,
		"Pow(Symbol('s0', integer=True), Integer(2))":                   25,
		"2*s0 + 1": 11,
	} {
		if got, err := (Size{Expr: text}).Eval(map[string]int64{"s0": 5}); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"FloorDiv(Symbol('s0'), Integer(0))", "Symbol(", "Mul(Symbol('s1'))", strings.Repeat("Add(", 200) + "Integer(1)", "Integer(1) x",
		"Integer(99999999999999999999)", "s9",
	} {
		if got, err := (Size{Expr: text}).Eval(map[string]int64{"s0": 5}); err == nil {
			t.Errorf("%.60s: %d", text, got)
		}
	}
}
