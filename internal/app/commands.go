package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tcdbg/explain/rewrite"
	"tcdbg/internal/app/mcp"
	"tcdbg/logs"
)

// This file is the table of commands.

// commands builds the command tree.
func (s *session) commands() *cobra.Command {
	root := &cobra.Command{
		Use:   "tcdbg",
		Short: "A compiler for tensor programs and the debugger for it and for PyTorch's",
		Long: `tcdbg shows, live and afterwards, where a compiler broke the graph, why it
recompiled, what it captured, what it fused and what code it generated, and what
to change. It runs Go programs under its own compiler (run) and watches or
replays PyTorch (exec, replay).

` + exitCodes(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(s.runCommand(), s.execCommand(), s.replayCommand(), s.tryCommand(),
		s.fixCommand(), benchCommand(s), mcpCommand(s), s.versionCommand(), s.completionCommand(root))
	root.AddCommand(s.reportCommands()...)
	root.AddCommand(s.maintenanceCommands()...)
	return root
}

func (s *session) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [flags] model.go|model.pt2 [program arguments]",
		Short: "Run a Go program under the compiler and watch it",
		Long: `Runs a Go program (one or more .go files of package main, or a folder) with
functions given to torch.Compile compiled, under the screens. Without a
terminal, or with --plain, standard output is exactly the program's own,
standard error has compile logs in PyTorch's form, and the exit code is the
program's.

model.pt2 is a program that PyTorch exported (torch.export.save, PyTorch 2.9 to
2.15): its graph is compiled, called and its results printed. After it:

  --inputs example     the inputs that the file keeps (default; random ones
                       where it keeps none)
  --inputs random      random ones of the recorded shapes
  --inputs FILE.pt     what torch.save wrote: a list of the arguments, or a
                       dict of them by name
  --calls N            call it N times (default 1)

` + exitCodes(),
		Example: "  tcdbg run model.go\n  tcdbg run --plain --logs graph_breaks,graph_code model.go --epochs 3\n" +
			"  tcdbg run --plain model.pt2 --inputs batch.pt",
		RunE: func(c *cobra.Command, args []string) error {
			if f.logs == "help" {
				_, err := fmt.Fprint(s.Stdout, logs.LogHelp())
				return err
			}
			if err := atLeast(1, "a model.go to run")(c, args); err != nil {
				return err
			}
			return s.run(f, args)
		},
	}
	c.Flags().SetInterspersed(false)
	c.Flags().BoolVar(&f.plain, "plain", false, "no screens: the program's own output, compile logs on standard error")
	c.Flags().StringVar(
		&f.logs, "logs", "",
		"compile logs as text, in TORCH_LOGS syntax; \"help\" lists the names (default with --plain: "+defaultLogs+")",
	)
	c.Flags().BoolVar(&f.pause, "pause", false, "stop at the first safe point; space continues. It keeps the run, as --record does")
	c.Flags().BoolVar(&f.record, "record", false, "keep what is needed to step back: times, random seeds, what is read")
	return c
}

func (s *session) execCommand() *cobra.Command {
	var f execFlags
	c := &cobra.Command{
		Use:   "exec [flags] -- command [arguments]",
		Short: "Run a PyTorch program and watch its compiler",
		Long: `Runs any command with TORCH_TRACE set to a new run folder, and with
TORCH_LOGS=` + fusionLogs + ` and INDUCTOR_PROVENANCE=1
where you have not set them, and shows the screens while it runs. Where it sets
TORCH_LOGS, the fusion log also has what the nodes of a schedule read and write:
what a fusion saves and a refusal costs. The trace also has the modules in which
nodes were captured. Without a terminal it prints the report to standard error
at the end. Ctrl-C reaches the command; its exit code becomes
tcdbg's.`,
		Example: "  tcdbg exec -- python train.py --epochs 2\n  tcdbg exec -- torchrun --nproc-per-node 2 train.py",
		Args:    atLeast(1, "a command to run: tcdbg exec -- python train.py"),
		RunE:    func(_ *cobra.Command, args []string) error { return s.exec(f, args) },
	}
	c.Flags().SetInterspersed(false)
	c.Flags().BoolVar(&f.plain, "plain", false, "no screens: the command's own output, the report at the end")
	c.Flags().BoolVar(&f.pause, "pause", false, "stop Python before its first line, and at breakpoints; space continues")
	c.Flags().IntVar(&f.profile, "profile", 0, "record `STEPS` steady steps with torch.profiler (5 where none are named)")
	c.Flags().Lookup("profile").NoOptDefVal = "5"
	c.Flags().BoolVar(&f.noProvenance, "no-provenance", false, "do not set INDUCTOR_PROVENANCE (it costs some compile time)")
	c.Flags().StringArrayVar(&f.maps, "source-map", nil, sourceMapUsage)
	return c
}

func (s *session) replayCommand() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay [flags] PATH|RUN|last ...",
		Short: "Open saved traces or a saved run",
		Long: `Opens TORCH_TRACE files, folders of them (one file a rank or process), .gz and
.zst, TORCH_LOGS text, - for standard input (read as it comes), and saved runs by id. Without a
terminal it prints the report.`,
		Example: "  tcdbg replay last\n  tcdbg replay /tmp/trace_dir\n  tcdbg replay --follow /tmp/trace_dir",
		Args:    atLeast(1, "a trace to open, or last"),
		RunE:    func(_ *cobra.Command, args []string) error { return s.replay(f, args) },
	}
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "keep reading as files grow and new ones appear")
	c.Flags().StringArrayVar(&f.maps, "source-map", nil, sourceMapUsage)
	return c
}

func (s *session) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(s.Stdout, "tcdbg "+Version)
			return err
		},
	}
}

func (s *session) completionCommand(root *cobra.Command) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion bash|zsh|fish|powershell", Short: "Print a completion script for a shell",
		Example:   "  source <(tcdbg completion bash)",
		ValidArgs: shells, Args: cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE: func(_ *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(s.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(s.Stdout)
			case "fish":
				return root.GenFishCompletion(s.Stdout, true)
			}
			return root.GenPowerShellCompletionWithDesc(s.Stdout)
		},
	}
}

func mcpCommand(s *session) *cobra.Command {
	var write bool
	var maps []string
	c := &cobra.Command{
		Use:   "mcp [flags]",
		Short: "Serve assistants: findings, sources, comparisons and trials as tools",
		Long: `Serves the Model Context Protocol over standard input and output, for an assistant
that starts it: the tools findings, source and diff read saved runs and traces. With
--write the tools run and try run programs, too. No tool changes a source file.`,
		Example: "  claude mcp add tcdbg -- tcdbg mcp",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			m, err := parseSourceMap(maps)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			err = mcp.Serve(ctx, mcpHost(s, m), s.Stdin, s.Stdout, write)
			if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
				return failf(ExitData, "the client's messages cannot be read: %v", err)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&write, "write", false, "allow tools that run programs")
	c.Flags().StringArrayVar(&maps, "source-map", nil, sourceMapUsage)
	return c
}

// mcpHost is what the tools for assistants need.
func mcpHost(s *session, maps sourceMap) *mcp.Host {
	quiet := &session{Process: s.Process} // standard input and output are the client's
	return &mcp.Host{
		Version: Version,
		Open: func(trace string) (*mcp.Trace, error) {
			st, t, err := quiet.openStore([]string{trace})
			if err != nil {
				return nil, err
			}
			t.maps = maps
			end := func() { st.Close(); t.bundle.Close() }
			r, err := t.fold(st)
			if err != nil {
				end()
				return nil, err
			}
			rewrite.AddRewrites(r, t.files().Source)
			return &mcp.Trace{Report: r, Source: t.files().Source, Close: end}, nil
		},
		Run: func(ctx context.Context, command []string) (*mcp.Ran, error) {
			args := append([]string{"run", "--plain"}, command...)
			if !ofGo(command[0]) {
				args = append([]string{"exec", "--plain", "--"}, command...)
			}
			return ranSince(ctx, command, args)
		},
		Try: func(ctx context.Context, o mcp.Try) (*mcp.Ran, error) {
			args := []string{"try", "--all", "--steps", strconv.Itoa(o.Steps)}
			for _, id := range o.Only {
				args = append(args, "--only", id)
			}
			if !ofGo(o.Command[0]) {
				args = append(args, "--")
			}
			return ranSince(ctx, o.Command, append(args, o.Command...))
		},
	}
}

// ofGo says whether a program is one that tcdbg run runs.
func ofGo(program string) bool {
	return strings.HasSuffix(program, ".pt2") || isGo(program)
}

// ranSince runs a command line of ours and finds the run that it kept.
func ranSince(ctx context.Context, command, args []string) (*mcp.Ran, error) {
	start := time.Now()
	ran, err := mcp.Command(ctx, args...)
	if err != nil {
		return nil, err
	}
	runs, err := listRuns()
	if err != nil {
		return ran, nil // none was kept
	}
	dir, _ := os.Getwd()
	var last time.Time
	for _, r := range runs {
		i := &r.Info
		ours := i.Dir == dir && len(i.Program) > 0 && i.Program[0] == command[0] && !i.Start.Before(start)
		if ours && i.Start.After(last) {
			ran.Run, last = i.ID, i.Start
		}
	}
	return ran, nil
}

// sourceMapUsage is what --source-map does.
const sourceMapUsage = "`FROM=TO`: where the trace names a source file under FROM, read it under TO"

// atLeast requires arguments and says which.
func atLeast(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < n {
			return failf(ExitUsage, "%s needs %s; see tcdbg %s --help", c.Name(), what, c.Name())
		}
		return nil
	}
}

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
