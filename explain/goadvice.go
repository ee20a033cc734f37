package explain

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/tracer/breaks"
)

// This file advises on recompiles of Go programs, in the words of package torch.

// goRecompile advises on the newest entry's guard, which is the one that was tried first.
func goRecompile(rc *Recompile) Fix {
	g := &rc.Failures[0]
	switch {
	case isLearningRate(g):
		return Fix{Text: "the learning rate changes: make it a tensor, kw.Lr(torch.NewTensor(...)), which the graph reads with every step"}
	case g.Kind == breaks.MarkingChanged:
		return Fix{Text: fmt.Sprintf("%s marks the dimensions %s now and %s when the entry was made: mark the same ones before every call", g.Source, g.Actual, g.Expected)}
	case g.Kind == breaks.BackendChanged:
		return Fix{Text: fmt.Sprintf("%s was compiled more than once, with different backends or arguments of torch.compile, and each makes entries of its own: call torch.compile on it once and share the result", titleOf(functionOf(rc.Compile.Frame.Pos, rc.Compile)))}
	case g.Kind == breaks.Raced:
		return Fix{Text: "threads compiled this side by side: make the first call before they start"}
	}
	name := argumentName(rc, g)
	if name == "" {
		return Fix{}
	}
	if at, ok := setByBreak(rc, name); ok {
		return Fix{Text: fmt.Sprintf("%s is set by the call that breaks the graph at %s: what removes that break removes this", name, shortPlace(at.File, at.Line))}
	}
	if isTensorKind(g.Kind) {
		return goTensor(rc, g, name)
	}
	return goValue(rc, g, name)
}

// madeAgain advises on a number that a function literal captures, where torch.Compile is
// given the literal again and again, each time with another number.
func madeAgain(rc *Recompile, name string) (fix string, ok bool) {
	fr := rc.Compile.Frame
	if fr.Made < 2 || !slices.Contains(fr.Captured, name) {
		return "", false
	}
	return fmt.Sprintf("torch.Compile at %s is called %d times, and %s, which the function captures, is not always the same: move torch.Compile out of the loop and pass %s to what it returns, as a tensor", shortPlace(fr.MadeAt.File, fr.MadeAt.Line), fr.Made, name, name), true
}

// goTensor advises on what a tensor is like.
func goTensor(rc *Recompile, g *GuardFailure, name string) Fix {
	switch g.Kind {
	case breaks.SizeChanged:
		if g.Dim < 0 || strings.Contains(name, "(") { // what a call gave has no name to mark
			return Fix{}
		}
		changes := fmt.Sprintf("size %d of %s changes (%s -> %s)", g.Dim, name, g.Expected, g.Actual)
		if fl := rc.Compile.Failure; rc.Compile.Status == Failed && (fl == nil || fl.Type != recompileError) {
			return Fix{Text: changes + ", and the compile that leaves it open failed: pass one size, or compile for each with kw.Dynamic(false)"}
		}
		if rc.Compile.Frame.Static {
			return Fix{Text: changes + ", and kw.Dynamic(false) asks for an entry of each size: leave that option out"}
		}
		if g.Expected == "0" || g.Expected == "1" || g.Actual == "0" || g.Actual == "1" {
			return Fix{Text: changes + ": 0 and 1 have an entry of their own in any case; pad to 2 or more, or accept it"}
		}
		if c := refusedMark(rc.Compile.Frame, name, g.Dim); c != nil {
			return Fix{Text: fmt.Sprintf("%s, and marking it dynamic failed at %s: see there what made it a constant", changes, shortPlace(c.Failure.Pos.File, c.Failure.Pos.Line))}
		}
		return Fix{Text: fmt.Sprintf("%s: call compiler.MarkDynamic(%s, %d) before the first call", changes, name, g.Dim)}
	case breaks.SizeSpecialised:
		return sizeAsNumber("the marked line", name, g.Dim)
	case breaks.StrideChanged:
		return Fix{Text: fmt.Sprintf("the layout of %s changes: pass %s.Contiguous()", name, name)}
	case breaks.DtypeChanged:
		return fixDtype(name, []string{g.Expected, g.Actual})
	case breaks.RequiresGradChanged:
		return Fix{Text: fmt.Sprintf("%s comes with and without requires_grad: a graph that computes gradients is another one, so two entries are normal", name)}
	case breaks.RankChanged:
		return Fix{Text: fmt.Sprintf("the number of dimensions of %s changes: reshape it before the call", name)}
	}
	return Fix{}
}

// goValue advises on what is no tensor, and on modes.
func goValue(rc *Recompile, g *GuardFailure, name string) Fix {
	switch g.Kind {
	case breaks.ValueChanged, breaks.AttributeChanged, breaks.GlobalChanged, breaks.ClosureChanged:
		if text, ok := madeAgain(rc, name); ok && isNumber(g.Expected) {
			return Fix{Text: text}
		}
		if expr := plainSource(g.Source); strings.HasPrefix(expr, "(") && strings.Contains(expr, name) {
			name = expr // what was compared is an expression of it
		}
		return Fix{Text: fixValue(name, g)}
	case breaks.ShapeRelation:
		return fixRelation(g)
	case breaks.LengthChanged:
		if strings.Contains(squeeze(g.Pos.Code), name+" = append(") {
			return Fix{Text: growing(name)}
		}
		return Fix{Text: fmt.Sprintf("loops over %s are unrolled: keep its length, or stack its tensors into one", name)}
	case breaks.TrainingChanged:
		return Fix{Text: fmt.Sprintf("%s changes between training and evaluation: two entries are normal", name)}
	case breaks.TypeChanged:
		if g.Expected == "" {
			return Fix{}
		}
		return Fix{Text: fmt.Sprintf("%s changes its type from %s: pass one type", name, g.Expected)}
	case breaks.NoneChanged:
		if strings.Contains(name, ".") {
			return Fix{Text: fmt.Sprintf("%s is nil in one call and not in another: set it before the first call, or accept two entries", name)}
		}
		return Fix{Text: fmt.Sprintf("%s is sometimes nil: pass a value always, or accept two entries", name)}
	case breaks.IdentityChanged:
		if strings.HasSuffix(g.Source, codeOfFunction) {
			return Fix{Text: fmt.Sprintf("there is an entry for each function that %s is: keep them few, and make each once, not in every call", name)}
		}
		return Fix{Text: fmt.Sprintf("the graph is bound to the object %s: create it once and pass the same one", name)}
	case breaks.GlobalStateChanged:
		differ := "differs"
		if strings.Contains(name, ", ") {
			differ = "differ"
		}
		return Fix{Text: fmt.Sprintf("%s %s between calls: set it once before the first call, or accept one entry for each setting", name, differ)}
	case breaks.DictKeyChanged:
		return Fix{Text: fmt.Sprintf("the keys of %s change: keep the same keys in the same order", name)}
	}
	return Fix{}
}

// fixValue advises on a constant of the graph: a flag and a text have few values, a number
// may have as many as there are calls.
func fixValue(name string, g *GuardFailure) string {
	switch {
	case strings.EqualFold(g.Expected, "true"), strings.EqualFold(g.Expected, "false"):
		return fmt.Sprintf("%s is a flag: two entries are normal; if it changes with every call, use torch.Where on it as a tensor", name)
	case strings.HasPrefix(g.Expected, `"`), strings.HasPrefix(g.Expected, "'"):
		return fmt.Sprintf("there is an entry for each value of %s (here %s): keep them few, or choose by it before the compiled function", name, g.Expected)
	}
	what, fix := name, "pass "+name+" as a tensor"
	switch g.Kind {
	case breaks.AttributeChanged:
		what, fix = "the attribute "+name, "keep it in a tensor (a buffer), or hoist it out of the compiled function"
	case breaks.GlobalChanged:
		what, fix = "the global "+name, "make it a tensor"
	case breaks.ClosureChanged:
		what, fix = "the captured variable "+name, "make it a tensor"
	}
	relation := "== " + g.Expected
	if strings.Contains(g.Expected, "<") || strings.Contains(g.Expected, ">") || strings.Contains(g.Expected, "!=") {
		relation = g.Expected // a relation already
	}
	return fmt.Sprintf("the graph is specialised on %s %s: %s", what, relation, fix)
}

// fixRelation advises on a relation between sizes that a branch of the program asked
// for, or that one size alone fulfils.
func fixRelation(g *GuardFailure) Fix {
	code := strings.TrimSpace(g.Pos.Code)
	switch {
	case strings.HasPrefix(code, "if ") || strings.HasPrefix(code, "elif "):
		return Fix{Text: "the marked line branches on a size: an entry for each side is normal"}
	case strings.HasPrefix(g.Source, "2 <= ") && strings.Count(g.Source, "<") == 1:
		return Fix{Text: "a size of 0 or 1 has an entry of its own: accept one entry more, or pass at least 2"}
	case g.Expected == "1" || g.Expected == "0":
		return Fix{Text: fmt.Sprintf("the entry was made in a call where %s is %s, which is a special case: make the first call with usual sizes", plainSource(g.Source), g.Expected)}
	}
	return Fix{}
}

// fixDtype advises on a tensor that comes with several dtypes.
func fixDtype(name string, dtypes []string) Fix {
	last := len(dtypes) - 1
	return Fix{Text: fmt.Sprintf("%s comes as %s and as %s: convert it before the call", name, strings.Join(dtypes[:last], ", as "), dtypes[last])}
}
