package repro

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tcdbg/graph"
)

// This file makes a graph that shows a fault smaller, as PyTorch's minifier does: it cuts the end off,
// takes calls out, whose values then become inputs, and drops outputs, as long as the same fault shows.

// Minified is what is left.
type Minified struct {
	Part
	Answer
	Of       int           // calls of the whole graph
	Tries    int           // parts that were tried
	Took     time.Duration // in all
	Complete bool          // no call can be taken out of it any more
}

// String is the result as a line.
func (m *Minified) String() string {
	verb := "are"
	if len(m.Keep) == 1 {
		verb = "is"
	}
	took := m.Took.Round(100 * time.Millisecond)
	s := fmt.Sprintf("%d of %d operators %s left after %s in %s: ", len(m.Keep), m.Of, verb, tries(m.Tries), took)
	s += m.Fault + ": " + firstLine(m.Text)
	if !m.Complete {
		s += "; the search was ended before its end"
	}
	return s
}

func tries(n int) string {
	if n == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d tries", n)
}

// subject is what is made smaller: the calls of a graph, and what a part of them returns.
type subject struct {
	units []string
	outs  func(keep []string) []string
}

func subjectOf(g *graph.Graph) subject {
	return subject{Units(g), func(keep []string) []string { return Outputs(g, keep) }}
}

// minifier is one search.
type minifier struct {
	ctx context.Context
	subject
	try   func(Part) Answer
	say   func(string)
	want  string // fingerprint of the fault
	tried map[string]bool
	begun time.Time
	out   Minified
}

// minify makes a graph smaller until nothing can be taken out of it or ctx ends. kind is the kind of the
// fault, "" for any.
func minify(ctx context.Context, g subject, trains bool, kind string, try func(Part) Answer, say func(string)) (*Minified, error) {
	m := &minifier{ctx: ctx, subject: g, try: try, say: say, tried: map[string]bool{}, begun: time.Now()}
	all := g.units
	m.out.Of = len(all)
	if err := m.whole(all, trains, kind); err != nil {
		return nil, err
	}
	m.told()
	m.truncate()
	for {
		before := len(m.out.Keep)
		m.takeOut()
		if m.dropOutputs(); len(m.out.Keep) == before || m.over() {
			break
		}
	}
	m.out.Complete, m.out.Took = !m.over(), time.Since(m.begun)
	return &m.out, nil
}

// whole wants the fault in the whole graph: without gradients, else with them.
func (m *minifier) whole(all []string, trains bool, kind string) error {
	ways := []bool{false}
	if trains {
		ways = append(ways, true)
	}
	var seen []string
	for _, train := range ways {
		p := Part{Keep: all, Outs: m.outs(all), Train: train}
		a := m.try(p)
		m.out.Tries++
		switch {
		case a.Fault != "" && (kind == "" || a.Fault == kind):
			m.want, m.out.Part, m.out.Answer = fingerprint(a), p, a
			return nil
		case a.Fault != "":
			seen = append(seen, a.Fault+": "+firstLine(a.Text))
		case a.Error != "":
			seen = append(seen, firstLine(a.Error))
		}
	}
	if len(seen) > 0 {
		return fmt.Errorf("there is nothing to minify: %s", strings.Join(slices.Compact(seen), "; "))
	}
	return fmt.Errorf("there is nothing to minify: with random inputs the graph shows no fault; " +
		"tcdbg check --numerics runs it on those of the program")
}

func (m *minifier) over() bool { return m.ctx.Err() != nil }

// shows tries a part and keeps it where it shows the fault.
func (m *minifier) shows(keep, outs []string) bool {
	key := strings.Join(keep, " ") + " | " + strings.Join(outs, " ")
	if m.over() || m.tried[key] || len(keep) == 0 || len(outs) == 0 {
		return false
	}
	m.tried[key] = true
	p := Part{Keep: keep, Outs: outs, Train: m.out.Train}
	a := m.try(p)
	m.out.Tries++
	if a.Fault == "" || fingerprint(a) != m.want || m.over() {
		return false
	}
	fewer := len(keep) < len(m.out.Keep)
	m.out.Part, m.out.Answer = p, a
	if fewer {
		m.told()
	}
	return true
}

// keeps is shows of a part with all that must come out of it.
func (m *minifier) keeps(keep []string) bool { return m.shows(keep, m.outs(keep)) }

func (m *minifier) told() {
	took := time.Since(m.begun).Round(100 * time.Millisecond)
	verb := "show"
	if len(m.out.Keep) == 1 {
		verb = "shows"
	}
	m.say(fmt.Sprintf("%d of %d operators %s it (%s, %s)", len(m.out.Keep), m.out.Of, verb, tries(m.out.Tries), took))
}

// truncate looks by halves for the shortest beginning that shows the fault.
func (m *minifier) truncate() {
	all := m.out.Keep
	low, high := 1, len(all) // all of it does
	for low < high && !m.over() {
		mid := (low + high) / 2
		if m.keeps(slices.Clone(all[:mid])) {
			high = mid
		} else {
			low = mid + 1
		}
	}
}

// takeOut takes out calls: halves, quarters and so on, at last one by one.
func (m *minifier) takeOut() {
	for size := (len(m.out.Keep) + 1) / 2; size >= 1 && !m.over(); size /= 2 {
		for from := 0; from < len(m.out.Keep) && !m.over(); {
			to := min(from+size, len(m.out.Keep))
			if !m.keeps(slices.Concat(m.out.Keep[:from], m.out.Keep[to:])) {
				from = to
			}
		}
	}
}

// dropOutputs leaves out outputs, one by one.
func (m *minifier) dropOutputs() {
	for i := 0; i < len(m.out.Outs) && len(m.out.Outs) > 1 && !m.over(); {
		if !m.shows(m.out.Keep, slices.Delete(slices.Clone(m.out.Outs), i, i+1)) {
			i++
		}
	}
}
