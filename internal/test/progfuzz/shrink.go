package progfuzz

import "strings"

// Shrink makes a program smaller for as long as fails holds: it removes
// statements, whole blocks, and the lines around blocks. fails must report
// false for a text that is no valid program.
func Shrink(text string, fails func(string) bool) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for progress := true; progress; {
		progress = false
		for i := len(lines) - 1; i >= 0; i-- {
			if i >= len(lines) {
				continue
			}
			for _, cut := range cuts(lines, i) {
				if fails(strings.Join(cut, "\n")) {
					lines, progress = cut, true
					break
				}
			}
		}
	}
	return strings.Join(lines, "\n")
}

// cuts are the ways to remove something that begins at line i.
func cuts(lines []string, i int) [][]string {
	end := closing(lines, i)
	out := [][]string{without(lines, i, end+1)}
	if end > i {
		unwrapped := append(append(append([]string(nil), lines[:i]...), lines[i+1:end]...), lines[end+1:]...)
		out = append(out, unwrapped)
	} else if i+1 < len(lines) {
		out = append(out, without(lines, i, i+2)) // a declaration and its use
	}
	return out
}

func without(lines []string, from, to int) []string {
	return append(append([]string(nil), lines[:from]...), lines[to:]...)
}

// closing is the line that closes the block opened at line i, else i.
func closing(lines []string, i int) int {
	depth := 0
	for k := i; k < len(lines); k++ {
		depth += strings.Count(lines[k], "{") - strings.Count(lines[k], "}")
		if depth <= 0 {
			return k
		}
	}
	return i
}
