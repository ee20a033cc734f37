package stop

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
	"tcdbg/tracer/host"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is breakpoints.

// point is one breakpoint.
type point struct {
	id        int
	spec      string // as it was asked for
	condition string
	kind      logs.StopKind // that it stops at
	file      string        // of a line
	line      int
	fn        string // of a function's calls
	code      string // of a break
	guard     string // that a miss's text contains
	frame     string // id of a compile: "1/0", or "1"
	places    int
	within    bool // some places are in the midst of a statement
	err       error
	exprs     map[ssa.Instruction]*expr // the condition, by where it was compiled
}

var (
	codeSpec  = regexp.MustCompile(`^GB\d+$`)
	frameSpec = regexp.MustCompile(`^id \d+(/\d+)?$`)
)

// specHelp says what a breakpoint may be.
const specHelp = "a breakpoint is break, recompile, frame, call, kernel, nan, differs, raised, a code like GB0170, FILE:LINE, " +
	"func NAME, guard TEXT or id 1/0, each perhaps with \" if CONDITION\""

// parsePoint reads a breakpoint.
func parsePoint(id int, spec string) *point {
	p := &point{id: id, spec: spec, exprs: map[ssa.Instruction]*expr{}}
	what, condition, conditional := strings.Cut(spec, " if ")
	what, p.condition = strings.TrimSpace(what), strings.TrimSpace(condition)
	if conditional && p.condition == "" {
		p.err = errors.New("the condition is empty")
		return p
	}
	word, rest, _ := strings.Cut(what, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case rest == "" && word != string(logs.StopStart) && word != string(logs.StopLine) && bit(logs.StopKind(word)) != 0:
		p.kind = logs.StopKind(word)
	case codeSpec.MatchString(what):
		p.kind, p.code = logs.StopBreak, what
	case word == "func" && rest != "":
		p.kind, p.fn = logs.StopLine, rest
	case word == "guard" && rest != "":
		p.kind, p.guard = logs.StopRecompile, rest
	case frameSpec.MatchString(what):
		p.kind, p.frame = logs.StopFrame, rest
	default:
		if p.file, p.line = fileLine(what); p.line == 0 {
			p.err = errors.New(specHelp)
		}
		p.kind = logs.StopLine
	}
	return p
}

// fileLine reads FILE:LINE; line 0 is none.
func fileLine(text string) (file string, line int) {
	i := strings.LastIndexByte(text, ':')
	if i <= 0 {
		return "", 0
	}
	n, err := strconv.Atoi(text[i+1:])
	if err != nil || n <= 0 {
		return "", 0
	}
	return text[:i], n
}

func (d *Debugger) setPoint(c ctl.Command) {
	p := parsePoint(c.Point, c.Arg)
	if p.err == nil && d.in != nil {
		d.place(p)
	}
	if p.err == nil {
		if p.id != 0 {
			d.points = slices.DeleteFunc(d.points, func(o *point) bool { return o.id == p.id })
		}
		d.points = append(d.points, p)
	}
	d.answerPoint(p, c.ID, false)
}

func (d *Debugger) answerPoint(p *point, command int, cleared bool) {
	rec := logs.Point{ID: p.id, Command: command, Process: d.pid, Spec: p.spec, Places: p.places, Cleared: cleared}
	text := "break " + p.spec
	if cleared {
		text = "clear " + p.spec
	}
	if p.err != nil {
		rec.Error = p.err.Error()
		text = fmt.Sprintf("break %s: %v", p.spec, p.err)
	}
	d.emit(rec)
	d.emit(logs.State{State: d.name(), Command: command, Text: text, Where: d.where()})
}

func (d *Debugger) clear(c ctl.Command) {
	matches := func(p *point) bool {
		if c.Point != 0 {
			return p.id == c.Point
		}
		return p.spec == c.Arg
	}
	found := false
	for _, p := range d.points {
		if matches(p) {
			found = true
			d.answerPoint(p, c.ID, true)
		}
	}
	d.points = slices.DeleteFunc(d.points, matches)
	if !found {
		d.say(c, "there is no such breakpoint")
	}
}

// place finds the places of a breakpoint in the program, and whether it has any.
func (d *Debugger) place(p *point) {
	switch {
	case p.err != nil:
	case p.line > 0:
		d.placeLine(p)
	case p.fn != "":
		d.placeFunc(p)
	}
}

func (d *Debugger) placeLine(p *point) {
	found := false
	nearest := 0
	for _, fn := range functions(d.prog) {
		file := fileOf(d.prog, fn)
		if !sameFile(file, p.file) {
			continue
		}
		found = true
		c := d.in.Code(fn)
		if c == nil {
			continue
		}
		pcs := d.places.onLine(c, p.file, p.line)
		p.places += len(pcs)
		for _, pc := range pcs {
			p.within = p.within || len(d.places.of(c).at[pc]) == 0
		}
		for _, pc := range pcs {
			p.check(d, c, pc)
		}
		if p.err != nil {
			p.places = 0
			return
		}
		for _, s := range d.places.of(c).starts {
			if s.line > p.line && (nearest == 0 || s.line < nearest) && sameFile(s.file, p.file) {
				nearest = s.line
			}
		}
	}
	switch {
	case p.places > 0:
	case !found:
		p.err = fmt.Errorf("%s is no file of the program", p.file)
	case nearest > 0:
		p.err = fmt.Errorf("line %d of %s has no code; the next that has is %d", p.line, filepath.Base(p.file), nearest)
	default:
		p.err = fmt.Errorf("line %d of %s has no code", p.line, filepath.Base(p.file))
	}
}

func (d *Debugger) placeFunc(p *point) {
	for _, fn := range functions(d.prog) {
		if namedFunc(fn, p.fn) {
			if c := d.in.Code(fn); c != nil {
				p.places++
				p.check(d, c, d.places.of(c).entry(fn))
			}
		}
	}
	if p.err != nil {
		p.places = 0
	} else if p.places == 0 {
		p.err = fmt.Errorf("the program has no function %s that runs here", p.fn)
	}
}

// check compiles the condition where the program will stop, so that a wrong one is
// refused when it is set.
func (p *point) check(d *Debugger, c *host.Code, pc int) {
	if p.condition == "" || p.err != nil || pc < 0 {
		return
	}
	l := &level{pc: pc}
	if s := d.places.of(c).at[pc]; len(s) > 0 {
		l.at = s[0]
		for _, s := range s {
			if s.line == p.line {
				l.at = s
			}
		}
	}
	in := c.Instrs[pc]
	if l.at != nil {
		in = l.at.instr
	}
	if len(c.Fn.TypeArgs()) > 0 {
		return // its variables have their types when it runs
	}
	e, err := compileExpr(d.prog, p.condition, typedScope(d.prog, in))
	if err == nil {
		err = e.isCondition(p.condition)
	}
	if err != nil {
		p.err = fmt.Errorf("condition: %w", err)
	}
}

// namedFunc reports whether a function is called name: step, Net.Forward, main.func1,
// with or without its package.
func namedFunc(fn *ssa.Function, name string) bool {
	if fn.Synthetic != "" && fn.Origin() == nil {
		return false
	}
	own := value.FuncName(fn)
	if i := strings.IndexByte(own, '['); i >= 0 {
		own = own[:i]
	}
	if own == name {
		return true
	}
	pkg := fn.Pkg
	if o := fn.Origin(); pkg == nil && o != nil {
		pkg = o.Pkg
	}
	if pkg == nil {
		return false
	}
	return name == pkg.Pkg.Name()+"."+own || name == pkg.Pkg.Path()+"."+own
}

func fileOf(prog *host.Program, fn *ssa.Function) string {
	if fn.Syntax() == nil {
		return ""
	}
	return prog.Fset.Position(fn.Syntax().Pos()).Filename
}

func funcPos(prog *host.Program, fn *ssa.Function) logs.Pos {
	p := prog.Fset.Position(fn.Pos())
	return logs.Pos{
		File: filepath.ToSlash(p.Filename), Line: p.Line, Col: p.Column, Func: value.FuncName(fn),
		Code: strings.TrimRight(prog.SourceLine(p.Filename, p.Line), " \t\r"),
	}
}

// hit is the first breakpoint that s is at; note is what went wrong with its condition.
func (d *Debugger) hit(s *stopped) (p *point, note string) {
	for _, p := range d.points {
		if p.err == nil && p.kind == s.Kind && d.matches(p, s) {
			if ok, note := d.holds(p, s); ok {
				return p, note
			}
		}
	}
	return nil, ""
}

// matches reports whether s is a place of p.
func (d *Debugger) matches(p *point, s *stopped) bool {
	switch {
	case p.line > 0:
		return s.onLine(d.places, p.file, p.line)
	case p.fn != "":
		return s.entry && namedFunc(s.levels[0].frame.Code.Fn, p.fn)
	case p.code != "":
		return s.Code == p.code
	case p.guard != "":
		return s.Text != nil && slices.ContainsFunc(s.Text(), func(t string) bool { return strings.Contains(t, p.guard) })
	case p.frame != "":
		return s.Compile == p.frame || strings.HasPrefix(s.Compile, p.frame+"/")
	}
	return true
}

// onLine reports whether s is at the beginning of a line.
func (s *stopped) onLine(ps *places, file string, line int) bool {
	if len(s.levels) == 0 || s.Kind != logs.StopLine {
		return false
	}
	if at := s.levels[0].at; at != nil {
		return at.line == line && !at.goesOn && sameFile(at.file, file)
	}
	l := &s.levels[0]
	return len(ps.of(l.frame.Code).at[l.pc]) == 0 && slices.Contains(ps.onLine(l.frame.Code, file, line), l.pc)
}

// holds reports whether a breakpoint's condition does. One that cannot be evaluated stops,
// and says so.
func (d *Debugger) holds(p *point, s *stopped) (bool, string) {
	if p.condition == "" {
		return true, ""
	}
	yes, err := d.condition(p, s)
	if err != nil {
		return true, fmt.Sprintf(" (the condition cannot be evaluated: %v)", err)
	}
	return yes, ""
}
