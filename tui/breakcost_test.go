package tui

import "testing"

// The list of breaks says what a steady call loses, and what was compiled for it beside that: a time alone does
// not say which it is.
func TestBreaksListSaysWhatACallLoses(t *testing.T) {
	f := richFeed()
	g := f.report.Breaks[0]
	g.LeftNanos, g.Seconds = 29_000, 0.0012
	d := newDriver(t, f, Options{}, 160, 40)
	d.script("keys 3\nexpect 29 us a call, 1.2 ms compiling")
	g.LeftNanos = 0
	d = newDriver(t, f, Options{}, 160, 40)
	d.script("keys 3\nexpect   1.2 ms compiling\nrefute us a call, 1.2 ms compiling")
}
