package app

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"tcdbg/backends"
	"tcdbg/backends/numerics"
	"tcdbg/explain"
	"tcdbg/explain/remedy"
	"tcdbg/internal/app/results"
	"tcdbg/logs"
	"tcdbg/tracer"

	"github.com/spf13/cobra"
)

// This file is `tcdbg check --numerics`: the program runs with its compiled graphs held beside
// eager execution, and twice more, without a compiler and with its captured graphs run operator
// by operator, which compares the capture. Both use the same kernels, so what differs is what was
// captured. Where something does, both run again, which tells whether the program computes the same each
// time, and notes the operators by which the place is found.

// NumericsOptions make a run compare compiled graphs with eager execution.
type NumericsOptions struct {
	Repro string `json:"repro"` // folder for reproducers
}

// compileOff is TrialOptions.Compile where nothing is compiled.
const compileOff = "off"

// reproFolder is where reproducers are, in a run folder; captureLog is the record of what two
// further runs say, in its trace.
const (
	reproFolder = "repro"
	captureLog  = "trace/dedicated_log_torch_trace_tcdbg_numerics.log"
)

func (f *checkFlags) numericsFlags(c *cobra.Command) {
	c.Flags().BoolVar(&f.numerics, "numerics", false, "hold what is compiled beside eager execution")
	c.Flags().BoolVar(&f.try.json, "json", false, "--numerics: the result as JSON")
	c.Flags().DurationVar(&f.try.maxTime, "max-time", defaultMaxTime, "--numerics: how long one run may take")
	c.Flags().IntVar(&f.try.steps, "steps", 0, "--numerics: end each run after so many outermost compiled calls; 0 lets it run to its end")
	c.Flags().StringVar(&f.repro, "repro", "", "--numerics: put reproducers into `DIR`, a new folder (default: in the run's)")
}

// compare makes a trial's engine hold its graphs beside eager execution; the function that it
// returns writes the last records.
func (e *engineTrial) compare(c *tracer.Config, set *backends.Set) (end func()) {
	if e == nil || e.opts.Numerics == nil {
		return func() {}
	}
	n := numerics.New(numerics.Config{Set: set, Sink: c.Sink, Repro: e.opts.Numerics.Repro})
	c.Wrap = n.Wrap
	return n.Close
}

// numericsCheck is one check --numerics.
type numericsCheck struct {
	*session
	p *trialProgram
	r *Run
}

// otherLimits are the flags of check that --numerics does not go with.
var otherLimits = []string{
	"baseline", "write-baseline", "annotate", "format", "out", "max-breaks", "max-recompiles", "max-failures", "max-compile-time",
}

// checkNumerics is check --numerics.
func checkNumerics(s *session, c *cobra.Command, f checkFlags, args []string) error {
	for _, name := range otherLimits {
		if c.Flags().Changed(name) {
			return failf(ExitUsage, "--%s and --numerics are two checks: run them one after the other", name)
		}
	}
	command := c.ArgsLenAtDash() == 0
	if !command && !isGo(args[0]) {
		return failf(ExitUsage, "--numerics runs a program: a model.go, or -- and a command; %s is neither", shown(args[0]))
	}
	p, r, err := trialProgramOf(f.try, args, command)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	report, err := (&numericsCheck{s, p, r}).run(ctx, f.repro)
	if report == nil || err != nil {
		return err
	}
	if report.Numerics.Differs() {
		s.code = ExitFound
	}
	if f.try.json {
		text, err := json.MarshalIndent(report.Numerics, "", "  ")
		if err == nil {
			_, err = s.Stdout.Write(append(text, '\n'))
		}
		return err
	}
	if err := report.Numerics.WriteText(s.Stdout); err != nil {
		return err
	}
	fmt.Fprintf(s.Stderr, "tcdbg: run %s is saved; tcdbg replay last opens it\n", r.Info.ID)
	return nil
}

// run runs the program and returns its report with what was compared.
func (s *numericsCheck) run(ctx context.Context, repro string) (report *explain.Report, err error) {
	p, r := s.p, s.r
	o := &outcome{folder: r, kept: true}
	defer func() {
		o.discard()
		_ = os.RemoveAll(p.cache()) // ours, in the run's own folder
	}()
	if repro, err = reproIn(r, repro); err != nil {
		return nil, err
	}
	p.numerics = &NumericsOptions{Repro: repro}
	fmt.Fprintf(s.Stderr, "tcdbg: running %s beside eager execution\n", shown(r.Info.title()))
	if err = p.prepare(r, nil); err == nil {
		err = p.execute(ctx, r, o)
	}
	p.numerics = nil
	_ = os.Remove(repro) // where it is empty
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		s.code = exitSignal + int(syscall.SIGINT)
		return nil, nil
	}
	if report, err = p.report(r); err != nil {
		return nil, err
	}
	bad := ""
	if e := o.measured.Exit; e != nil && *e != 0 {
		bad = fmt.Sprintf("exited with code %d", *e)
	} else if report.Numerics != nil {
		bad = (&trials{prog: p}).unusable(o)
	}
	if bad != "" {
		return nil, s.notCompared(o, report, bad)
	}
	if report.Numerics == nil {
		return nil, failf(ExitData, "nothing was compared: %s", p.uncompared())
	}
	c := s.capture(ctx)
	if err := appendCapture(r, c); err != nil {
		return nil, err
	}
	return p.report(r)
}

// notCompared is the error of a program that does not end well; what was compared until then is
// told.
func (s *numericsCheck) notCompared(o *outcome, report *explain.Report, bad string) error {
	if report.Numerics != nil {
		if err := report.Numerics.WriteText(s.Stdout); err != nil {
			return err
		}
	}
	code := ExitData
	if o.measured.Exit != nil && *o.measured.Exit != 0 {
		code = *o.measured.Exit
	}
	words := o.lastWords()
	if o.state == remedy.TimedOut {
		words = ""
	}
	if words != "" {
		words = " (" + words + ")"
	}
	return failf(code, "the check fails: the program %s%s", bad, words)
}

func (p *trialProgram) uncompared() string {
	if p.inGo {
		return "the program compiles no graph"
	}
	return "the program compiles no graph where tcdbg sees it; its report may say why"
}

// reproIn makes the folder of reproducers.
func reproIn(r *Run, dir string) (string, error) {
	if dir == "" {
		dir = r.file(reproFolder)
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	if err != nil {
		return "", fileError("cannot make the folder of reproducers", dir, err, "name one that does not exist yet")
	}
	return dir, nil
}

// The runs, as they are told.
const (
	runPlain    = "without a compiler"
	runCaptured = "with its captured graphs run operator by operator"
)

// captureRuns are the runs of one comparison.
type captureRuns struct {
	*numericsCheck
	ctx  context.Context
	runs []*outcome // all, to be discarded
}

func uncaptured(why string) *logs.NumericsCapture {
	return &logs.NumericsCapture{Result: logs.NumericsNone, Why: why}
}

// run runs the program once; name is runPlain or runCaptured.
func (c *captureRuns) run(name, times string) (o *outcome, why string) {
	fmt.Fprintf(c.Stderr, "tcdbg: running it %s%s\n", name, times)
	var under []*remedy.Remedy
	if name == runCaptured {
		eager, err := remedy.Named(nil, "backend=eager")
		if err != nil {
			return nil, err.Error()
		}
		under = []*remedy.Remedy{eager}
	} else {
		c.p.compile = compileOff
		defer func() { c.p.compile = "" }()
	}
	o, err := c.p.run(c.ctx, under)
	if err != nil {
		return nil, err.Error()
	}
	c.runs = append(c.runs, o)
	o.results.Output, o.results.Long = "", false // it may tell what was compiled
	o.results.Errors, o.results.ErrorsCut = "", false
	if why := (&trials{prog: c.p}).unusable(o); why != "" {
		return nil, name + times + ", the program " + why
	}
	return o, ""
}

func (c *captureRuns) discard() {
	for _, o := range c.runs {
		o.discard()
	}
}

// both runs the program in both ways.
func (c *captureRuns) both(times string) (plain, captured *outcome, why string) {
	if plain, why = c.run(runPlain, times); why == "" {
		captured, why = c.run(runCaptured, times)
	}
	return plain, captured, why
}

// capture compares the capture.
func (s *numericsCheck) capture(ctx context.Context) *logs.NumericsCapture {
	c := &captureRuns{numericsCheck: s, ctx: ctx}
	defer c.discard()
	plain, captured, why := c.both("")
	if why != "" {
		return uncaptured(why)
	}
	if plain.results.Threads() || captured.results.Threads() {
		return uncaptured("compiled functions are called by several threads, whose calls have no order")
	}
	failed := results.DropFailed(plain.results, captured.results)
	all, err := results.Compare(plain.results, captured.results, false)
	if err != nil {
		return uncaptured(err.Error())
	}
	cmp, err := results.Compare(plain.results.OnlyReturned(), captured.results.OnlyReturned(), false)
	if err != nil {
		return uncaptured(err.Error())
	}
	out := &logs.NumericsCapture{Result: logs.NumericsEqual, Calls: cmp.Calls}
	for _, l := range cmp.Limits {
		if l != remedy.NoOutput {
			out.Limits = append(out.Limits, l)
		}
	}
	if failed > 0 {
		out.Limits = append(out.Limits, fmt.Sprintf("%d calls that fail in one of the runs alone", failed))
	}
	first := strings.ReplaceAll(cmp.First, "without the remedy", runPlain)
	switch {
	case !cmp.Equal && all.Grown:
		return uncaptured(first + ". Before that, results differ by no more than rounding, which a program that trains makes larger")
	case !cmp.Equal:
		if why := c.locate(plain, captured, out); why != "" {
			return uncaptured(why)
		}
		out.Result, out.First = logs.NumericsDiffers, first
	case cmp.Calls == 0:
		return uncaptured("no result of a compiled function is used")
	}
	return out
}

// locate repeats two runs that differ and looks for the operator where they part. why says that nothing can
// be said of the program.
func (c *captureRuns) locate(plain, captured *outcome, out *logs.NumericsCapture) (why string) {
	at, ok, err := results.DiffersAt(plain.results.OnlyReturned(), captured.results.OnlyReturned())
	if err != nil {
		return err.Error()
	}
	if ok {
		c.p.operators = &results.Noting{From: max(1, at.Call-results.NotedBefore), To: at.Call}
		again, capturedAgain, _ := c.both(" again, noting its operators")
		c.p.operators = nil
		if again != nil && capturedAgain != nil && steady(plain, again) && steady(captured, capturedAgain) {
			if out.Fault, err = results.FindCapture(again.results, capturedAgain.results, at); err != nil {
				out.Fault = &logs.CaptureFault{Call: at.Call, Why: "the operators of the call were not noted: " + err.Error()}
			}
			return ""
		}
		out.Fault = &logs.CaptureFault{Call: at.Call, Why: "the program computes other numbers when its operators are noted"}
	}
	again, capturedAgain, why := c.both(" again")
	if why != "" {
		return why
	}
	if !steady(plain, again) || !steady(captured, capturedAgain) {
		return "the program computes other numbers in each run"
	}
	return ""
}

// steady reports whether two runs of a program gave the same.
func steady(a, b *outcome) bool {
	x, err := results.Read(a.folder.file("results")) // as it was before calls were dropped
	if err != nil {
		return false
	}
	c, err := results.Compare(x.OnlyReturned(), b.results.OnlyReturned(), false)
	return err == nil && c.Equal
}

// appendCapture writes the record of a capture into the trace of a run.
func appendCapture(r *Run, c *logs.NumericsCapture) error {
	w, err := logs.Create(r.file(captureLog), logs.WriterOptions{})
	if err != nil {
		return fileError("cannot write", r.file(captureLog), err, "")
	}
	w.Emit(logs.Artifact(logs.NoCompile, *c))
	return w.Close()
}
