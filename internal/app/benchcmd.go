package app

import (
	"context"
	"encoding/json"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"tcdbg/explain/bench"
	"tcdbg/explain/remedy"

	"github.com/spf13/cobra"
)

// This file is `tcdbg bench`: a program runs once for each way to run its compiled functions.

// way is one of them.
type way struct {
	name     string
	switches []string
	off      bool // nothing is compiled
}

// allWays are what --ways knows; the first is what others are held against.
var allWays = []way{
	{name: "eager", off: true},
	{name: "aot_eager", switches: []string{"backend=aot_eager"}},
	{name: "inductor", switches: []string{"backend=inductor", "mode=default"}},
	{name: "reduce-overhead", switches: []string{"backend=inductor", "mode=reduce-overhead"}},
	{name: "max-autotune", switches: []string{"backend=inductor", "mode=max-autotune"}},
}

// goDefaults and pythonDefaults are the ways where none is named: tuning takes a while, of Python programs minutes.
var (
	goDefaults     = []string{"eager", "aot_eager", "inductor", "reduce-overhead"}
	pythonDefaults = []string{"eager", "inductor", "reduce-overhead"}
)

// benchFlags are the flags of bench.
type benchFlags struct {
	tryFlags
	ways []string
}

func benchCommand(s *session) *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "bench [flags] model.go [program arguments] | -- command",
		Short: "Run a program under each backend and mode, and show how long its compiled functions take",
		Long: `Runs a Go program or (after --) a Python program once for each way to run what it compiles:
eagerly, by each backend, in each mode, whatever the program asks for. Of each compiled
function it shows the first call, the warm-up (all calls that compiled something), median
and 95th percentile of the other calls, and the most memory that the process held. Times are
those of whole calls, with finding the cache entry; other work on the machine makes them longer.

Each run is a whole run of the program, with what it does to files and to the network;
--steps ends it after so many calls. A program should call what it compiles often enough
for a median: five times at least without compiling.

Ways: ` + strings.Join(namesOf(allWays), ", ") + `. Where none is named, of a Go program
` + strings.Join(goDefaults, ", ") + `, of a Python program ` + strings.Join(pythonDefaults, ", ") + `.`,
		Example: "  tcdbg bench model.go\n  tcdbg bench --ways eager,inductor,max-autotune --steps 50 -- python infer.py",
		Args:    atLeast(1, "a model.go, or -- and a command"),
		RunE: func(c *cobra.Command, args []string) error {
			return benchProgram(s, f, args, c.ArgsLenAtDash() == 0)
		},
	}
	c.Flags().SetInterspersed(false)
	c.Flags().StringSliceVar(&f.ways, "ways", nil, "the ways to run it, by `NAME`; the first is what others are held against")
	c.Flags().DurationVar(&f.maxTime, "max-time", defaultMaxTime, "how long one run may take")
	c.Flags().IntVar(&f.steps, "steps", 0, "end each run after so many outermost calls of compiled functions; 0 lets it run to its end")
	c.Flags().BoolVar(&f.json, "json", false, "the table as JSON")
	return c
}

func namesOf(ways []way) (out []string) {
	for _, w := range ways {
		out = append(out, w.name)
	}
	return out
}

// waysNamed are the ways that the flags ask for.
func waysNamed(f benchFlags, command bool) ([]way, error) {
	all, wanted := allWays, f.ways
	if len(wanted) == 0 {
		wanted = map[bool][]string{true: pythonDefaults, false: goDefaults}[command]
	}
	var out []way
	for _, name := range wanted {
		i := slices.IndexFunc(all, func(w way) bool { return w.name == name })
		if i < 0 {
			return nil, failf(ExitUsage, "--ways: there is no %q; there are %s", shown(name), strings.Join(namesOf(all), ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}

// bench runs the program in each way and prints what its calls took.
func benchProgram(s *session, f benchFlags, args []string, command bool) error {
	ways, err := waysNamed(f, command)
	if err != nil {
		return err
	}
	p, r, err := trialProgramOf(f.tryFlags, args, command)
	if err != nil {
		return err
	}
	defer p.out()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	var runs []bench.Run
	for _, w := range ways {
		fmt.Fprintf(s.Stderr, "tcdbg: running %s: %s\n", shown(r.Info.title()), w.name)
		run, err := p.bench(ctx, w, command)
		if ctx.Err() != nil {
			s.code = exitSignal + int(syscall.SIGINT)
			break
		}
		if err != nil {
			return err
		}
		runs = append(runs, run)
	}
	t := bench.Of(r.Info.title(), runs)
	if err := r.finish(ending{State: Exited}); err != nil {
		return err
	}
	if s.code == 0 && !slices.ContainsFunc(runs, func(r bench.Run) bool { return r.Why == "" }) {
		s.code = ExitData
	}
	return printBench(s, f, t)
}

// bench runs the program once.
func (p *trialProgram) bench(ctx context.Context, w way, command bool) (bench.Run, error) {
	out := bench.Run{Way: w.name}
	var remedies []*remedy.Remedy
	for _, name := range w.switches {
		m, err := remedy.Asked(nil, name, !command)
		if err != nil {
			return out, failf(ExitUsage, "%v", err)
		}
		remedies = append(remedies, m)
	}
	p.compile = ""
	if w.off {
		p.compile = compileOff
	}
	o, err := p.run(ctx, remedies)
	if err != nil {
		return out, err
	}
	defer o.discard()
	out.Why = benchWhy(o)
	if o.measured != nil && o.measured.PeakRSS != nil {
		out.RSS = *o.measured.PeakRSS
	}
	for _, process := range o.results.Processes {
		for _, c := range process.Calls {
			out.Calls = append(out.Calls, bench.Call{Function: c.Function, Nanos: c.Nanos, Compiled: c.Compiled, Failed: c.Raised != ""})
		}
	}
	return out, nil
}

// benchWhy is why a run says nothing of times.
func benchWhy(o *outcome) string {
	switch {
	case o.state != remedy.Done:
		return o.reason
	case o.measured.Exit == nil:
		return "it did not end by itself"
	case *o.measured.Exit != 0 && !o.measured.Cut:
		why := fmt.Sprintf("ends with %d", *o.measured.Exit)
		if words := o.lastWords(); words != "" {
			why += " (" + words + ")"
		}
		return why
	}
	return ""
}

func printBench(s *session, f benchFlags, t *bench.Table) error {
	if f.json {
		text, err := json.MarshalIndent(t, "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(s.Stdout, string(text))
		return err
	}
	var b strings.Builder
	if err := t.WriteText(&b); err != nil {
		return err
	}
	_, err := fmt.Fprint(s.Stdout, shownLines(b.String()))
	return err
}
