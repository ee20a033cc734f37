package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"tcdbg/inductor/lower"
	"tcdbg/internal/test/golden"
	"tcdbg/ops"
	"tcdbg/torch"
)

// This file joins the operator table with what each stage does for an
// operator, and holds the list of gaps: a new operator brings its rows, and a
// filled gap leaves the list.

const gapsFile = "testdata/operator_gaps.txt"

// gaps lists what an operator lacks.
func gaps(op *ops.Op) []string {
	var out []string
	if op.Meta == nil {
		out = append(out, "shape rule")
	}
	computed := torch.HasKernel(op.ID) || op.Tags.Has(ops.TagView) || op.Tags.Has(ops.TagInPlace)
	if !computed && op.Decompose == nil {
		out = append(out, "eager kernel")
	}
	if op.Backward == nil && op.Decompose == nil && !op.Tags.Has(ops.TagNoGrad) && !op.Tags.Has(ops.TagFactory) &&
		!op.Tags.Has(ops.TagInPlace) && !op.Tags.Has(ops.TagInternal) {
		out = append(out, "derivative")
	}
	if !lower.Has(op.ID) && op.Decompose == nil && !op.Tags.Has(ops.TagInPlace) {
		out = append(out, "lowering")
	}
	return out
}

// TestOperatorGaps compares the gaps with the committed list. -update writes it.
func TestOperatorGaps(t *testing.T) {
	var sb strings.Builder
	for _, op := range ops.All() {
		if g := gaps(op); len(g) > 0 {
			fmt.Fprintf(&sb, "%s: %s\n", op.FullName(), strings.Join(g, ", "))
		}
	}
	got := sb.String()
	if golden.Updating() {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(gapsFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(gapsFile)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	old := map[string]bool{}
	for _, l := range strings.Split(string(want), "\n") {
		old[l] = true
	}
	for _, l := range strings.Split(got, "\n") {
		if !old[l] {
			t.Errorf("new gap: %s", l)
		}
		delete(old, l)
	}
	for l := range old {
		t.Logf("no longer a gap (take it off the list with -update): %s", l)
	}
}
