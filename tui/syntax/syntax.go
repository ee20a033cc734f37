// Package syntax colours code: FX text, Go, Python with Triton, and C, by
// small lexers for chroma's engine. Chroma's own lexers and styles are not
// imported: their start-up costs more than ours in whole. Lines are lexed one
// by one as they come into view.
//
// It imports tui/theme only. Open syntax.go.
package syntax

import (
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"

	"tcdbg/tui/theme"
)

// Lang names a lexer.
type Lang string

// The languages.
const (
	None   Lang = ""
	FX     Lang = "fx"
	Go     Lang = "go"
	Python Lang = "python"
	C      Lang = "c"
	Diff   Lang = "diff"
)

// OfKernel is the language of a kernel as reports name it.
func OfKernel(lang string) Lang {
	switch lang {
	case "triton", "python":
		return Python
	case "cpp", "c":
		return C
	case "go":
		return Go
	}
	return None
}

// OfFile is the language of a source file.
func OfFile(name string) Lang {
	switch {
	case strings.HasSuffix(name, ".go"):
		return Go
	case strings.HasSuffix(name, ".py"):
		return Python
	case strings.HasSuffix(name, ".c"), strings.HasSuffix(name, ".cpp"), strings.HasSuffix(name, ".h"):
		return C
	}
	return None
}

// Highlighter holds the lexers; the zero value is ready.
type Highlighter struct {
	mu     sync.Mutex
	lexers map[Lang]chroma.Lexer
}

// maxLine is the longest line that is lexed: generated code has lines of
// megabytes, and nobody reads them for their colours.
const maxLine = 2000

// Line colours one line of code.
func (h *Highlighter) Line(lang Lang, line string) theme.Line {
	if lang == Diff {
		return diffLine(line)
	}
	lexer := h.lexer(lang)
	if lexer == nil || len(line) > maxLine {
		return theme.L(theme.Plain, line)
	}
	tokens, err := lexer.Tokenise(nil, line)
	if err != nil {
		return theme.L(theme.Plain, line)
	}
	var out theme.Line
	for t := tokens(); t != chroma.EOF; t = tokens() {
		text := strings.TrimSuffix(t.Value, "\n")
		if text == "" {
			continue
		}
		st := style(t.Type)
		if n := len(out); n > 0 && out[n-1].Style == st {
			out[n-1].Text += theme.Clean(text)
			continue
		}
		out = append(out, theme.T(st, text))
	}
	return out
}

func diffLine(line string) theme.Line {
	switch {
	case strings.HasPrefix(line, "+"):
		return theme.L(theme.Green, line)
	case strings.HasPrefix(line, "-"):
		return theme.L(theme.Red, line)
	case strings.HasPrefix(line, "@@"):
		return theme.L(theme.Cyan, line)
	}
	return theme.L(theme.Plain, line)
}

// style maps chroma's token types to the palette.
func style(t chroma.TokenType) theme.Style {
	switch {
	case t.InCategory(chroma.Comment):
		return theme.Faint
	case t == chroma.KeywordType:
		return theme.Yellow
	case t.InCategory(chroma.Keyword):
		return theme.Magenta
	case t.InSubCategory(chroma.LiteralString):
		return theme.Green
	case t.InSubCategory(chroma.LiteralNumber):
		return theme.Cyan
	case t == chroma.NameFunction, t == chroma.NameDecorator:
		return theme.Blue
	case t == chroma.NameVariable:
		return theme.Bold
	}
	return theme.Plain
}

func (h *Highlighter) lexer(lang Lang) chroma.Lexer {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l, ok := h.lexers[lang]; ok {
		return l
	}
	rules := rulesOf(lang)
	if rules == nil {
		return nil
	}
	l, err := chroma.NewLexer(&chroma.Config{Name: string(lang)}, func() chroma.Rules { return rules })
	if err != nil {
		return nil
	}
	if h.lexers == nil {
		h.lexers = map[Lang]chroma.Lexer{}
	}
	h.lexers[lang] = l
	return l
}
