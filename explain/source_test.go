package explain

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/logs"
)

// TestSourcesAreBounded: a trace may name any number of files; once their size is reached,
// nothing is known of further ones, and those that were read are still known.
func TestSourcesAreBounded(t *testing.T) {
	reads := 0
	s := NewSource(func(name string) ([]string, error) {
		reads++
		return []string{"x = 1", strings.Repeat("#", 994)}, nil
	})
	s.most = 10_000
	known := 0
	for range 3 {
		known = 0
		for i := range 1000 {
			if s.File(logs.Pos{File: fmt.Sprintf("/m/%d.py", i), Line: 1, Code: "x = 1"}) != nil {
				known++
			}
		}
	}
	if reads != 10 || known != 10 {
		t.Errorf("%d files were read, %d are known", reads, known)
	}
}
