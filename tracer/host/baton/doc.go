// Package baton runs the goroutines of a program whose run is kept, one at a time, so that they
// can be run again in the same order.
//
// Whoever holds the baton runs. It is handed over where a goroutine waits (channels, select,
// package sync, time.Sleep), ends, calls runtime.Gosched, or has run for a
// number of loops. Each time, the journal keeps who runs next and which timer has ended; a
// program that runs again takes from there who runs and does not wait for the time. What else
// decides is the same again: queues are served in turn, and a select chooses by a generator whose
// seed is kept.
//
// Channels, locks and timers are Go's own, used without blocking; who waits for them is
// kept here. Where the journal has ended (something was met that cannot be repeated), the baton
// goes: goroutines run as the Go run time has them, and only their waiting stays here.
//
// It imports the journal. Open sched.go first.
package baton
