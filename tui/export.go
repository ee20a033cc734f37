package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/logs"
	"tcdbg/tui/editor"
	"tcdbg/tui/picture"
	"tcdbg/tui/theme"
)

// This file is what people take away from the screens: copies, files and pictures, and a line
// for their editor.

// copy puts a text on the clipboard.
func (sc *scene) copy(text string) tea.Cmd {
	if text == "" || sc.opt.Copy == nil {
		sc.fail("nothing to copy")
		return nil
	}
	put := sc.opt.Copy
	return func() tea.Msg {
		if err := put(text); err != nil {
			return statusMsg{"copy: " + err.Error(), true}
		}
		first, rest, _ := strings.Cut(text, "\n")
		if rest != "" {
			return statusMsg{text: fmt.Sprintf("copied %s", count(strings.Count(text, "\n")+1, "line"))}
		}
		return statusMsg{text: "copied " + theme.Cut(first, 50)}
	}
}

// selectedText is the detail's line, or the row with its place.
func (sc *scene) selectedText(p *pane) string {
	if p.inside && p.doc != nil {
		return strings.TrimRight(p.doc.text(p.docList.Cursor()), " ")
	}
	r := p.selected()
	if r == nil {
		return ""
	}
	text := strings.TrimSpace(strings.Join(strings.Fields(r.draw(sc, 400).Text()), " "))
	if pos := r.sel().Pos; pos.Line > 0 && !strings.Contains(text, sc.place(pos)) {
		text = sc.place(logs.Pos{File: pos.File, Line: pos.Line}) + "  " + text
	}
	return text
}

// maxExport bounds the rows of an exported screen.
const maxExport = 50_000

// export writes the screen, whole, to a file of the run's folder.
func (m *Model) export() tea.Cmd {
	sc, s, p := &m.sc, m.shown(), m.current()
	var b strings.Builder
	put := func(l theme.Line) {
		b.WriteString(strings.TrimRight(l.Text(), " "))
		b.WriteByte('\n')
	}
	put(sc.header(120))
	put(theme.L(theme.Plain, p.title.Name+": "+p.title.Asks))
	for _, l := range s.lead(sc, 120) {
		put(l)
	}
	for i := range min(p.Len(), maxExport) {
		put(p.at(i).draw(sc, 160))
	}
	if p.doc != nil {
		b.WriteByte('\n')
		for i := range min(p.doc.Len(), maxExport) {
			b.WriteString(strings.TrimRight(theme.Clean(p.doc.text(i)), " "))
			b.WriteByte('\n')
		}
	}
	return m.writeOut(".txt", b.String())
}

// exportPicture writes the frame as it is seen, as an SVG.
func (m *Model) exportPicture() tea.Cmd {
	return m.writeOut(".svg", picture.SVG("tcdbg, "+m.current().title.Name+": "+m.current().title.Asks, m.View(), m.columns, m.sc.h))
}

// writeOut writes a file named after the screen to the run's folder.
func (m *Model) writeOut(ext, text string) tea.Cmd {
	feed, name := m.sc.feed, "screen-"+strings.ToLower(m.current().title.Name)+ext
	return func() tea.Msg {
		path, err := feed.Export(name, text)
		if err != nil {
			return statusMsg{err.Error(), true}
		}
		return statusMsg{text: "wrote " + path}
	}
}

// pos is the source line that the cursor is on.
func (p *pane) pos() (logs.Pos, bool) {
	if s, ok := p.target(); ok && s.Pos.Line > 0 {
		return s.Pos, true
	}
	r := p.selected()
	if r == nil {
		return logs.Pos{}, false
	}
	pos := r.sel().Pos
	return pos, pos.Line > 0
}

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
	program, path := sc.opt.Editor, sc.feed.Path(pos.File)
	return func() tea.Msg {
		cmd, err := editor.Command(program, path, pos.Line)
		if err != nil {
			return statusMsg{err.Error(), true}
		}
		return tea.ExecProcess(cmd, sc.backAgain("editor: "))()
	}
}
