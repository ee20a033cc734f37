package app

import (
	"path/filepath"
	"testing"
)

// TestFreshFolder: two runs that draw the same salt in the same second have folders of
// their own.
func TestFreshFolder(t *testing.T) {
	root := filepath.Join(t.TempDir(), "runs")
	drawn := []string{"aa", "aa", "bb"}
	salt := func() string {
		s := drawn[0]
		drawn = drawn[1:]
		return s
	}
	for _, want := range []string{"run-aa", "run-bb"} {
		path, err := freshFolder(root, "run-", salt)
		if err != nil || filepath.Base(path) != want {
			t.Errorf("%s, %v, want %s", path, err, want)
		}
	}
}
