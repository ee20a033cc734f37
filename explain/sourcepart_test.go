package explain

import (
	"slices"
	"strings"
	"testing"

	"tcdbg/logs"
)

const counted = `import torch

class Block(torch.nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index

    def load(self, name, value):
        setattr(self, name, value)

    def secret(self):
        return "key"

    def forward(self, x):
        k = self.index + 1
        return x * k

    def after(self):
        self.other = 1
        return self.index
`

// without is a file of which only some lines are here.
func without(lines []string, kept []Extent) []string {
	out := make([]string, len(lines))
	for i := range out {
		out[i] = LeftOutLine("m.py")
	}
	for _, e := range kept {
		copy(out[e.From-1:e.To], lines[e.From-1:e.To])
	}
	return out
}

// TestAskedLinesAreEnough: with the lines that were asked for, and no others, a file answers the same.
func TestAskedLinesAreEnough(t *testing.T) {
	lines := strings.Split(counted, "\n")
	at := logs.Pos{File: "m.py", Line: 15, Code: "k = self.index + 1"}
	ask := func(s *Source) (body, about []string, packs bool) {
		body, _ = s.Function(at)
		return body, s.About(at, "self.index"), s.Has(at, func(l string) bool { return strings.Contains(l, "super()") })
	}
	whole := NewSource(func(string) ([]string, error) { return lines, nil })
	body, about, packs := ask(whole)
	if len(body) != 4 || !packs {
		t.Fatalf("%q %v", body, packs)
	}
	told := strings.Join(about, "\n")
	for _, l := range []string{"def __init__", "self.index = index", "setattr(", "return x * k", "return self.index"} {
		if !strings.Contains(told, l) {
			t.Errorf("%q is not told:\n%s", l, told)
		}
	}
	if strings.Contains(told, "key") || strings.Contains(told, "other") {
		t.Errorf("other lines are told:\n%s", told)
	}
	part := without(lines, whole.Asked("m.py"))
	if slices.Contains(part, lines[11]) || LeftOutFrom(part, 11) != 3 {
		t.Errorf("%d lines from line 11 on are left out", LeftOutFrom(part, 11))
	}
	body2, about2, packs2 := ask(NewSource(func(string) ([]string, error) { return part, nil }))
	if !slices.Equal(body, body2) || !slices.Equal(about, about2) || packs != packs2 {
		t.Errorf("the part says otherwise:\n%q\n%q\n%v", body2, about2, packs2)
	}
}

// TestAboutAKey: of the value of a key the lines with the key are told, under either quotes.
func TestAboutAKey(t *testing.T) {
	lines := []string{`stats["n"] += 1`, `stats['m'] += 1`, "stats['n'] = 0", "n = 1"}
	s := NewSource(func(string) ([]string, error) { return lines, nil })
	got := s.About(logs.Pos{File: "m.py", Line: 1, Code: lines[0]}, "stats['n']")
	if want := []string{lines[0], "", lines[2], ""}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
