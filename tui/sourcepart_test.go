package tui

import (
	"strconv"
	"strings"
	"testing"

	"tcdbg/explain"
)

// TestSourceOfAPart: of a file of which a bundle has a part Source shows the lines that are there, as they are
// in the whole file, and counts the others.
func TestSourceOfAPart(t *testing.T) {
	f := richFeed()
	codes := func() (lines map[int]string, others int) {
		lines = map[int]string{}
		for _, r := range (&sourceScreen{}).rows(&input{report: f.report, feed: f, parsed: &parsed{}}) {
			switch r := r.(type) {
			case *lineRow:
				lines[r.n] = r.code
			case *headRow:
				n, rest, _ := strings.Cut(strings.TrimPrefix(r.text, "      ⋮ "), " ")
				if strings.HasSuffix(rest, "not in this bundle") {
					left, err := strconv.Atoi(n)
					if err != nil {
						t.Error(err)
					}
					others += left
				}
			}
		}
		return lines, others
	}
	whole, _ := codes()
	x := (&parsed{}).index(f.report)
	for i := range f.files[modelFile] {
		if x.lines[line{modelFile, i + 1}] == nil && i%5 > 0 {
			f.files[modelFile][i] = explain.LeftOutLine(modelFile)
		}
	}
	part, others := codes()
	if others < 10 || len(part)+others != len(whole) {
		t.Errorf("%d lines and %d others, were %d", len(part), others, len(whole))
	}
	for n, code := range part {
		if code != whole[n] {
			t.Errorf("line %d is %q, was %q", n, code, whole[n])
		}
	}
}
