package diagnose

import (
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/advice"
	"tcdbg/tracer/breaks"
)

// This file is sizes that change in the rest of a function, after a graph break: whether they
// are those of an argument, which are left when the break is gone.

// afterBreak reads into a finding whose the size is that changed after a graph break. Of a function
// that a compiled one calls, which is a part of that one's graph when the break is gone, nothing
// is said.
func afterBreak(f *advice.Finding, rc *explain.Recompile, g *explain.GuardFailure, x *explain.TraceFacts) {
	if g.Kind == breaks.SizeChanged && lengthAcross(rc.Compile, g.Actual) {
		if name := explain.PlainSource(g.Source); f.OwnArgument == "" && f.CutBy != "" && !strings.HasPrefix(name, "__") {
			f.MayBeArgument = name // what is left of it depends on what is made of the list then
		}
		return
	}
	if f.OfArgument = OfArgument(rc, g, f.Changed); f.OfArgument != "" && !marks(f) {
		f.OfArgument, f.OwnArgument = "", f.OfArgument
	}
	if f.OfArgument != "" || f.CutBy == "" || g.Kind != breaks.SizeChanged {
		return
	}
	name, whole := explain.PlainSource(g.Source), rc.Compile.Frame.Parent
	if f.OwnArgument == "" {
		if isIdentifier(name) && !strings.HasPrefix(name, "__") && whole != nil && !asksFor(whole, name) {
			if _, known := argumentOf(whole, name, x.Source); !known {
				f.MayBeArgument = name
			}
		}
		return
	}
	if !marks(f) {
		return
	}
	var changed []string
	for _, c := range f.Changed {
		tensor, _, _ := strings.Cut(c, ", ")
		if is, _ := argumentOf(whole, Holder(tensor), x.Source); is {
			changed = append(changed, c)
		}
	}
	if f.OfArgument, f.Changed = name, changed; len(changed) == 0 {
		f.Changed, f.Partial = []string{name + ", " + strconv.Itoa(g.Dim)}, true
	}
}

// marks says whether the caller of a function can mark the sizes of its arguments: not where
// another compiled function calls it, as a part of whose graph it may have no arguments of its own.
// A call of maybe_mark_dynamic within that function ends the program.
func marks(f *advice.Finding) bool { return !f.CalledWithin && f.Direct }

// asksFor says whether a function has a guard on a tensor: its size is a recompile of that
// function, too.
func asksFor(fr *explain.Frame, name string) bool {
	return slices.ContainsFunc(fr.Compiles, func(c *explain.Compile) bool {
		return slices.ContainsFunc(c.Sources, func(s string) bool { return explain.PlainSource(s) == name })
	})
}

// onStack says of what a graph break hands on from the interpreter's stack whether it is what the
// call at the break gives, which comes last, or what the line had made or looked up before that
// call: of self.stats[name] += clock(), the dict, the key and the old value.
func onStack(c *explain.Compile, source string) (given, operand bool) {
	n, ok := stackSlot(source)
	if !ok || !c.Guards.Told() || c.Guards.Leaves > manyGuards {
		return false, false
	}
	last := n
	explain.WalkGuards(c.Guards.Root(), func(node *explain.GuardNode) {
		if other, ok := stackSlot(explain.PlainSource(node.Source)); ok {
			last = max(last, other)
		}
	})
	return n == last, n < last
}

// stackSlot reads the number of ___stack2, and of what that holds.
func stackSlot(source string) (n int, ok bool) {
	rest, ok := strings.CutPrefix(source, "___stack")
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	n, err := strconv.Atoi(rest[:digits])
	return n, ok && err == nil
}
