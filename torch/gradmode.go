package torch

import "sync/atomic"

// This file turns the tape on and off.

var gradOff atomic.Bool

// GradEnabled reports whether operators record the tape (process-wide).
func GradEnabled() bool { return !gradOff.Load() }

// SetGradEnabled turns the tape on or off and returns what it was.
func SetGradEnabled(on bool) bool { return !gradOff.Swap(!on) }

// NoGrad runs f without recording the tape.
func NoGrad(f func()) {
	was := SetGradEnabled(false)
	defer SetGradEnabled(was)
	f()
}

// EnableGrad runs f with the tape on, inside NoGrad too.
func EnableGrad(f func()) {
	was := SetGradEnabled(true)
	defer SetGradEnabled(was)
	f()
}
