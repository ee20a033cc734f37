// Package graphout writes a captured graph, or a later stage of it, for other programs: the work of `tcdbg graph`.
//
// It is one file.
package graphout

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/modules"
	"tcdbg/logs/printable"
)

// Options say how a graph is written.
type Options struct {
	Format string // of modules.Formats
	Stage  string // "" for captured
	Depth  int    // levels of modules that are open; -1: all
}

// Text writes one graph.
func Text(r *explain.Report, c *explain.Compile, o Options) (string, error) {
	st := modules.StagesOf(c.Graph)
	at := 0
	if o.Stage != "" {
		if at = slices.Index(st.Names, o.Stage); at < 0 {
			return "", fmt.Errorf("there is no stage %q; there are %s", printable.Clean(o.Stage), strings.Join(st.Names, ", "))
		}
	}
	captured := modules.Captured(c.Graph)
	g, nanos := st.Read(at, captured), map[string]float64(nil)
	if at == 0 {
		nanos = modules.Times(r, c.Graph, captured)
	}
	if len(g.Nodes) == 0 {
		return "", fmt.Errorf("the trace does not record the nodes of this graph")
	}
	return modules.Write(o.Format, &modules.Drawn{
		Graph: g, Tree: g.Tree(nanos), Nanos: nanos, Title: c.Frame.Title() + " " + c.ID.CompileID.String() + " " + st.Names[at],
		Open: func(l *modules.Level) bool { return o.Depth < 0 || strings.Count(l.Path, ".") < o.Depth },
	})
}
