package torch

import "tcdbg/torch/internal/goroutine"

// This file turns the tape on and off, for each goroutine by itself, as PyTorch does
// for each thread: a new goroutine records, whatever the mode of the one that starts
// it.

// gradOff is 1 for goroutines whose operators do not record.
var gradOff goroutine.Local

// GradEnabled reports whether operators of the calling goroutine record the tape.
func GradEnabled() bool { return gradOff.Get() == 0 }

// SetGradEnabled turns the tape of the calling goroutine on or off and returns what it
// was. The mode holds until the goroutine changes it or ends.
func SetGradEnabled(on bool) bool {
	off := uint32(1)
	if on {
		off = 0
	}
	return gradOff.Set(off) == 0
}

// NoGrad runs f without recording the tape. Goroutines that f starts record.
func NoGrad(f func()) { withGrad(false, f) }

// EnableGrad runs f with the tape on, inside NoGrad too.
func EnableGrad(f func()) { withGrad(true, f) }

// withGrad runs f in a mode.
func withGrad(on bool, f func()) {
	was := SetGradEnabled(on)
	defer SetGradEnabled(was)
	f()
}
