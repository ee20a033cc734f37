package tui

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/tui/keys"
)

var update = flag.Bool("update", false, "rewrite the golden frames")

// Golden frames: every screen at four sizes without colour, and at 80x24 with
// colour, where the escape character is written as ␛.
func TestGoldenFrames(t *testing.T) {
	for _, c := range []struct {
		name   string
		w, h   int
		colour bool
	}{
		{"80x24", 80, 24, false},
		{"120x40", 120, 40, false},
		{"200x60", 200, 60, false},
		{"60x15", 60, 15, false},
		{"80x24-colour", 80, 24, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDriver(t, richFeed(), Options{Colour: c.colour}, c.w, c.h)
			var b strings.Builder
			for s := range len(screens()) {
				d.send(keyMsg(title(keys.Screen(s)).Key))
				if s == int(keys.Breaks) {
					d.script("keys g")
				}
				b.WriteString("=== " + title(keys.Screen(s)).Name + "\n")
				for _, l := range strings.Split(d.frame(), "\n") {
					b.WriteString(strings.TrimRight(strings.ReplaceAll(l, "\x1b", "␛"), " ") + "\n")
				}
			}
			golden(t, "frames-"+c.name+".txt", b.String())
		})
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// golden compares text with a golden file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, b := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			t.Fatalf("%s:%d differs (go test ./tui -update rewrites it)\nwant %q\ngot  %q", path, i+1, x, y)
		}
	}
}
