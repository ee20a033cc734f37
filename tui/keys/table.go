package keys

import "github.com/charmbracelet/bubbles/key"

// This file is the table. Keys are what people know from vim, less and
// lazygit; a key that means something else on one screen has a row for it.

// The actions. OpenScreen+n opens screen n, Own+n is one that a single screen knows.
const (
	None Action = iota
	Up
	Down
	PageUp
	PageDown
	HalfUp
	HalfDown
	Home
	End
	Left
	Right
	Enter
	Back
	OtherPane
	NextScreen
	PrevScreen
	Search
	NextMatch
	PrevMatch
	Filter
	Palette
	Help
	Quit
	Interrupt
	Suspend
	Pause
	Step
	Copy
	Editor
	Export
	Picture
	View
	Order
	Fold
	FoldAll
	DiffEntries
	DiffRuns
	PreviewFix
	ApplyFix
	UndoFix
	StepBack
	StepOn
	NextRefusal
	ByBytes
	PrevRefusal
	HideSame
	Rerun
	Watch
	PrevItem
	NextItem
	XRay
	Linked
	SetBreakpoint
	RunToLine
	Try
	TryAll
	TrySwitch
	Lower
	SetMark
	GoMark
	Narrower
	Wider
	Columns
	OpenScreen

	Own Action = 1000
)

// New makes the table for screens of these titles, in the order of their tabs, with
// what each binds by itself.
func New(titles []Title, own [][]Binding) *Table {
	t := &Table{rows(), titles}
	for s, more := range own {
		for _, b := range more {
			t.Rows = append(t.Rows, b.on(Screen(s)))
		}
	}
	for s, name := range titles {
		t.Rows = append(t.Rows, Bind(OpenScreen+Action(s), name.Name+": "+name.Asks, "Screens", 0, name.Key))
	}
	return t
}

// rows are the bindings of all screens.
func rows() []Binding {
	return []Binding{
		Bind(Up, "move up", "Navigation", 0, "up", "k"),
		Bind(Down, "move down", "Navigation", 0, "down", "j"),
		Bind(PageUp, "a page up", "Navigation", 0, "pgup", "ctrl+b"),
		Bind(PageDown, "a page down", "Navigation", 0, "pgdown", "ctrl+f"),
		Bind(HalfUp, "half a page up", "Navigation", 0, "ctrl+u"),
		Bind(HalfDown, "half a page down", "Navigation", 0, "ctrl+d"),
		Bind(Home, "first row", "Navigation", 0, "home", "g"),
		Bind(End, "last row, and follow new rows", "Navigation", 0, "end", "G"),
		Bind(Left, "scroll the code left", "Navigation", 0, "left", "h"),
		Bind(Right, "scroll the code right", "Navigation", 0, "right", "l"),
		Bind(Enter, "open", "Navigation", 1, "enter"),
		Bind(Back, "back", "Navigation", 0, "esc", "backspace"),
		Bind(OtherPane, "to the other pane", "Navigation", 0, "tab"),
		Bind(NextScreen, "next screen", "Screens", 0, "L", "ctrl+right"),
		Bind(PrevScreen, "previous screen", "Screens", 0, "H", "ctrl+left", "shift+tab"),
		Bind(Search, "search", "Search", 5, "/"),
		Bind(NextMatch, "next match", "Search", 0, "n"),
		Bind(PrevMatch, "previous match", "Search", 0, "N"),
		Bind(SetMark, "mark the row: m and a letter", "Navigation", 0, "m"),
		Bind(GoMark, "go to a mark: ' and its letter", "Navigation", 0, "'"),
		Bind(Narrower, "make the list narrower", "Screens", 0, "<"),
		Bind(Wider, "make the list wider", "Screens", 0, ">"),
		Bind(Filter, "filter rows", "Search", 6, "f"),
		Bind(Palette, "command palette", "Search", 7, ":", "ctrl+p"),
		Bind(Pause, "pause or continue", "The program", 3, " "),
		Bind(Step, "when paused: run to the next safe point", "The program", 0, "s"),
		Bind(Rerun, "run again", "The program", 3, "R"),
		Bind(Watch, "run again whenever a file is saved, and say what changed", "The program", 0, "w"),
		Bind(XRay, "X-ray: the selected line from source to kernel", "Screens", 0, "*"),
		Bind(Linked, "three linked screens beside each other (160 columns)", "Screens", 0, "|"),
		Bind(Copy, "copy the selection", "Copy and export", 0, "y"),
		Bind(Editor, "open the line in $EDITOR", "Copy and export", 4, "e"),
		Bind(Export, "write the screen to a file", "Copy and export", 0, "x"),
		Bind(Picture, "write a picture of the screen (SVG)", "Copy and export", 0, "X"),
		Bind(Help, "help", "General", 8, "?", "f1"),
		Bind(Quit, "quit", "General", 9, "q"),
		Bind(Interrupt, "interrupt the program; twice: stop it and quit", "General", 0, "ctrl+c"),
		Bind(Suspend, "suspend tcdbg, as the shell does; the program runs on", "General", 0, "ctrl+z"),
		Bind(View, "table, drawing, operators, code, stages", "Graph", 2, "v").on(Graph),
		Bind(View, "source, Triton, operators, wrapper", "Kernels", 2, "v").on(Kernels),
		Bind(Order, "sort: execution order, slowest, most bytes, by name", "Kernels", 4, "o").on(Kernels),
		Bind(Order, "sort: causes first, most compile time, most often, by line", "Breaks", 0, "o").on(Breaks),
		Bind(Order, "sort: as they came, most time, most often, by line, newest", "Recompiles", 4, "o").on(Recompiles),
		Bind(Order, "sort: as compiled, slowest, most guards, failures, by line", "Guards", 4, "o").on(Guards),
		Bind(Order, "sort: as compiled, most calls, time, compiles, by line", "Calls", 2, "o").on(Calls),
		Bind(Order, "sort: as recorded, newest, oldest, largest, by kind", "Logs", 4, "o").on(Logs),
		Bind(Order, "sort: largest group, slowest, by rank, by what parted them", "Ranks", 2, "o").on(Ranks),
		Bind(Order, "sort: differing, largest difference, most calls, name", "Numerics", 4, "o").on(Numerics),
		Bind(Order, "sort: most time, most calls, by kind, by name, by line", "Profile", 4, "o").on(Profile),
		Bind(Order, "sort: proven first, breaks, call, compile, memory", "Trials of remedies", 4, "o").on(Ledger),
		Bind(Columns, "hide and show columns", "Screens", 8, "C").
			on(
				Overview, Source, Breaks, Recompiles, Guards, Graph, Kernels, Timeline, Logs, Ranks, Ledger, Calls, Numerics, Profile,
			),
		Bind(Lower, "PyTorch's graph through our own Inductor, and back", "Graph, Fusion and Kernels", 3, "I").on(Graph, Fusion, Kernels),
		Bind(PrevItem, "previous graph or kernel", "Graph and Kernels", 0, "[").on(Graph, Kernels),
		Bind(NextItem, "next graph or kernel", "Graph and Kernels", 0, "]").on(Graph, Kernels),
		Bind(StepBack, "one step back", "Fusion", 0, "left", "h", "p").on(Fusion),
		Bind(StepOn, "one step forward", "Fusion", 2, "right", "l").on(Fusion),
		Bind(NextRefusal, "next pair not fused", "Fusion", 3, "]").on(Fusion),
		Bind(ByBytes, "steps, or what was not fused by bytes lost", "Fusion", 4, "v").on(Fusion),
		Bind(PrevRefusal, "previous pair not fused", "Fusion", 0, "[").on(Fusion),
		Bind(HideSame, "hide steps that change nothing", "Fusion", 4, "u").on(Fusion),
		Bind(Fold, "fold or unfold", "Trees", 2, "z").on(Guards, Breaks, Graph),
		Bind(FoldAll, "fold or unfold everything", "Trees", 0, "Z").on(Guards, Breaks, Graph),
		Bind(Fold, "list what does not fit, or fold it", "Overview", 0, "z").on(Overview),
		Bind(Fold, "fold or unfold equal refusals", "Fusion", 0, "z").on(Fusion),
		Bind(DiffEntries, "diff against the previous entry", "Guards", 3, "d").on(Guards),
		Bind(DiffRuns, "diff against the same kernel of the previous run", "Kernels", 3, "d").on(Kernels),
		Bind(PreviewFix, "preview the fix as a diff of your file", "Breaks", 2, "p").on(Breaks),
		Bind(ApplyFix, "write the fix to your file (asks first)", "Breaks", 0, "a").on(Breaks),
		Bind(UndoFix, "undo the last fix that was written", "Breaks", 0, "u").on(Breaks),
		Bind(SetBreakpoint, "set a breakpoint: at the line, or asks where", "The program", 0, "b").on(Source, Stop),
		Bind(Try, "try the remedy of the row: the program runs with it", "Trials of remedies", 3, "t").on(Overview, Breaks, Recompiles),
		Bind(TryAll, "try every remedy, alone and together", "Trials of remedies", 0, "T").on(Overview, Breaks, Recompiles, Ledger),
		Bind(TrySwitch, "try a switch on the whole program: asks which", "Trials of remedies", 0, "W").
			on(Overview, Breaks, Recompiles, Ledger),
		Bind(RunToLine, "run to the line", "The program", 0, "r").on(Source, Stop),
		Bind(Fold, "fold or unfold", "Trees", 3, "z").on(Stop),
	}
}

// Bind makes a row: what keys do, the heading in the help, and the place in the footer.
func Bind(a Action, title, group string, footer int, keys ...string) Binding {
	return Binding{
		Binding: key.NewBinding(key.WithKeys(keys...), key.WithHelp(keyName(keys[0]), title)),
		Action:  a, Title: title, Group: group, Footer: footer,
	}
}

func (b Binding) on(s ...Screen) Binding {
	b.Screens = s
	return b
}
