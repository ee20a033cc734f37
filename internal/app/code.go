package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tcdbg/backends"
	"tcdbg/explain"
	"tcdbg/graph"
	"tcdbg/internal/app/graphout"
	"tcdbg/internal/app/lowering"
	"tcdbg/internal/app/repro"
)

// This file is `tcdbg code`: the generated code of every graph of a trace, as
// files to read, to compare and to run; `tcdbg lower`, which generates code for one; and
// `tcdbg repro`: a graph as a program.

func (s *session) codeCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "code [flags] PATH|RUN|last ...",
		Short: "Write the generated code of every graph",
		Long: `Writes the output code of every graph of a trace or a saved run. Graphs of Go
programs come twice: as the C that ran, and as a Python module with the same
kernels in Triton, which PyTorch runs on a GPU (python FILE.py times it; call
its call(args) with tensors of your own).`,
		Example: "  tcdbg code last\n  tcdbg code -o generated /tmp/trace_dir",
		Args:    atLeast(1, "a trace, or last"),
		RunE: func(_ *cobra.Command, args []string) error {
			r, done, err := s.foldTrace(args)
			if err != nil {
				return err
			}
			defer done()
			return s.writeCode(r, out)
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "write files into a folder instead of all to standard output")
	return c
}

// reproFlags are the flags of repro.
type reproFlags struct {
	out     string
	seed    int64
	minify  bool
	check   string
	maxTime time.Duration
	// Of PyTorch's traces.
	asGo     bool
	backend  string
	python   string
	maxTries int
}

func reproCommand(s *session) *cobra.Command {
	var f reproFlags
	c := &cobra.Command{
		Use:   "repro [flags] PATH|RUN|last GRAPH",
		Short: "Write a program that compiles one graph alone",
		Long: `Writes a program that compiles one captured graph of a saved run or a trace
alone, runs it compiled and eagerly, prints where the results differ and then
exits with 1. GRAPH is its id, as the screens show it: 0/0.

Of a Go program it is model.go, which tcdbg run and (after tcdbg init) go run
run. Inputs have the recorded shapes, strides, dtypes and devices, require
gradients where they did, and have random values, whole numbers in the recorded
range.
Of PyTorch it is repro.py: the program that PyTorch put into the trace, and
repro_2.py of the backward graph; where there is none, a program of the graph's
own text. --go writes the graph as a Go program instead. They run what the trace
has: read what others send you first.

--minify writes the smallest part of a graph that still shows its fault: it cuts
off the end, takes operators out, whose values become inputs, and drops outputs.
Each part is compiled and held beside eager execution in a process of its own: a
graph of PyTorch's by PyTorch (--python, else TCDBG_PYTHON, else python3).
Faults are

  accuracy   results differ (docs/numerics.md has the rule)
  compile    the graph cannot be compiled
  crash      the compiled graph panics, or the process dies

--check names one; without it any of them is looked for.`,
		Example: "  tcdbg repro last 0/0\n  tcdbg repro -o broken /tmp/trace_dir 3/1\n  tcdbg repro --minify --check accuracy last 0/0",
		Args:    cobra.MatchAll(atLeast(1, "a trace, or last"), cobra.MaximumNArgs(2)),
		RunE: func(c *cobra.Command, args []string) error {
			for _, name := range []string{"check", "max-time", "max-tries", "python"} {
				if c.Flags().Changed(name) && !f.minify {
					return failf(ExitUsage, "--%s goes with --minify", name)
				}
			}
			r, done, err := s.foldTrace(args[:1])
			if err != nil {
				return err
			}
			defer done()
			return writeRepro(s, r, f, append(args, "")[1])
		},
	}
	c.Flags().StringVarP(&f.out, "out", "o", "", "put it into `DIR`, a new folder (default repro_ID)")
	c.Flags().Int64Var(&f.seed, "seed", 0, "the seed of the random inputs")
	c.Flags().BoolVar(&f.minify, "minify", false, "write the smallest part that shows a fault")
	c.Flags().StringVar(&f.check, "check", "", "--minify: the `FAULT` that is looked for: accuracy, compile or crash")
	c.Flags().DurationVar(&f.maxTime, "max-time", defaultMaxTime, "--minify: how long it may take; what is smallest until then is written")
	c.Flags().BoolVar(&f.asGo, "go", false, "of PyTorch's trace: a Go program for tcdbg's compiler")
	c.Flags().StringVar(&f.backend, "backend", repro.DefaultBackend, "of PyTorch's trace: the `NAME` of a backend, or MODULE:FUNCTION")
	c.Flags().StringVar(&f.python, "python", "", "--minify of PyTorch's trace: the Python that has PyTorch")
	c.Flags().IntVar(&f.maxTries, "max-tries", repro.DefaultTries, "--minify of PyTorch's trace: how many parts are tried")
	return c
}

// options are what the package repro is asked for.
func (f *reproFlags) options(dir string) repro.Options {
	return repro.Options{
		Dir: dir, Seed: f.seed, Check: f.check, MaxTime: f.maxTime, MaxTries: f.maxTries, Backend: f.backend, Python: pythonOf(f.python),
	}
}

// pythonOf is the Python that is asked for, else the environment's.
func pythonOf(name string) string {
	if name == "" {
		name = os.Getenv("TCDBG_PYTHON")
	}
	if name == "" {
		name = "python3"
	}
	return name
}

// writeRepro writes the reproducer of one graph.
func writeRepro(s *session, r *explain.Report, f reproFlags, id string) error {
	c, err := repro.Find(r, id)
	if err != nil {
		return failf(ExitData, "%v", err)
	}
	dir := f.out
	if dir == "" {
		dir = repro.Folder(c)
	}
	var paths []string
	if f.minify {
		paths, err = minifyRepro(s, r, c, f, dir)
	} else {
		paths, err = repro.Write(dir, r, c, f.options(dir), f.asGo)
	}
	var pe *fs.PathError
	switch {
	case errors.As(err, &pe):
		return fileError("cannot write", dir, err, "name a folder that does not exist yet with -o")
	case err != nil:
		return failf(ExitData, "%s", shown(err.Error()))
	}
	for _, path := range paths {
		if _, err := fmt.Fprintln(s.Stdout, shown(path)); err != nil {
			return err
		}
	}
	return nil
}

// minifyRepro writes the smallest part of a graph that shows its fault.
func minifyRepro(s *session, r *explain.Report, c *explain.Compile, f reproFlags, dir string) ([]string, error) {
	switch {
	case f.asGo:
		return nil, errors.New("--minify writes a program of PyTorch's of a PyTorch trace: leave --go out")
	case f.check != "" && !slices.Contains(repro.Kinds(), f.check):
		return nil, fmt.Errorf("--check: there is no %q; there are %s", f.check, strings.Join(repro.Kinds(), ", "))
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	o := f.options(dir)
	say := func(line string) { fmt.Fprintln(s.Stderr, "tcdbg: "+shown(line)) }
	path, minified := repro.Path(dir), func() (*repro.Minified, string, error) {
		return repro.Minify(ctx, repro.Command{Self: self, Part: partCommand, NewPage: newFaultPage, Fault: kernelFaultIn}, c, o, say)
	}
	if !r.OfGo() {
		path, minified = repro.TorchPath(dir), func() (*repro.Minified, string, error) { return repro.MinifyTorch(ctx, r, c, o, say) }
	}
	m, note, err := minified()
	if err != nil {
		return nil, err
	}
	say(m.String())
	if note != "" {
		say(note)
	}
	return []string{path}, nil
}

// kernelFaultIn is what a kernel has written into its page, "" for nothing.
func kernelFaultIn(path string) string {
	if f := readFault(path); f != nil {
		return repro.KernelFault(signalName(f.Signal), f.Kernel)
	}
	return ""
}

// partMain is the process in which parts of a graph are tried.
func partMain(p Process) int {
	bc := backends.Config{FaultPage: p.Args[1], Stderr: io.Discard, Faults: p.Faults}
	if self, err := os.Executable(); err == nil {
		bc.Guard = []string{self, guardCommand}
	}
	if err := repro.Serve(p.Stdin, p.Stdout, backends.NewSet(bc)); err != nil {
		fmt.Fprintf(p.Stderr, "tcdbg: %v\n", err)
		return ExitEngine
	}
	return 0
}

// graphCommand is `tcdbg graph`.
func graphCommand(s *session) *cobra.Command {
	var o graphout.Options
	var out string
	c := &cobra.Command{
		Use:   "graph [flags] PATH|RUN|last [GRAPH]",
		Short: "Write a graph by modules: as text, DOT, SVG or JSON",
		Long: `Writes one captured graph of a saved run or a trace, its operators by the modules
of the model, with the bytes and floating-point operations of each and, where kernels were
timed, their time. GRAPH is its id, as the screens show it: 0/0; where there is
one graph it may be left out. In DOT, SVG and text a module below --depth is one
node; JSON has every node.`,
		Example: "  tcdbg graph last 0/0\n  tcdbg graph --format dot trace.log | dot -Tpng > graph.png",
		Args:    cobra.MatchAll(atLeast(1, "a trace, or last"), cobra.MaximumNArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			r, done, err := s.foldTrace(args[:1])
			if err != nil {
				return err
			}
			defer done()
			id := append(args, "")[1]
			if id == "" && len(r.Graphs) == 1 {
				id = r.Graphs[0].ID.CompileID.String()
			}
			c, err := repro.Find(r, id)
			if err != nil {
				return failf(ExitData, "%v", err)
			}
			text, err := graphout.Text(r, c, o)
			if err != nil {
				return failf(ExitUsage, "%v", err)
			}
			if out == "" {
				_, err = io.WriteString(s.Stdout, text)
				return err
			}
			return writeText(out, text)
		},
	}
	c.Flags().StringVar(&o.Format, "format", "txt", "one of txt, dot, svg, json")
	c.Flags().StringVar(&o.Stage, "stage", "", "a later `STAGE`: joint, forward, backward, post-grad, ...")
	c.Flags().IntVar(&o.Depth, "depth", 2, "how many levels of modules are open; -1: all")
	c.Flags().StringVarP(&out, "out", "o", "", "write to a `FILE`")
	return c
}

// codeFile is one file of generated code.
type codeFile struct {
	name    string
	missing string // why it cannot be run
	load    func() string
}

// codeFiles lists the code of r; names are built of numbers and words of ours, not
// of what the trace says.
func codeFiles(r *explain.Report) []codeFile {
	var out []codeFile
	used := map[string]int{}
	add := func(c *explain.Compile, o *explain.OutputCode, ext, missing string, load func() string) {
		name := graph.Word(c.ID.CompileID.String())
		if len(r.Ranks) > 1 {
			name = fmt.Sprintf("rank%d_%s", c.ID.Rank, name)
		}
		if o.Role != "" {
			name += "_" + graph.Word(o.Role)
		}
		key := name + ext
		used[key]++
		if n := used[key]; n > 1 {
			name = fmt.Sprintf("%s_%d", name, n)
		}
		out = append(out, codeFile{name + ext, missing, load})
	}
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			for _, o := range c.Outputs {
				add(c, o, codeExtension(o.Path), "", o.Load)
				for _, t := range o.Others {
					add(c, o, codeExtension(t.Ext), t.Missing, t.Load)
				}
			}
		}
	}
	return out
}

// codeExtension tells the language by the name that the trace gives the code.
func codeExtension(name string) string {
	switch ext := path.Ext(name); ext {
	case ".c", ".cpp", ".cu", ".h":
		return ext
	}
	return ".py"
}

// writeCode writes the files into a folder, or all of them to standard output.
func (s *session) writeCode(r *explain.Report, folder string) error {
	files := codeFiles(r)
	if len(files) == 0 {
		return failf(ExitData, "the trace has no generated code; backend inductor writes it, eager and aot_eager do not")
	}
	if folder != "" {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fileError("cannot write", folder, err, "")
		}
	}
	for _, f := range files {
		if err := s.writeCodeFile(f, folder); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) writeCodeFile(f codeFile, folder string) error {
	text := f.load()
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if folder == "" {
		_, err := fmt.Fprintf(s.Stdout, "==> %s <==\n", f.name)
		for line := range strings.Lines(text) {
			if err == nil { // a terminal shows it: no escapes
				_, err = fmt.Fprintln(s.Stdout, shown(strings.TrimSuffix(line, "\n")))
			}
		}
		return err
	}
	to := filepath.Join(folder, f.name)
	if err := writeText(to, text); err != nil {
		return err
	}
	note := ""
	if f.missing != "" {
		note = "  (kernels only: " + shown(f.missing) + ")"
	}
	_, err := io.WriteString(s.Stdout, to+note+"\n")
	return err
}

// lower is `tcdbg lower`.
func (s *session) lower(c *cobra.Command, f *lowering.Flags, args []string) error {
	if err := f.Check(); err != nil {
		return failf(ExitUsage, "%v", err)
	}
	paths, name := lowering.CutGraph(args)
	r, done, err := s.foldTrace(paths)
	if err != nil {
		return err
	}
	defer done()
	if f.All {
		return lowering.All(c.Context(), s.Stdout, r, Version, shown)
	}
	form, err := lowering.Find(r, name, f.Stage)
	if err != nil {
		return failf(ExitUsage, "%v", err)
	}
	v, err := lowering.Show(c.Context(), r, form, Version)
	if err != nil {
		return failf(ExitData, "%v", err)
	}
	defer v.Close()
	if f.Out != "" {
		return writeText(f.Out, string(v.Answer.Trace))
	}
	return lowering.Print(s.Stdout, v, f.Emit, shown)
}
