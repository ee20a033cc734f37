// Package rails draws a graph in characters: one line a node in order, and a rail
// for every value from the node that makes it to the last one that uses it.
//
// It imports explain only. Open rails.go.
package rails

import "tcdbg/explain"

// maxRails bounds the width of a drawing.
const maxRails = 24

// Draw returns the rails of every node's line.
func Draw(nodes []explain.GraphNode) []string {
	uses := map[string]int{}
	for i := range nodes {
		for _, a := range distinct(nodes[i].Args) {
			uses[a]++
		}
	}
	var rails []string // value on each rail, "" when free
	out := make([]string, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		args := distinct(n.Args)
		used, ends := map[int]bool{}, map[int]bool{}
		for _, a := range args {
			for c, v := range rails {
				if v == a {
					used[c] = true
					if uses[a]--; uses[a] == 0 {
						ends[c] = true
					}
				}
			}
		}
		col := place(rails, ends)
		if col == len(rails) {
			rails = append(rails, "")
		}
		out[i] = railLine(rails, used, ends, col)
		for c := range ends {
			rails[c] = ""
		}
		if uses[n.Name] > 0 && col < maxRails {
			rails[col] = n.Name
		} else if col < len(rails) {
			rails[col] = ""
		}
		for len(rails) > 0 && rails[len(rails)-1] == "" {
			rails = rails[:len(rails)-1]
		}
	}
	return out
}

func distinct(args []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, a := range args {
		if !seen[a] {
			seen[a] = true
			out = append(out, a)
		}
	}
	return out
}

// place picks the rail of a new node: the leftmost one that ends here, else
// the first free one.
func place(rails []string, ends map[int]bool) int {
	for c := range rails {
		if ends[c] {
			return c
		}
	}
	for c, v := range rails {
		if v == "" {
			return c
		}
	}
	return len(rails)
}

// railLine draws one line: two cells a rail.
func railLine(rails []string, used, ends map[int]bool, col int) string {
	left, right := col, col
	for c := range used {
		left, right = min(left, c), max(right, c)
	}
	var b []rune
	for c := range max(len(rails), right+1) {
		live := c < len(rails) && rails[c] != ""
		across := c >= left && c <= right
		var r rune
		switch {
		case c == col:
			r = '●'
		case used[c]:
			r = joint(c == left, c == right, ends[c])
		case live:
			r = '│'
		case across:
			r = '─'
		default:
			r = ' '
		}
		b = append(b, r)
		if c < right && across {
			b = append(b, '─')
		} else {
			b = append(b, ' ')
		}
	}
	return string(b)
}

// joint is the piece where a value's rail meets its user's line.
func joint(left, right, ends bool) rune {
	switch {
	case ends && left:
		return '╰'
	case ends && right:
		return '╯'
	case ends:
		return '┴'
	case left:
		return '├'
	case right:
		return '┤'
	}
	return '┼'
}
