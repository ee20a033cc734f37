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
// What is no class of a module is none: "".
func wrappedClass(guards string) string {
	_, rest, ok := strings.Cut(guards, "source=L['fn'],")
	if !ok {
		return ""
	}
	line, _, _ := strings.Cut(rest, "\n")
	_, class, ok := strings.Cut(line, "type=<class '")
	class, _, _ = strings.Cut(class, "'>")
	if name := class[strings.LastIndexByte(class, '.')+1:]; ok && strings.Contains(class, ".") {
		return name
	}
	return ""
}

// wrappedAs is what tells the callables of one wrapper apart: two models of one class that
// one line calls are not.
type wrappedAs struct {
	class string
	file  string
	line  int
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
}

// apart parts a wrapper's compiles by what they call; the first part is the frame itself.
func (fr *Frame) apart(r *Report) []*Frame {
	class := "" // where the guards do not tell, the same as before
	classes := map[string]string{}
	var order []*Frame
	parts := map[wrappedAs]*Frame{}
	code := fr.Pos
	code.Func = fr.Name
	compiles := fr.Compiles
	for _, c := range compiles {
		at, ok := userLine(c.Stack)
		if c.wrapped != "" {
			class = c.wrapped
		}
		if !ok || class == "" {
			if len(order) == 0 {
				return []*Frame{fr}
			}
			at = order[len(order)-1].Pos
		}
		key := wrappedAs{class, at.File, at.Line}
		part := parts[key]
		if part == nil {
			part = fr
			if len(order) > 0 {
				part = &Frame{ID: fr.ID, Calls: fr.Calls, EagerOps: fr.EagerOps, Resumes: []*Frame{}}
			}
			part.Name, part.Pos, part.wraps, part.Compiles = class, at, &code, nil
			parts[key] = part
			order = append(order, part)
		}
		c.Frame, part.Status = part, c.Status
		c.ownEntries(class, classes)
		part.Compiles = append(part.Compiles, c)
		if fl := c.Failure; fl != nil && fl.Frame == code.Func {
			fl.Frame = class
			if frameworkFile(fl.Pos.File) {
				fl.Pos = at
			}
		}
		nameArguments(c, at)
		placeKernels(r, c, at)
	}
	return order
}

// ownEntries leaves the reasons of a recompile that entries for callables of the same class
// gave. One for a callable of another class could not serve: the first compile of a class
// is no recompile, though PyTorch logs it as one of the wrapper.
func (c *Compile) ownEntries(class string, classes map[string]string) {
	known := false
	for _, other := range classes {
		known = known || other == class
	}
	entry := c.ID.CompileID
	entry.Attempt = 0
	classes[entry.String()] = class
	switch {
	case len(classes) == 1:
	case !known:
		c.fresh, c.Recompile = true, nil
	case c.Recompile != nil:
		own := slices.DeleteFunc(slices.Clone(c.Recompile.Failures), func(g GuardFailure) bool {
			other, told := classes[g.Entry]
			return told && other != class
		})
		if len(own) > 0 {
			c.Recompile.Failures = own
		}
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
