package keys

import "github.com/charmbracelet/bubbles/key"

// This file is the table. Keys are what people know from vim, less and
// lazygit; a key that means something else on one screen has a row for it.

// The actions. OpenScreen+n opens screen n.
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
	PrevRefusal
	HideSame
	Rerun
	Watch
	PrevItem
	NextItem
	OpenScreen
)

// Table returns all bindings.
func Table() []Binding {
	t := []Binding{
		bind(Up, "move up", "Navigation", 0, "up", "k"),
		bind(Down, "move down", "Navigation", 0, "down", "j"),
		bind(PageUp, "a page up", "Navigation", 0, "pgup", "ctrl+b"),
		bind(PageDown, "a page down", "Navigation", 0, "pgdown", "ctrl+f"),
		bind(HalfUp, "half a page up", "Navigation", 0, "ctrl+u"),
		bind(HalfDown, "half a page down", "Navigation", 0, "ctrl+d"),
		bind(Home, "first row", "Navigation", 0, "home", "g"),
		bind(End, "last row, and follow new rows", "Navigation", 0, "end", "G"),
		bind(Left, "scroll the code left", "Navigation", 0, "left", "h"),
		bind(Right, "scroll the code right", "Navigation", 0, "right", "l"),
		bind(Enter, "open", "Navigation", 1, "enter"),
		bind(Back, "back", "Navigation", 0, "esc", "backspace"),
		bind(OtherPane, "to the other pane", "Navigation", 0, "tab"),
		bind(NextScreen, "next screen", "Screens", 0, "L", "ctrl+right"),
		bind(PrevScreen, "previous screen", "Screens", 0, "H", "ctrl+left", "shift+tab"),
		bind(Search, "search", "Search", 5, "/"),
		bind(NextMatch, "next match", "Search", 0, "n"),
		bind(PrevMatch, "previous match", "Search", 0, "N"),
		bind(Filter, "filter rows", "Search", 6, "f"),
		bind(Palette, "command palette", "Search", 7, ":", "ctrl+p"),
		bind(Pause, "pause or continue", "The program", 3, " "),
		bind(Step, "when paused: run to the next safe point", "The program", 0, "s"),
		bind(Rerun, "run again", "The program", 3, "R"),
		bind(Watch, "run again whenever a file is saved, and say what changed", "The program", 0, "w"),
		bind(Copy, "copy the selection", "Copy and export", 0, "y"),
		bind(Editor, "open the line in $EDITOR", "Copy and export", 4, "e"),
		bind(Export, "write the screen to a file", "Copy and export", 0, "x"),
		bind(Picture, "write a picture of the screen (SVG)", "Copy and export", 0, "X"),
		bind(Help, "help", "General", 8, "?", "f1"),
		bind(Quit, "quit", "General", 9, "q"),
		bind(Interrupt, "interrupt the program; twice: stop it and quit", "General", 0, "ctrl+c"),
		bind(View, "table, code, drawing, operators", "Graph", 2, "v").on(Graph),
		bind(View, "source, Triton, operators, wrapper", "Kernels", 2, "v").on(Kernels),
		bind(Order, "sort: execution order, slowest, most bytes, by name", "Kernels", 4, "o").on(Kernels),
		bind(PrevItem, "previous graph or kernel", "Graph and Kernels", 0, "[").on(Graph, Kernels),
		bind(NextItem, "next graph or kernel", "Graph and Kernels", 0, "]").on(Graph, Kernels),
		bind(StepBack, "one step back", "Fusion", 0, "left", "h", "p").on(Fusion),
		bind(StepOn, "one step forward", "Fusion", 2, "right", "l").on(Fusion),
		bind(NextRefusal, "next pair not fused", "Fusion", 3, "]").on(Fusion),
		bind(PrevRefusal, "previous pair not fused", "Fusion", 0, "[").on(Fusion),
		bind(HideSame, "hide steps that change nothing", "Fusion", 4, "u").on(Fusion),
		bind(Fold, "fold or unfold", "Trees", 2, "z").on(Guards, Breaks),
		bind(FoldAll, "fold or unfold everything", "Trees", 0, "Z").on(Guards, Breaks),
		bind(DiffEntries, "diff against the previous entry", "Guards", 3, "d").on(Guards),
		bind(DiffRuns, "diff against the same kernel of the previous run", "Kernels", 3, "d").on(Kernels),
		bind(PreviewFix, "preview the fix as a diff of your file", "Breaks", 2, "p").on(Breaks),
		bind(ApplyFix, "write the fix to your file (asks first)", "Breaks", 0, "a").on(Breaks),
		bind(UndoFix, "undo the last fix that was written", "Breaks", 0, "u").on(Breaks),
	}
	for s := Screen(0); int(s) < Screens; s++ {
		t = append(t, bind(OpenScreen+Action(s), s.String()+": "+s.Asks(), "Screens", 0, s.Key()))
	}
	return t
}

func bind(a Action, title, group string, footer int, keys ...string) Binding {
	return Binding{
		Binding: key.NewBinding(key.WithKeys(keys...), key.WithHelp(keyName(keys[0]), title)),
		Action:  a, Title: title, Group: group, Footer: footer,
	}
}

func (b Binding) on(s ...Screen) Binding {
	b.Screens = s
	return b
}
