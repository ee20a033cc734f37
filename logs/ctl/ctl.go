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

// The commands. They take effect at safe points: frame entry, graph break,
// guard miss; never inside a kernel.
const (
	Pause    Verb = "pause"
	Continue Verb = "continue"
	Step     Verb = "step"  // run to the next safe point
	Break    Verb = "break" // set a breakpoint: Arg is break|recompile|FILE:LINE
	Clear    Verb = "clear" // remove breakpoint Arg
	Evaluate Verb = "evaluate"
	// Leave lets the program run on when the channel ends; a paused one goes on.
	Leave Verb = "leave"
)

// Command is one line of the channel.
type Command struct {
	ID   int    `json:"id"`
	Verb Verb   `json:"verb"`
	Arg  string `json:"arg,omitempty"`
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
