package repro

import (
	"context"
	_ "embed" // the process that tries parts
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tcdbg/explain"
)

// This file makes a graph of PyTorch's smaller: parts of it are compiled by PyTorch itself, in a Python process.

//go:embed py/serve.py
var server string

// torchUnit is what can be taken out: a line of forward, or several.
type torchUnit struct {
	Name  string   `json:"name"`
	Reads []string `json:"reads"` // other units
}

// torchTask is the first message to the process.
type torchTask struct {
	Program string `json:"program"`
	Folder  string `json:"folder"`
}

// differing is what programs print where results differ.
var differing = regexp.MustCompile(`(?m)^(output|input|gradient of input) \d+ (differs|is) `)

// MinifyTorch writes the smallest part of a graph of PyTorch's that shows its fault as repro.py into a new folder, as Minify does.
func MinifyTorch(
	ctx context.Context, r *explain.Report, c *explain.Compile, o Options, say func(string),
) (out *Minified, note string, err error) {
	program, err := TorchProgram(r, c, o.Seed, o.Backend)
	if err != nil {
		return nil, "", err
	}
	if err := free(o.Dir); err != nil {
		return nil, "", err
	}
	limited, stop := context.WithTimeout(ctx, o.MaxTime)
	defer stop()
	p := &process{name: "repro.py", python: o.Python}
	if p.scratch, err = os.MkdirTemp("", "tcdbg-repro-"); err != nil {
		return nil, "", err
	}
	defer func() { _ = os.RemoveAll(p.scratch) }()
	defer p.end()
	p.task = torchTask{Program: program, Folder: p.scratch}
	g, trains, err := p.units(limited)
	if err != nil {
		return nil, "", err
	}
	searched, enough := context.WithCancel(limited)
	defer enough()
	left := o.MaxTries
	try := func(part Part) Answer {
		a := p.ask(limited, request{Part: part})
		if left--; left <= 0 {
			enough()
		}
		return a
	}
	if out, err = minify(searched, g, trains, o.Check, try, say); err != nil {
		if limited.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("%s are not enough to try the whole graph; --max-time is longer", o.MaxTime)
		}
		return nil, "", err
	}
	note, err = p.write(ctx, out, c, o)
	return out, note, err
}

// units starts the process and asks for what can be taken out of the graph.
func (p *process) units(ctx context.Context) (subject, bool, error) {
	if err := p.start(); err != nil {
		return subject{}, false, fmt.Errorf("cannot start Python: %w", err)
	}
	a, died := p.exchange(ctx, p.task)
	switch {
	case died:
		return subject{}, false, fmt.Errorf("the process of Python ended: %s", firstLine(a.Text))
	case a.Error != "":
		return subject{}, false, errors.New(firstLine(a.Error))
	case len(a.Units) == 0:
		return subject{}, false, errors.New("the graph has no operators")
	}
	return torchSubject(a.Units, a.Returned), a.Trains, nil
}

// torchSubject is the graph of units. A part returns what the graph returns of it, and what others read.
func torchSubject(units []torchUnit, returned []string) subject {
	s := subject{}
	readers := map[string][]string{}
	for _, u := range units {
		s.units = append(s.units, u.Name)
		for _, r := range u.Reads {
			readers[r] = append(readers[r], u.Name)
		}
	}
	s.outs = func(keep []string) []string {
		kept := set(keep)
		var out []string
		for _, u := range keep {
			elsewhere := slices.ContainsFunc(readers[u], func(r string) bool { return !kept[r] })
			if slices.Contains(returned, u) || len(readers[u]) == 0 || elsewhere {
				out = append(out, u)
			}
		}
		return out
	}
	return s
}

// environment is that of Python: it writes no logs or traces, and looks for modules where the environment says and in the folder
// in which tcdbg was started, where a backend may be.
func (p *process) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"TORCH_LOGS", "TORCH_TRACE", "TORCH_COMPILE_DEBUG"}, name)
	})
	path := os.Getenv("PYTHONPATH")
	if here, err := os.Getwd(); err == nil {
		path = here + string(filepath.ListSeparator) + path
	}
	return append(env, "PYTHONPATH="+path)
}

// DefaultTries is how many parts of a graph of PyTorch's are tried.
const DefaultTries = 400
