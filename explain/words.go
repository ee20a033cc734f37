package explain

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// Distinct keeps the first of equal strings.
func Distinct(list []string) []string {
	seen := make(map[string]bool, len(list))
	out := list[:0:0]
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// LetterOrDigit reports whether c may be part of an identifier.
func LetterOrDigit(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// OrNothing is what a guard asked, in words where it asked nothing.
func OrNothing(s string) string {
	if s == "" {
		return "not asked"
	}
	return s
}

// ByCount lists keys, the most frequent first.
func ByCount(m map[string]int) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		if m[keys[i]] != m[keys[j]] {
			return m[keys[i]] > m[keys[j]]
		}
		return keys[i] < keys[j]
	})
	return keys
}

// RankPrefix names the rank before a compile's id; nothing in a run of one process.
func RankPrefix(id ID) string {
	if id.Rank < 0 {
		return ""
	}
	return fmt.Sprintf("r%d ", id.Rank)
}

// NotLogged is said in place of a count of none that a text log may have left out.
func NotLogged(what string) string { return "no " + what + "s logged" }

// Count is a number with its noun: "1 graph", "2 graphs".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %s", n, plural(what))
}

// Are is Count with the verb: 1 phase is, 2 phases are.
func Are(n int, what string) string {
	if n == 1 {
		return Count(n, what) + " is"
	}
	return Count(n, what) + " are"
}

// plural is a noun of many: entries, patches, processes, graphs.
func plural(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "try"); ok {
		return stem + "tries"
	}
	if strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "ch") {
		return noun + "es"
	}
	return noun + "s"
}

// ClipText is s in one line of at most n characters.
func ClipText(s string, n int) string {
	s = Squeeze(s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-3]) + "..."
}

// GroupOften is how often a break was met, in words.
func GroupOften(g *BreakGroup) string {
	switch n := len(g.Breaks); {
	case g.Times() > 0 || n == 0:
		return "seen in " + Count(g.Times(), "compile")
	case n == 1:
		return "hit while another was handled"
	default:
		return "hit " + Count(n, "time") + " while another was handled"
	}
}

// Duration is seconds as people read them: 2.1 ms, 41 ms, 3.20 s.
func Duration(s float64) string {
	switch {
	case s < 0.01:
		return fmt.Sprintf("%.1f ms", 1e3*s)
	case s < 1:
		return fmt.Sprintf("%.0f ms", 1e3*s)
	}
	return fmt.Sprintf("%.2f s", s)
}

// FailureText is one failing guard in words.
func FailureText(g *GuardFailure) string {
	kind, _ := breaks.Recompile(g.Kind)
	s := kind.Short
	if src := PlainSource(g.Source); src != "" {
		s += ": " + src
	}
	if g.Dim >= 0 {
		s += fmt.Sprintf(" dim %d", g.Dim)
	}
	if g.Expected != "" {
		s += ", expected " + ClipText(g.Expected, 60)
	}
	if g.Actual != "" {
		s += ", actual " + ClipText(g.Actual, 60)
	}
	if g.Source == "" && g.Expected == "" {
		s += ": " + ClipText(g.Text, 100)
	}
	return s
}

// ParentShown reports whether the frame that fr resumes is in the report.
func ParentShown(fr *Frame) bool {
	for p := fr.Parent; p != nil; p = p.Parent {
		if p == fr {
			return false
		}
	}
	return true
}

// FrameTitle names a frame for people: resume functions have invented names.
func FrameTitle(fr *Frame) string {
	switch {
	case fr.Name != "":
	case fr.ID.Frame < 0: // of a text log without ids
		return "function not named"
	default:
		return "frame " + strconv.Itoa(fr.ID.Frame)
	}
	return TitleOf(fr.Name)
}

// TitleOf words the name of a resumed part.
func TitleOf(name string) string { return logs.FunctionTitle(name) }

// Nanos is a run time, "-" when unknown.
func Nanos(n int64) string {
	switch {
	case n <= 0:
		return "-"
	case n < 10_000:
		return fmt.Sprintf("%.1f us", float64(n)/1e3)
	case n < 1_000_000:
		return fmt.Sprintf("%.0f us", float64(n)/1e3)
	}
	return Duration(float64(n) / 1e9)
}

// Bytes is 1.5 MB and the like, "-" when unknown.
func Bytes(n int64) string {
	switch {
	case n < 0:
		return "-"
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.4g KB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.4g MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.4g GB", float64(n)/(1<<30))
}
