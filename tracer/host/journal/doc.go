// Package journal keeps what a program meets that would not be the same if it ran again:
// the time, seeds, what it reads from standard input, which files it reads. With it a second
// process runs the program again, to a moment that is over.
//
// Results of functions that ask the system are kept and given again. Files are not: they
// are read again, and what was in them is compared by a digest. What a program writes goes to a
// folder of its own when it runs again, so nothing is done twice.
//
// What can be neither kept nor repeated (goroutines, timers, other processes) ends the
// journal, with the reason: moments before it can still be gone back to.
//
// It imports nothing of ours. Open tape.go first, then policy.go and files.go.
package journal
