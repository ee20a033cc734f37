package numerics

import (
	"strings"
	"testing"
)

// TestNothingFound: where all stages are equal, a graph with derivatives may still have chosen otherwise backward, which one
// without cannot.
func TestNothingFound(t *testing.T) {
	for _, train := range []bool{false, true} {
		if said := nothingFound(train); strings.Contains(said, "choice of the backward graph") != train {
			t.Errorf("with derivatives %v: %s", train, said)
		}
	}
}
