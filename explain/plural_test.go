package explain

import "testing"

// Nouns that end in s or ch, and those in -try, have plurals of their own.
func TestCount(t *testing.T) {
	for noun, want := range map[string]string{
		"graph": "2 graphs", "entry": "2 entries", "patch": "2 patches", "process": "2 processes", "pass": "2 passes", "key": "2 keys",
	} {
		if got := Count(2, noun); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if got := Count(1, noun); got != "1 "+noun {
			t.Error(got)
		}
	}
}
