package tui

// This file compares lists of lines.

// edit is one line of a comparison: ' ' in both, '-' only before, '+' only
// after.
type edit struct {
	op   byte
	text string
}

// maxDiff bounds the quadratic part of a comparison; longer middles are shown
// as removed and added whole.
const maxDiff = 800

// diffLines compares two lists by their longest common subsequence.
func diffLines(a, b []string) []edit {
	var out []edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		out = append(out, edit{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	tail := a[len(a)-n:]
	a, b = a[:len(a)-n], b[:len(b)-n]
	if len(a) > maxDiff || len(b) > maxDiff {
		for _, l := range a {
			out = append(out, edit{'-', l})
		}
		for _, l := range b {
			out = append(out, edit{'+', l})
		}
	} else {
		out = append(out, middle(a, b)...)
	}
	for _, l := range tail {
		out = append(out, edit{' ', l})
	}
	return out
}

// middle is the comparison of lists without common ends.
func middle(a, b []string) []edit {
	w := len(b) + 1
	long := make([]int32, (len(a)+1)*w)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				long[i*w+j] = long[(i+1)*w+j+1] + 1
			} else {
				long[i*w+j] = max(long[(i+1)*w+j], long[i*w+j+1])
			}
		}
	}
	var out []edit
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, edit{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && long[(i+1)*w+j] >= long[i*w+j+1]:
			out = append(out, edit{'-', a[i]})
			i++
		default:
			out = append(out, edit{'+', b[j]})
			j++
		}
	}
	return out
}
