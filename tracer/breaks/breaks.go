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

// registry holds the parsed table; it is built at the first look-up, so that a
// process that never meets a break pays nothing.
var registry = sync.OnceValue(buildRegistry)

type tables struct {
	byCode map[string]Cause
	byType map[string]string // type -> code
	codes  []string
}

var classOf = map[string]Fixability{
	"-": Unclassified, "e": CausedByEarlier, "d": Difficult, "b": FrameworkBug,
	"f": Fundamental, "i": InferenceMode, "p": SparseTensor, "s": Supportable,
	"u": FixableByYou,
}

func buildRegistry() *tables {
	rows := strings.Count(registryText, "\n") + len(explained)
	t := &tables{byCode: make(map[string]Cause, rows), byType: make(map[string]string, rows), codes: make([]string, 0, rows)}
	for line := range strings.Lines(registryText) {
		code, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		class, typ, ok := strings.Cut(rest, "\t")
		if !ok {
			continue
		}
		t.add(Cause{Code: code, Type: strings.TrimSpace(typ), Fixability: classOf[class]})
	}
	for _, c := range explained {
		c.Type = orElse(c.Type, t.byCode[c.Code].Type)
		if c.Fixability == "" {
			c.Fixability = t.byCode[c.Code].Fixability
		}
		t.add(c)
	}
	for old, code := range formerTypes {
		if _, taken := t.byType[old]; !taken {
			t.byType[old] = code
		}
	}
	return t
}

func (t *tables) add(c Cause) {
	if _, known := t.byCode[c.Code]; !known {
		t.codes = append(t.codes, c.Code)
	}
	t.byCode[c.Code] = c
	// Two types carry two codes each; the older, lower one answers by type.
	if _, taken := t.byType[c.Type]; !taken {
		t.byType[c.Type] = c.Code
	}
}

// Lookup finds the cause with the given code.
func Lookup(code string) (Cause, bool) {
	c, ok := registry().byCode[code]
	return c, ok
}

// ByType finds the cause by its type, as logs without a link name it. Types
// that were renamed answer to both names.
func ByType(typ string) (Cause, bool) {
	t := registry()
	code, ok := t.byType[strings.TrimSpace(typ)]
	return t.byCode[code], ok
}

// Codes lists every known code in the order of the table.
func Codes() []string { return registry().codes }

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
