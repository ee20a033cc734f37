// Package habits keeps between runs what people set on the screens: the file of settings, how the
// screens of a run were left, and that the hint of the first time was shown.
//
// It imports tui/habit and tui/theme. There is one file.
package habits

import (
	"fmt"
	"os"
	"path/filepath"

	"tcdbg/tui/habit"
	"tcdbg/tui/theme"
)

// maxSettings bounds the file of settings.
const maxSettings = 1 << 16

// SettingsFile is where settings are: $XDG_CONFIG_HOME/tcdbg/config.
func SettingsFile() (string, error) {
	base := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no home folder for settings: %v; set XDG_CONFIG_HOME", err)
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "tcdbg", "config"), nil
}

// Settings reads the file of settings; without one they are as they are by default.
func Settings() (s habit.Settings, problems []string) {
	path, err := SettingsFile()
	if err != nil {
		return s, nil
	}
	text, err := read(path)
	switch {
	case os.IsNotExist(err):
		return s, nil
	case err != nil:
		return s, []string{err.Error()}
	}
	s, problems = habit.ReadSettings(text, theme.Names())
	for i := range problems {
		problems[i] = path + ": " + problems[i]
	}
	return s, problems
}

func read(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSettings {
		return "", fmt.Errorf("%s is no file of settings", path)
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// KeepTheme writes the theme to the file of settings; its other lines stay.
func KeepTheme(name string) error {
	path, err := SettingsFile()
	if err != nil {
		return err
	}
	text, err := read(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return write(path, habit.Change(text, habit.ThemeName, name))
}

// write writes a file whole or not at all.
func write(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is not there any more where all went well
	if _, err = f.WriteString(text); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// leftFile is the file of a run folder that says how its screens were left.
const leftFile = "screens.json"

// Left is how the screens of a run were left; nil where nobody opened them.
func Left(run string) []byte {
	if run == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(run, leftFile))
	if err != nil {
		return nil
	}
	return text
}

// Leave keeps how the screens of a run are left. A run that cannot be written to is opened as ever.
func Leave(run string, left []byte) {
	if run == "" || len(left) == 0 {
		return
	}
	if info, err := os.Stat(run); err != nil || !info.IsDir() {
		return // it was removed meanwhile
	}
	_ = write(filepath.Join(run, leftFile), string(left))
}

// FirstTime says whether the screens are opened for the first time; seen is the file that remembers it. Where it
// cannot be kept nobody is told again and again.
func FirstTime(state string) bool {
	seen := filepath.Join(state, "screens-seen")
	if _, err := os.Stat(seen); err == nil || !os.IsNotExist(err) {
		return false
	}
	if os.MkdirAll(state, 0o755) != nil {
		return false
	}
	return os.WriteFile(seen, []byte("the hint of the first time was shown\n"), 0o600) == nil
}
