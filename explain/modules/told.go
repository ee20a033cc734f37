package modules

import (
	"strings"

	"tcdbg/logs"
)

// This file takes the modules of nodes that a trace tells (tcdbg exec has PyTorch programs write them).

// tell gives nodes the modules that they were traced in.
func (g *Graph) tell(load func() logs.NodeModules) {
	if load == nil {
		return
	}
	for source, names := range load().Modules {
		root, path, ok := modulePath(source)
		if !ok {
			continue
		}
		if g.roots > 1 {
			path = join(root, path)
		}
		for _, name := range names {
			if i := g.Find(name); i >= 0 && computes(&g.Nodes[i]) {
				g.Module[i] = path
			}
		}
	}
}

// modulePath reads L['args'][0].model.layers[1]: the root args_0, as inputs of the graph name it, and model.layers.1.
func modulePath(source string) (root, path string, ok bool) {
	rest, ok := strings.CutPrefix(source, "L['")
	if !ok {
		return "", "", false
	}
	root, rest, ok = strings.Cut(rest, "']")
	for ok && strings.HasPrefix(rest, "[") {
		var at string
		at, rest, ok = strings.Cut(rest[1:], "]")
		root += "_" + strings.Trim(at, "'")
	}
	var parts []string
	for _, p := range strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(".[]'\"", r) }) {
		if p != "_modules" {
			parts = append(parts, p)
		}
	}
	return root, strings.Join(parts, "."), ok && len(parts) < maxDepth && !strings.ContainsAny(rest, "() ")
}
