// Package stop stops the program: breakpoints, steps, what is shown at a stop, and
// expressions that are evaluated there. It carries out the commands of logs/ctl, and what
// it answers are trace records (logs/stop.go), so that a debugging session replays as any
// other run does.
//
// As in delve, one stop stops all: the other goroutines of the program wait at their next
// line, without a record of their own, until the one that stopped goes on. What they do in
// compiled code meanwhile (a kernel, a channel) they finish.
//
// Nothing is paid for it while nothing is armed. Lines, calls and operators are found by
// traps, which the host patches into the code of the functions that hold them
// (host.SetTraps); what the tracer does (a break, a miss, a compile) asks one atomic word.
// A cache entry that serves a call runs none of its lines: a line of a compiled function
// stops where the host runs it and where the tracer traces it.
//
// Open debugger.go first, then event.go; points.go and steps.go say when it stops, vars.go
// and values.go what is shown.
package stop
