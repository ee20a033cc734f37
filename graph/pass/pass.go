// Package pass is the table-driven pass runner of graphs: only the runner
// times, checks, dumps and names passes; a pass is a function on a graph.
//
// It imports graph and logs of ours. Open this file.
package pass

import (
	"fmt"
	"time"

	"tcdbg/graph"
	"tcdbg/logs"
)

// Pass is one row of a pass table.
type Pass struct {
	Name string
	Doc  string // one line
	// Run changes g and returns how many rewrites it made.
	Run func(g *graph.Graph) int
}

// Runner runs tables of passes over graphs of one compile.
type Runner struct {
	Stage string // aot, inductor
	ID    logs.CompileID
	Log   logs.Sink
	Check bool // verify the graph after each pass (tests)
	index int
}

// Run applies the passes in order. A pass that panics is named in the error,
// and so is one that leaves a broken graph where Check is set.
func (r *Runner) Run(g *graph.Graph, table []Pass) error {
	for _, p := range table {
		if err := r.one(g, p); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) one(g *graph.Graph, p Pass) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("panic in pass %s: %v", p.Name, x)
		}
	}()
	before := g.Code()
	start := time.Now()
	n := p.Run(g)
	took := time.Since(start)
	if n > 0 && r.Log != nil {
		r.Log.Emit(logs.Artifact(r.ID, logs.PassStep{
			Stage: r.Stage, Pass: p.Name, Index: r.index, Before: before, After: g.Code(), Micros: took.Microseconds(),
		}))
	}
	r.index++
	if r.Check {
		if err := g.Check(); err != nil {
			return fmt.Errorf("after pass %s: %w", p.Name, err)
		}
	}
	return nil
}
