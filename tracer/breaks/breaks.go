// Package breaks is the table of everything that can cut a graph or cause a
// recompile: code, type, explanation in our own words, hints, and who can do
// something about it. PyTorch's codes (GB0170) name PyTorch's causes; causes
// that only our Go tracer knows have codes from GB9000 to GB9099, a range that
// PyTorch's random codes leave free.
//
// It is pure data and imports nothing of ours. Open this file first, then
// codes.go (constants), texts.go (explanations) and recompiles.go.
package breaks

import (
	_ "embed"
	"strings"
	"sync"
)

// Fixability says who can remove a break.
type Fixability string

// The classes, as PyTorch's canned hints sort them, with ours for causes that
// come without a hint.
const (
	FixableByYou    Fixability = "fixable by you"
	Supportable     Fixability = "supportable"
	Fundamental     Fixability = "fundamental"
	CausedByEarlier Fixability = "caused by an earlier break"
	FrameworkBug    Fixability = "framework bug"
	Difficult       Fixability = "difficult to support"
	InferenceMode   Fixability = "inference mode"
	SparseTensor    Fixability = "sparse tensor"
	Intended        Fixability = "asked for by the program"
	InFramework     Fixability = "inside the framework"
	InLibrary       Fixability = "in an installed library"
	Unclassified    Fixability = "unclassified"
)

// Cause is one row of the table.
type Cause struct {
	Code        string // GB0170
	Type        string // Data-dependent branching
	Short       string // branch on a tensor's value; "" where only Type is known
	Explanation string // why the graph cannot go on; "" where only PyTorch's own text tells
	Hints       []string
	Fixability  Fixability
	Own         bool // a code of ours, unknown to PyTorch's pages
}

// Title is the short name of the cause: Short, else Type.
func (c Cause) Title() string {
	if c.Short != "" {
		return c.Short
	}
	return c.Type
}

//go:embed registry.tsv
var registryText string

// registry holds the parsed table, and types the rows by type. Both are built at
// the first look-up, so that a process that never meets a break pays nothing.
var (
	registry = sync.OnceValue(buildRegistry)
	types    = sync.OnceValue(buildTypes)
)

// tables hold rows once; maps of rows would take several times as long to build.
type tables struct {
	rows   []Cause
	byCode map[string]int // -> row
}

var classOf = map[string]Fixability{
	"-": Unclassified, "e": CausedByEarlier, "d": Difficult, "b": FrameworkBug,
	"f": Fundamental, "i": InferenceMode, "p": SparseTensor, "s": Supportable,
	"u": FixableByYou,
}

func buildRegistry() *tables {
	n := strings.Count(registryText, "\n") + len(explained)
	t := &tables{rows: make([]Cause, 0, n), byCode: make(map[string]int, n)}
	for line := range strings.Lines(registryText) {
		code, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		class, typ, ok := strings.Cut(rest, "\t")
		if !ok {
			continue
		}
		t.add(Cause{Code: code, Type: strings.TrimSpace(typ), Fixability: classOf[class]})
	}
	for _, c := range explained {
		if i, known := t.byCode[c.Code]; known {
			c.Type = orElse(c.Type, t.rows[i].Type)
			c.Fixability = Fixability(orElse(string(c.Fixability), string(t.rows[i].Fixability)))
		} else {
			c.Own = true
		}
		t.add(c)
	}
	return t
}

// add adds a row, or puts it in the place of the one with its code.
func (t *tables) add(c Cause) {
	if i, known := t.byCode[c.Code]; known {
		t.rows[i] = c
		return
	}
	t.byCode[c.Code] = len(t.rows)
	t.rows = append(t.rows, c)
}

// buildTypes finds the rows by their types, those of older releases included.
func buildTypes() map[string]int {
	t := registry()
	rows := make(map[string]int, len(t.rows)+len(formerTypes))
	for old, code := range formerTypes {
		if i, known := t.byCode[code]; known {
			rows[old] = i
		}
	}
	for i, c := range t.rows {
		rows[c.Type] = i
	}
	return rows
}

func (t *tables) row(i int, ok bool) (Cause, bool) {
	if !ok {
		return Cause{}, false
	}
	return t.rows[i], true
}

// Lookup finds the cause with the given code.
func Lookup(code string) (Cause, bool) {
	t := registry()
	i, ok := t.byCode[code]
	return t.row(i, ok)
}

// ByType finds the cause by its type, as logs without a link name it. Types
// that were renamed answer to both names.
func ByType(typ string) (Cause, bool) {
	i, ok := types()[strings.TrimSpace(typ)]
	return registry().row(i, ok)
}

// Codes lists every known code in the order of the table.
func Codes() []string {
	t := registry()
	codes := make([]string, len(t.rows))
	for i, c := range t.rows {
		codes[i] = c.Code
	}
	return codes
}

// Class finds the class that PyTorch's canned hints in text stand for:
// the printed hint is truer than the table, which is made from templates.
func Class(hints []string) (Fixability, bool) {
	for _, h := range hints {
		for _, m := range cannedHints {
			if strings.Contains(h, m.words) {
				return m.class, true
			}
		}
	}
	return "", false
}

// cannedHints tells the hint classes by a few identifying words; the most
// telling class comes first, since one break may carry several hints.
var cannedHints = []struct {
	words string
	class Fixability
}{
	{"caused by an earlier graph break", CausedByEarlier},
	{"fundamental", Fundamental},
	{"Dynamo has detected that tracing the code will result in an error", FixableByYou},
	{"is_inference_mode_enabled", InferenceMode},
	{"may be difficult to debug", Difficult},
	{"likely to be a Dynamo bug", FrameworkBug},
	{"may be possible to write Dynamo tracing rules", Supportable},
	{"sparse tensor", SparseTensor},
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
