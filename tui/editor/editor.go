// Package editor makes the command line that opens a line in the user's editor. The path comes
// from a trace, which a stranger may have written: what an editor would take for a command
// (+!cmd), an option or the name of another machine never gets onto its command line. It
// imports nothing of the screens but their way to show a stranger's text.
package editor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tcdbg/tui/theme"
)

// Command is the editor's command line for a place: no shell, and the path an argument
// of its own.
func Command(editor, path string, line int) (*exec.Cmd, error) {
	args, err := editorWords(editor)
	if err != nil {
		return nil, err
	}
	if path, err = editablePath(path); err != nil {
		return nil, err
	}
	at := strconv.Itoa(max(line, 1))
	switch name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(args[0]), ".sh"), "64"); {
	case slices.Contains(gotoEditors, name):
		args = append(args, "--goto", path+":"+at)
	case slices.Contains(colonEditors, name):
		args = append(args, path+":"+at)
	case slices.Contains(lineEditors, name):
		args = append(args, "--line", at, path)
	case slices.Contains(dashEditors, name):
		args = append(args, "+"+at, "--", path)
	default: // one that knows no -- would open a file of that name
		args = append(args, "+"+at, path)
	}
	return exec.Command(args[0], args[1:]...), nil
}

// The editors that are told the line in another way than by +LINE, which emacs, vi, kak, micro and most
// others know.
var (
	gotoEditors  = []string{"code", "code-insiders", "codium", "vscodium", "cursor", "windsurf", "positron"}
	colonEditors = []string{"subl", "sublime_text", "zed", "zeditor", "hx", "helix"}
	lineEditors  = []string{
		"idea", "goland", "pycharm", "clion", "webstorm", "phpstorm", "rubymine", "rustrover", "dataspell", "studio", "kate", "mate",
	}
	dashEditors = []string{"vim", "nvim", "gvim", "mvim", "rvim", "nano"}
)

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
