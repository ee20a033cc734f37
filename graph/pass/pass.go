// Package pass is the table-driven pass runner of the compiler: a pass is a row of a
// table, a function on the state of one compilation. Only the runner times, records,
// dumps, checks and names passes in a panic; where nobody listens nothing is printed.
//
// It imports logs of ours. Open this file first, then debug.go (the switches
// TCDBG_CHECK and TCDBG_DUMP).
package pass

import (
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"tcdbg/logs"
)

// Pass is one row of a table over compilations of type S.
type Pass[S any] struct {
	Name  string
	Doc   string       // one line
	Needs []Need       // what must have run before
	When  func(S) bool // whether it runs at all; nil: always
	// Run changes the state and returns how many changes it made. Where that is none the state looks as before.
	Run func(S) (int, error)
	// Print is what the state looks like, before the pass and after it; nil where there
	// is nothing to show. After a pass it gives what the next one gives before it.
	Print func(S) string
	// Notes says that the state may look otherwise after a pass that changed nothing: it has noted why.
	Notes bool
	// Check is what must hold after the pass; nil: nothing of its own.
	Check func(S) error
	// Record puts the pass into the trace where it changed something.
	Record bool
}

// Need is a pass of the same table that must run before, and why.
type Need struct{ Pass, Why string }

// Table is a list of passes whose order was checked.
type Table[S any] struct {
	name string
	rows []Pass[S]
	at   map[string]int
}

// NewTable makes a table. It panics where names repeat or where a row comes before one
// that it needs, which is a mistake in the program.
func NewTable[S any](name string, rows ...Pass[S]) *Table[S] {
	t := &Table[S]{name: name, rows: rows, at: map[string]int{}}
	for i, p := range rows {
		if _, twice := t.at[p.Name]; twice || p.Name == "" || p.Doc == "" || p.Run == nil {
			panic(fmt.Sprintf("pass table %s: row %d, %q: a row needs a name of its own, a line of text and a function", name, i, p.Name))
		}
		for _, need := range p.Needs {
			if _, before := t.at[need.Pass]; !before || need.Why == "" {
				panic(fmt.Sprintf("pass table %s: %s needs %s before it (%s)", name, p.Name, need.Pass, need.Why))
			}
		}
		t.at[p.Name] = i
	}
	return t
}

// Rows are the passes in their order.
func (t *Table[S]) Rows() []Pass[S] { return slices.Clone(t.rows) }

// Runner runs tables of passes on the parts of one compile.
type Runner struct {
	Stage string // aot, inductor: what the trace calls this
	ID    logs.CompileID
	Log   logs.Sink // may be nil
	Check bool      // verify the state after each pass; set where Checking is
	index int       // of the next pass that is recorded
	// text is what the state looks like, where it is known from the pass before: it is long, and most passes change nothing.
	text  string
	known bool
}

// Text is what the state looks like after the last pass that was run; ok is false where nobody has looked.
func (r *Runner) Text() (text string, ok bool) { return r.text, r.known }

// Run runs the passes of a table in their order. A pass that panics is named in the
// error, and so is one that leaves a broken state where that is checked.
func Run[S any](r *Runner, t *Table[S], s S) error { return run(r, t, s, r.Check || Checking()) }

func run[S any](r *Runner, t *Table[S], s S, check bool) error {
	order := t.rows
	if check {
		order = t.shuffled()
	}
	for i := range order {
		p := &order[i]
		if p.When != nil && !p.When(s) {
			continue
		}
		if err := one(r, p, s, check); err != nil {
			if check {
				return fmt.Errorf("%w (passes of %s ran in the order %s)", err, t.name, names(order))
			}
			return err
		}
	}
	return nil
}

func one[S any](r *Runner, p *Pass[S], s S, check bool) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("panic in pass %s: %v", p.Name, x)
			if check {
				err = fmt.Errorf("%w\n%s", err, debug.Stack())
			}
		}
	}()
	record := p.Record && r.Log != nil
	dump := p.Print != nil && dumped(p.Name)
	before := ""
	if record || dump {
		if before, err = look(r, p, s, check); err != nil {
			return err
		}
	}
	start := time.Now()
	n, err := p.Run(s)
	took := time.Since(start)
	if err != nil {
		return err
	}
	after := before
	switch {
	case n > 0 || p.Notes:
		if r.known = record || dump; r.known {
			after = p.Print(s)
		}
		r.text = after
	case check && (record || dump) && p.Print(s) != before:
		return fmt.Errorf("pass %s changed what it says it has not", p.Name)
	}
	if dump {
		dumpStep(r.Stage, p.Name, before, after, took)
	}
	if record && n > 0 {
		logs.EmitArtifact(r.Log, r.ID, logs.PassStep{
			Stage: r.Stage, Pass: p.Name, Index: r.index, Before: before, After: after, Micros: took.Microseconds(),
		})
	}
	if p.Record {
		r.index++
	}
	if check && p.Check != nil {
		if err := p.Check(s); err != nil {
			return fmt.Errorf("after pass %s: %w", p.Name, err)
		}
	}
	return nil
}

// look is what the state looks like before a pass.
func look[S any](r *Runner, p *Pass[S], s S, check bool) (string, error) {
	if r.known && !check {
		return r.text, nil
	}
	text := p.Print(s)
	if r.known && text != r.text {
		return "", fmt.Errorf("before pass %s something was changed that no pass has told of", p.Name)
	}
	r.text, r.known = text, true
	return text, nil
}
