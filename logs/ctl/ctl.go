// Package ctl is the control channel between the viewer and the engine: one
// JSON command a line over an inherited socketpair, viewer to engine only. Every
// answer is a trace record that carries the command's id.
//
// It imports nothing of ours.
package ctl

import (
	"bufio"
	"encoding/json"
	"io"
)

// Verb names a command.
type Verb string

// The commands. They take effect at safe points, never inside a kernel. A command for
// one process or thread of several names it in Process and Thread; without, it is for all.
const (
	Pause    Verb = "pause" // stop at the next safe point
	Continue Verb = "continue"
	// Step runs to the next stop of the kind Arg: "" is the next safe point; "line" the next
	// line of the same function or its caller, "into" of any function, "out" after the
	// function has returned; "operator" the next operator, "instruction" the next of the trace;
	// FILE:LINE runs to that line.
	Step Verb = "step"
	// Back goes back in a program whose run is kept: Arg is "" for the stop before, "line" for the
	// line before in the same function or its caller, "operator" for the operator before, "nan" for where the
	// first NaN came into being, and a JSON list of names (a variable of the frame Level; fields and
	// indices in it) for where that value was written.
	Back Verb = "back"
	// Break sets the breakpoint Point. Arg is what stops, then perhaps " if CONDITION", an
	// expression of the program's language in the frame that stops:
	//	break, recompile, frame, call, kernel, nan, differs, raised   every such stop
	//	GB0170             breaks of that code
	//	FILE:LINE          a line
	//	func NAME          calls of a function
	//	guard TEXT         misses by a guard that contains the text
	//	id 1/0, id 1       compiles of a frame
	Break    Verb = "break"
	Clear    Verb = "clear"    // removes the breakpoint Point, or those of Arg where Point is 0
	Evaluate Verb = "evaluate" // Arg is an expression, in the frame Level of the stack
	Watch    Verb = "watch"    // Arg is an expression that every stop evaluates; Unwatch ends it
	Unwatch  Verb = "unwatch"
	// Leave lets the program run on when the channel ends; a paused one goes on.
	Leave Verb = "leave"

	// Two are the viewer's own, to a process of a Python program that connects.
	Start Verb = "start" // stop before the first line
	Ready Verb = "ready" // so far were the commands that stood before: the program may begin
)

// Command is one line of the channel.
type Command struct {
	ID      int    `json:"id"`
	Verb    Verb   `json:"verb"`
	Arg     string `json:"arg,omitempty"`
	Point   int    `json:"point,omitempty"`
	Level   int    `json:"level,omitempty"`
	Process int    `json:"pid,omitempty"` // 0: every process
	Thread  string `json:"thread,omitempty"`
}

// Send writes one command.
func Send(w io.Writer, c Command) error {
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// Receive calls f for each command until the channel ends, and returns the
// read error, nil at end of file.
func Receive(r io.Reader, f func(Command)) error {
	in := bufio.NewScanner(r)
	for in.Scan() {
		var c Command
		if json.Unmarshal(in.Bytes(), &c) == nil {
			f(c)
		}
	}
	return in.Err()
}
