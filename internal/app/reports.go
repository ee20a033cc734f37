package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file is the commands that print: report.

// reportFlags are the flags of report.
type reportFlags struct {
	format string
	out    string
}

func (s *session) reportCommands() []*cobra.Command {
	return []*cobra.Command{s.reportCommand()}
}

func (s *session) reportCommand() *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use:   "report [flags] PATH|RUN|last ...",
		Short: "Print a report of a trace",
		Args:  atLeast(1, "a trace, or last"),
		RunE:  func(_ *cobra.Command, args []string) error { return s.report(f, args) },
	}
	c.Flags().StringVar(&f.format, "format", "text", "text or json")
	return c
}

// openStore opens what a command line means.
func (s *session) openStore(args []string) (*logs.Store, *traces, error) {
	t, err := findTraces(args)
	if err != nil {
		return nil, nil, err
	}
	o := logs.Options{}
	if s.stdinIsTrace(args) {
		o.Stdin = s.Stdin
	}
	st, err := logs.Open(t.paths, o)
	if err != nil {
		return nil, nil, failf(ExitData, "%s", traceError(err))
	}
	return st, t, nil
}

// report prints a report.
func (s *session) report(f reportFlags, args []string) error {
	st, t, err := s.openStore(args)
	if err != nil {
		return err
	}
	defer st.Close()
	return writeReport(s.Stdout, st, t.title, f)
}

// writeReport reads a store to its end and writes a report of it.
func writeReport(w io.Writer, st *logs.Store, title string, f reportFlags) error {
	fold := explain.NewFold(st)
	fold.SetTitle(title)
	if err := st.Read(context.Background(), fold.Add); err != nil {
		return failf(ExitData, "%v", err)
	}
	r := fold.Snapshot()
	switch f.format {
	case "text":
		return writeText(w, r)
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{"title": r.Title, "totals": r.Totals, "records_by_kind": r.ByKind})
	}
	return failf(ExitUsage, "unknown format %q; there are text and json", f.format)
}

func writeText(w io.Writer, r *explain.Report) error {
	t := r.Totals
	_, err := fmt.Fprintf(w, "%s: %d frames, %d graphs, %d breaks, %d recompiles, %d kernels, %d failures, %.3g s compiling\n",
		printable(r.Title), t.Frames, t.Graphs, t.DistinctBreaks, t.Recompiles, t.Kernels, t.Failures, t.CompileSeconds)
	for i, a := range r.Advice {
		if err == nil {
			_, err = fmt.Fprintf(w, "%d. %s:%d %s\n   fix: %s\n", i+1, printable(a.Pos.File), a.Pos.Line, printable(a.Text), printable(a.Fix.Text))
		}
	}
	return err
}
