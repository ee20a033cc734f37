package habit

import (
	"fmt"
	"slices"
	"strings"
)

// This file reads and changes the file of settings: lines of NAME = VALUE, and comments after #.

// Settings are what the file says.
type Settings struct {
	Theme string // terminal, light, dark, high-contrast, colour-blind; "": terminal
}

// ThemeName is the name of a setting.
const ThemeName = "theme"

// ReadSettings reads a file of settings. What it does not know it says, and reads on.
func ReadSettings(text string, themes []string) (s Settings, problems []string) {
	for i, line := range strings.Split(text, "\n") {
		name, value, ok := setting(line)
		switch {
		case name == "" && !ok:
		case name == ThemeName && slices.Contains(themes, value):
			s.Theme = value
		case name == ThemeName:
			problems = append(problems, fmt.Sprintf("line %d: theme is one of %s", i+1, strings.Join(themes, ", ")))
		default:
			problems = append(problems, fmt.Sprintf("line %d: no such setting: %q", i+1, strings.TrimSpace(line)))
		}
	}
	return s, problems
}

// setting is the name and value of a line; ok where it is no comment and not empty.
func setting(line string) (name, value string, ok bool) {
	line, _, _ = strings.Cut(line, "#")
	if line = strings.TrimSpace(line); line == "" {
		return "", "", false
	}
	name, value, _ = strings.Cut(line, "=")
	return strings.TrimSpace(name), strings.TrimSpace(value), true
}

// Change is the text of a file of settings with one changed, and all else as it was.
func Change(text, name, value string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if text == "" {
		lines = nil
	}
	set := name + " = " + value
	for i, l := range lines {
		if n, _, ok := setting(l); ok && n == name {
			lines[i] = set
			return strings.Join(lines, "\n") + "\n"
		}
	}
	return strings.Join(append(lines, set), "\n") + "\n"
}
