package test

import (
	"slices"
	"testing"
)

// The long form runs everything; the short one leaves out what Long marks, and takes of a
// list what is spread over it.
func TestForms(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	for value, want := range map[string]struct {
		ran  bool
		some []int
	}{"": {false, []int{0, 3, 6}}, "1": {true, all}} {
		t.Setenv(LongVar, value)
		ran := false
		t.Run("marked", func(t *testing.T) {
			Long(t, "it takes long")
			ran = true
		})
		if some := Some(t, 3, all); ran != want.ran || !slices.Equal(some, want.some) {
			t.Errorf("%s=%q: ran %t, some are %v", LongVar, value, ran, some)
		}
		if some := Some(t, 20, all); !slices.Equal(some, all) {
			t.Errorf("20 of 10 are %v", some)
		}
	}
}
