package cpp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// This file has one function serve kernels that are alike: that are the same but for strides
// and offsets, as those of a network's repeated blocks are. A C compiler takes as long for the
// hundredth of them as for the first. What they differ in is handed to the function in its
// table S, which kernels of static sizes do not use otherwise; what they have in common stays
// a number in the text, which the compiler can reckon with.

// A number of an address is written between two marks, which unmarked takes away.
const (
	numberFrom = '\x01'
	numberTo   = '\x02'
)

func marked(v int64) string { return fmt.Sprintf("%c%d%c", numberFrom, v, numberTo) }

// unmarked is the text that people and the compiler read.
func unmarked(text string) string {
	return strings.NewReplacer(string(numberFrom), "", string(numberTo), "").Replace(text)
}

// shape is a kernel's text without its name, its comments and the numbers of its addresses.
type shape struct {
	parts   []string // the text around the numbers, one more than there are
	numbers []int64
}

// shapeOf takes apart the text of a kernel with marks.
func shapeOf(text, name string) shape {
	var sb strings.Builder
	for line := range strings.Lines(withoutComments(text)) {
		if strings.TrimSpace(line) != "" {
			sb.WriteString(strings.Replace(line, "void "+name+"(", "void (", 1))
		}
	}
	var s shape
	rest := sb.String()
	for {
		before, after, found := strings.Cut(rest, string(numberFrom))
		s.parts = append(s.parts, before)
		if !found {
			return s
		}
		digits, after, _ := strings.Cut(after, string(numberTo))
		v, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			panic("cpp: a number that is none: " + digits)
		}
		s.numbers, rest = append(s.numbers, v), after
	}
}

// key is equal for kernels that are alike.
func (s shape) key() string { return strings.Join(s.parts, string(numberFrom)) }

// sized reports whether the kernel reads sizes that are known at a call alone.
func (s shape) sized() bool {
	return slices.ContainsFunc(s.parts, func(p string) bool { return strings.Contains(p, "S[") })
}

// text is the C function with the numbers spelled by at.
func (s shape) text(name string, at func(i int) string) string {
	var sb strings.Builder
	for i, p := range s.parts {
		sb.WriteString(p)
		if i < len(s.numbers) {
			sb.WriteString(at(i))
		}
	}
	return strings.Replace(sb.String(), "void (", "void "+name+"(", 1)
}

// maxGiven is how many numbers a shared function is told: with more it runs out of registers.
const maxGiven = 4

// function is what a compiler is to build: the text for some kernels.
type function struct {
	text string
	code *Code // one of those that it is for
	own  bool  // the text is not that of a kernel as people read it
	work int64 // what a call of the program computes in it, for all its kernels
}

// functions are those that kernels need, each kernel with the name of its own.
func functions(codes []*Code) []function {
	var keys []string
	alike := map[string][]*Code{}
	for _, c := range codes {
		if c == nil {
			continue
		}
		key := c.shape.key()
		if alike[key] == nil {
			keys = append(keys, key)
		}
		alike[key] = append(alike[key], c)
	}
	var out []function
	for _, key := range keys {
		out = append(out, share(alike[key])...)
	}
	return out
}

// share makes the functions of kernels that are alike: one if it can be told in what they
// differ, else one for those that differ in nothing.
func share(codes []*Code) []function {
	first := codes[0]
	var given []int // the numbers to tell
	place := make([]int, len(first.shape.numbers))
	for i := range place {
		if place[i] = -1; same(codes, i) {
			continue
		}
		k := slices.IndexFunc(given, func(g int) bool { return together(codes, g, i) })
		if k < 0 {
			k, given = len(given), append(given, i)
		}
		place[i] = k
	}
	if len(given) == 0 || len(given) > maxGiven || first.shape.sized() {
		return equals(codes)
	}
	name := "shared_" + first.Name
	work := int64(0)
	for _, c := range codes {
		c.Symbol = name
		work += c.work.own
		for _, g := range given {
			c.given = append(c.given, c.shape.numbers[g])
		}
	}
	text := first.shape.text(name, func(i int) string {
		if place[i] < 0 {
			return fmt.Sprint(first.shape.numbers[i])
		}
		return fmt.Sprintf("k%d", place[i])
	})
	head, body, _ := strings.Cut(text, "\n")
	for i := range given {
		head += fmt.Sprintf("\n  const i64 k%d = S[%d];", i, i)
	}
	return []function{{head + "\n" + body, first, true, work}}
}

// same reports whether kernels have number i in common.
func same(codes []*Code, i int) bool {
	return !slices.ContainsFunc(codes, func(c *Code) bool { return c.shape.numbers[i] != codes[0].shape.numbers[i] })
}

// together reports whether two numbers are one in every kernel.
func together(codes []*Code, i, j int) bool {
	return !slices.ContainsFunc(codes, func(c *Code) bool { return c.shape.numbers[i] != c.shape.numbers[j] })
}

// equals makes a function for each kernel that no earlier one is equal to.
func equals(codes []*Code) []function {
	var out []function
	places := map[string]int{}
	for _, c := range codes {
		key := joined(c.shape.numbers)
		place, there := places[key]
		if !there {
			place, places[key] = len(out), len(out)
			out = append(out, function{text: c.Text, code: c})
		}
		c.Symbol = out[place].code.Name
		out[place].work += c.work.own
	}
	return out
}

func joined(xs []int64) string {
	texts := make([]string, len(xs))
	for i, x := range xs {
		texts[i] = strconv.FormatInt(x, 10)
	}
	return strings.Join(texts, ", ")
}
