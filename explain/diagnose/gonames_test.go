package diagnose

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestGoTextsNameWhatThereIs reads the texts that a Go program's author is shown: what they name of
// torch, kw and compiler can be written, and no setting of Python's is among it.
func TestGoTextsNameWhatThereIs(t *testing.T) {
	declared := map[string]string{}
	for pkg, dir := range map[string]string{"torch": "torch", "kw": "torch/kw", "compiler": "torch/compiler"} {
		files, _ := filepath.Glob("../../" + dir + "/*.go")
		for _, name := range files {
			declared[pkg] += read(t, name)
		}
	}
	used := regexp.MustCompile(`\b(torch|kw|compiler)\.([A-Z]\w*)`)
	python := regexp.MustCompile(`torch\._(dynamo|inductor|functorch)|TORCHDYNAMO_\w+`)
	n := 0
	for _, name := range []string{"gotexts.go", "goadvice.go", "constraint.go", "../../tracer/breaks/texts.go"} {
		text := read(t, name)
		for _, m := range used.FindAllStringSubmatch(text, -1) {
			n++
			if !regexp.MustCompile(`(?m)^(func|type|var|const|\t)\s*` + m[2] + `\b`).MatchString(declared[m[1]]) {
				t.Errorf("%s names %s, which is not there", name, m[0])
			}
		}
		if m := python.FindString(text); m != "" {
			t.Errorf("%s names %s, a setting of Python's", name, m)
		}
	}
	if n < 20 {
		t.Errorf("only %d names were read", n)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
