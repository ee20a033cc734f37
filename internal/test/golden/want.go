package golden

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Want is one expectation on the line that causes it:
//
//	if b.Sum().Lt(0).Bool() { // want break GB0170
//	y := f(x)                 // want recompile "size mismatch at index 0"
//
// A comment may hold several, separated by semicolons. Expectations about the
// whole program may be on any line: want graphs 2.
type Want struct {
	Line int
	Kind string   // break, recompile, graphs, ops, kernels, extern, ...
	Args []string // quoted arguments come without their quotes
}

// Wants reads the expectations of a file.
func Wants(path string) ([]Want, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []Want
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for n := 1; s.Scan(); n++ {
		_, text, ok := strings.Cut(s.Text(), "// want ")
		if !ok {
			continue
		}
		for _, part := range splitOutsideQuotes(text, ';') {
			w, err := parseWant(part)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, n, err)
			}
			w.Line = n
			out = append(out, w)
		}
	}
	return out, s.Err()
}

func parseWant(text string) (Want, error) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "want ")
	var words []string
	for text != "" {
		if text[0] == '"' {
			q, err := strconv.QuotedPrefix(text)
			if err != nil {
				return Want{}, fmt.Errorf("want comment: %w in %s", err, text)
			}
			s, err := strconv.Unquote(q)
			if err != nil {
				return Want{}, err
			}
			words = append(words, s)
			text = strings.TrimLeft(text[len(q):], " ")
			continue
		}
		word, rest, _ := strings.Cut(text, " ")
		words = append(words, word)
		text = strings.TrimLeft(rest, " ")
	}
	if len(words) == 0 {
		return Want{}, fmt.Errorf("want comment: nothing is wanted")
	}
	return Want{Kind: words[0], Args: words[1:]}, nil
}

func splitOutsideQuotes(s string, sep byte) []string {
	var out []string
	start, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == sep && !quoted:
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}
