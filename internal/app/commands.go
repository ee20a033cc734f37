package app

import (
	"github.com/spf13/cobra"
)

// This file is the table of commands.

// commands builds the command tree.
func (s *session) commands() *cobra.Command {
	root := &cobra.Command{
		Use:   "tcdbg",
		Short: "A compiler for tensor programs and the debugger for it and for PyTorch's",
		Long: `tcdbg shows, live and afterwards, where a compiler broke the graph, why it
compiled again, what it captured, what it fused and what code it made, and what
to change. It runs Go programs under its own compiler (run) and watches or
replays PyTorch (exec, replay).

` + exitCodes(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(s.runCommand())
	return root
}

func (s *session) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [flags] model.go [program arguments]",
		Short: "Run a Go program under the compiler and watch it",
		Args:  cobra.MinimumNArgs(1),
		RunE:  func(_ *cobra.Command, args []string) error { return s.run(f, args) },
	}
	c.Flags().SetInterspersed(false)
	c.Flags().BoolVar(&f.plain, "plain", false, "no screens: the program's own output, compile logs on standard error")
	c.Flags().StringVar(&f.logs, "logs", "", "compile logs as text, in TORCH_LOGS syntax (default with --plain: "+defaultLogs+")")
	c.Flags().BoolVar(&f.pause, "pause", false, "stop at the first safe point; space continues")
	return c
}
