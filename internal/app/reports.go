package app

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/explain/gate"
	"tcdbg/explain/render"
	"tcdbg/explain/rewrite"
	"tcdbg/internal/app/bundle"
	"tcdbg/internal/app/exported"
	"tcdbg/internal/app/lowering"
	"tcdbg/logs"

	"github.com/spf13/cobra"
)

// This file is the commands that print: report, explain, diff and check (and code,
// in a file of its own). All
// of them fold a trace and hand the report to package explain.

// formats is the table of report formats.
func formats(f reportFlags) map[string]func(io.Writer, *explain.Report) error {
	markdown := func(w io.Writer, r *explain.Report) error {
		from := origin(f.command)
		if f.machine != "" {
			from.Machine = f.machine
		}
		return render.WriteMarkdown(w, r, from)
	}
	text := render.WriteText
	if f.all {
		text = render.WriteAllText
	}
	return map[string]func(io.Writer, *explain.Report) error{
		"text": text, "json": render.WriteJSON, "html": render.WriteHTML, "chrome": render.WriteChrome,
		"markdown": markdown, "md": markdown,
	}
}

// reportFlags are the flags of report.
type reportFlags struct {
	format  string
	out     string
	all     bool   // text: nothing is folded
	command string // that makes the trace, or the report, again
	maps    []string
	machine string // of the run, where it is not this one
}

// origin is what a report says of where it is from.
func origin(command string) render.Origin {
	return render.Origin{Tool: Version, Machine: runtime.GOOS + "/" + runtime.GOARCH, Command: command}
}

// commandOf is the command that made a run again; of other traces, the one that reports on them.
func commandOf(t *traces, args []string) string {
	if t.bundle != nil && t.bundle.Command != "" {
		return t.bundle.Command
	}
	if t.run == nil {
		return "tcdbg report --format markdown " + quoteArgs(args)
	}
	i := &t.run.Info
	command := quoteArgs(append(slices.Clone(i.Program), i.Args...))
	if i.Kind == "exec" {
		return "tcdbg exec -- " + command
	}
	return "tcdbg run " + command
}

// quoteArgs writes arguments as a shell takes them.
func quoteArgs(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		odd := func(r rune) bool { return !strings.ContainsRune(plainInShell, r) }
		if a == "" || strings.ContainsFunc(a, odd) {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// plainInShell are the characters that mean themselves to every shell.
const plainInShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%"

func (s *session) reportCommands() []*cobra.Command {
	return []*cobra.Command{
		s.reportCommand(), bundleCommand(s), s.explainCommand(), s.diffCommand(), s.checkCommand(), s.codeCommand(),
		lowering.NewCommand(s.lower), reproCommand(s), graphCommand(s),
		exported.NewPackageCommand(s.Stdout, backendConfig(s.Stderr), exported.Failures{Usage: usageFailure, Data: dataFailure}),
	}
}

func (s *session) reportCommand() *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use:   "report [flags] PATH|RUN|last ...",
		Short: "Print a report of a trace: text, JSON, HTML, Markdown or a Chrome trace",
		Long: `Prints a report of TORCH_TRACE files, folders of them, .gz and .zst, TORCH_LOGS
text, - for standard input, a saved run, or a bundle.

  text      each section with its costliest rows; --all has every row
  json      stable and documented; totals first
  html      one self-contained file, whose parts can be linked to (docs/report-html.md)
  markdown  for issues, pull requests and $GITHUB_STEP_SUMMARY, below 65,000 characters
  chrome    a trace that Perfetto and chrome://tracing open`,
		Example: "  tcdbg report last\n  tcdbg report --format html -o report.html /tmp/trace_dir\n" +
			"  tcdbg report --format markdown last >> $GITHUB_STEP_SUMMARY\n  ssh host tcdbg report --format json last",
		Args: atLeast(1, "a trace, or last"),
		RunE: func(_ *cobra.Command, args []string) error { return s.report(f, args) },
	}
	c.Flags().StringVar(&f.format, "format", "text", "text, json, html, markdown (md) or chrome")
	c.Flags().StringVarP(&f.out, "out", "o", "", "write to a file instead of standard output")
	c.Flags().BoolVar(&f.all, "all", false, "text: every row, with those that are folded otherwise")
	c.Flags().StringArrayVar(&f.maps, "source-map", nil, sourceMapUsage)
	return c
}

// openStore opens what a command line means.
func (s *session) openStore(args []string) (*logs.Store, *traces, error) {
	t, err := findTraces(args, false)
	if err != nil {
		return nil, nil, err
	}
	o := logs.Options{Empty: t.allSaved()}
	if s.stdinIsTrace(args) {
		o.Stdin = s.Stdin
	}
	st, err := logs.Open(t.paths, o)
	if err != nil {
		return nil, nil, failf(ExitData, "%s", traceError(err))
	}
	if st.Size() < smallTrace {
		collectLate()
	}
	return st, t, nil
}

// smallTrace is the size of files below which a command that prints ends
// before it needs a garbage collector.
const smallTrace = 32 << 20

// collectLate keeps the collector from running before the process holds so
// much that it matters; from then on it works as ever. An object that nobody
// holds tells of its first run. Nobody asks such a command for a memory
// profile either.
func collectLate() {
	const late = 96 << 20
	runtime.MemProfileRate = 0
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(late)
	runtime.AddCleanup(new([1]*int), func(int) {
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(math.MaxInt64)
	}, 0)
}

// foldTrace reads what a command line means to its end.
func (s *session) foldTrace(args []string) (*explain.Report, func(), error) {
	st, t, err := s.openStore(args)
	if err != nil {
		return nil, nil, err
	}
	r, err := t.fold(st)
	if err != nil {
		st.Close()
		return nil, nil, err
	}
	return r, func() { st.Close() }, nil
}

// fold reads the traces to their end.
func (t *traces) fold(st *logs.Store) (*explain.Report, error) {
	r, err := foldWith(st, t.title, t.run, t.files())
	if err == nil {
		err = t.refuse(st)
	}
	return r, err
}

// files is where the traces' source files are read.
func (t *traces) files() *feed { return &feed{root: t.root, maps: t.maps, bundle: t.bundle} }

// foldStore reads a store to its end; run is the run that it is of, or nil.
func foldStore(st *logs.Store, title string, run *Run) (*explain.Report, error) {
	return foldWith(st, title, run, &feed{root: run.dir()})
}

// foldWith is foldStore with the program's files.
func foldWith(st *logs.Store, title string, run *Run, files *feed) (*explain.Report, error) {
	fold := fold.New(st)
	fold.SetTitle(title)
	fold.SetSource(files.Source)
	if err := st.Read(context.Background(), fold.Add); err != nil {
		return nil, failf(ExitData, "%v", err)
	}
	fold.AddUncaught(run.printedAtEnd())
	return fold.Snapshot(), nil
}

// report prints a report.
func (s *session) report(f reportFlags, args []string) error {
	if formats(f)[f.format] == nil {
		return failf(ExitUsage, "unknown format %q; there are text, json, html, markdown and chrome", f.format)
	}
	maps, err := parseSourceMap(f.maps)
	if err != nil {
		return err
	}
	st, t, err := s.openStore(args)
	if err != nil {
		return err
	}
	defer st.Close()
	t.maps = maps
	r, err := t.fold(st)
	if err != nil {
		return err
	}
	f.command = commandOf(t, args)
	if b := t.bundle; b != nil {
		f.machine = b.System
		if version := strings.Fields(b.Python); len(version) > 0 {
			f.machine += " · Python " + version[0]
		}
	}
	if f.out == "" || f.out == "-" {
		return writeReport(s.Stdout, r, t.files(), f)
	}
	return writeOut(f.out, func(o *outFile) error { return writeReport(o, r, t.files(), f) })
}

func bundleCommand(s *session) *cobra.Command {
	var out string
	var redact, whole bool
	var maps []string
	c := &cobra.Command{
		Use:   "bundle [flags] PATH|RUN|last ...",
		Short: "Make one file of a run: trace, source files, report and versions",
		Long: `Makes one file that tcdbg replay, report and diff open anywhere: the trace, the lines of
the program's source that it names (of files whose lines are the recorded ones), the
report as Markdown, and the versions of tcdbg, PyTorch, Python and the system. Lines go
with the function that they are in; --whole-source keeps the files as they are.

With --redact the source files, generated code, graphs, guards and other payloads
stay out, and so do the lines of source in what remains. Names of functions, files
and sizes stay in.`,
		Example: "  tcdbg bundle last\n  tcdbg bundle --redact -o run.zip /tmp/trace_dir\n  tcdbg replay run.zip",
		Args:    atLeast(1, "a trace, or last"),
		RunE: func(_ *cobra.Command, args []string) error {
			return bundleTo(s, out, bundleWhat{redact, whole}, maps, args)
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "`FILE` to write, - for standard output (default: the run's name and .zip)")
	c.Flags().BoolVar(&redact, "redact", false, "leave code, graphs and lines of source out")
	c.Flags().BoolVar(&whole, "whole-source", false, "keep whole source files, not the lines alone that are named")
	c.Flags().StringArrayVar(&maps, "source-map", nil, sourceMapUsage)
	c.MarkFlagsMutuallyExclusive("redact", "whole-source")
	return c
}

// bundleWhat is how much goes into a bundle.
type bundleWhat struct{ redact, wholeSource bool }

// bundleTo writes a bundle.
func bundleTo(s *session, out string, what bundleWhat, maps []string, args []string) error {
	m, err := parseSourceMap(maps)
	if err != nil {
		return err
	}
	if s.stdinIsTrace(args) {
		return failf(ExitUsage, "bundle needs files: what comes from standard input is not kept")
	}
	st, t, err := s.openStore(args)
	if err != nil {
		return err
	}
	defer st.Close()
	t.maps = m
	r, err := t.fold(st)
	if err != nil {
		return err
	}
	files := t.files()
	c := &bundle.Content{Report: r, Read: files.Source, Whole: what.wholeSource, Manifest: bundle.Manifest{
		Tcdbg: Version, Engine: r.Engine, System: runtime.GOOS + "/" + runtime.GOARCH, Title: t.title, Redacted: what.redact,
	}}
	if t.run != nil {
		c.Command = commandOf(t, args)
	}
	for _, src := range st.Sources() {
		c.TraceFiles = append(c.TraceFiles, src.Path)
	}
	if out == "" {
		out = bundleName(t)
	}
	c.Markdown = func(w io.Writer) error {
		if what.redact {
			_, err := fmt.Fprintln(w, "The report is not in a redacted bundle: tcdbg report on the bundle writes it.")
			return err
		}
		return writeReport(w, r, files, reportFlags{format: "markdown", command: c.Command})
	}
	if out == "-" {
		if isTerminal(s.Stdout) {
			return failf(ExitUsage, "a bundle is no text for a terminal: name a file with -o, or lead standard output to one")
		}
		return bundle.Write(s.Stdout, c)
	}
	if err := writeOut(out, func(o *outFile) error { return bundle.Write(o, c) }); err != nil {
		return err
	}
	fmt.Fprintf(s.Stderr, "tcdbg: %s is written; tcdbg replay %s opens it\n", out, quoteArgs([]string{out}))
	return nil
}

// bundleName is the file of a bundle that is given no name.
func bundleName(t *traces) string {
	if t.run != nil {
		return t.run.Info.ID + ".zip"
	}
	return runName([]string{t.title}) + ".zip"
}

// followReport reads what is there and what comes until it is interrupted, and then
// prints the report: replay --follow without a terminal.
func (s *session) followReport(t *traces, stdin io.Reader) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	st, err := logs.Open(t.paths, logs.Options{Follow: true, Stdin: stdin})
	if err != nil {
		return failf(ExitData, "%s", traceError(err))
	}
	defer st.Close()
	fd := fold.New(st)
	fd.SetTitle(t.title)
	fd.SetSource(t.files().Source)
	if err := fold.Follow(ctx, st, fd, func(*logs.Record) {}); err != nil {
		return failf(ExitData, "%v", err)
	}
	if err := t.refuse(st); err != nil {
		return err
	}
	return writeReport(s.Stdout, fd.Snapshot(), t.files(), reportFlags{format: "text"})
}

// writeReport writes a report.
func writeReport(w io.Writer, r *explain.Report, files *feed, f reportFlags) error {
	rewrite.AddRewrites(r, files.Source)
	return formats(f)[f.format](w, r)
}

// reportOf reads a store to its end and writes a report of it.
func reportOf(w io.Writer, st *logs.Store, title, root string, f reportFlags) error {
	r, err := foldStore(st, title, nil)
	if err != nil {
		return err
	}
	return writeReport(w, r, &feed{root: root}, f)
}

func (s *session) explainCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "explain [--json] model.go [program arguments]", DisableFlagsInUseLine: true,
		Short: "Run a Go program under the compiler and print its report",
		Long: `Runs a Go program like tcdbg run --plain, without its compile logs, and then
prints the report of its trace: on standard error, or with --json on standard
output, where the program's own output then goes to standard error.`,
		Args: atLeast(1, "a model.go to run"),
		RunE: func(_ *cobra.Command, args []string) error { return s.explain(asJSON, args) },
	}
	c.Flags().SetInterspersed(false)
	c.Flags().BoolVar(&asJSON, "json", false, "the report as JSON on standard output")
	return c
}

// explain runs a program and prints its report.
func (s *session) explain(asJSON bool, argv []string) error {
	stdout, format, to := s.Stdout, "text", s.Stderr
	if asJSON {
		stdout, format, to = s.Stderr, "json", s.Stdout
	}
	r, err := s.runQuietly(argv, stdout)
	if err != nil {
		return err
	}
	st, err := logs.Open([]string{r.file(traceFile)}, logs.Options{})
	switch {
	case err != nil && s.code > exitSignal:
		return nil // it was interrupted before there was a trace
	case err != nil:
		return failf(ExitData, "%v", err)
	}
	defer st.Close()
	if s.code == ExitData && neverRan(st) {
		return nil // the compiler's errors say all
	}
	return reportOf(to, st, r.Info.title(), r.Info.Dir, reportFlags{format: format})
}

// neverRan reports whether a trace ends before any compile: its program did not
// load.
func neverRan(st *logs.Store) bool {
	r, err := foldStore(st, "", nil)
	return err == nil && r.Totals.Compiles == 0
}

// runQuietly runs a Go program on our streams without compile logs.
func (s *session) runQuietly(argv []string, stdout *os.File) (*Run, error) {
	program, args, err := splitProgram(argv)
	if err != nil {
		return nil, err
	}
	r, err := newRun("run", program, args, Options{})
	if err != nil {
		return nil, err
	}
	c, err := startEngine(r, s.Stdin, stdout, s.Stderr, false)
	if err != nil {
		return nil, err
	}
	return r, s.endPlain(c)
}

func (s *session) diffCommand() *cobra.Command {
	var f diffFlags
	c := &cobra.Command{
		Use:   "diff [flags] OLD NEW",
		Short: "Compare two traces or runs: new, fixed and moved breaks, recompiles and failures",
		Long: `Compares by stable cause, not by line number alone: lines inserted above, a
renamed function or file and two breaks that swapped places show as moved.

With --exit-code it exits with 1 when NEW has a break, a recompile or a failure that
OLD does not have, or one of OLD's more often.`,
		Example: "  tcdbg diff before.log after.log",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return failf(ExitUsage, "diff needs two traces or runs: tcdbg diff OLD NEW")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return s.diff(args[0], args[1], f) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "as JSON, as --format json")
	c.Flags().StringVar(&f.format, "format", "text", "text, json or markdown (md)")
	c.Flags().BoolVar(&f.code, "exit-code", false, fmt.Sprintf("exit with %d when something got worse", ExitFound))
	return c
}

// diffFlags are the flags of diff.
type diffFlags struct {
	format     string
	json, code bool
}

// diff compares two traces.
func (s *session) diff(before, after string, f diffFlags) error {
	if f.json {
		f.format = "json"
	}
	write := map[string]func(io.Writer, *gate.Difference) error{"text": render.WriteDiffText, "json": render.WriteDiffJSON}
	write["markdown"] = func(w io.Writer, d *gate.Difference) error {
		return render.WriteDiffMarkdown(w, d, origin("tcdbg diff "+quoteArgs([]string{before, after})))
	}
	write["md"] = write["markdown"]
	if write[f.format] == nil {
		return failf(ExitUsage, "unknown format %q; there are text, json and markdown", f.format)
	}
	a, closeA, err := s.foldTrace([]string{before})
	if err != nil {
		return err
	}
	defer closeA()
	b, closeB, err := s.foldTrace([]string{after})
	if err != nil {
		return err
	}
	defer closeB()
	s.remark("OLD: ", gate.CheckRemarks(a, gate.NoLimits, true))
	s.remark("NEW: ", gate.CheckRemarks(b, gate.NoLimits, true))
	d := gate.Diff(a, b)
	if f.code && d.Worse() {
		s.code = ExitFound
	}
	return write[f.format](s.Stdout, d)
}

// checkFlags are the flags of check.
type checkFlags struct {
	limits          gate.Limits
	baseline, write string
	annotate        string
	format, out     string
	numerics        bool
	try             tryFlags // of --numerics
	repro           string
}

func (s *session) checkCommand() *cobra.Command {
	f := checkFlags{limits: gate.NoLimits}
	c := &cobra.Command{
		Use:   "check [flags] PATH|RUN|model.go [-- program arguments]|-- command",
		Short: "Check a trace or a program against limits or a committed baseline",
		Long: `Reads a trace, or runs a Go program or (after --) any command, and exits with 1
when a limit is exceeded or something is found that the baseline does not list.
Flags may also follow the path; what follows -- belongs to the program.

{torch} in the name of a baseline stands for PyTorch's release (2.15): each release has
breaks of its own. Paths are relative to $GITHUB_WORKSPACE, or to the working folder.

With --numerics it runs the program and holds each compiled graph beside eager execution:
it exits with 1 where results differ by more than their dtype allows, and says in which
stage and at which operator they first do (docs/numerics.md).`,
		Example: `  tcdbg check --max-breaks 0 model.go
  tcdbg check --baseline tcdbg.json --annotate github -- python train.py
  tcdbg check --write-baseline 'tcdbg-{torch}.json' last
  tcdbg check --max-breaks 0 --format sarif -o tcdbg.sarif last
  tcdbg check --numerics --steps 20 -- python train.py`,
		Args: atLeast(1, "a trace, a model.go, or -- and a command"),
		RunE: func(c *cobra.Command, args []string) error {
			if f.numerics {
				return checkNumerics(s, c, f, args)
			}
			return s.check(f, args, c.ArgsLenAtDash() == 0)
		},
	}
	f.numericsFlags(c)
	c.Flags().IntVar(&f.limits.MaxBreaks, "max-breaks", -1, "graph breaks allowed, each counted once per compile")
	c.Flags().IntVar(&f.limits.MaxRecompiles, "max-recompiles", -1, "recompiles allowed")
	c.Flags().IntVar(&f.limits.MaxFailures, "max-failures", -1, "failed compiles allowed")
	c.Flags().DurationVar(&f.limits.MaxCompileTime, "max-compile-time", -1, "total compile time allowed, such as 30s")
	for _, name := range []string{"max-breaks", "max-recompiles", "max-failures", "max-compile-time"} {
		limit := c.Flags().Lookup(name)
		limit.DefValue, limit.Usage = "0", limit.Usage+" (default: no limit)"
	}
	c.Flags().StringVar(&f.baseline, "baseline", "", "`FILE` of known breaks, recompiles and failures, committed with the project")
	c.Flags().StringVar(&f.write, "write-baseline", "", "write the current breaks, recompiles and failures to `FILE`")
	c.Flags().StringVar(&f.annotate, "annotate", "", "github: print GitHub annotations, as --format github")
	c.Flags().StringVar(&f.format, "format", "text", "text, github, sarif, junit or vscode (lines for a problem matcher)")
	c.Flags().StringVarP(&f.out, "out", "o", "", "write the format to `FILE`, and text to standard output")
	return c
}
