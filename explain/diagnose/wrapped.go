package diagnose

import (
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file names what has no frame of its own. For torch.compile(nn.Sequential(...)), and
// other modules of PyTorch itself, Dynamo compiles a function inner(*args, **kwargs) of its
// own that calls them; and this one function is compiled for all of them. A report tells
// them by their class and the line of the program that calls them.

// WrappedClass reads the class of the callable out of the guards of its wrapper:
//
//	| +- GuardManager: source=L['fn'], accessed_by=..., type=<class 'torch.nn.modules.container.Sequential'>, ...
//
// Of a method, as model.compile() compiles one, it is that of its object. What is no class
// of a module is none: "".
func WrappedClass(guards string) string {
	for _, source := range []string{"source=L['fn'],", "source=L['fn'].__self__,"} {
		_, rest, _ := strings.Cut(guards, source)
		line, _, _ := strings.Cut(rest, "\n")
		_, class, ok := strings.Cut(line, "type=<class '")
		class, _, _ = strings.Cut(class, "'>")
		if name := class[strings.LastIndexByte(class, '.')+1:]; ok && strings.Contains(class, ".") {
			return name
		}
	}
	return ""
}

// Names of callables whose class their compile does not tell.
const (
	someModule    = "a module of PyTorch"
	someRecurrent = "an RNN, GRU or LSTM"
)

// HeldSizes reads what an entry's guards say of the module itself: its identity, where they
// check that, and the sizes of its parameters, which no call changes:
//
//	| +- TENSOR_MATCH: check_tensor(L['fn']._parameters['bias'], Parameter, ..., size=[16], stride=[1])
//
// Each is a source with its value.
func HeldSizes(guards string) []string {
	var out []string
	for line := range strings.Lines(guards) {
		if _, rest, ok := strings.Cut(line, "ID_MATCH: ___check_obj_id(L['fn'], "); ok {
			id, _, _ := strings.Cut(rest, ")")
			out = append(out, "fn="+id)
			continue
		}
		_, rest, ok := strings.Cut(line, "TENSOR_MATCH: check_tensor(L['fn'].")
		source, rest, _ := strings.Cut(rest, ", ")
		_, rest, sized := strings.Cut(rest, "size=[")
		size, _, _ := strings.Cut(rest, "]")
		if ok && sized && strings.Contains(source, "_parameters[") && !strings.Contains(size, "None") {
			out = append(out, source+"="+size)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// WrappedAs is what tells the callables of one wrapper apart: two models of one class and
// of the same sizes that one line calls are not.
type WrappedAs struct {
	Class string // "": the compile does not tell it
	File  string
	Line  int
	Held  []string // as HeldSizes reads them, none where the compile has no guards
}

// mayBe says whether two compiles may be of one module: classes are compared where both
// are known, and else the lines that call them; sizes where both guard on the same
// parameter.
func (w WrappedAs) mayBe(o WrappedAs) bool {
	if !sameHeld(w.Held, o.Held) {
		return false
	}
	if w.Class != "" && o.Class != "" {
		return w.Class == o.Class
	}
	return w.alike(o)
}

// alike says whether two compiles are of one class and were called by one line.
func (w WrappedAs) alike(o WrappedAs) bool {
	return w.Class == o.Class && w.File == o.File && w.Line == o.Line
}

// sameHeld says whether no parameter that both guard on has two sizes.
func sameHeld(a, b []string) bool {
	sizes := make(map[string]string, len(a))
	for _, s := range a {
		source, size, _ := strings.Cut(s, "=")
		sizes[source] = size
	}
	return !slices.ContainsFunc(b, func(s string) bool {
		source, size, _ := strings.Cut(s, "=")
		known, ok := sizes[source]
		return ok && known != size
	})
}

// wrappedPart is a callable of a wrapper, with the frame that a report shows for it.
type wrappedPart struct {
	WrappedAs
	frame  *explain.Frame
	number int // among those of its class that are told apart
}

// NameWrapped gives each callable of a wrapper a frame of its own, with its class for a
// name and the place where the program calls it.
func NameWrapped(r *explain.Report) {
	var out []*explain.Frame
	for _, fr := range r.Frames {
		if explain.IsWrapper(fr.Name) && strings.HasSuffix(fr.Pos.File, "torch/_dynamo/external_utils.py") {
			out = append(out, wrappedFrames(fr, r)...)
			continue
		}
		out = append(out, fr)
	}
	r.Frames = out
	say := func(text string, of func(*explain.Frame) bool) {
		if slices.ContainsFunc(out, of) {
			r.Side = append(r.Side, explain.SideNote{ID: explain.ID{Rank: -1, CompileID: logs.NoCompile}, Kind: "modules", Text: text})
		}
	}
	say(SharedRows, func(fr *explain.Frame) bool { return fr.Wraps != nil && !explain.ParallelClass(fr.Name) })
	say(UnguardedEntry, func(fr *explain.Frame) bool {
		return fr.Wraps != nil && slices.ContainsFunc(fr.Compiles, func(c *explain.Compile) bool {
			return c.Guards != nil && c.Wrapped == "" && recurrentBreak(c) != nil
		})
	})
}

// UnguardedEntry is the remark on what the entry of an RNN, GRU or LSTM does, which Dynamo
// declines before it looks at the module.
const UnguardedEntry = "the cache entry of an RNN, GRU or LSTM guards on no module: it may serve other modules of PyTorch that are " +
	"compiled alone, which then run eagerly and leave no record"

// SharedRows is the remark on what no trace tells of modules of PyTorch itself.
const SharedRows = "modules of one class that the same line calls may share a row: they are told apart by the sizes of their " +
	"parameters alone"

// apart parts a wrapper's compiles by what they call; the first part is the frame itself.
func wrappedFrames(fr *explain.Frame, r *explain.Report) []*explain.Frame {
	entries := map[string]WrappedAs{}
	var parts []*wrappedPart
	code := fr.Pos
	code.Func = fr.Name
	compiles := fr.Compiles
	for _, c := range compiles {
		class, like := ClassOf(c, entries)
		at, ok := calledAt(c)
		if !ok {
			at = code
			for _, p := range parts { // a compile that the limit refused has no stack
				if len(parts) == 1 || like.Class != "" && p.alike(like) {
					class, at = p.Class, p.frame.Pos
				}
			}
		}
		key := WrappedAs{class, at.File, at.Line, c.Held}
		var part *explain.Frame
		part, parts = partOf(fr, c, key, parts, entries)
		if part.Compiles == nil {
			part.Pos, part.Wraps = at, &code
		}
		c.Frame, part.Status = part, c.Status
		ownEntries(c, key, entries)
		part.Compiles = append(part.Compiles, c)
		if fl := c.Failure; fl != nil && fl.Frame == code.Func {
			fl.Frame = part.Name
			if explain.FrameworkFile(fl.Pos.File) {
				fl.Pos = at
			}
		}
		nameArguments(c, at)
		placeKernels(r, c, at)
	}
	order := make([]*explain.Frame, len(parts))
	for i, p := range parts {
		order[i] = p.frame
	}
	return order
}

// partOf finds the callable that a compile is of among those that are known, or adds it.
func partOf(
	fr *explain.Frame, c *explain.Compile, key WrappedAs, parts []*wrappedPart, entries map[string]WrappedAs,
) (*explain.Frame, []*wrappedPart) {
	for _, p := range parts {
		if p.alike(key) && sameHeld(p.Held, key.Held) && !otherThan(c, p, entries) {
			p.Held = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(p.Held), key.Held...))))
			return p.frame, parts
		}
	}
	part := fr
	if len(parts) > 0 {
		part = &explain.Frame{ID: fr.ID, Calls: fr.Calls, EagerOps: fr.EagerOps, Resumes: []*explain.Frame{}}
	}
	n := key.numberAmong(parts)
	part.Name, part.Compiles = wrappedName(c, key.Class), nil
	if n > 1 {
		part.Name += " #" + strconv.Itoa(n)
	}
	return part, append(parts, &wrappedPart{key, part, n})
}

// numberAmong numbers the modules of one class whose sizes tell them apart, wherever they
// are called; 1 for the first, and where nothing tells it from that.
func (w WrappedAs) numberAmong(parts []*wrappedPart) int {
	last, other := 0, false
	for _, p := range parts {
		switch {
		case p.Class != w.Class:
			continue
		case p.alike(w) || !sameHeld(p.Held, w.Held):
			other = true
		case len(p.Held) > 0 && len(w.Held) > 0:
			return p.number
		}
		last = max(last, p.number)
	}
	if !other {
		return 1
	}
	return last + 1
}

// otherThan says whether a compile's reasons tell that its module is not the given one: an
// entry of that one failed on the size of a parameter.
func otherThan(c *explain.Compile, p *wrappedPart, entries map[string]WrappedAs) bool {
	return c.Recompile != nil && slices.ContainsFunc(c.Recompile.Failures, func(g explain.GuardFailure) bool {
		entry, known := entries[g.Entry]
		return known && g.Kind == "size" && heldByModule(g.Source) && strings.Contains(g.Source, "_parameters[") &&
			len(p.Held) > 0 && sameHeld(p.Held, entry.Held) && entry.alike(p.WrappedAs)
	})
}

// calledAt is the line of the program that called the wrapper: by the stack on which it was
// compiled, or where a text log has none, by that of a break within it.
func calledAt(c *explain.Compile) (logs.Pos, bool) {
	if at, ok := explain.UserLine(c.Stack); ok {
		return at, true
	}
	for _, b := range c.Breaks {
		for i, p := range b.Stack {
			if explain.IsWrapper(p.Func) && strings.HasSuffix(p.File, "torch/_dynamo/external_utils.py") {
				return explain.UserLine(b.Stack[:i])
			}
		}
	}
	return logs.Pos{}, false
}

// ClassOf is the class that the compile itself tells: by its guards, or where it got none,
// by a guard of an earlier entry that failed on what the module holds; there the check of
// the module's type had passed. In that case it says which entry's, too.
func ClassOf(c *explain.Compile, entries map[string]WrappedAs) (class string, like WrappedAs) {
	if c.Wrapped != "" || c.Recompile == nil {
		return c.Wrapped, WrappedAs{}
	}
	for _, g := range c.Recompile.Failures {
		if like = entries[g.Entry]; like.Class != "" && heldByModule(g.Source) {
			return like.Class, like
		}
	}
	return "", WrappedAs{}
}

// heldByModule says whether a guard's source is what the wrapped module holds, as a
// parameter or a module within it, and neither the module nor an argument.
func heldByModule(source string) bool {
	held, ok := strings.CutPrefix(explain.PlainSource(source), "fn")
	held = strings.TrimPrefix(held, ".__self__")
	return ok && held != "" && strings.ContainsAny(held[:1], ".[") && !strings.HasPrefix(held, ".__func__")
}

// anotherModule is the advice where an entry is needed for another module of the same
// class: what a parameter is like differs between modules, and not between calls of one.
func anotherModule(rc *explain.Recompile) (explain.Fix, bool) {
	if rc.Compile.Frame.Wraps == nil || len(rc.Failures) == 0 {
		return explain.Fix{}, false
	}
	source := rc.Failures[0].Source
	if !heldByModule(source) || !strings.Contains(source, "_parameters[") && !strings.Contains(source, "_buffers[") ||
		!isTensorKind(rc.Failures[0].Kind) {
		return explain.Fix{}, false
	}
	return explain.Fix{Text: "each module has an entry of its own, and all modules of PyTorch that are compiled alone share one " +
		"list of entries with one limit: compile the function or the module that calls them"}, true
}

// wrappedName is what a report calls the callable.
func wrappedName(c *explain.Compile, class string) string {
	switch {
	case class != "":
		return class
	case recurrentBreak(c) != nil:
		return someRecurrent
	}
	return someModule
}

// recurrent is the break of a compile by which Dynamo declines nn.RNN, nn.GRU and nn.LSTM,
// whatever they are given; nil where there is none.
func recurrentBreak(c *explain.Compile) *explain.Break {
	for _, b := range c.Breaks {
		if strings.Contains(b.Raw+b.Explanation, "does not support RNN, GRU") {
			return b
		}
	}
	return nil
}

// ownEntries leaves the reasons of a recompile that entries for the same callable gave. One
// for another callable could not serve: the first compile of a callable is no recompile,
// though PyTorch logs it as one of the wrapper. Where no reason is left none is known.
func ownEntries(c *explain.Compile, key WrappedAs, entries map[string]WrappedAs) {
	known := len(entries) == 0
	for _, other := range entries {
		known = known || key.mayBe(other) && !otherThan(c, &wrappedPart{WrappedAs: other}, entries)
	}
	entry := c.ID.CompileID
	entry.Attempt = 0
	entries[entry.String()] = key
	switch {
	case !known && c.Status != explain.Limit:
		c.Fresh, c.Recompile = true, nil
	case c.Recompile != nil && (known || c.Status != explain.Limit): // what the limit refused keeps the entries that filled it
		c.Recompile.Failures = slices.DeleteFunc(slices.Clone(c.Recompile.Failures), func(g explain.GuardFailure) bool {
			other, told := entries[g.Entry]
			return told && !key.mayBe(other)
		})
	}
}

// nameArguments names the positional arguments of a wrapper in the words of its caller.
func nameArguments(c *explain.Compile, at logs.Pos) {
	if c.Recompile == nil {
		return
	}
	args := SimpleCall(at.Code)
	for i := range c.Recompile.Failures {
		g := &c.Recompile.Failures[i]
		rest, ok := strings.CutPrefix(explain.PlainSource(g.Source), "args[")
		number, rest, closed := strings.Cut(rest, "]")
		if n := explain.Atoi(number); ok && closed && rest == "" && n < len(args) && isIdentifier(args[n]) {
			g.Argument = args[n]
		}
	}
}

// SimpleCall is the arguments of a line that is one call, as "y = model(x, mask)"; nil
// where it is more, since then nobody knows which call the wrapper's is.
func SimpleCall(code string) []string {
	code = strings.TrimSpace(code)
	if target, value, ok := strings.Cut(code, " = "); ok && !strings.ContainsAny(target, "([") {
		code = value
	}
	fn, args, ok := strings.Cut(code, "(")
	args, closed := strings.CutSuffix(args, ")")
	if !ok || !closed || strings.ContainsAny(args, "()[]{}*=:") || !isIdentifier(strings.ReplaceAll(fn, ".", "_")) {
		return nil
	}
	out := strings.Split(args, ",")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

func isIdentifier(s string) bool {
	for i := 0; i < len(s); i++ {
		if !explain.LetterOrDigit(s[i]) || i == 0 && s[0] >= '0' && s[0] <= '9' {
			return false
		}
	}
	return s != ""
}

// placeKernels puts the kernels of a callable without lines of its own at the line that
// calls it: Dynamo drops the stacks of such graphs, which lie in PyTorch's own code.
func placeKernels(r *explain.Report, c *explain.Compile, at logs.Pos) {
	for _, k := range r.Kernels {
		if len(k.Pos) == 0 && k.ID.Rank == c.ID.Rank && k.ID.Epoch == c.ID.Epoch && k.ID.Frame == c.ID.Frame &&
			k.ID.Compile == c.ID.Compile {
			k.Pos = []logs.Pos{at}
		}
	}
}
