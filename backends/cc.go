package backends

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tcdbg/inductor"
	"tcdbg/torch/compiler/modes"
)

// compiler is a C compiler of the machine.
type compiler struct {
	path  string
	id    string // changes when the compiler does
	guard guard
	limit time.Duration // of one run
	room  chan struct{} // has place for as many runs as there are processors
	clang func() bool   // whether it is clang, or something around it
}

// compileLimit is how long a compiler may take for one unit: more is a hang.
const compileLimit = 10 * time.Minute

// findCompiler looks for want, else for $CC, cc, gcc and clang. The error says
// what was looked for.
func findCompiler(want string) (*compiler, error) {
	names := []string{want}
	if want == "" {
		names = []string{os.Getenv("CC"), "cc", "gcc", "clang"}
	}
	var tried []string
	for _, n := range names {
		if n == "" || n == "none" {
			continue
		}
		path, err := exec.LookPath(n)
		if err != nil {
			tried = append(tried, n)
			continue
		}
		room := make(chan struct{}, runtime.GOMAXPROCS(0))
		c := &compiler{path: path, id: fileID(path), limit: compileLimit, room: room}
		c.clang = sync.OnceValue(c.isClang)
		return c, nil
	}
	return nil, fmt.Errorf("no C compiler (%s)", strings.Join(append(tried, "$CC"), ", "))
}

// Compiler is the path of the C compiler that kernels are built with, and the first line of
// what it says of its version; "" where there is none.
func Compiler() (path, version string) {
	c, err := findCompiler("")
	if err != nil {
		return "", ""
	}
	out, _ := exec.Command(c.path, "--version").Output()
	first, _, _ := strings.Cut(string(out), "\n")
	return c.path, first
}

// isClang asks a compiler whose name does not say it.
func (c *compiler) isClang() bool {
	if strings.Contains(filepath.Base(c.id), "gcc") {
		return false
	}
	var out output
	err := c.limited(os.TempDir(), []string{"--version"}, &out)
	return err == nil && strings.Contains(string(out.kept), "clang")
}

// CodeFor names the compiler and the processor that compiled code is for: machines with one name
// can use each other's. It is "" where there is no compiler.
func CodeFor() string {
	c, err := findCompiler("")
	if err != nil {
		return ""
	}
	return c.id + "\n" + thisCPU().Flags
}

// fileID tells one version of a program from another without running it.
func fileID(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	st, err := os.Stat(real)
	if err != nil {
		return real
	}
	return fmt.Sprintf("%s %d %d", real, st.Size(), st.ModTime().UnixNano())
}

// graphFlags compile a graph's kernels: no contraction but where the code asks
// for it, so that results equal eager's; wrapping integers, as Go's.
var graphFlags = []string{
	"-O2", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fwrapv",
	"-fno-asynchronous-unwind-tables", "-w",
}

// leanFlags are for all graphs: what the code says in vectors already most passes beyond -O1 make no faster, and they take
// a third of the time to compile. Named are those that cost next to nothing and that some kernels feel: epilogues of small
// products, which run for each tile, took a twentieth longer without.
// Without -fcaller-saves a value that lives across a call has no register even where none is called: a reduction's sums,
// whose lanes a function folds, would go through memory in each step of the loop.
var leanFlags = []string{
	"-O1", "-fcaller-saves", "-falign-functions", "-falign-jumps", "-falign-loops", "-fpeephole2", "-fschedule-insns2",
	"-fstrict-aliasing", "-freorder-blocks-algorithm=stc",
}

// coldFlags are for those kernels of a graph of many in which next to no time goes by: they take
// half the time to compile, and what they make takes by a seventh longer.
var coldFlags = []string{"-Og", "-fmove-loop-invariants"}

// gccFlags are those of the above that clang refuses, and does well without.
var gccFlags = []string{"-fpeephole2", "-freorder-blocks-algorithm=stc", "-fmove-loop-invariants"}

// flagsFor are the flags for a graph's kernels, all of those of -O2 where that was worth it, and
// for its units of kernels in which next to no time goes by.
func flagsFor(all bool) (hot, cold []string) {
	if all {
		return graphFlags, graphFlags
	}
	return slices.Concat(graphFlags, leanFlags), slices.Concat(graphFlags, coldFlags)
}

// unit is a file that is compiled by itself: its name, its text and what it is compiled with.
type unit struct {
	file, text string
	flags      []string
}

// unitsOf are a graph's; more are flags that all of them have.
func unitsOf(p *inductor.Program, all bool, more []string) []unit {
	hot, cold := flagsFor(all)
	hot, cold = slices.Concat(hot, more), slices.Concat(cold, more)
	out := make([]unit, len(p.Shards))
	for i, text := range p.Shards {
		if out[i] = (unit{fmt.Sprintf("unit%d.c", i), text, hot}); i >= len(p.Shards)-p.Cold {
			out[i].flags = cold
		}
	}
	return out
}

// mathFlags are what options ask for, by which results may differ from eager's.
func mathFlags(o modes.Options) []string {
	if o.Contract == "" {
		return nil
	}
	return []string{"-ffp-contract=" + o.Contract}
}

// runtimeFlags compile the runtime library.
var runtimeFlags = []string{"-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-w"}

// linkFlags make a shared object without start-up files.
var linkFlags = []string{"-pipe", "-shared", "-fPIC", "-nostdlib"}

// build compiles the units to one shared object at out: a single one in one
// process, several in parallel and then linked.
func (c *compiler) build(dir string, units []unit, libs []string, out string) error {
	files, flags := []string{filepath.Join(dir, units[0].file)}, units[0].flags
	var err error
	if len(units) > 1 {
		files, err = c.objects(dir, units)
		flags = nil
	} else {
		err = units[0].write(dir)
	}
	if err != nil {
		return err
	}
	return c.run(dir, slices.Concat(flags, linkFlags, files, []string{"-o", out}, libs))
}

func (u *unit) write(dir string) error {
	return os.WriteFile(filepath.Join(dir, u.file), []byte(u.text), 0o644)
}

// objects compiles units side by side, each to an object file in dir.
func (c *compiler) objects(dir string, units []unit) (files []string, err error) {
	files = make([]string, len(units))
	errs := make([]error, len(units))
	var wg sync.WaitGroup
	for i, u := range units {
		file := filepath.Join(dir, u.file)
		files[i] = file + ".o"
		wg.Go(func() {
			if errs[i] = u.write(dir); errs[i] == nil {
				errs[i] = c.run(dir, slices.Concat(u.flags, []string{"-pipe", "-fPIC", "-c", file, "-o", files[i]}))
			}
		})
	}
	wg.Wait()
	return files, cmp.Or(errs...)
}

// run runs the compiler, whose temporary files are in dir, as soon as a processor is free for it.
func (c *compiler) run(dir string, args []string) error {
	c.room <- struct{}{}
	defer func() { <-c.room }()
	if c.clang() {
		args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return slices.Contains(gccFlags, a) })
	}
	var out output
	return c.limited(dir, args, &out)
}

// limited runs the compiler until its limit at the most; out has what it says.
func (c *compiler) limited(dir string, args []string, out *output) error {
	cmd, err := c.begin(dir, args, out)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(c.path), err)
	}
	hung := time.AfterFunc(c.limit, func() { c.guard.kill(cmd.Process) })
	err = cmd.Wait()
	switch {
	case !hung.Stop():
		return fmt.Errorf("%s: no end after %v", filepath.Base(c.path), c.limit)
	case err != nil && len(out.kept) == 0:
		return fmt.Errorf("%s: %w", filepath.Base(c.path), err)
	case err != nil:
		return fmt.Errorf("%s: %w:\n%s", filepath.Base(c.path), err, strings.TrimSpace(string(out.kept)))
	}
	return nil
}

// begin starts the compiler in the group of the guard, or, where somebody has ended that,
// in the group of another.
func (c *compiler) begin(dir string, args []string, out io.Writer) (*exec.Cmd, error) {
	for first := true; ; first = false {
		cmd := exec.Command(c.path, args...)
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		cmd.Stdout, cmd.Stderr = out, out
		cmd.SysProcAttr = c.guard.attributes()
		cmd.WaitDelay = time.Second // what it has started may hold the pipe open
		err := cmd.Start()
		if err == nil || !first {
			return cmd, err
		}
		c.guard.end()
	}
}

// output keeps the beginning of what a compiler says. It is no bytes.Buffer, which would read all of it.
type output struct{ kept []byte }

const outputKept = 4000

func (o *output) Write(p []byte) (int, error) {
	o.kept = append(o.kept, p[:min(outputKept-len(o.kept), len(p))]...)
	return len(p), nil
}
