package lowering

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tcdbg/explain"
)

// This file is the command line.

// Flags are those of `tcdbg lower`.
type Flags struct {
	Stage, Emit, Out string
	All              bool
}

// NewCommand makes `tcdbg lower`; run carries it out.
func NewCommand(run func(c *cobra.Command, f *Flags, args []string) error) *cobra.Command {
	var f Flags
	c := &cobra.Command{
		Use:   "lower [flags] TRACE ... [GRAPH]",
		Short: "Lower a graph of a PyTorch trace with our own Inductor",
		Long: `Compiles a graph of a PyTorch trace, from its text, as tcdbg compiles a graph of a
Go program, and says how the kernels differ from PyTorch's: what PyTorch fused and
tcdbg did not, and the other way round, where the trace says which nodes a kernel
computes. Nothing is run. GRAPH is the compile, 0/0, where the trace has several.
Operators that tcdbg does not have are named with the number of their calls.

  --emit summary   the kernels and the comparison
  --emit graph     the graph after decomposition
  --emit fusion    what was fused, what was not and why, step by step
  --emit c         the kernels in C
  --emit triton    the kernels in Triton

In the screens of a trace, I does the same.`,
		Example: "  tcdbg lower trace.log 0/0\n  tcdbg lower trace.log 0/0 --stage backward --emit triton\n  tcdbg lower --all trace.log",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return run(c, &f, args) },
	}
	c.Flags().StringVar(&f.Stage, "stage", "", "dynamo, joint, forward, backward, inference or post-grad (default where there is one)")
	c.Flags().StringVar(&f.Emit, "emit", "summary", strings.Join(Emits, ", "))
	c.Flags().StringVarP(&f.Out, "out", "o", "", "write the trace of the compile, which tcdbg replay shows")
	c.Flags().BoolVar(&f.All, "all", false, "every graph at every stage: which are lowered, and why others are not")
	return c
}

var graphName = regexp.MustCompile(`^\[?[0-9]+/[0-9]+(_[0-9]+)?\]?$`)

// CutGraph takes the graph from the end of the arguments.
func CutGraph(args []string) (traces []string, graph string) {
	last := len(args) - 1
	if last > 0 && graphName.MatchString(args[last]) {
		if _, err := os.Stat(args[last]); err != nil {
			return args[:last], args[last]
		}
	}
	return args, ""
}

// Check refuses a word of --emit that is none.
func (f *Flags) Check() error {
	if !slices.Contains(Emits, f.Emit) {
		return errors.New("--emit wants one of " + strings.Join(Emits, ", ") + ", not " + f.Emit)
	}
	return nil
}

// All tries every graph at every stage, and prints what became of each and of all.
func All(ctx context.Context, w io.Writer, r *explain.Report, version string, shown func(string) string) error {
	tally := NewTally()
	for _, g := range r.Graphs {
		forms := Forms(r, g)
		for i := range forms {
			_, err := Run(ctx, TaskOf(r, &forms[i], version))
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if _, err := fmt.Fprintf(w, "%s: %s\n", forms[i].Title(), shown(tally.Add(&forms[i], err))); err != nil {
				return err
			}
		}
	}
	for _, line := range tally.Lines() {
		if _, err := fmt.Fprintln(w, shown(line)); err != nil {
			return err
		}
	}
	return nil
}
