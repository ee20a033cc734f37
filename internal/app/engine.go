package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"tcdbg/backends"
	"tcdbg/inductor"
	"tcdbg/internal/app/exported"
	"tcdbg/internal/app/past"
	"tcdbg/logs"
	"tcdbg/logs/ctl"
	"tcdbg/torch"
	"tcdbg/torch/compiler/artifacts"
	"tcdbg/tracer"
	"tcdbg/tracer/eval"
	"tcdbg/tracer/host"
	"tcdbg/tracer/host/journal"
	"tcdbg/tracer/stop"
)

// This file is the engine process: it loads the program, runs it, and writes
// the trace. It ends with its viewer, unless that said to run on: end of file on
// the control channel means that nobody is left to look.

// EngineConfig is everything that the engine knows of its run.
type EngineConfig struct {
	Paths     []string // source files of package main, or its folder
	Args      []string // of the program
	Trace     string   // file to write; "": none
	Folder    string   // of the run; "": none
	FaultPage string   // file that the C runtime maps; "": none
	Options   Options
	Screens   bool  // the viewer shows the trace: there is no running without
	Source    fs.FS // torch's source packages
	// Control is the channel from the viewer; nil without one.
	Control io.Reader
	Again   *task // the program is run again; nil: it is not
	Faults  *inductor.Faults

	Stdin, Stdout, Stderr *os.File
}

// task is what the viewer tells the engine first. It comes by the control channel and not
// from the run folder: that may be on a disk which fails.
type task struct {
	Program, Args []string
	Options       Options
	Screens       bool
	// Again, where set, says that the program is run again, and Scratch is a folder for
	// what it writes.
	Again   *stop.Again `json:",omitempty"`
	Scratch string      `json:",omitempty"`
}

// unrecorded takes the place of the run folder in the engine's command line.
const unrecorded = "-"

// engineMain is `tcdbg engine RUNFOLDER`.
func engineMain(p Process, dir string) (code int) {
	tracer.StartPaced()
	control := os.NewFile(controlFD, "control")
	first := json.NewDecoder(control)
	var t task
	if err := first.Decode(&t); err != nil {
		if errors.Is(err, io.EOF) {
			return exitHangup
		}
		fmt.Fprintf(p.Stderr, "tcdbg: engine: %v\n", err)
		return ExitEngine
	}
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(p.Stderr, "tcdbg: internal error: %v\n%s", v, debug.Stack())
			code = ExitEngine
		}
	}()
	cfg := EngineConfig{
		Paths: t.Program, Args: t.Args, Options: t.Options, Screens: t.Screens, Source: p.Source,
		Control: io.MultiReader(first.Buffered(), control),
		Faults:  p.Faults,
		Stdin:   p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr,
	}
	if t.Again != nil {
		cfg.Again = &t
	}
	if dir != unrecorded {
		r := Run{Path: dir}
		cfg.Folder = dir
		cfg.Trace, cfg.FaultPage = r.file(engineLog), r.file(faultFile)
	}
	return runEngine(cfg)
}

// runEngine runs a program under the compiler and returns its exit code.
func runEngine(cfg EngineConfig) int {
	trace, err := cfg.openTrace()
	if err != nil && cfg.Screens {
		fmt.Fprintf(cfg.Stderr, "tcdbg: cannot write the trace: %v\n", err)
		return ExitWrite
	}
	if err != nil {
		fmt.Fprintf(cfg.Stderr, "tcdbg: cannot write the trace: %v; the program runs without\n", err)
	}
	set, err := logs.ParseLogs(cfg.Options.Logs)
	if err != nil {
		fmt.Fprintf(cfg.Stderr, "tcdbg: %v\n", err)
		return ExitUsage
	}
	if silent := logs.SilentLogs(cfg.Options.Logs); len(silent) > 0 {
		fmt.Fprintf(cfg.Stderr, "tcdbg: nothing is printed for the logs %s: this engine has none\n", strings.Join(silent, ", "))
	}
	sink := logs.Sink(trace)
	if len(set) > 0 {
		sink = logs.Tee(trace, logs.NewRenderer(cfg.Stderr, set, logs.WriterOptions{}))
	}
	sink.Emit(logs.Artifact(logs.NoCompile, logs.RunInfo{
		Tcdbg: Version, Program: programName(cfg.Paths), Args: cfg.Args,
		Go: runtime.Version(), CPU: cpuName(), PID: os.Getpid(),
	}))
	exit := runProgram(cfg, sink, set)
	head, _, _ := strings.Cut(exit.Panic, "\n")
	sink.Emit(logs.Artifact(logs.NoCompile, logs.State{State: "exited", Code: exit.Code, Text: head, Peak: largestMemory()}))
	if err := trace.Close(); err != nil {
		fmt.Fprintf(cfg.Stderr, "tcdbg: the trace is incomplete: %v\n", err)
	}
	return exit.Code
}

// openTrace makes the trace file; nil where none is wanted.
func (cfg *EngineConfig) openTrace() (*logs.Writer, error) {
	if cfg.Trace == "" {
		return nil, nil
	}
	return logs.Create(cfg.Trace, logs.WriterOptions{})
}

// stepsOf is how finely traces are logged for the logs that are on.
func stepsOf(set logs.LogSet) eval.StepLog {
	switch {
	case set["trace_bytecode"]:
		return eval.StepInstructions
	case set["trace_source"]:
		return eval.StepLines
	}
	return eval.StepNone
}

// runProgram loads the program and runs it in the host, under the tracer.
func runProgram(cfg EngineConfig, sink logs.Sink, on logs.LogSet) host.Exit {
	overlay, err := cfg.overlay()
	var prog *host.Program
	if err == nil {
		prog, err = host.Load(host.LoadConfig{Paths: cfg.Paths, Source: cfg.Source, Overlay: overlay})
	}
	if err != nil {
		fmt.Fprintln(cfg.Stderr, err)
		return host.Exit{Code: ExitData}
	}
	hc := host.Config{
		Stdout: cfg.Stdout, Stderr: cfg.Stderr, Stdin: cfg.Stdin,
		Args: append([]string{programName(cfg.Paths)}, cfg.Args...),
	}
	bc := backendConfig(cfg.Stderr)
	bc.FaultPage, bc.Faults = cfg.FaultPage, cfg.Faults
	trial, err := startTrial(cfg.Options.Trial)
	if err != nil {
		fmt.Fprintln(cfg.Stderr, "tcdbg:", err)
		return host.Exit{Code: ExitWrite}
	}
	defer trial.end(false)
	set := backends.NewSet(bc)
	defer artifacts.Use(set)()
	torch.PackageBy(set.Package)
	defer torch.PackageBy(nil)
	var stops *stop.Debugger
	if cfg.Control != nil {
		sc := stop.Config{Prog: prog, Sink: sink, PID: os.Getpid(), Paused: cfg.Options.Pause, Operator: tracer.IsOperator}
		cfg.keep(&sc)
		stops = stop.New(sc)
		hc.Journal = sc.Journal
		stops.Install(&hc)
	}
	tc := tracer.Config{
		Sink: sink, Backend: set.Get, DefaultBackend: os.Getenv("TCDBG_BACKEND"), Stops: stops,
		Steps: stepsOf(on), Bytecode: on["bytecode"],
		KernelTimes: set.KernelTimes, Note: set.Note,
	}
	tc.Calls, tc.CallsMissing = recordsCalls(cfg)
	tc.RecordSteps = cfg.Trace != "" && cfg.Options.Trial == nil // which measures
	trial.configure(&tc)
	defer trial.compare(&tc, set)()
	defer trial.note(&tc, prog)()
	tr := tracer.New(prog, tc)
	tr.Install(&hc)
	in := host.New(prog, hc)
	tr.Attach(in)
	trial.attach(in)
	defer tr.Start()()
	if stops != nil {
		stops.Attach(in)
		go listen(cfg.Control, stops)
		stops.Start()
	}
	return in.Run()
}

// backendConfig is how backends run C compilers, and where they warn.
func backendConfig(stderr io.Writer) backends.Config {
	bc := backends.Config{Stderr: stderr}
	if self, err := os.Executable(); err == nil {
		bc.Guard = []string{self, guardCommand}
	}
	return bc
}

// callsVar is set to 0 where calls are not to be recorded.
const callsVar = "TCDBG_CALLS"

// recordsCalls says whether calls of compiled functions are recorded, and where they are not
// though there is a trace, why.
func recordsCalls(cfg EngineConfig) (bool, string) {
	switch {
	case cfg.Trace == "" || cfg.Options.Trial != nil: // a trial measures
		return false, ""
	case os.Getenv(callsVar) == "0":
		return false, callsVar + "=0 was set"
	}
	return true, ""
}

// overlay are the texts that are loaded in place of files.
func (cfg *EngineConfig) overlay() (map[string][]byte, error) {
	if cfg.Again == nil {
		out, err := cfg.Options.Trial.overlay()
		if program, perr := exported.Overlay(cfg.Paths); program != nil || perr != nil {
			return program, perr
		}
		return out, err
	}
	out, err := exported.Overlay(cfg.Paths)
	if err != nil {
		return nil, err
	}
	if out == nil {
		out = map[string][]byte{}
	}
	for path, text := range cfg.Again.Again.Overlay {
		out[path] = []byte(text)
	}
	return out, nil
}

// keep lets the run be kept, so that the program can be run again, or runs it again.
func (cfg *EngineConfig) keep(sc *stop.Config) {
	if a := cfg.Again; a != nil {
		sc.Journal = journal.Replay(a.Again.Journal, a.Scratch)
		sc.Again, sc.Say, sc.Paused = a.Again, past.Say(os.NewFile(past.MessageFD, "messages")), false
		return
	}
	self, err := os.Executable()
	if !cfg.Options.Record || err != nil {
		return
	}
	sc.Journal = journal.Record()
	sc.Start = past.Starter(past.Config{
		Command: []string{self, engineCommand, unrecorded}, Control: socketPair, Scratch: cfg.Folder,
		Task: func(a *stop.Again, scratch string) any {
			return task{Program: cfg.Paths, Args: cfg.Args, Again: a, Scratch: scratch}
		},
	})
}

// cpuName is the processor as the system names it; its architecture where the
// system does not say.
func cpuName() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close()
	b := make([]byte, 2048)
	n, _ := f.Read(b)
	for _, line := range strings.Split(string(b[:n]), "\n") {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return runtime.GOARCH
}

// programName is the program's os.Args[0].
func programName(paths []string) string {
	if len(paths) == 0 {
		return "main"
	}
	return paths[0]
}

// listen carries out the viewer's commands until the channel ends, and the
// process with it.
func listen(control io.Reader, d *stop.Debugger) {
	_ = ctl.Receive(control, d.Command)
	if d.Left() {
		return
	}
	if pid := os.Getpid(); syscall.Getpgrp() == pid { // under the screens
		signal.Ignore(syscall.SIGTERM)
		_ = syscall.Kill(-pid, syscall.SIGTERM) // what the program has started
	}
	os.Exit(exitHangup) // as if hung up: the viewer is gone
}

// largestMemory is the most bytes that this process had in memory, 0 where the system does not tell.
func largestMemory() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" { // told in bytes there, else in kilobytes
		return u.Maxrss
	}
	return u.Maxrss << 10
}
