package gate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tcdbg/explain"
)

// This file compares what graphs compute: two graphs of as many operators may still
// differ in a constant, an operator or a shape.

// codeChanges lists, for each function whose graphs are as many and as large in both
// reports, the first line in which one of them differs.
func codeChanges(a, b *explain.Report) []string {
	sa, sb := graphSizes(a), graphSizes(b)
	ga, gb := graphsByFunction(a), graphsByFunction(b)
	out := []string{}
	var names []string
	for n := range ga {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		if sa[n] != sb[n] {
			continue // its sizes tell that already
		}
		for i, g := range ga[n] {
			if i >= len(gb[n]) {
				break
			}
			if x, y, differ := firstChange(graphLines(g), graphLines(gb[n][i])); differ {
				out = append(out, fmt.Sprintf("%s: now %s, was %s", n, explain.OrNothing(y), explain.OrNothing(x)))
			}
		}
	}
	return out
}

func graphsByFunction(r *explain.Report) map[string][]*explain.Graph {
	out := map[string][]*explain.Graph{}
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			if c.Graph != nil {
				out[fr.Root().Name] = append(out[fr.Root().Name], c.Graph)
			}
		}
	}
	return out
}

// anAddress is a number that differs from run to run.
var anAddress = regexp.MustCompile(`0x[0-9a-f]{6,}|\b[0-9]{12,}\b`)

// graphLines are the statements of a captured graph, without places, comments and
// what frees names; nil where the trace lacks its text.
func graphLines(g *explain.Graph) []string {
	for _, s := range g.Stages {
		if s.Name != "dynamo" || s.Load == nil {
			continue
		}
		var out []string
		for _, l := range strings.Split(s.Load(), "\n") {
			l = strings.TrimSpace(l)
			if l == "" || strings.HasPrefix(l, "#") || strings.HasPrefix(l, "class ") {
				continue
			}
			l, _, _ = strings.Cut(l, ";  ")
			out = append(out, anAddress.ReplaceAllString(l, "0x"))
		}
		return out
	}
	return nil
}

// firstChange is the first line that two texts do not have in common. A text that was
// not recorded differs from none.
func firstChange(a, b []string) (x, y string, differ bool) {
	if a == nil || b == nil {
		return "", "", false
	}
	for i := range max(len(a), len(b)) {
		x, y = "", ""
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return x, y, true
		}
	}
	return "", "", false
}
