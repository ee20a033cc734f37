package app

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
)

// This file is the engine's end of the control channel: commands arrive at any
// time and act when the program reaches a safe point. Every answer is a trace
// record, so that a debugging session replays like any other run.

// Gate stops the program at safe points.
type Gate struct {
	mu      sync.Mutex
	turn    *sync.Cond
	paused  bool
	steps   int  // safe points to let through before pausing again
	waiting bool // the program waits at the gate
	asked   int  // id of the command that wants the pause
	left    bool // the viewer goes, the program stays
	points  map[string]bool
	sink    logs.Sink
}

// NewGate returns a gate that answers into sink. A gate made paused stops the
// program at its first safe point.
func NewGate(sink logs.Sink, paused bool) *Gate {
	g := &Gate{sink: sink, paused: paused, points: map[string]bool{}}
	g.turn = sync.NewCond(&g.mu)
	return g
}

// Armed reports whether a safe point may have to stop.
func (g *Gate) Armed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.paused || len(g.points) > 0
}

// Command carries out one command of the viewer.
func (g *Gate) Command(c ctl.Command) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch c.Verb {
	case ctl.Pause:
		g.paused, g.asked = true, c.ID
	case ctl.Continue:
		g.paused = false
		g.answer(logs.State{State: "running", Command: c.ID})
	case ctl.Step:
		g.paused, g.steps, g.asked = true, 1, c.ID
	case ctl.Leave:
		g.paused, g.left = false, true
		clear(g.points)
		g.answer(logs.State{State: "running", Command: c.ID})
	case ctl.Break:
		g.setPoint(c, true)
	case ctl.Clear:
		g.setPoint(c, false)
	default:
		g.refuse(c, "unknown command")
	}
	g.turn.Broadcast()
}

// Left reports whether the program is to run on without its viewer.
func (g *Gate) Left() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.left
}

func (g *Gate) setPoint(c ctl.Command, on bool) {
	if !validPoint(c.Arg) {
		g.refuse(c, "a breakpoint is break, recompile or FILE:LINE")
		return
	}
	if on {
		g.points[c.Arg] = true
	} else {
		delete(g.points, c.Arg)
	}
	g.answer(logs.State{State: g.name(), Command: c.ID, Text: string(c.Verb) + " " + c.Arg})
}

func validPoint(arg string) bool {
	if arg == "break" || arg == "recompile" {
		return true
	}
	i := strings.LastIndexByte(arg, ':')
	if i <= 0 {
		return false
	}
	n, err := strconv.Atoi(arg[i+1:])
	return err == nil && n > 0
}

func (g *Gate) refuse(c ctl.Command, why string) {
	g.answer(logs.State{State: g.name(), Command: c.ID, Text: fmt.Sprintf("%s: %s", c.Verb, why)})
}

func (g *Gate) name() string {
	if g.waiting {
		return "paused"
	}
	return "running"
}

// SafePoint is called by the tracer where the program may stop: kind is
// "frame", "break" or "recompile". It returns at once unless a pause was asked
// for or a breakpoint is here. where is called only when it stops.
func (g *Gate) SafePoint(kind string, file string, line int, where func() logs.Pos) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.points) > 0 && !g.paused && g.hit(kind, file, line) {
		g.paused, g.asked = true, 0
	}
	if g.paused && g.steps > 0 {
		g.steps--
		return
	}
	if !g.paused {
		return
	}
	pos := where()
	g.waiting = true
	g.answer(logs.State{State: "paused", Command: g.asked, Where: &pos, Text: kind})
	for g.paused && g.steps == 0 {
		g.turn.Wait()
	}
	if g.steps > 0 {
		g.steps--
	}
	g.waiting = false
}

func (g *Gate) hit(kind, file string, line int) bool {
	if g.points[kind] {
		return true
	}
	for p := range g.points {
		i := strings.LastIndexByte(p, ':')
		if i < 0 || p[i+1:] != strconv.Itoa(line) {
			continue
		}
		if file == p[:i] || strings.HasSuffix(file, "/"+p[:i]) {
			return true
		}
	}
	return false
}

func (g *Gate) answer(s logs.State) {
	if g.sink != nil {
		g.sink.Emit(logs.Artifact(logs.NoCompile, s))
	}
}
