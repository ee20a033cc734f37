package diff

import (
	"fmt"
	"slices"
	"testing"
)

// Long runs of lines that are the same are one line, so that changes show.
func TestFoldSame(t *testing.T) {
	var before []string
	for i := range 40 {
		before = append(before, fmt.Sprint("line ", i))
	}
	after := slices.Clone(before)
	after[20] = "changed"
	var got []string
	for _, e := range FoldSame(Lines(before, after)) {
		got = append(got, string(e.Op)+e.Text)
	}
	want := []string{
		" line 0", "~⋮ 16 lines the same", " line 17", " line 18", " line 19", "-line 20", "+changed", " line 21",
		" line 22", " line 23", "~⋮ 15 lines the same", " line 39",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if same := FoldSame(Lines(before, before)); len(same) != 40 {
		t.Errorf("a text that did not change has %d lines of 40", len(same))
	}
}
