package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/logs"
	"tcdbg/tui/theme"
)

// This file opens a line in the user's editor. The path comes from a trace, which a stranger
// may have written: what an editor would take for a command (+!cmd), an option or the name of
// another machine never gets onto its command line. Below is how the terminal is given away
// for that, and to the shell that Ctrl-Z goes back to, and is taken again.

// edit opens the selected line in the user's editor.
func (sc *scene) edit(pos logs.Pos, ok bool) tea.Cmd {
	switch {
	case !ok:
		sc.fail("this row has no source line")
		return nil
	case sc.opt.Editor == "":
		sc.fail("set EDITOR to open " + sc.place(pos))
		return nil
	}
	editor, path := sc.opt.Editor, sc.feed.Path(pos.File)
	return func() tea.Msg {
		cmd, err := editorCommand(editor, path, pos.Line)
		if err != nil {
			return statusMsg{err.Error(), true}
		}
		return tea.ExecProcess(cmd, sc.backAgain("editor: "))()
	}
}

// editorCommand is the editor's command line for a place: no shell, and the path an argument
// of its own.
func editorCommand(editor, path string, line int) (*exec.Cmd, error) {
	args, err := editorWords(editor)
	if err != nil {
		return nil, err
	}
	if path, err = editablePath(path); err != nil {
		return nil, err
	}
	at := strconv.Itoa(max(line, 1))
	switch filepath.Base(args[0]) {
	case "code", "codium", "cursor", "windsurf":
		args = append(args, "--goto", path+":"+at)
	case "subl", "zed", "hx", "helix":
		args = append(args, path+":"+at)
	case "vim", "nvim", "gvim", "mvim", "rvim", "nano":
		args = append(args, "+"+at, "--", path)
	default: // one that knows no -- would open a file of that name
		args = append(args, "+"+at, path)
	}
	return exec.Command(args[0], args[1:]...), nil
}

// editablePath is the path as an editor may have it: absolute and cleaned, so that it begins
// with a slash and nothing else, and of a regular file that is there: what only an editor
// knows how to reach (/ssh:host:/file) is none.
func editablePath(path string) (string, error) {
	if path == "" || strings.ContainsFunc(path, unicode.IsControl) {
		return "", fmt.Errorf("%s is no file that an editor is given", theme.Clean(strconv.Quote(path)))
	}
	path, err := filepath.Abs(path) // cleans it
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("%s: no such file on this machine; --source-map says where it is", theme.Clean(path))
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", theme.Clean(path))
	}
	return path, nil
}

// editorWords splits $EDITOR into the program and its arguments. Quotes and backslashes keep
// a space within a word, as in a shell; nothing else of a shell is known.
func editorWords(editor string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune // that is open, 0: none
	begun, escaped := false, false
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range editor {
		switch {
		case escaped:
			escaped = false
			word.WriteRune(r)
		case r == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, begun = r, true
		case quote == 0 && unicode.IsSpace(r):
			end()
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if end(); quote != 0 || escaped || len(words) == 0 || words[0] == "" {
		return nil, errors.New("EDITOR names no program: " + theme.Clean(editor))
	}
	return words, nil
}

// awayMsg asks that the terminal be given back while do runs.
type awayMsg struct{ do func() error }

// errand runs a function where Bubble Tea runs commands: with the terminal given back.
type errand func() error

func (e errand) Run() error          { return e() }
func (e errand) SetStdin(io.Reader)  {}
func (e errand) SetStdout(io.Writer) {}
func (e errand) SetStderr(io.Writer) {}

// suspend stops tcdbg until the shell continues it. The program below runs on.
func (sc *scene) suspend() tea.Cmd {
	if sc.opt.Suspend == nil {
		return nil
	}
	return sc.away(sc.opt.Suspend)
}

// away gives the terminal back, runs do and takes the terminal again.
func (sc *scene) away(do func() error) tea.Cmd {
	return tea.Exec(errand(do), sc.backAgain(""))
}

// backAgain is what follows when the terminal was taken again: Bubble Tea gives the mouse
// away with it, and leaves that to us.
func (sc *scene) backAgain(what string) func(error) tea.Msg {
	return func(err error) tea.Msg {
		return onUI(func(sc *scene) tea.Cmd {
			if err != nil {
				sc.fail(what + err.Error())
			}
			if sc.opt.Mouse {
				return tea.EnableMouseCellMotion
			}
			return nil
		})
	}
}

// passOn gives p what others want to do with the terminal, until ctx ends.
func passOn(ctx context.Context, p *tea.Program, away <-chan func() error) {
	for {
		select {
		case <-ctx.Done():
			return
		case do := <-away:
			p.Send(awayMsg{do})
		}
	}
}
