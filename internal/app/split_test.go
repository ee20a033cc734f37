package app

import (
	"slices"
	"testing"
)

// TestSplitProgram: a -- between program and arguments is not the program's; a
// later one is.
func TestSplitProgram(t *testing.T) {
	file := "run.go"
	for _, c := range []struct{ argv, want []string }{
		{[]string{file}, nil},
		{[]string{file, "-n", "3"}, []string{"-n", "3"}},
		{[]string{file, "--", "-n", "3"}, []string{"-n", "3"}},
		{[]string{file, "-n", "--", "3"}, []string{"-n", "--", "3"}},
		{[]string{file, "--", "--", "x"}, []string{"--", "x"}},
	} {
		program, args, err := splitProgram(c.argv)
		if err != nil || !slices.Equal(program, []string{file}) || !slices.Equal(args, c.want) {
			t.Errorf("%q: program %q, arguments %q, %v; want %q", c.argv, program, args, err, c.want)
		}
	}
}
