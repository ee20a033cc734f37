// Package tui is the screens: one Bubble Tea model that draws a Report, live
// or saved, and never an engine's types. Lists of rows are made from a report
// off the UI goroutine (Model.poll); Update only moves cursors, View only draws
// what is seen; nothing in either reads a file.
//
// It imports explain, logs and logs/ctl only; never an engine package.
// Open feed.go first (where everything comes from), then model.go (who gets a message),
// screen.go (what a screen is, and the table of screens), scene.go (what all of them
// share), and one screen, ranks.go or breaks.go. A new screen is a file with a struct
// that embeds a pane, and a line of the table.
package tui

import (
	"context"
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/ctl"
)

// Feed is where the screens get what they show. All methods may be called
// from any goroutine; those marked (reads) may read files and are never
// called by Update or View.
type Feed interface {
	// Snapshot returns the newest report (reads). It is never nil and never
	// changes; the same pointer means that nothing new came.
	Snapshot() *explain.Report
	// Run tells how the program is.
	Run() Run
	// Records are the trace's records; nil where there are none to list.
	Records() Records
	// Output is what the program printed; nil for a saved trace without it.
	Output() Output
	// Source returns the lines of a source file (reads).
	Source(file string) ([]string, error)
	// Path maps a file name of the trace to one of this machine.
	Path(file string) string
	// Send gives the program a command, whose id the feed sets; it fails where that is not
	// possible.
	Send(c ctl.Command) error
	// Interrupt sends SIGINT to the program.
	Interrupt()
	// Leave lets the program run on after the screens end, or beside the next run.
	Leave() error
	// Rerun starts the program again and shows the new run; one that still runs is
	// stopped, unless Leave came first.
	Rerun() error
	// Watch runs the program again whenever its files change, or stops doing
	// so.
	Watch(on bool) error
	// Before returns the report of the last earlier run of the same program
	// (reads) and the run's name, or an error that says why there is none.
	Before() (r *explain.Report, name string, err error)
	// Apply changes a source file (writes); it fails where the lines that the hunks
	// remove are not there any more.
	Apply(file string, hunks []explain.Hunk) error
	// Undo takes the last Apply back (writes) and returns the file's name; it fails
	// where none is left, or the file has changed since.
	Undo() (file string, err error)
	// Schedule returns the kernels of a compile after so many of its fusion
	// decisions, -1 for before the first (reads); it fails where the trace lacks
	// what it takes.
	Schedule(f *explain.Fusion, decisions int) ([]Kernel, error)
	// Export writes text to a file of the given base name in the folder of
	// the run (reads) and returns its path.
	Export(name, text string) (string, error)
}

// Run is how a program is.
type Run struct {
	Title   string // captioner.go
	Root    string // folder from which paths are shown
	Live    bool
	Reading bool // a saved run, of which not all was read so far
	Paused  bool
	Control bool // pause and step are possible
	Again   bool // it can run again
	Ours    bool // tcdbg started it and it runs: the end of the screens ends it too
	Start   time.Time
	Elapsed time.Duration // of an ended run
	Ended   string        // "exit 0", "panic: ...", "kernel fault: ..."; "" while live or when unknown
	Failed  bool          // Ended is bad news
	Where   string        // the place where it is paused
	Watched bool          // it runs again when its files change
	Changes string        // what differs from the run before; "" for a first run
}

// Records lists trace records. Len only grows.
type Records interface {
	Len() int
	// At describes record i from the index alone.
	At(i int) Record
	// Payload reads record i (reads).
	Payload(i int) string
	// Search calls hit for each record whose payload or metadata contains the
	// query, and progress with the share that was searched (reads).
	Search(ctx context.Context, query string, hit func(i int), progress func(done float64))
}

// Record is one row of the Logs screen.
type Record struct {
	Time    string // 15:04:05.000
	When    time.Time
	Kind    string // dynamo_output_graph, artifact:recompile_reasons
	ID      string // 0/1_2, "" outside any compile
	Rank    int    // -1: none
	Summary string
	Bytes   int64
	Place   logs.Pos // of the writer
}

// Output lists lines of the program's standard output and error.
type Output interface {
	Len() int
	// Line returns line i; it reads at most one block that is in memory or in
	// the page cache.
	Line(i int) OutputLine
}

// OutputLine is one line that the program printed.
type OutputLine struct {
	Text string
	Err  bool // on standard error
}

// Options are what a terminal and its user bring.
type Options struct {
	Colour bool
	Mouse  bool
	// Editor is $EDITOR with its arguments; "" for none.
	Editor string
	// Copy puts text on the clipboard.
	Copy func(text string) error
	// Poll is how often the feed is asked for a new report.
	Poll time.Duration
	// Suspend stops the process until it is continued, with the terminal given back; nil
	// where that cannot be.
	Suspend func() error
	// Away brings what else needs the terminal given back while it runs.
	Away <-chan func() error
	// Screen is shown first.
	First int
	// Theme is the name of a theme; "" for the terminal's own colours.
	Theme string
	// KeepTheme writes the theme that was chosen to the user's settings; nil where there are none.
	KeepTheme func(name string) error
	// Left is how the screens of this run were left, as Left gave it.
	Left []byte
	// Hint says that nobody has seen the screens yet.
	Hint bool
}
