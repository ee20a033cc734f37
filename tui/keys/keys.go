// Package keys is the one table of keys: the handler, the footer, the help
// screen, the palette and the README are all made from it.
//
// It imports nothing of ours. Open table.go for the keys.
package keys

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
)

// Screen is the number of a screen: its place among the tabs.
type Screen int

// The screens that bindings name, or that others lead to. What each is called it says
// itself, in its Title.
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
	Stop
	Ledger
	Calls
	Numerics
	Profile
)

// Title is what a screen is called: its name, the name for narrow terminals, the key
// that opens it, and the question that it answers.
type Title struct{ Name, Short, Key, Asks string }

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
	return slices.Contains(b.Screens, s)
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

// Table is the bindings of a program's screens.
type Table struct {
	Rows   []Binding
	titles []Title
}

// Find returns the action of a key on a screen. A binding for that screen goes
// before one for all of them.
func (t *Table) Find(pressed string, s Screen) (Action, bool) {
	var found *Binding
	for i := range t.Rows {
		b := &t.Rows[i]
		if !b.On(s) || !slices.Contains(b.Binding.Keys(), pressed) {
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

// Markdown is the table as the README shows it.
func (t *Table) Markdown() string {
	var b strings.Builder
	b.WriteString("| keys | what they do | where |\n|---|---|---|\n")
	for _, k := range t.Rows {
		where := "everywhere"
		if k.Screens != nil {
			var names []string
			for _, s := range k.Screens {
				names = append(names, t.titles[s].Name)
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
