package diagnose

import (
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/advice"
	"tcdbg/tracer/breaks"
)

// This file is sizes that the compile after a change does not see, as a graph break ends it, and
// other entries of the function do: left out, they make constants of those that are marked.

// askedElsewhere says whether another entry asks for a tensor that the compile after a change of a
// size does not ask for, and which has that size in it.
func askedElsewhere(f *advice.Finding, rc *explain.Recompile, g *explain.GuardFailure) bool {
	if g.Kind != breaks.SizeChanged || len(f.Changed) == 0 || !rc.Compile.Guards.Told() || rc.Compile.Guards.Leaves > manyGuards {
		return false
	}
	now := tensorSizes(rc.Compile)
	for _, o := range rc.Compile.Frame.Compiles {
		if o == rc.Compile || !o.Guards.Told() || o.Guards.Leaves > manyGuards {
			continue
		}
		for name, sizes := range tensorSizes(o) {
			if _, asked := now[name]; !asked && reachable(name) && slices.Contains(sizes, g.Expected) {
				return true
			}
		}
	}
	return false
}

// tensorSizes are the sizes of the tensors that an entry asks for, by what its guards call them.
func tensorSizes(c *explain.Compile) map[string][]string {
	out := map[string][]string{}
	explain.WalkGuards(c.Guards.Root(), func(n *explain.GuardNode) {
		if _, rest, ok := strings.Cut(n.Text, "size=["); ok && n.Kind == "TENSOR_MATCH" {
			list, _, _ := strings.Cut(rest, "]")
			out[explain.PlainSource(n.Source)] = strings.Split(list, ", ")
		}
	})
	return out
}
