package stop

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
	"tcdbg/tracer/host"
)

// This file is the debugger of a program that is run again: it stops at the moment that
// was asked for, and makes sure on the way that the program does what it did.

// again is the state of that.
type again struct {
	*Again
	d      *Debugger
	say    func(Message)
	there  bool // the target was reached
	inside bool // its moment was, and it lies after that
	over   bool
	watch  *watch    // of a search for a write
	viewer *viewer   // of the moments before the target
	inf    *Position // where the first Inf was, in a search for a NaN
}

// next is the moment from which on somebody has to look.
func (a *again) next() int64 {
	switch {
	case a.over:
		return math.MaxInt64
	case len(a.Checks) > 0 && a.Checks[0].Moment < a.Target.Moment && (a.viewer == nil || a.Checks[0].Moment < a.viewer.from):
		return a.Checks[0].Moment
	case !a.there && a.viewer != nil:
		return min(a.Target.Moment, a.viewer.from)
	case !a.there:
		return a.Target.Moment
	}
	return a.End.Moment
}

// reaches looks at one moment. It reports whether the program is to stop there, and why.
func (a *again) reaches(at Position, arrive func() *stopped) (why string, stops bool) {
	if a == nil || a.over || !at.plain() {
		return "", false
	}
	for len(a.Checks) > 0 && a.Checks[0].Moment <= at.Moment {
		c := a.Checks[0]
		a.Checks = a.Checks[1:]
		if c.Moment == at.Moment && !a.agrees(&c, at, arrive()) {
			return "", false
		}
	}
	switch {
	case a.there && a.End.plain() && a.End.Moment == at.Moment && !a.agrees(&a.End, at, arrive()):
		return "", false
	case a.there:
		a.passes(at)
	case at.Moment > a.Target.Moment:
		a.lose("it never comes to the place that was asked for")
	case at.Moment < a.Target.Moment:
	case at.Path != a.Target.Path:
		a.lose("it takes another way")
	case a.Target.plain():
		return a.arrives()
	default:
		a.inside = true
		a.d.arm()
	}
	a.d.moments.next.Store(a.next())
	return "", false
}

// arrives reports why the program stops at the target.
func (a *again) arrives() (string, bool) {
	if a.Search != nil {
		a.finish()
		return "", false
	}
	a.there, a.inside = true, false
	a.d.at.Order = a.Target.Order
	for _, p := range a.Points {
		a.d.setPoint(p)
	}
	a.d.moments.next.Store(a.next())
	return fmt.Sprintf("%s: moment %d of %d, run again", a.Why, a.Target.Moment, a.End.Moment), true
}

// passes ends the way of this process where the program has come to where the first one
// stands.
func (a *again) passes(at Position) {
	if at.Moment < a.End.Moment || at.Moment == a.End.Moment && !a.End.plain() {
		return
	}
	a.over = true
	a.say(Message{Present: true})
	a.d.mu.Unlock()
	select {} // the first process ends this one
}

// isEnd ends the way of this process at a stop which is that of the first one, though it is
// no moment.
func (a *again) isEnd(s *stopped) {
	same := a != nil && s.pos.Moment == a.End.Moment && s.pos.Nth == a.End.Nth && samePlace(s.pos.Place, a.End.Place)
	if !same || !a.there || a.End.plain() || a.Target.Moment == a.End.Moment && a.Target.Order == s.pos.Order {
		return
	}
	a.over = true
	if what := differs(a.End.Digest, s.digest); what != "" {
		a.say(Message{Lost: "at " + a.End.Where + " " + what + " is not the same"})
	} else {
		a.say(Message{Present: true})
	}
	a.d.mu.Unlock()
	select {} // the first process ends this one
}

func samePlace(p, q *Place) bool { return p == q || p != nil && q != nil && *p == *q }

// insideTarget reports whether an instruction is the target, which lies after its moment.
func (a *again) insideTarget(f *host.Frame) (string, bool) {
	if a == nil || !a.inside || a.Target.Place == nil || !a.Target.Place.isAt(f) {
		return "", false
	}
	return a.arrives()
}

// nthTarget reports whether an event that is no moment is the target.
func (a *again) nthTarget(at *Position) (string, bool) {
	if a == nil || !a.inside || a.Target.Nth == 0 || a.Target.Nth != at.Nth || a.Target.Moment != at.Moment {
		return "", false
	}
	return a.arrives()
}

// agrees compares the state at a stop of the first process.
func (a *again) agrees(c *Check, at Position, s *stopped) bool {
	if c.Path != at.Path {
		a.lose("it takes another way before " + c.Where)
		return false
	}
	s.pos = at
	if what := differs(c.Digest, digest(a.d, s, a.d.stack(s))); what != "" {
		a.lose("at " + c.Where + " " + what + " is not the same")
		return false
	}
	return true
}

// lose says that this process is of no use.
func (a *again) lose(why string) {
	if a.over {
		return
	}
	a.over = true
	a.say(Message{Lost: why})
}

// tell sends a record to the first process.
func (a *again) tell(r logs.Versioned) {
	name, _ := r.ArtifactName()
	var at *Check
	if _, stop := r.(logs.Stop); stop {
		at = &Check{a.d.now.pos, a.d.now.digest, a.d.now.place}
	}
	data, err := json.Marshal(r)
	if err != nil {
		return // a record of ours is JSON
	}
	m := Message{Record: name, Data: data, At: at}
	if at != nil && a.viewer != nil {
		m.Views, a.viewer.views = a.viewer.views, nil
	}
	a.say(m)
}

// answerBack answers Back in a program that is run again.
func (a *again) answerBack(c ctl.Command) {
	s := a.d.stands()
	if s == nil {
		a.d.say(c, "the program runs: space stops it first")
		return
	}
	if c.Arg != "line" && c.Arg != "operator" {
		search, err := s.search(a.d, c.Arg, c.Level)
		if err != nil {
			a.say(Message{Command: c.ID, None: err.Error()})
			return
		}
		a.say(Message{Command: c.ID, Search: search})
		return
	}
	to, why, ok := a.d.moments.before(c.Arg, s)
	if !ok {
		a.say(Message{Command: c.ID, None: why})
		return
	}
	a.say(Message{Command: c.ID, To: &to, Why: why})
}

// born is told of a NaN or Inf that came into being: the first NaN is what is searched for,
// or else the first Inf.
func (a *again) born(at Position, reason string) {
	if a == nil || a.Search == nil || !a.Search.NaN || a.over {
		return
	}
	if a.inf == nil {
		a.inf = &at
	}
	if strings.Contains(reason, "NaN") {
		a.inf = &at
		a.finish()
	}
}

// finish says what was found.
func (a *again) finish() {
	a.over = true
	switch {
	case !a.Search.NaN:
		a.say(a.watch.found())
	case a.inf != nil:
		a.say(Message{To: a.inf, Why: "where it came into being"})
	default:
		a.say(Message{None: "no operator and no kernel gave a NaN or Inf before here: it was in what the program began with"})
	}
}
