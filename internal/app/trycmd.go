package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/explain/remedy"
	"tcdbg/explain/rewrite"
	"tcdbg/logs"

	"github.com/spf13/cobra"
)

// This file is `tcdbg try`: it runs a program, and again under each remedy.

// tryFlags are the flags of try and fix.
type tryFlags struct {
	all     bool
	only    []string
	maxTime time.Duration
	steps   int
	json    bool
	write   bool
}

// defaultMaxTime is how long one run of a trial may take.
const defaultMaxTime = 10 * time.Minute

func (s *session) tryCommand() *cobra.Command {
	var f tryFlags
	c := &cobra.Command{
		Use:   "try [flags] model.go [program arguments] | -- command",
		Short: "Run a program again under each remedy of what was found, and show which are proven",
		Long: `Runs a Go program or (after --) a Python program, lists what can be tried against its graph
breaks and recompiles (the source patch that the screens offer, or a switch of the compiler),
and runs it again under each: your files stay as they are. Without --all it tries the first
remedy; with --all each alone, and then those that are proven together.

A remedy is proven when the program gives the same results and exit code, and has fewer
breaks, recompiles or graphs or measurably faster calls, and no count is worse. The ledger
is kept with the run: tcdbg fix last prints what it proves as a diff.

Each run is a whole run of the program, with what it does to files and to the network;
--steps ends it after so many calls of compiled functions. It exits with 1 when nothing that
was tried is proven.

Switches for --only: ` + strings.Join(remedy.SwitchNames(), ", "),
		Example: "  tcdbg try --all model.go\n  tcdbg try --only dynamic=true --steps 20 -- python train.py",
		Args:    atLeast(1, "a model.go, or -- and a command"),
		RunE: func(c *cobra.Command, args []string) error {
			t, err := s.tried(f, args, c.ArgsLenAtDash() == 0)
			if t == nil {
				return err
			}
			l, _ := t.Ledger()
			return errors.Join(err, s.printLedger(f, l))
		},
	}
	f.flags(c)
	c.Flags().BoolVar(&f.all, "all", false, "try every remedy alone, and what is proven together")
	c.Flags().BoolVar(&f.json, "json", false, "the ledger as JSON")
	return c
}

func (f *tryFlags) flags(c *cobra.Command) {
	c.Flags().SetInterspersed(false)
	c.Flags().StringSliceVar(&f.only, "only", nil, "try these remedies or switches, by `ID`")
	c.Flags().DurationVar(&f.maxTime, "max-time", defaultMaxTime, "how long one run may take")
	c.Flags().IntVar(&f.steps, "steps", 0, "end each run after so many outermost calls of compiled functions; 0 lets it run to its end")
}

// trialProgramOf is what a command line asks to try, and the run folder of its baseline.
func trialProgramOf(f tryFlags, args []string, command bool) (*trialProgram, *Run, error) {
	if f.steps < 0 || f.maxTime <= 0 {
		return nil, nil, failf(ExitUsage, "--steps and --max-time take what is more than 0")
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil, failf(ExitEngine, "the working folder is gone: %v", err)
	}
	p := &trialProgram{dir: dir, steps: f.steps, limit: f.maxTime}
	var r *Run
	if command {
		p.argv = args
		r, err = newRun("exec", args[:1], args[1:], Options{})
	} else {
		p.inGo = true
		if p.files, p.args, err = splitProgram(args); err != nil {
			return nil, nil, err
		}
		r, err = newRun("run", p.files, p.args, Options{})
	}
	if err != nil {
		return nil, nil, err
	}
	p.in(r.Path)
	files := &feed{root: dir}
	p.read, p.path = files.Source, files.Path
	return p, r, nil
}

// tried runs the program and the trials that the flags ask for.
func (s *session) tried(f tryFlags, args []string, command bool) (*trials, error) {
	for _, id := range f.only { // patches are known after the program has run, switches before
		if _, err := remedy.Asked(nil, id, !command); err != nil && !strings.HasPrefix(id, remedy.PatchID) {
			return nil, failf(ExitUsage, "--only: %v", err)
		}
	}
	p, r, err := trialProgramOf(f, args, command)
	if err != nil {
		return nil, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	fmt.Fprintf(s.Stderr, "tcdbg: running %s as it is\n", shown(r.Info.title()))
	t, err := p.begin(ctx, r)
	if ctx.Err() != nil && err != nil {
		s.code = exitSignal + int(syscall.SIGINT)
		fmt.Fprintln(s.Stderr, "tcdbg: nothing was tried: it was interrupted")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer t.close()
	l, _ := t.Ledger()
	list, err := chosen(f, l)
	if err != nil {
		return nil, err
	}
	shows := s.showProgress(t)
	err = t.try(ctx, list, f.all || f.write)
	shows()
	switch l, _ = t.Ledger(); {
	case err != nil:
	case ctx.Err() != nil:
		s.code = exitSignal + int(syscall.SIGINT)
	case len(l.Trials) > 0 && len(l.Proven()) == 0:
		s.code = ExitFound
	}
	return t, err
}

// begin runs the program as it is in its run folder: that is the run, whose report says
// what to try, and the baseline.
func (p *trialProgram) begin(ctx context.Context, r *Run) (t *trials, err error) {
	o := &outcome{folder: r, kept: true}
	defer func() {
		if err != nil {
			o.discard()
			_ = os.RemoveAll(p.cache()) // ours, in the run's own folder
		}
	}()
	err = p.prepare(r, nil)
	if err == nil {
		err = p.execute(ctx, r, o)
	}
	if err != nil {
		return nil, errors.Join(err, r.finish(ending{State: Crashed, Code: ExitEngine, Crash: err.Error()}))
	}
	if bad := (&trials{prog: p}).unusable(o); bad != "" {
		words := o.lastWords()
		if words != "" && o.state != remedy.TimedOut && (o.measured.Exit == nil || *o.measured.Exit != 0) {
			bad += " (" + words + ")"
		}
		return nil, failf(ExitData, "nothing can be tried: the program as it is %s", bad)
	}
	report, err := p.report(r)
	if err != nil {
		return nil, err
	}
	t = newTrials(p, r.file(ledgerFile), report, nil)
	t.base = o
	t.ledger.Baseline = &remedy.Trial{Text: "as it is", State: o.state, Reason: o.reason, Took: o.took.Seconds(), Measured: o.measured}
	return t, nil
}

// report is the report of a run with its rewrites.
func (p *trialProgram) report(r *Run) (*explain.Report, error) {
	st, err := logs.Open([]string{r.file(traceFile)}, logs.Options{Empty: true})
	if err != nil {
		return nil, failf(ExitData, "%v", err)
	}
	defer st.Close()
	fd := fold.New(st)
	fd.SetTitle(r.Info.title())
	fd.SetSource(p.read)
	if err := st.Read(context.Background(), fd.Add); err != nil {
		return nil, failf(ExitData, "%v", err)
	}
	report := fd.Snapshot()
	rewrite.AddRewrites(report, p.read)
	return report, nil
}

// chosen are the remedies that the flags ask for.
func chosen(f tryFlags, l *remedy.Ledger) ([]*remedy.Remedy, error) {
	var out []*remedy.Remedy
	for _, id := range f.only {
		m, err := remedy.Asked(l.Remedies, id, l.Go)
		if err != nil {
			return nil, failf(ExitUsage, "--only: %v", err)
		}
		out = append(out, m)
	}
	switch {
	case len(out) > 0:
		return out, nil
	case f.all || f.write || len(l.Remedies) == 0:
		return l.Remedies, nil
	}
	return l.Remedies[:1], nil
}

// showProgress says on standard error what runs, until it is called.
func (s *session) showProgress(t *trials) (end func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		last := ""
		for {
			l, _ := t.Ledger()
			if p := l.Running; p != nil && p.What != last && p.What != "" {
				last = p.What
				fmt.Fprintf(s.Stderr, "tcdbg: trying %s\n", shown(last))
			}
			select {
			case <-stop:
				return
			case <-time.After(pollEvery):
			}
		}
	}()
	return func() { close(stop); <-ended }
}

func (s *session) printLedger(f tryFlags, l *remedy.Ledger) error {
	if !f.json {
		var b strings.Builder
		if err := l.WriteText(&b); err != nil {
			return err
		}
		_, err := fmt.Fprint(s.Stdout, shownLines(b.String()))
		return err
	}
	text, err := l.Write()
	if err == nil {
		_, err = s.Stdout.Write(text)
	}
	return err
}
