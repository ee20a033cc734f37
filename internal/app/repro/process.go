package repro

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tcdbg/explain"
)

// This file drives the process that tries parts, and the run of the program that comes out.

// Command is how the program's own file is started.
type Command struct {
	Self string // its path
	Part string // the argument under which it is the process that tries parts, before the file of its fault page
	// NewPage makes that file, and Fault says what a kernel has written into it, "" for nothing.
	NewPage func(path string) error
	Fault   func(path string) string
}

// Options are what a minifier is asked for.
type Options struct {
	Dir     string // new folder for the program
	Seed    int64
	Check   string // a kind; "": any
	MaxTime time.Duration
	// Of graphs of PyTorch's: the interpreter, the backend, and how many parts are tried at most.
	Python, Backend string
	MaxTries        int
}

// Minify writes the smallest part of a compile's graph that shows its fault as a program into a new
// folder, and says how far it came. note is what the program does not show by itself; "" for nothing.
func Minify(ctx context.Context, run Command, c *explain.Compile, o Options, say func(string)) (out *Minified, note string, err error) {
	s, err := Read(c)
	if err != nil {
		return nil, "", err
	}
	if err := free(o.Dir); err != nil {
		return nil, "", err
	}
	limited, stop := context.WithTimeout(ctx, o.MaxTime)
	defer stop()
	p := &process{name: "model.go", run: run, task: Task{Name: c.Graph.Name, Text: s.Text, Known: s.Known, Seed: o.Seed}}
	if p.scratch, err = os.MkdirTemp("", "tcdbg-repro-"); err != nil {
		return nil, "", err
	}
	defer func() { _ = os.RemoveAll(p.scratch) }()
	defer p.end()
	trains := false
	for _, in := range s.Known.Inputs {
		trains = trains || in.Grad && !s.Known.NoGrad
	}
	try := func(part Part) Answer { return p.ask(limited, request{Part: part}) }
	if out, err = minify(limited, subjectOf(s.Graph), trains, o.Check, try, say); err != nil {
		if limited.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("%s are not enough to try the whole graph; --max-time is longer", o.MaxTime)
		}
		return nil, "", err
	}
	note, err = p.write(ctx, out, s.Compile, o)
	return out, note, err
}

// free wants that nothing is where a folder will be.
func free(dir string) error {
	if _, err := os.Lstat(dir); err == nil {
		return &os.PathError{Op: "mkdir", Path: dir, Err: os.ErrExist}
	}
	return nil
}

// write writes the program: with random inputs where it shows the fault with them, else with those that
// the part had. It runs it.
func (p *process) write(ctx context.Context, m *Minified, c *explain.Compile, o Options) (note string, err error) {
	limited, stop := context.WithTimeout(ctx, max(time.Minute, o.MaxTime/4))
	defer stop()
	doc := []string{
		fmt.Sprintf("Part of graph %s of %s, %d of %d operators, which shows:", c.ID.CompileID, shown(c.Frame.Name),
			len(m.Keep), m.Of),
		m.Fault + ": " + shown(firstLine(m.Text)), "",
	}
	inputs := [2]string{"random inputs", "the inputs in inputs.pt, which they have in the whole graph"}
	for i, what := range inputs {
		dir := o.Dir
		if i == 0 {
			dir += ".random"
		}
		more := append(doc[:len(doc):len(doc)], "It runs the part compiled and eagerly on "+what+", and prints where",
			"results differ. Run it in its folder: "+p.how()+". Written by tcdbg repro --minify.")
		if a := p.ask(limited, request{Part: m.Part, Dir: dir, Doc: more, Random: i == 0}); a.Error != "" || a.Fault != "" {
			return "", fmt.Errorf("the program of the part cannot be written: %s", firstLine(a.Error+a.Text))
		}
		does := p.showsIn(limited, dir, m.Answer)
		switch {
		case i == 0 && does:
			return "", os.Rename(dir, o.Dir)
		case i == 0:
			if err := os.RemoveAll(dir); err != nil {
				return "", err
			}
		case !does:
			note = "the program itself does not show it: there the part is captured once more"
		}
	}
	return note, nil
}

// showsIn reports whether the program in a folder shows a fault when it is run: one of the kind, and of PyTorch with the same words.
func (p *process) showsIn(ctx context.Context, dir string, fault Answer) bool {
	cmd := exec.CommandContext(ctx, p.run.Self, "run", "--plain", "--logs", "graph_breaks", p.name)
	if p.python != "" {
		cmd = exec.CommandContext(ctx, p.python, p.name)
	}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+p.scratch, "TORCH_COMPILE_DEBUG=0")
	if p.python != "" {
		cmd.Env = p.environment()
	}
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	differs := bytes.Contains(out, []byte("elements differ")) || p.python != "" && differing.Match(out)
	if fault.Fault == Accuracy {
		return differs
	}
	if p.python != "" && err == nil || p.python != "" && cmd.ProcessState.Exited() && !saysSo(string(out), fault.Text) {
		return false
	}
	return errors.As(err, &exit) && !differs && ctx.Err() == nil
}

// saysSo reports whether a text has the words of a fault, but for numbers.
func saysSo(text, fault string) bool {
	_, reason, _ := strings.Cut(fault, ": ")
	return strings.Contains(digits.ReplaceAllString(text, "0"), digits.ReplaceAllString(reason, "0"))
}

// how is the command that runs the program.
func (p *process) how() string {
	if p.python != "" {
		return "python " + p.name
	}
	return "tcdbg run --plain " + p.name
}

// process is the one in which parts are tried; it is started when it is needed. Kernels write into a page
// in its folder when they fault.
type process struct {
	run     Command
	name    string // of the program that comes out
	python  string // the interpreter that tries graphs of PyTorch; "" for our own
	task    any    // the first message
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
	errs    *tail
	scratch string // folder
}

// page is the file of the process's fault page.
func (p *process) page() string { return filepath.Join(p.scratch, "fault") }

// ask has a part tried, or written. A process that dies of it is a crash.
func (p *process) ask(ctx context.Context, r request) Answer {
	if p.cmd == nil {
		if err := p.start(); err != nil {
			return Answer{Error: err.Error()}
		}
		if a, died := p.exchange(ctx, p.task); died || a.Error != "" {
			if died {
				a = Answer{Error: "its operators crash without a compiler: " + firstLine(a.Text)}
			}
			return a
		}
	}
	a, _ := p.exchange(ctx, r)
	return a
}

// exchange sends a message and reads the answer. The process is ended where it takes longer than ctx.
func (p *process) exchange(ctx context.Context, message any) (a Answer, died bool) {
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	err := json.NewEncoder(p.in).Encode(message)
	if err == nil {
		err = p.answers.Decode(&a)
	}
	stop()
	if err == nil {
		return a, false
	}
	how := p.end()
	if ctx.Err() != nil {
		return Answer{Error: "the time is over"}, false
	}
	return Answer{Fault: Crash, Text: how}, true
}

func (p *process) start() error {
	cmd := exec.Command(p.run.Self, p.run.Part, p.page())
	cmd.Env = append(os.Environ(), "GOTRACEBACK=single")
	if p.python != "" {
		cmd = exec.Command(p.python, "-c", server)
		cmd.Env = p.environment()
	} else if err := p.run.NewPage(p.page()); err != nil {
		return err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.errs = &tail{}
	cmd.Stderr = p.errs
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd, p.in, p.answers = cmd, in, json.NewDecoder(out)
	return nil
}

// end ends the process and says how it ended.
func (p *process) end() string {
	if p.cmd == nil {
		return ""
	}
	p.in.Close()
	err := p.cmd.Wait()
	words := p.errs.words()
	if p.python != "" && words == "" {
		words = p.errs.last()
	}
	if p.python == "" {
		if fault := p.run.Fault(p.page()); fault != "" {
			words = fault
		}
	}
	ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	p.cmd = nil
	switch {
	case words != "":
		return words
	case ok && ws.Signaled():
		return "the process was ended by " + ws.Signal().String()
	}
	return fmt.Sprintf("the process ended: %v", err)
}

// tail keeps the beginning of what a process prints.
type tail struct{ b []byte }

func (t *tail) Write(b []byte) (int, error) {
	if room := 1<<16 - len(t.b); room > 0 {
		t.b = append(t.b, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

// words is the line that says why the process died.
func (t *tail) words() string {
	for line := range strings.Lines(string(t.b)) {
		line = strings.TrimSpace(line)
		for _, head := range []string{"fatal error:", "panic:", "SIG", "unexpected fault", "runtime:"} {
			if strings.HasPrefix(line, head) {
				return line
			}
		}
	}
	return ""
}

// last is the last line of what was printed.
func (t *tail) last() string {
	lines := strings.Split(strings.TrimSpace(string(t.b)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// Path is where the program of a folder is.
func Path(dir string) string { return filepath.Join(dir, "model.go") }

// TorchPath is where the program of PyTorch's of a folder is.
func TorchPath(dir string) string { return filepath.Join(dir, "repro.py") }
