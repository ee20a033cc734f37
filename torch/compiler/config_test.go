package compiler

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestSettingsAreDescribed: docs/settings.md has each field and each option.
func TestSettingsAreDescribed(t *testing.T) {
	text, err := os.ReadFile("../../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	names := ListOptions()
	for f := range reflect.TypeFor[Settings]().Fields() {
		names = append(names, f.Name)
	}
	for _, name := range names {
		found := false
		for line := range strings.Lines(string(text)) {
			first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
			for word := range strings.SplitSeq(first, ", ") {
				found = found || word == name
			}
		}
		if !found {
			t.Errorf("no row for %s", name)
		}
	}
}

// TestConfigureRefuses: what no setting can be is refused, and changes nothing.
func TestConfigureRefuses(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		"AccumulatedRecompileLimit 0 is below 1":         func(s *Settings) { s.AccumulatedRecompileLimit = 0 },
		"RecompileLimit -1 is below 1":                   func(s *Settings) { s.RecompileLimit = -1 },
		"IgnoreLoggingFunctions holds a string":          func(s *Settings) { s.IgnoreLoggingFunctions = []any{"fmt.Println"} },
		"ReorderableLoggingFunctions holds a func()":     func(s *Settings) { s.ReorderableLoggingFunctions = []any{(func())(nil)} },
		"is given with its receiver; a logging function": func(s *Settings) { s.ReorderableLoggingFunctions = []any{t.Log} },
	} {
		before := Config()
		said := func() (said string) {
			defer func() { said = fmt.Sprint(recover()) }()
			Configure(change)
			return ""
		}()
		if !strings.Contains(said, want) || !reflect.DeepEqual(before, Config()) {
			t.Errorf("%q, want %q; then %+v", said, want, Config())
		}
	}
	old := Configure(func(s *Settings) { s.IgnoreLoggingFunctions = append(s.IgnoreLoggingFunctions, fmt.Println) })
	defer Configure(func(s *Settings) { *s = old })
	Config().IgnoreLoggingFunctions[0] = nil
	if Config().IgnoreLoggingFunctions[0] == nil || len(old.IgnoreLoggingFunctions) != 0 {
		t.Error("the settings share a list with what Config returned")
	}
}
