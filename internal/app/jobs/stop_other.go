//go:build !linux

package jobs

import "golang.org/x/sys/unix"

// catchesStops says whether a stop from another process can be caught: once Go has caught
// SIGTSTP, it never stops the process again.
const catchesStops = false

const getTermios = unix.TIOCGETA

// stopByDefault lets SIGTSTP stop the process, as it does where nobody catches it.
func stopByDefault() (back func()) { return func() {} }
