package diagnose

import (
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/advice"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file reads why a new entry would have been made anyway: another guard of it excludes
// the call that the failed entry was made for, so that marking a size, or removing a graph
// break, leaves as many entries.

// excludes is the line that bounds a size in the new entry such that the size of the failed
// one is out of it: a convolution works otherwise from a batch of 16 on.
func excludes(rc *explain.Recompile, g *explain.GuardFailure, symbols []*explain.Symbol) (place string) {
	old, err := strconv.Atoi(g.Expected)
	if err != nil || g.Kind != breaks.SizeChanged {
		return ""
	}
	source := explain.PlainSource(g.Source) + ".size()[" + strconv.Itoa(g.Dim) + "]"
	for _, s := range symbols {
		if explain.PlainSource(s.Source) != source {
			continue
		}
		for _, guard := range rc.Compile.ShapeGuards {
			if !guard.Backend && guard.Attempt == s.ID.Attempt && !Admits(guard.Expr, s.Name, old) {
				return ShortPlace(guard.Pos.File, guard.Pos.Line)
			}
		}
	}
	return ""
}

// Admits says whether a guard holds for a value of a size, "s77 < 16"; one of more than that
// size and a number is not read, and taken to hold.
func Admits(guard, size string, value int) bool {
	name, rest, ok := strings.Cut(guard, " ")
	op, number, two := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	if !ok || !two || err != nil || name != size {
		return true
	}
	switch op {
	case "<":
		return value < n
	case "<=":
		return value <= n
	case ">":
		return value > n
	case ">=":
		return value >= n
	}
	return true
}

// filled names a dict that had more elements when the new entry was made than when the failed
// one was, and the line that asked for its length: the one that fills it where the compiled
// function does.
func filled(rc *explain.Recompile, g *explain.GuardFailure) (name, line string) {
	entry := rc.Entry(g)
	if g.Kind != breaks.SizeChanged || entry == nil || !entry.Guards.Told() {
		return "", ""
	}
	if !rc.Compile.Guards.Told() || rc.Compile.Guards.Leaves > manyGuards {
		return "", ""
	}
	for _, c := range explain.DiffGuards(entry.Guards.Root(), rc.Compile.Guards.Root()) {
		before, known := DictLength(c.Old)
		now, still := DictLength(c.New)
		name := explain.PlainSource(c.Source)
		if c.Kind == "DICT_LENGTH" && known && still && now > before {
			return name, c.Pos.Code
		}
	}
	return "", ""
}

// lengthAcross says whether a list that a graph break hands to the rest of its function, as
// x.tolist() does, has as many elements as a size: a tensor that is made of it there has the
// size as a constant, and with the break the list goes.
func lengthAcross(c *explain.Compile, size string) bool {
	if !c.Guards.Told() {
		return false
	}
	across := false
	explain.WalkGuards(c.Guards.Root(), func(n *explain.GuardNode) {
		name := explain.PlainSource(n.Source)
		across = across || n.Kind == "LENGTH_CHECK" && strings.HasPrefix(name, "___stack") && strings.HasSuffix(n.Text, ") == "+size)
	})
	return across
}

// DictLength reads the length that a guard on a dict demands, "len(d) == 2" or "not d".
func DictLength(guard string) (n int, ok bool) {
	if strings.HasPrefix(guard, "not ") {
		return 0, true
	}
	_, number, ok := strings.Cut(guard, ") == ")
	if !ok || !strings.HasPrefix(guard, "len(") {
		return 0, false
	}
	n, err := strconv.Atoi(number)
	return n, err == nil
}

// OwnArgument names an argument of a function, or what one holds, that only what comes after a
// graph break asks for: its function is compiled again for it without the break, too.
func OwnArgument(rc *explain.Recompile, g *explain.GuardFailure, src *explain.Source) string {
	name, whole := explain.PlainSource(g.Source), rc.Compile.Frame.Parent
	holder := Holder(name)
	if whole == nil || !isTensorKind(g.Kind) || !isIdentifier(holder) || strings.HasPrefix(name, "__") {
		return ""
	}
	for _, c := range whole.Compiles {
		for _, s := range c.Sources {
			if rest, ok := strings.CutPrefix(explain.PlainSource(s), name); ok && !continues(rest) { // which recompiles for it itself
				return ""
			}
		}
	}
	if is, _ := argumentOf(whole, holder, src); !is {
		return ""
	}
	return name
}

// Holder is the name of which an expression is an element, "kv" of "kv[0]" and of "batch['x']"; what
// is held deeper is not read.
func Holder(name string) string {
	holder, key, ok := strings.Cut(name, "[")
	if !ok || !strings.HasSuffix(key, "]") || strings.ContainsAny(key[:len(key)-1], "[].(") {
		return name
	}
	return holder
}

// continues says whether what follows a name makes it another one.
func continues(rest string) bool { return rest != "" && explain.LetterOrDigit(rest[0]) }

// argumentOf says whether a name is an argument of a function until its graph break; known is
// false where the function cannot be read.
func argumentOf(whole *explain.Frame, name string, src *explain.Source) (is, known bool) {
	body, at := untilBreak(whole, src)
	return advice.Parameter(body, at, name)
}

// untilBreak is the lines of a function, and which of them breaks or calls what does. The
// methods of several classes have one name: the first that begins where the function does, or
// after its decorators, is meant.
func untilBreak(fr *explain.Frame, src *explain.Source) (body []string, at int) {
	first := 0
	for _, c := range fr.Compiles {
		for _, b := range c.Breaks {
			for _, p := range b.Stack {
				if p.File != fr.Pos.File || p.Func != fr.Name {
					continue
				}
				lines, i := src.Function(p)
				if start := p.Line - i; lines != nil && start >= fr.Pos.Line && (body == nil || start < first) {
					body, at, first = lines, i, start
				}
			}
		}
	}
	return body, at
}

// NumPyNumber names the argument of which a condition is computed where that is a number of
// NumPy's: all that is done to it on the way keeps it a number, with operations of NumPy.
func NumPyNumber(value []logs.Pos) string {
	if len(value) < 2 {
		return ""
	}
	input, ok := strings.CutSuffix(value[0].Func, ")")
	_, input, found := strings.Cut(input, ": graph input (L_")
	name, ends := strings.CutSuffix(input, "_")
	if !ok || !found || !ends || !isIdentifier(name) {
		return ""
	}
	for _, v := range value[1:] {
		_, call, _ := strings.Cut(v.Func, " = ")
		if op, _, ok := strings.Cut(call, "("); !ok || !slices.Contains(keepsNumber, op) {
			return ""
		}
	}
	return name
}

// keepsNumber are the operations that make no number of an array of several elements.
var keepsNumber = []string{
	"wrapped_add", "wrapped_sub", "wrapped_mul", "wrapped_truediv", "wrapped_floordiv", "wrapped_mod", "wrapped_neg", "wrapped_abs",
	"wrapped_gt", "wrapped_ge", "wrapped_lt", "wrapped_le", "wrapped_eq", "wrapped_ne",
}
