package explain

import "strings"

// This file finds the rewrites of the user's source that remove a break, and writes
// one into a file's lines. Only what computes the same values for certain is offered:
// rewritego.go and rewritepy.go say what is certain.

// Rewrite is a change of one file that removes a break.
type Rewrite struct {
	Hunks []Hunk // ascending, none overlaps another
	Note  string // what else changes; "" for nothing
}

// Hunk replaces lines from a line of a file on: "- " and "+ " as in a diff.
type Hunk struct {
	Line  int
	Lines []string
}

// Sizes are how many lines a hunk replaces, and by how many.
func (h Hunk) Sizes() (old, added int) {
	for _, l := range h.Lines {
		if !strings.HasPrefix(l, "+") {
			old++
		}
		if !strings.HasPrefix(l, "-") {
			added++
		}
	}
	return old, added
}
