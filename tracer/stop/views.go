package stop

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
)

// This file shows the past before a process stands there: stops that the program made, and the
// moments before the one that a second process went to, which that looked at on its way. Where
// somebody asks for more than is seen there (an expression, a step), a process is run to that
// moment, and has to find what was shown.

// View is what was to be seen at a moment.
type View struct {
	Check
	Record json.RawMessage // a logs.Stop
	// Line and Operator are what Back goes to from there; nil: it is not known.
	Line, Operator *Position `json:",omitempty"`
}

// What is kept of views at most.
const (
	mostViews   = 200
	mostStops   = 128
	viewsFor    = 400 * time.Millisecond // how long a second process may look at them
	mostViewing = 8 << 20                // bytes
	// quiet is how long a view is shown before a process is run to it unasked.
	quiet = 700 * time.Millisecond
)

// viewer looks at the moments before the target of a process that runs again.
type viewer struct {
	d     *Debugger
	from  int64 // the first moment to look at
	views []View
	size  int
	took  time.Duration
}

// newViewer returns nil where nothing is to be looked at: a search stops nowhere, and watches may
// change what they look at.
func newViewer(d *Debugger, a *Again) *viewer {
	if a.Search != nil || len(a.Watches) > 0 {
		return nil
	}
	return &viewer{d: d, from: a.Target.Moment - mostViews}
}

// look keeps what is to be seen at a moment before the target.
func (v *viewer) look(a *again, at Position, arrive func() *stopped, instruction bool) {
	if v == nil || a.there || a.over || !at.plain() || at.Moment < v.from || at.Moment >= a.Target.Moment {
		return
	}
	begin := time.Now()
	s := arrive()
	s.pos = at
	if instruction {
		s.Kind = logs.StopPause
	}
	rec := v.d.record(s)
	s.digest = digest(v.d, s, rec.Stack)
	if p := rec.Where; p != nil {
		s.place = shortPos(*p)
	}
	view := View{Check: Check{s.pos, s.digest, s.place}}
	if to, _, ok := v.d.moments.before("line", s); ok {
		view.Line = &to
	}
	if to, _, ok := v.d.moments.before("operator", s); ok {
		view.Operator = &to
	}
	view.Record, _ = json.Marshal(rec) // a record of ours is JSON
	v.size += len(view.Record)
	v.views = append(v.views, view)
	for v.size > mostViewing && len(v.views) > 0 {
		v.size -= len(v.views[0].Record)
		v.views = v.views[1:]
	}
	v.took += time.Since(begin)
	if n := int64(len(v.views)); n > 0 { // those that are nearest, as far as there is time
		left := int64((viewsFor - v.took) / max(v.took/time.Duration(n), 1))
		v.from = max(v.from, a.Target.Moment-max(left, 1))
	}
}

// keepView remembers what is to be seen at a stop of the program itself.
func (b *back) keepView(s *stopped) {
	if b.start == nil || s.rec == nil {
		return
	}
	text, err := json.Marshal(s.rec)
	if err != nil {
		return // a record of ours is JSON
	}
	b.stops = append(b.stops, View{Check: Check{s.pos, s.digest, s.place}, Record: text})
	if len(b.stops) > mostStops {
		b.stops = b.stops[1:]
	}
}

// view is what was to be seen at a position; nil: it was not looked at, or with other watches.
func (b *back) view(at *Position) *View {
	for _, views := range [][]View{b.views, b.stops} {
		i := slices.IndexFunc(views, func(v View) bool { return v.samePosition(at) })
		if i < 0 {
			continue
		}
		var rec logs.Stop
		if json.Unmarshal(views[i].Record, &rec) == nil && slices.EqualFunc(rec.Watches, b.d.watches, isWatch) {
			return &views[i]
		}
	}
	return nil
}

func isWatch(a logs.Answer, w string) bool { return a.Expr == w }

func (p *Position) samePosition(q *Position) bool {
	return p.Moment == q.Moment && p.Path == q.Path && p.Order == q.Order && p.Nth == q.Nth && samePlace(p.Place, q.Place)
}

// show shows a view. A process is run to it when that is needed, or after a while.
func (b *back) show(c ctl.Command, v *View, why string) {
	var rec logs.Stop
	if json.Unmarshal(v.Record, &rec) != nil {
		return
	}
	if b.past != nil {
		b.past.end()
	}
	p := &past{command: c.ID, at: v.Check, shown: v, why: why}
	b.past = p
	b.d.count++
	rec.ID, rec.Process, rec.Command, rec.Point, rec.Note = b.d.count, b.d.pid, c.ID, 0, ""
	rec.Moment, rec.Past = v.Moment, b.d.stands().pos.Moment
	rec.Why = fmt.Sprintf("%s: moment %d of %d", why, rec.Moment, rec.Past)
	b.d.emit(rec)
	b.d.emit(logs.State{State: "paused", Command: c.ID, Where: rec.Where, Text: string(rec.Kind)})
	time.AfterFunc(quiet, func() {
		b.d.mu.Lock()
		defer b.d.mu.Unlock()
		if b.past == p {
			b.stand(p)
		}
	})
}

// stand runs a process to what is shown.
func (b *back) stand(p *past) {
	if p.second != nil || b.d.stands() == nil {
		return
	}
	var err error
	p.second, err = b.start(b.task(p.at.Position, p.why), func(m Message) { b.said(p, m) }, func() { b.ended(p) })
	if err != nil {
		b.lost(err.Error())
	}
}

// ask gives a command to the process that is to stand at what is shown, once it does.
func (b *back) ask(c ctl.Command) {
	p := b.past
	p.asked = append(p.asked, c)
	if b.stand(p); b.past == p && c.Verb != ctl.Evaluate {
		text := fmt.Sprintf("%s: the program is run again to moment %d first", c.Verb, p.at.Moment)
		b.d.emit(logs.State{State: "paused", Command: c.ID, Where: b.d.where(), Text: text})
	}
}

// stood is told that the process has stopped; it has to be at the moment that is shown.
func (b *back) stood(p *past, at *Check) {
	if what := differs(p.shown.Digest, at.Digest); what != "" {
		b.lost("at " + p.shown.Where + " " + what + " is not the same")
		return
	}
	p.arrived, p.known, p.at = true, true, *at
	asked := p.asked
	p.asked = nil
	for _, c := range asked {
		if c.Verb == ctl.Back {
			b.to(c)
		} else {
			b.forward(c)
		}
	}
}

// fromView goes back from what is shown by a line or an operator, where it is known what that is.
func (b *back) fromView(c ctl.Command) bool {
	v := b.past.shown
	to := map[string]*Position{"line": v.Line, "operator": v.Operator}[c.Arg]
	if to == nil {
		return false
	}
	b.run(c, *to, "the "+c.Arg+" before")
	return true
}
