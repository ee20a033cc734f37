package habits

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The theme is kept in the file of settings, whose other lines stay; what is wrong in it is said with its line.
func TestSettingsAreKept(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	if s, bad := Settings(); s.Theme != "" || len(bad) > 0 {
		t.Errorf("without a file: %+v, %q", s, bad)
	}
	if err := KeepTheme("dark"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "tcdbg", "config")
	if err := os.WriteFile(path, []byte("# mine\ntheme = light\nbeep = on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := KeepTheme("colour-blind"); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	s, bad := Settings()
	if string(text) != "# mine\ntheme = colour-blind\nbeep = on\n" || s.Theme != "colour-blind" {
		t.Errorf("%q, %+v", text, s)
	}
	if len(bad) != 1 || !strings.HasPrefix(bad[0], path+": line 3: ") {
		t.Errorf("%q", bad)
	}
	if err := os.WriteFile(path, make([]byte, maxSettings+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, bad := Settings(); len(bad) != 1 {
		t.Errorf("a file of settings that is too large: %q", bad)
	}
}

// How screens were left is kept in the run's folder, as long as there is one.
func TestScreensAreLeft(t *testing.T) {
	run := t.TempDir()
	Leave(run, []byte("x"))
	if got := string(Left(run)); got != "x" {
		t.Errorf("%q", got)
	}
	gone := filepath.Join(run, "gone")
	Leave(gone, []byte("x"))
	if Left(gone) != nil || Left("") != nil {
		t.Error("a run that is gone was left")
	}
	if _, err := os.Stat(gone); err == nil {
		t.Error("the folder of a run that was removed is there again")
	}
}

// The hint is for the first time alone, and where that cannot be kept for nobody.
func TestFirstTime(t *testing.T) {
	state := filepath.Join(t.TempDir(), "tcdbg")
	if !FirstTime(state) || FirstTime(state) {
		t.Error("the first time is not the first alone")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if FirstTime(file) {
		t.Error("the hint is shown where it cannot be kept that it was")
	}
}
