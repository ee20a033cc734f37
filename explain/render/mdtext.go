package render

import (
	"html"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs/printable"
)

// This file makes text of a trace safe within GitHub's Markdown. What a trace says is a
// stranger's text: it may hold markup, HTML, links, and mentions that would notify people.

// joint is a character without width. Where it stands between "@" and a name, GitHub
// finds no mention; likewise for the numbers of issues and for addresses.
const joint = "\u200b"

// unlinked parts what GitHub would make a mention, a reference or a link of.
var unlinked = strings.NewReplacer("@", "@"+joint, "#", "#"+joint, "://", ":"+joint+"//", "www.", "www"+joint+".", "GH-", "GH"+joint+"-")

// mdPunctuation is what Markdown may take for markup; a backslash before it makes it text.
const mdPunctuation = "\\`*_{}[]<>()#+-!|~&$"

// mdLine is text of a trace as plain text, on one line.
func mdLine(s string) string {
	var b strings.Builder
	s = unlinked.Replace(oneRow(s))
	for i := range len(s) {
		if strings.IndexByte(mdPunctuation, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// mdCode is text as a code span, in which nothing is markup. Its fence is longer than any
// within. Bars need no escape, since no span is inside a table.
func mdCode(s string) string {
	s = oneRow(s)
	if s == "" {
		return ""
	}
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// mdHTML is text within HTML, such as a summary.
func mdHTML(s string) string { return html.EscapeString(unlinked.Replace(oneRow(s))) }

// mdBlock is lines as a block of code in a language.
func mdBlock(language string, lines []string) string {
	longest := 2
	var b strings.Builder
	for _, l := range lines {
		l = clipLine(printable.Clean(strings.TrimRight(l, " \t\r\n")), mdColumns)
		longest = max(longest, longestRun(l, '`'))
		b.WriteString(l + "\n")
	}
	fence := strings.Repeat("`", longest+1)
	return fence + language + "\n" + b.String() + fence + "\n"
}

// mdColumns is where a line of code is cut.
const mdColumns = 200

// clipLine cuts a line, whose spaces count.
func clipLine(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-3]) + "..."
	}
	return s
}

// oneRow is text without line ends and without what acts, cut where no reader follows.
func oneRow(s string) string { return printable.Clean(explain.ClipText(s, 600)) }

// longestRun is the longest run of c.
func longestRun(s string, c byte) int {
	run, most := 0, 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		most = max(most, run)
	}
	return most
}
