package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain/fold"
	"tcdbg/explain/rewrite"
	"tcdbg/logs"
)

// This file holds the documentation against the program: what it names exists,
// what it tells people to type works.

var (
	// a path in backquotes, in a link or on a command line
	docPath = regexp.MustCompile("(?:[`(]|go run \\. run --plain )([a-z][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_.-]+)+|[A-Za-z_]+\\.(?:md|go))[`)\n]")
	// a command of ours
	docCommand = regexp.MustCompile(`(?:tcdbg|go run \.) ([a-z]+)`)
	// what looks like one or the other and is an example
	docExamples = []string{"model.go", "train.py"}
)

func TestDocsNameWhatExists(t *testing.T) {
	bin, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []string{"README.md", "CONTRIBUTING.md", "docs/walk.md", "docs/architecture.md", "docs/time.md"} {
		text := read(t, doc)
		paths, commands := docPath.FindAllStringSubmatch(text, -1), docCommand.FindAllStringSubmatch(code(text), -1)
		if len(paths) == 0 || len(commands) == 0 && doc != "docs/architecture.md" {
			t.Errorf("%s: %d paths and %d commands", doc, len(paths), len(commands))
		}
		for _, m := range paths {
			if _, err := os.Stat(m[1]); err != nil && !slices.Contains(docExamples, m[1]) && !strings.HasPrefix(m[1], "tcdbg/") {
				t.Errorf("%s names %s: %v", doc, m[1], err)
			}
		}
		for _, m := range commands {
			if out, err := exec.Command(bin, m[1], "--help").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("tcdbg "+m[1])) {
				t.Errorf("%s names tcdbg %s: %v\n%s", doc, m[1], err, out)
			}
		}
	}
}

// code is the text of a document that is marked as code.
func code(text string) string {
	return strings.Join(regexp.MustCompile("(?s)```.*?```|`[^`]+`").FindAllString(text, -1), "\n")
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The README's key table is the generated one.
func TestReadmeKeys(t *testing.T) {
	_, rest, _ := strings.Cut(read(t, "README.md"), "<!-- keys -->\n")
	table, _, ok := strings.Cut(rest, "<!-- /keys -->")
	if want := read(t, "tui/testdata/keys.md"); !ok || table != want {
		t.Errorf("the table between <!-- keys --> and <!-- /keys --> is not tui/testdata/keys.md; copy it there")
	}
}

// The walk works as written; between its first two blocks the fix is applied, as the
// screen does.
func TestWalk(t *testing.T) {
	t.Parallel()
	bin, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(read(t, "docs/walk.md"), -1)
	if len(blocks) != 6 {
		t.Fatalf("%d blocks", len(blocks))
	}
	w := walk{t: t, bin: bin, dir: t.TempDir(), state: t.TempDir(), cache: warmFolder(t)}
	if err := os.CopyFS(filepath.Join(w.dir, "fixtures"), os.DirFS("fixtures")); err != nil {
		t.Fatal(err)
	}
	for _, traces := range []string{"internal/app/lowering/testdata", "explain/testdata/traces/pytorch-2.11"} {
		if err := os.CopyFS(filepath.Join(w.dir, traces), os.DirFS(traces)); err != nil {
			t.Fatal(err)
		}
	}
	w.block(blocks[0][1])
	w.applyFix()
	for _, b := range blocks[1:] {
		w.block(b[1])
	}
}

type walk struct {
	t                      *testing.T
	bin, dir, state, cache string
}

// block runs the lines after $ and looks for the others in what they print.
func (w walk) block(text string) {
	var out string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			_, rest, found := strings.Cut(out, line)
			if !found {
				w.t.Fatalf("%q is not in what is left of the output:\n%s", line, out)
			}
			out = rest
			continue
		}
		c := exec.Command("sh", "-c", command)
		c.Dir = w.dir
		c.Env = append(os.Environ(), "XDG_STATE_HOME="+w.state, "XDG_CACHE_HOME="+w.cache,
			"PATH="+filepath.Dir(w.bin)+":"+os.Getenv("PATH"))
		b, err := c.CombinedOutput()
		out = string(b)
		if failed := strings.Contains(out, "\nmax-breaks:"); (err != nil) != failed {
			w.t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
}

// applyFix writes the fix of the last run's break into the copied file.
func (w walk) applyFix() {
	traces, _ := filepath.Glob(filepath.Join(w.state, "tcdbg/runs/*/trace"))
	store, err := logs.Open(traces[:1], logs.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer store.Close()
	r, err := fold.All(store, "model.go")
	if err != nil {
		w.t.Fatal(err)
	}
	path := filepath.Join(w.dir, "model.go")
	lines := strings.Split(read(w.t, path), "\n")
	rewrite.AddRewrites(r, func(string) ([]string, error) { return lines, nil })
	b := r.Breaks[0]
	after, err := rewrite.ApplyFix(lines, b.Lead.Pos.Line, b.Fix.Lines)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(after, "\n")), 0o600); err != nil {
		w.t.Fatal(err)
	}
}
