package editor

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEditorCommand(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "model.go")
	write(t, file, "package main\n")
	for _, c := range []struct {
		editor string
		line   int
		want   []string
	}{
		{"vim", 12, []string{"vim", "+12", "--", file}},
		{"/usr/bin/nvim -p", 1, []string{"/usr/bin/nvim", "-p", "+1", "--", file}},
		{"vi", 0, []string{"vi", "+1", file}},
		{"emacsclient -nw", 7, []string{"emacsclient", "-nw", "+7", file}},
		{"code --wait", 3, []string{"code", "--wait", "--goto", file + ":3"}},
		{"hx", 3, []string{"hx", file + ":3"}},
		{"subl -w", 3, []string{"subl", "-w", file + ":3"}},
		{"zed --wait", 3, []string{"zed", "--wait", file + ":3"}},
		{"code-insiders", 3, []string{"code-insiders", "--goto", file + ":3"}},
		{"idea --wait", 3, []string{"idea", "--wait", "--line", "3", file}},
		{"/opt/goland/bin/goland.sh", 3, []string{"/opt/goland/bin/goland.sh", "--line", "3", file}},
		{"kate -b", 3, []string{"kate", "-b", "--line", "3", file}},
		{"emacs", 3, []string{"emacs", "+3", file}},
		{"kak", 3, []string{"kak", "+3", file}},
		{`"/opt/My Editor/vim" -c 'set nu'`, 3, []string{"/opt/My Editor/vim", "-c", "set nu", "+3", "--", file}},
		{`/opt/My\ Editor/ed`, 3, []string{"/opt/My Editor/ed", "+3", file}},
		{"vim $(touch x);", 3, []string{"vim", "$(touch", "x);", "+3", "--", file}},
	} {
		cmd, err := Command(c.editor, filepath.Join(dir, "sub/..", "model.go"), c.line)
		if err != nil || !slices.Equal(cmd.Args, c.want) {
			t.Errorf("%s: %v, %v\nwant %q", c.editor, cmd, err, c.want)
		}
	}
	for _, editor := range []string{"", "  ", `"vim`, `vim\`, `"" x`} {
		if cmd, err := Command(editor, file, 1); err == nil {
			t.Errorf("EDITOR=%q gives %q", editor, cmd.Args)
		}
	}
}

// A trace names the file, and whoever wrote the trace may have chosen a name that an editor
// takes for something else: what reaches it begins with a slash, or nothing does.
func TestEditorIsGivenFilesAlone(t *testing.T) {
	t.Chdir(t.TempDir())
	there := []string{"+!touch pwned", "-c", "--cmd", "+", "+12", "-", "$(touch pwned)", "a b;c"}
	for _, name := range there {
		write(t, name, "x\n")
	}
	for _, editor := range []string{"vim", "vi", "nano", "emacs", "code", "hx", "true --flag"} {
		for _, name := range there {
			cmd, err := Command(editor, name, 2)
			if err != nil {
				t.Errorf("%s %q: %v", editor, name, err)
				continue
			}
			if last := cmd.Args[len(cmd.Args)-1]; !strings.HasPrefix(last, "/") || !strings.Contains(last, "/"+name) {
				t.Errorf("%s is given %q for %q", editor, last, name)
			}
		}
	}
	for _, name := range []string{
		"", "+!touch pwned2", "/ssh:host:/etc/passwd", "/sudo::/etc/hosts", "/dev/zero", ".", "a\nb", "a\x1b[2Jb", "\x00",
	} {
		if cmd, err := Command("vim", name, 2); err == nil {
			t.Errorf("%q: the editor is given %q", name, cmd.Args)
		} else if strings.ContainsAny(err.Error(), "\x1b\n\x00") {
			t.Errorf("%q: what is said of it has a control character: %q", name, err)
		}
	}
}

// What vim itself makes of it: the name of a trace runs nothing.
func TestVimRunsNothing(t *testing.T) {
	if _, err := exec.LookPath("vim"); err != nil {
		t.Skip("no vim")
	}
	t.Chdir(t.TempDir())
	const name = "+!touch pwned"
	write(t, name, "x\n")
	cmd, err := Command("vim -u NONE -i NONE -n -es", name, 1)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Run() // how vim ends without a terminal is its own matter
	if _, err := os.Lstat("pwned"); err == nil {
		t.Errorf("%q ran a command", cmd.Args)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
