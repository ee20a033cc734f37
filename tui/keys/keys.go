// Package keys is the one table of keys: the handler, the footer, the help
// screen, the palette and the README are all made from it.
//
// It imports nothing of ours. Open table.go for the keys.
package keys

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/bubbles/key"
)

// Screen names a screen.
type Screen int

// The screens, in the order of their tabs.
const (
	Overview Screen = iota
	Source
	Breaks
	Recompiles
	Guards
	Graph
	Fusion
	Kernels
	Timeline
	Logs
	Output
	Ranks

	Screens = int(Ranks) + 1
)

// info is a screen's names: full, for narrow terminals, and its key.
type info struct{ name, short, key, asks string }

func (s Screen) info() info {
	return [Screens]info{
		Overview:   {"Overview", "Over", "1", "How good is this run, and what do I do first?"},
		Source:     {"Source", "Src", "2", "What happens to each of my lines?"},
		Breaks:     {"Breaks", "Brk", "3", "Breaks by cost, worst first: why does each happen, and how do I fix it?"},
		Recompiles: {"Recompiles", "Rec", "4", "What changed, and which guard failed?"},
		Guards:     {"Guards", "Grd", "5", "What does every call check, which line needs it, and what does it cost?"},
		Graph:      {"Graph", "Gph", "6", "What was captured?"},
		Fusion:     {"Fusion", "Fus", "7", "What did each pass do, and why was no more fused?"},
		Kernels:    {"Kernels", "Krn", "8", "What code runs, and which of my lines does it compute?"},
		Timeline:   {"Timeline", "Time", "9", "Where did the compile time go?"},
		Logs:       {"Logs", "Log", "0", "What exactly was recorded?"},
		Output:     {"Output", "Out", "-", "What did the program print?"},
		Ranks:      {"Ranks", "Rnk", "=", "Which ranks differ, and where?"},
	}[s]
}

// String is the screen's name.
func (s Screen) String() string { return s.info().name }

// Short is the name for narrow terminals.
func (s Screen) Short() string { return s.info().short }

// Key opens the screen.
func (s Screen) Key() string { return s.info().key }

// Asks is the question that the screen answers.
func (s Screen) Asks() string { return s.info().asks }

// Action is what a key does.
type Action int

// Binding is one row of the table.
type Binding struct {
	key.Binding
	Action  Action
	Title   string   // what it does, as help and palette say it
	Screens []Screen // where it acts; nil: everywhere
	Footer  int      // place in the footer, 1 first; 0: not there
	Group   string   // heading in the help
}

// On reports whether the binding acts on a screen.
func (b Binding) On(s Screen) bool {
	if b.Screens == nil {
		return true
	}
	for _, x := range b.Screens {
		if x == s {
			return true
		}
	}
	return false
}

// Keys is how the binding's keys are written for people.
func (b Binding) Keys() string {
	var names []string
	for _, k := range b.Binding.Keys() {
		names = append(names, keyName(k))
	}
	return strings.Join(names, " ")
}

func keyName(k string) string {
	switch k {
	case " ":
		return "space"
	case "left":
		return "←"
	case "right":
		return "→"
	case "up":
		return "↑"
	case "down":
		return "↓"
	case "shift+tab":
		return "⇧tab"
	}
	return k
}

// Find returns the action of a key on a screen. A binding for that screen goes
// before one for all of them.
func Find(pressed string, s Screen) (Action, bool) {
	var found *Binding
	table := Table()
	for i := range table {
		b := &table[i]
		if !b.On(s) || !has(b.Binding.Keys(), pressed) {
			continue
		}
		if b.Screens != nil {
			return b.Action, true
		}
		if found == nil {
			found = b
		}
	}
	if found == nil {
		return 0, false
	}
	return found.Action, true
}

func has(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// Markdown is the table as the README shows it.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| keys | what they do | where |\n|---|---|---|\n")
	for _, k := range Table() {
		where := "everywhere"
		if k.Screens != nil {
			var names []string
			for _, s := range k.Screens {
				names = append(names, s.String())
			}
			where = strings.Join(names, ", ")
		}
		names := strings.Split(k.Keys(), " ")
		for i, n := range names {
			names[i] = "`" + strings.ReplaceAll(n, "|", "\\|") + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.Join(names, " "), k.Title, where)
	}
	return b.String()
}
