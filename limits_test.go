package main

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// TestLimitsAreOfMultiplyAdds: what bench-peers takes for the peak of multiply-adds is one of multiply-adds, as many as it counts, by
// whole vectors. A compiler that sees a factor of 1, or sums of which one lane is read, leaves them out.
func TestLimitsAreOfMultiplyAdds(t *testing.T) {
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc: what it leaves out is not known")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions looked for are those of amd64")
	}
	text, err := os.ReadFile("scripts/bench-peers/limits.c.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		machine, vector string
		sums            int
	}{{"haswell", "%ymm", 12}, {"skylake-avx512", "%zmm", 24}} {
		compile := exec.Command(cc, "-O3", "-march="+c.machine, "-S", "-o", "-", "-x", "c", "-")
		compile.Stdin = bytes.NewReader(text)
		out, err := compile.Output()
		if err != nil {
			t.Fatalf("%s: %v", c.machine, err)
		}
		n := 0
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "vfmadd") && strings.Contains(line, c.vector) {
				n++
			}
		}
		if n < c.sums {
			t.Errorf("%s: %d multiply-adds of vectors, and %d are counted", c.machine, n, c.sums)
		}
	}
}
