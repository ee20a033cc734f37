package stop

import (
	"errors"
	"fmt"
	"go/types"
	"slices"
	"time"
	"unsafe"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
	"tcdbg/torch"
	"tcdbg/tracer/host"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file evaluates expressions where the program stands. An expression is compiled as
// if it was written there and run by the host, on a goroutine of its own, in the gradient
// mode of the one that stands. What it calls does what it does: side effects are the
// user's. A variable that the compiler keeps in a register is passed as a copy.

// evaluateFor is how long an expression may take.
const evaluateFor = 2 * time.Second

// evaluate answers with the value of an expression at a level of the stack.
func (d *Debugger) evaluate(text string, n int) logs.Answer {
	a := logs.Answer{Expr: text, Level: n}
	v, err := d.valueOf(text, n)
	if err != nil {
		a.Error = clip(err.Error())
		return a
	}
	a.Value = v
	return a
}

func (d *Debugger) valueOf(text string, n int) (logs.Value, error) {
	s := d.stands()
	switch {
	case s == nil:
		return logs.Value{}, errors.New("the program runs: expressions are evaluated where it stands")
	case len(s.levels) == 0:
		return logs.Value{}, errors.New("there is no frame here")
	case n < 0 || n >= len(s.levels):
		return logs.Value{}, fmt.Errorf("the stack has no level %d", n)
	}
	l := &s.levels[n]
	locals := l.locals(d.prog)
	e, err := compileExpr(d.prog, text, scopeOf(l.instr(), locals))
	if err != nil {
		return logs.Value{}, err
	}
	if e.Const != nil {
		return logs.Value{Type: value.TypeName(e.Type), Text: clip(e.Const.ExactString())}, nil
	}
	result, err := d.run(s, e, locals)
	if err != nil {
		return logs.Value{}, err
	}
	switch t := e.Type.(type) {
	case nil:
		return logs.Value{Text: "(no value)"}, nil
	case *types.Tuple:
		v := logs.Value{Type: value.TypeName(t)}
		for i, off := range d.in.TupleOffsets(t) {
			v.Items = append(v.Items, s.show.value(fmt.Sprint(i), t.At(i).Type(), unsafe.Add(result, off)))
		}
		v.Text = sum("(", &v, ")", func(x *logs.Value) string { return x.Text })
		return v, nil
	}
	return s.show.value("", e.Type, result), nil
}

// scopeOf is what an expression sees at a level.
func scopeOf(in ssa.Instruction, locals []local) scope {
	l := level{at: &start{instr: in}}
	sc := scope{Fn: in.Parent(), Pos: l.pos()}
	for _, loc := range locals {
		sc.Vars = append(sc.Vars, scopeVar{Name: loc.obj.Name(), Type: loc.typ, Place: loc.place, Unknown: loc.unknown})
	}
	return sc
}

// typedScope is the scope of an instruction that is not being run: its variables have
// types and no values.
func typedScope(prog *host.Program, in ssa.Instruction) scope {
	l := level{at: &start{instr: in}}
	sc := scope{Fn: in.Parent(), Pos: l.pos()}
	for _, v := range visible(in.Parent(), sc.Pos) {
		captured := slices.ContainsFunc(in.Parent().FreeVars, func(f *ssa.FreeVar) bool { return f.Pos() == v.Pos() })
		if v.Name() != "_" && (captured || declaredIn(in.Parent(), v)) {
			sc.Vars = append(sc.Vars, scopeVar{Name: v.Name(), Type: v.Type()})
		}
	}
	return sc
}

// run runs a compiled expression on the variables of a level.
func (d *Debugger) run(s *stopped, e *expr, locals []local) (unsafe.Pointer, error) {
	var args []unsafe.Pointer
	for _, i := range e.Args {
		loc := &locals[i]
		if loc.unknown != "" {
			return nil, fmt.Errorf("%s: %s", loc.obj.Name(), loc.unknown)
		}
		a := loc.addr
		if loc.place {
			p := new(unsafe.Pointer)
			*p = a
			a = unsafe.Pointer(p)
		}
		args = append(args, a)
	}
	var result unsafe.Pointer
	if e.Type != nil {
		result = d.in.New(e.Type)
	}
	d.busy.Add(1)
	err := host.CallLimited(d.in, e.Fn, args, result, evaluateFor, func() {
		d.evaluating.Store(host.Goroutine(d.in), true)
		torch.SetGradEnabled(s.grad)
	})
	if !errors.Is(err, host.ErrGoesOn) {
		d.busy.Add(-1)
	}
	return result, err
}

// condition is the value of a breakpoint's condition at s.
func (d *Debugger) condition(p *point, s *stopped) (bool, error) {
	if len(s.levels) == 0 {
		return false, errors.New("there is no frame here")
	}
	l := &s.levels[0]
	locals := l.locals(d.prog)
	e := p.exprs[l.instr()]
	if e == nil {
		var err error
		if e, err = compileExpr(d.prog, p.condition, scopeOf(l.instr(), locals)); err != nil {
			return false, err
		}
		if err = e.isCondition(p.condition); err != nil {
			return false, err
		}
		p.exprs[l.instr()] = e
	}
	if e.Const != nil {
		return e.Const.ExactString() == "true", nil
	}
	result, err := d.run(s, e, locals)
	if err != nil {
		return false, err
	}
	return *(*bool)(result), nil
}

// isCondition refuses what is no bool.
func (e *expr) isCondition(text string) error {
	if e.Type != nil {
		if b, ok := e.Type.Underlying().(*types.Basic); ok && b.Info()&types.IsBoolean != 0 {
			return nil
		}
	}
	return fmt.Errorf("%s is not a bool", text)
}

// watch keeps an expression that every stop evaluates, or ends it.
func (d *Debugger) watch(c ctl.Command) {
	d.watches = slices.DeleteFunc(d.watches, func(w string) bool { return w == c.Arg })
	if c.Verb == ctl.Unwatch {
		d.say(c, c.Arg)
		return
	}
	d.watches = append(d.watches, c.Arg)
	if d.stands() == nil {
		d.say(c, c.Arg)
		return
	}
	a := d.evaluate(c.Arg, 0)
	a.Command, a.Process = c.ID, d.pid
	d.emit(a)
}
