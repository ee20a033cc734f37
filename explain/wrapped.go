package explain

import (
	"slices"
	"strings"

	"tcdbg/logs"
)

// This file names what has no frame of its own. For torch.compile(nn.Sequential(...)), and
// other modules of PyTorch itself, Dynamo compiles a function inner(*args, **kwargs) of its
// own that calls them; and this one function is compiled for all of them. A report tells
// them by their class and the line of the program that calls them.

// wrappedClass reads the class of the callable out of the guards of its wrapper:
//
//	| +- GuardManager: source=L['fn'], accessed_by=..., type=<class 'torch.nn.modules.container.Sequential'>, ...
//
// Of a method, as model.compile() compiles one, it is that of its object. What is no class
// of a module is none: "".
func wrappedClass(guards string) string {
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

// heldSizes reads what an entry's guards say of the module itself: its identity, where they
// check that, and the sizes of its parameters, which no call changes:
//
//	| +- TENSOR_MATCH: check_tensor(L['fn']._parameters['bias'], Parameter, ..., size=[16], stride=[1])
//
// Each is a source with its value.
func heldSizes(guards string) []string {
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

// wrappedAs is what tells the callables of one wrapper apart: two models of one class and
// of the same sizes that one line calls are not.
type wrappedAs struct {
	class string // "": the compile does not tell it
	file  string
	line  int
	held  []string // as heldSizes reads them, none where the compile has no guards
}

// mayBe says whether two compiles may be of one module: classes are compared where both
// are known, and else the lines that call them; sizes where both guard on the same
// parameter.
func (w wrappedAs) mayBe(o wrappedAs) bool {
	if !sameHeld(w.held, o.held) {
		return false
	}
	if w.class != "" && o.class != "" {
		return w.class == o.class
	}
	return w.alike(o)
}

// alike says whether two compiles are of one class and were called by one line.
func (w wrappedAs) alike(o wrappedAs) bool {
	return w.class == o.class && w.file == o.file && w.line == o.line
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
	wrappedAs
	frame  *Frame
	number int // among those of its class that are told apart
}

// nameWrapped gives each callable of a wrapper a frame of its own, with its class for a
// name and the place where the program calls it.
func nameWrapped(r *Report) {
	var out []*Frame
	for _, fr := range r.Frames {
		if isWrapper(fr.Name) && strings.HasSuffix(fr.Pos.File, "torch/_dynamo/external_utils.py") {
			out = append(out, fr.apart(r)...)
			continue
		}
		out = append(out, fr)
	}
	r.Frames = out
	say := func(text string, of func(*Frame) bool) {
		if slices.ContainsFunc(out, of) {
			r.Side = append(r.Side, SideNote{ID: ID{Rank: -1, CompileID: logs.NoCompile}, Kind: "modules", Text: text})
		}
	}
	say(sharedRows, func(fr *Frame) bool { return fr.wraps != nil && !parallelClass(fr.Name) })
	say(unguardedEntry, func(fr *Frame) bool {
		return fr.wraps != nil && slices.ContainsFunc(fr.Compiles, func(c *Compile) bool {
			return c.Guards != nil && c.wrapped == "" && c.recurrent() != nil
		})
	})
}

// unguardedEntry is the remark on what the entry of an RNN, GRU or LSTM does, which Dynamo
// declines before it looks at the module.
const unguardedEntry = "the cache entry of an RNN, GRU or LSTM guards on no module: it may serve other modules of PyTorch that are compiled alone, which then run eagerly and leave no record"

// sharedRows is the remark on what no trace tells of modules of PyTorch itself.
const sharedRows = "modules of one class that the same line calls may share a row: they are told apart by the sizes of their parameters alone"

// apart parts a wrapper's compiles by what they call; the first part is the frame itself.
func (fr *Frame) apart(r *Report) []*Frame {
	entries := map[string]wrappedAs{}
	var parts []*wrappedPart
	code := fr.Pos
	code.Func = fr.Name
	compiles := fr.Compiles
	for _, c := range compiles {
		class, like := c.classOf(entries)
		at, ok := c.calledAt()
		if !ok {
			at = code
			for _, p := range parts { // a compile that the limit refused has no stack
				if len(parts) == 1 || like.class != "" && p.alike(like) {
					class, at = p.class, p.frame.Pos
				}
			}
		}
		key := wrappedAs{class, at.File, at.Line, c.held}
		var part *Frame
		part, parts = fr.partOf(c, key, parts, entries)
		if part.Compiles == nil {
			part.Pos, part.wraps = at, &code
		}
		c.Frame, part.Status = part, c.Status
		c.ownEntries(key, entries)
		part.Compiles = append(part.Compiles, c)
		if fl := c.Failure; fl != nil && fl.Frame == code.Func {
			fl.Frame = part.Name
			if frameworkFile(fl.Pos.File) {
				fl.Pos = at
			}
		}
		nameArguments(c, at)
		placeKernels(r, c, at)
	}
	order := make([]*Frame, len(parts))
	for i, p := range parts {
		order[i] = p.frame
	}
	return order
}

// partOf finds the callable that a compile is of among those that are known, or adds it.
func (fr *Frame) partOf(c *Compile, key wrappedAs, parts []*wrappedPart, entries map[string]wrappedAs) (*Frame, []*wrappedPart) {
	for _, p := range parts {
		if p.alike(key) && sameHeld(p.held, key.held) && !c.otherThan(p, entries) {
			p.held = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(p.held), key.held...))))
			return p.frame, parts
		}
	}
	part := fr
	if len(parts) > 0 {
		part = &Frame{ID: fr.ID, Calls: fr.Calls, EagerOps: fr.EagerOps, Resumes: []*Frame{}}
	}
	n := key.numberAmong(parts)
	part.Name, part.Compiles = c.wrappedName(key.class), nil
	if n > 1 {
		part.Name += " #" + itoa(n)
	}
	return part, append(parts, &wrappedPart{key, part, n})
}

// numberAmong numbers the modules of one class whose sizes tell them apart, wherever they
// are called; 1 for the first, and where nothing tells it from that.
func (w wrappedAs) numberAmong(parts []*wrappedPart) int {
	last, other := 0, false
	for _, p := range parts {
		switch {
		case p.class != w.class:
			continue
		case p.alike(w) || !sameHeld(p.held, w.held):
			other = true
		case len(p.held) > 0 && len(w.held) > 0:
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
func (c *Compile) otherThan(p *wrappedPart, entries map[string]wrappedAs) bool {
	return c.Recompile != nil && slices.ContainsFunc(c.Recompile.Failures, func(g GuardFailure) bool {
		entry, known := entries[g.Entry]
		return known && g.Kind == "size" && heldByModule(g.Source) && strings.Contains(g.Source, "_parameters[") && len(p.held) > 0 && sameHeld(p.held, entry.held) && entry.alike(p.wrappedAs)
	})
}

// calledAt is the line of the program that called the wrapper: by the stack on which it was
// compiled, or where a text log has none, by that of a break within it.
func (c *Compile) calledAt() (logs.Pos, bool) {
	if at, ok := userLine(c.Stack); ok {
		return at, true
	}
	for _, b := range c.Breaks {
		for i, p := range b.Stack {
			if isWrapper(p.Func) && strings.HasSuffix(p.File, "torch/_dynamo/external_utils.py") {
				return userLine(b.Stack[:i])
			}
		}
	}
	return logs.Pos{}, false
}

// classOf is the class that the compile itself tells: by its guards, or where it got none,
// by a guard of an earlier entry that failed on what the module holds; there the check of
// the module's type had passed. In that case it says which entry's, too.
func (c *Compile) classOf(entries map[string]wrappedAs) (class string, like wrappedAs) {
	if c.wrapped != "" || c.Recompile == nil {
		return c.wrapped, wrappedAs{}
	}
	for _, g := range c.Recompile.Failures {
		if like = entries[g.Entry]; like.class != "" && heldByModule(g.Source) {
			return like.class, like
		}
	}
	return "", wrappedAs{}
}

// heldByModule says whether a guard's source is what the wrapped module holds, as a
// parameter or a module within it, and neither the module nor an argument.
func heldByModule(source string) bool {
	held, ok := strings.CutPrefix(plainSource(source), "fn")
	held = strings.TrimPrefix(held, ".__self__")
	return ok && held != "" && strings.ContainsAny(held[:1], ".[") && !strings.HasPrefix(held, ".__func__")
}

// anotherModule is the advice where an entry is needed for another module of the same
// class: what a parameter is like differs between modules, and not between calls of one.
func anotherModule(rc *Recompile) (Fix, bool) {
	if rc.Compile.Frame.wraps == nil || len(rc.Failures) == 0 {
		return Fix{}, false
	}
	source := rc.Failures[0].Source
	if !heldByModule(source) || !strings.Contains(source, "_parameters[") && !strings.Contains(source, "_buffers[") || !isTensorKind(rc.Failures[0].Kind) {
		return Fix{}, false
	}
	return Fix{Text: "each module has an entry of its own, and all modules of PyTorch that are compiled alone share one list of entries with one limit: compile the function or the module that calls them"}, true
}

// wrappedName is what a report calls the callable.
func (c *Compile) wrappedName(class string) string {
	switch {
	case class != "":
		return class
	case c.recurrent() != nil:
		return someRecurrent
	}
	return someModule
}

// recurrent is the break of a compile by which Dynamo declines nn.RNN, nn.GRU and nn.LSTM,
// whatever they are given; nil where there is none.
func (c *Compile) recurrent() *Break {
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
func (c *Compile) ownEntries(key wrappedAs, entries map[string]wrappedAs) {
	known := len(entries) == 0
	for _, other := range entries {
		known = known || key.mayBe(other) && !c.otherThan(&wrappedPart{wrappedAs: other}, entries)
	}
	entry := c.ID.CompileID
	entry.Attempt = 0
	entries[entry.String()] = key
	switch {
	case !known && c.Status != Limit:
		c.fresh, c.Recompile = true, nil
	case c.Recompile != nil && (known || c.Status != Limit): // what the limit refused keeps the entries that filled it
		c.Recompile.Failures = slices.DeleteFunc(slices.Clone(c.Recompile.Failures), func(g GuardFailure) bool {
			other, told := entries[g.Entry]
			return told && !key.mayBe(other)
		})
	}
}

// nameArguments names the positional arguments of a wrapper in the words of its caller.
func nameArguments(c *Compile, at logs.Pos) {
	if c.Recompile == nil {
		return
	}
	args := simpleCall(at.Code)
	for i := range c.Recompile.Failures {
		g := &c.Recompile.Failures[i]
		rest, ok := strings.CutPrefix(plainSource(g.Source), "args[")
		number, rest, closed := strings.Cut(rest, "]")
		if n := atoi(number); ok && closed && rest == "" && n < len(args) && isIdentifier(args[n]) {
			g.Argument = args[n]
		}
	}
}

// simpleCall is the arguments of a line that is one call, as "y = model(x, mask)"; nil
// where it is more, since then nobody knows which call the wrapper's is.
func simpleCall(code string) []string {
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
		if !letterOrDigit(s[i]) || i == 0 && s[0] >= '0' && s[0] <= '9' {
			return false
		}
	}
	return s != ""
}

// placeKernels puts the kernels of a callable without lines of its own at the line that
// calls it: Dynamo drops the stacks of such graphs, which lie in PyTorch's own code.
func placeKernels(r *Report, c *Compile, at logs.Pos) {
	for _, k := range r.Kernels {
		if len(k.Pos) == 0 && k.ID.Rank == c.ID.Rank && k.ID.Epoch == c.ID.Epoch && k.ID.Frame == c.ID.Frame && k.ID.Compile == c.ID.Compile {
			k.Pos = []logs.Pos{at}
		}
	}
}
