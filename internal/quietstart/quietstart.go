// Package quietstart keeps third-party packages from talking to the terminal while they
// are initialised. Bubble Tea's init asks the terminal for its background colour: that
// writes escape sequences to standard output, reads what the user has typed for the
// program, waits five seconds for a terminal that does not answer, and leaves echo off
// when Ctrl-C comes meanwhile. It does so in every command and in the engine, because
// they are one binary, and has no switch but this: it asks nothing where CI is set.
//
// So CI is set from here until End. Go initialises, of the packages whose imports are
// ready, the first by import path. This one imports nothing but syscall, which package
// time imports too, and sorts before "time": so it comes before time, and so before
// everything that imports time, Bubble Tea included. Import nothing more here.
//
// It imports nothing of ours. Open quietstart.go.
package quietstart

import "syscall"

// variable is what termenv reads before it takes standard output for a terminal.
const variable = "CI"

// was is the user's value.
var was, found = hide()

func hide() (was string, found bool) {
	was, found = syscall.Getenv(variable)
	_ = syscall.Setenv(variable, "true") // fails for a malformed name alone
	return was, found
}

// End gives the environment back as the user set it. Call it in the init function of a
// package that imports all those that are to be quiet.
func End() {
	if found {
		_ = syscall.Setenv(variable, was)
		return
	}
	_ = syscall.Unsetenv(variable)
}
