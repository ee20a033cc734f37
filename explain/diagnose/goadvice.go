package diagnose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file advises on recompiles of Go programs, in the words of package torch.

// GoRecompile advises on the newest entry's guard, which is the one that was tried first.
func GoRecompile(rc *explain.Recompile) explain.Fix {
	g := &rc.Failures[0]
	if isLearningRate(g) {
		return goFix("learning-rate")
	}
	if fix, ok := goEarly(rc); ok {
		return fix
	}
	name := argumentName(rc, g)
	if name == "" {
		return explain.Fix{}
	}
	if isTensorKind(g.Kind) {
		return goTensor(rc, g, name)
	}
	return goValue(rc, g, name)
}

// goEarly is the advice on a change of which the cause lies before the compiled code: a
// graph break, or torch.Compile in a loop.
func goEarly(rc *explain.Recompile) (explain.Fix, bool) {
	if len(rc.Failures) == 0 {
		return explain.Fix{}, false
	}
	g := &rc.Failures[0]
	name := argumentName(rc, g)
	if fix, ok := whicheverPart(g, name); ok {
		return fix, true
	}
	if at, ok := breakBefore(rc.Compile.Frame); ok &&
		(g.Origin == logs.OriginLocal || g.Origin == "" && strings.HasPrefix(strings.TrimSpace(g.Pos.Code), "for ")) {
		return goFix("after-break", cmp.Or(name, "what changed"), ShortPlace(at.File, at.Line)), true
	}
	if explain.IsNumber(g.Expected) && !isTensorKind(g.Kind) {
		return madeAgain(rc, name)
	}
	return explain.Fix{}, false
}

// whicheverPart is the advice on a field that helps a function and what goes on with it after
// a break alike: the break hands over the object, and its field changes for another reason.
func whicheverPart(g *explain.GuardFailure, name string) (explain.Fix, bool) {
	if isLearningRate(g) {
		return goFix("learning-rate"), true
	}
	if g.Kind != breaks.AttributeChanged || !strings.Contains(name, ".") || explain.IsNumber(g.Expected) {
		return explain.Fix{}, false
	}
	if expr := explain.PlainSource(g.Source); strings.HasPrefix(expr, "(") {
		name = expr
	}
	fix := FixValue(name, g)
	return fix, fix.Row == goRow+"number-branch"
}

// breakBefore finds the break after which a resumed part begins.
func breakBefore(fr *explain.Frame) (logs.Pos, bool) {
	if fr.From == nil || fr.Parent == nil {
		return logs.Pos{}, false
	}
	for _, from := range append([]*explain.Frame{fr.Parent}, fr.Parent.Resumes...) {
		for _, c := range from.Compiles {
			if c.ID.Frame == fr.From.Frame && c.ID.Compile == fr.From.Compile && len(c.Breaks) > 0 { // after whichever attempt
				return c.Breaks[0].Pos, true
			}
		}
	}
	return logs.Pos{}, false
}

// madeAgain advises on a number that a function literal captures, where torch.Compile is
// given the literal again and again, each time with another number.
func madeAgain(rc *explain.Recompile, name string) (explain.Fix, bool) {
	fr := rc.Compile.Frame
	if fr.Made < 2 || !slices.Contains(fr.Captured, name) {
		return explain.Fix{}, false
	}
	return goFix("made-again", ShortPlace(fr.MadeAt.File, fr.MadeAt.Line), fr.Made, name), true
}

// compiledApart finds functions that one line gives to torch.Compile again and again, where
// each call compiles them apart.
func compiledApart(r *explain.Report) []explain.Advice {
	type made struct {
		at   logs.Pos
		name string
	}
	apart := map[made][]*explain.Frame{}
	var order []made
	for _, fr := range r.Frames {
		if fr.Parent != nil || fr.Made < 2 || fr.MadeAt.File == "" {
			continue
		}
		k := made{fr.MadeAt, fr.Name}
		if apart[k] == nil {
			order = append(order, k)
		}
		apart[k] = append(apart[k], fr)
	}
	var out []explain.Advice
	for _, k := range order {
		frames := apart[k]
		if len(frames) < 2 {
			continue
		}
		seconds := 0.0
		for _, fr := range frames {
			for _, c := range fr.Compiles {
				seconds += c.Seconds
			}
		}
		out = append(out, explain.Advice{
			Text: fmt.Sprintf("%s is compiled %d times, by as many calls of torch.Compile at one line",
				explain.FrameTitle(frames[0]), len(frames)), Pos: k.at, Frame: frames[0],
			Fix: goFix("compiled-apart"), Cost: explain.Count(len(frames), "compile") + ", " + explain.Duration(seconds),
		})
	}
	return out
}

// goTensor advises on what a tensor is like.
func goTensor(rc *explain.Recompile, g *explain.GuardFailure, name string) explain.Fix {
	switch g.Kind {
	case breaks.SizeChanged:
		return goSize(rc, g, name)
	case breaks.SizeSpecialised:
		return goFix("size-constant", "the marked line", g.Dim, name)
	case breaks.StrideChanged:
		if g.Single {
			return goFix("layout-one", name, g.Dim)
		}
		return goFix("layout", name)
	case breaks.DtypeChanged:
		return fixDtype(name, []string{g.Expected, g.Actual})
	case breaks.RequiresGradChanged:
		return goFix("requires-grad", name)
	case breaks.RankChanged:
		return goFix("rank", name)
	}
	return explain.Fix{}
}

// cameBack says whether the calls of a function are of a few kinds, each of which has found its entry: as
// many calls were served as there are entries, and none was left without one.
func cameBack(fr *explain.Frame) bool {
	made := int64(0)
	for _, c := range fr.Compiles {
		switch c.Status {
		case explain.Compiled:
			made++
		case explain.Limit, explain.Failed:
			return false
		}
	}
	return made > 0 && fr.Hits >= made
}

// goSize advises on a size that changed.
func goSize(rc *explain.Recompile, g *explain.GuardFailure, name string) explain.Fix {
	if g.Dim < 0 || strings.Contains(name, "(") { // what a call gave has no name to mark
		return explain.Fix{}
	}
	if c := explain.RefusedMark(rc.Compile.Frame, name, g.Dim); c != nil { // marking it has failed
		return goFix("size-constant", ShortPlace(c.Failure.Pos.File, c.Failure.Pos.Line), g.Dim, name)
	}
	opened := dynamicSizes(rc, g)
	fl := rc.Compile.Failure
	switch {
	case rc.Compile.Status == explain.Failed && (fl == nil || fl.Type != explain.RecompileError):
		return explain.Fix{} // not even with the size dynamic
	case slices.ContainsFunc(rc.Compile.Breaks, func(b *explain.Break) bool { return b.Code == breaks.FakeTensorFailure }):
		return explain.Fix{} // an operator refuses the new size
	case rc.Compile.Frame.Static && cameBack(rc.Compile.Frame):
		return goFix("size-bucket", g.Dim, name, g.Expected, g.Actual)
	case rc.Compile.Frame.Static:
		return goFix("size-static", g.Dim, name, g.Expected, g.Actual)
	case g.Expected == "0" || g.Expected == "1" || g.Actual == "0" || g.Actual == "1":
		return goFix("size-one", g.Dim, name, g.Expected, g.Actual)
	case opened.part != "":
		return goFix("size-part", ShortPlace(opened.partAt.File, opened.partAt.Line), opened.part)
	case opened.compared:
		return goFix("size-branch")
	case strings.ContainsAny(name+strings.Join(opened.equal, ""), ".["): // what holds it may have it from the compiled function
		if opened.known {
			return goFix("size-dynamic", g.Dim, name, g.Expected, g.Actual)
		}
		return explain.Fix{}
	case len(opened.equal) > 0:
		marks := append([]string{marked(name + ", " + strconv.Itoa(g.Dim))}, opened.equal...)
		for i := range opened.equal {
			marks[i+1] = marked(opened.equal[i])
		}
		return goFix("sizes", g.Dim, name, g.Expected, g.Actual, joined(marks))
	}
	return goFix("size", g.Dim, name, g.Expected, g.Actual, marked(name+", "+strconv.Itoa(g.Dim)))
}

// marked is the call that marks a size, "x, 0", as dynamic.
func marked(size string) string { return "compiler.MarkDynamic(" + size + ")" }

// joined lists names: a, b and c.
func joined(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// openedSize is what the compile after a change says of the size that changed.
type openedSize struct {
	known    bool // it is dynamic there
	compared bool // a branch asked whether it is what it was
	partAt   logs.Pos
	part     string   // what is made of it and is a constant there, x.size()[0]//2
	equal    []string // sizes that are the same one, "y, 0", which marking it alone leaves static
}

// dynamicSizes reads the guards on sizes of the compile after a size changed.
func dynamicSizes(rc *explain.Recompile, g *explain.GuardFailure) (o openedSize) {
	if !rc.Compile.Guards.Told() || rc.Compile.Guards.Leaves > manyGuards {
		return o
	}
	source := explain.PlainSource(g.Source)
	size := source + ".size()[" + strconv.Itoa(g.Dim) + "]"
	explain.WalkGuards(rc.Compile.Guards.Root(), func(n *explain.GuardNode) {
		text := explain.PlainSource(n.Text)
		if n.Kind != "SHAPE_ENV" || !strings.Contains(text, size) {
			return
		}
		o.known = true
		o.compared = o.compared || text == size+" != "+g.Expected
		left, right, ok := strings.Cut(text, " == ")
		if right == size && ok {
			left, right = right, left
		}
		if explain.IsNumber(right) && ok && left != size && needsPart(left, n.Pos) {
			o.part, o.partAt = left, n.Pos
		}
		if other, dim, isSize := explain.SizeOf(right); ok && left == size && isSize {
			o.equal = append(o.equal, other+", "+strconv.Itoa(dim))
		}
	})
	return o
}

// goValue advises on what is no tensor, and on modes.
func goValue(rc *explain.Recompile, g *explain.GuardFailure, name string) explain.Fix {
	switch g.Kind {
	case breaks.ValueChanged, breaks.AttributeChanged, breaks.GlobalChanged, breaks.ClosureChanged:
		if explain.IsNumber(g.Expected) && asksOf(rc.Compile.Frame, name) {
			return explain.Fix{} // a tensor would break the graph where the line asks
		}
		if expr := explain.PlainSource(g.Source); strings.HasPrefix(expr, "(") && strings.Contains(expr, name) {
			name = expr // what was compared is an expression of it
		}
		return FixValue(name, g)
	case breaks.ShapeRelation:
		return FixRelation(g)
	case breaks.LengthChanged:
		switch {
		case g.Map:
			return goFix("keys", name)
		case strings.Contains(explain.Squeeze(g.Pos.Code), name+" = append("):
			return goFix("length-grows", name)
		case makesTensor(g.Pos.Code, name):
			return goFix("numbers", name)
		case holdsFunctions(rc, g):
			return goFix("functions", name)
		}
		return goFix("length", name)
	case breaks.TrainingChanged:
		return goFix("training", strings.TrimSuffix(name, TrainingFlag))
	case breaks.TypeChanged:
		switch {
		case g.Expected == "":
			return explain.Fix{}
		case g.Expected == "nil" || g.Actual == "nil": // an interface, of which nil has no type
			return fixNil(name)
		}
		return goFix("type", name, g.Expected)
	case breaks.NoneChanged:
		return fixNil(name)
	case breaks.IdentityChanged:
		if strings.HasSuffix(g.Source, explain.CodeOfFunction) {
			return goFix("function", name)
		}
	case breaks.GlobalStateChanged:
		return goFix("grad-mode", name)
	case breaks.DictKeyChanged:
		return goFix("keys", name)
	}
	return explain.Fix{}
}

// fixNil advises on what is nil in some of the calls.
func fixNil(name string) explain.Fix {
	if strings.Contains(name, ".") {
		return goFix("nil-field", name)
	}
	return goFix("nil", name)
}

// FixValue advises on a constant of the graph: a flag and a text have few values, a number
// may have as many as there are calls.
func FixValue(name string, g *explain.GuardFailure) explain.Fix {
	switch {
	case strings.EqualFold(g.Expected, "true"), strings.EqualFold(g.Expected, "false"):
		return goFix("flag", name)
	case strings.HasPrefix(g.Expected, `"`):
		return goFix("text", name, g.Expected)
	}
	if strings.HasPrefix(g.Expected, "not ") || strings.ContainsAny(g.Expected, "<>!") { // the outcome of a comparison
		asked := strings.TrimPrefix(g.Expected, "not ")
		if explain.IsNumber(asked) {
			asked = "== " + asked
		}
		switch line := strings.TrimSpace(g.Pos.Code); {
		case strings.HasPrefix(line, "for "):
			return goFix("rounds")
		case strings.HasPrefix(line, "if "), strings.HasPrefix(line, "case "):
			return goFix("number-branch", name, asked)
		}
		return explain.Fix{}
	}
	switch {
	case g.Pos.Code == "":
		return explain.Fix{}
	case explain.IsNumber(g.Expected) && (makesTensor(g.Pos.Code, name) || makesTensor(g.Pos.Code, "") && !takesTensor(g.Pos.Code, name)):
		return goFix("numbers", name)
	case !takesTensor(g.Pos.Code, name):
		return goFix("number-constant", name)
	}
	row := map[string]string{
		breaks.AttributeChanged: "number-field", breaks.GlobalChanged: "number-global",
		breaks.ClosureChanged: "number-captured",
	}[g.Kind]
	return goFix(cmp.Or(row, "number"), name, "== "+g.Expected)
}

// takesTensor says whether a line chooses by a number, as xs[k] does, or gives it to an
// operator that takes a tensor in its place; where it has the number under another name, whether such an operator is there.
func takesTensor(line, name string) bool {
	rest := regexp.QuoteMeta(name)
	if !hasWord(line, name) {
		rest = ""
	}
	if strings.Contains(line, "["+name+"]") {
		return true
	}
	return regexp.MustCompile(`\b(Add|Sub|Mul|Div|Pow)_?\([^()]*` + rest).MatchString(line)
}

// holdsFunctions says whether the compile after a length changed calls the elements of the list.
func holdsFunctions(rc *explain.Recompile, g *explain.GuardFailure) bool {
	if !rc.Compile.Guards.Told() || rc.Compile.Guards.Leaves > manyGuards {
		return false
	}
	found, list := false, explain.PlainSource(g.Source)+"["
	explain.WalkGuards(rc.Compile.Guards.Root(), func(n *explain.GuardNode) {
		source, called := strings.CutPrefix(explain.PlainSource(n.Text), list)
		found = found || called && strings.Contains(source, explain.CodeOfFunction+" is ")
	})
	return found
}

// makesTensor says whether a line makes a tensor of what a name begins with: of returns, where
// the name is returns[0]. Without a name, of whatever it is.
func makesTensor(line, name string) bool {
	list, _, _ := strings.Cut(name, "[")
	rest := ""
	if list != "" {
		rest = regexp.QuoteMeta(list) + `\b`
	}
	return regexp.MustCompile(`\btorch\.NewTensor\(` + rest).MatchString(line)
}

// FixRelation advises on a relation between sizes that a branch of the program asked
// for, or that one size alone fulfils.
func FixRelation(g *explain.GuardFailure) explain.Fix {
	switch {
	case strings.HasPrefix(strings.TrimSpace(g.Pos.Code), "if "):
		return goFix("size-branch")
	case explain.IsNumber(g.Expected) && needsPart(g.Source, g.Pos):
		return goFix("size-part", "the marked line", explain.PlainSource(g.Source))
	case strings.HasPrefix(g.Source, "2 <= ") && strings.Count(g.Source, "<") == 1:
		return goFix("small-size")
	}
	return explain.Fix{}
}

// needsPart says whether a line of the program takes the number that an expression of sizes
// has: a remainder is asked for where something is to be divided.
func needsPart(expr string, at logs.Pos) bool {
	line := strings.TrimSpace(at.Code)
	return strings.Contains(expr, ".size()[") && !strings.Contains(expr, "Mod(") && line != "" && !explain.FrameworkFile(at.File) &&
		!strings.HasPrefix(line, "if ") && !strings.HasPrefix(line, "case ") && !strings.HasPrefix(line, "for ")
}

// fixDtype advises on a tensor that comes with several dtypes.
func fixDtype(name string, dtypes []string) explain.Fix {
	last := len(dtypes) - 1
	return goFix("dtype", name, strings.Join(dtypes[:last], ", as "), dtypes[last])
}

// TrainingFlag is where a module of package nn keeps its mode.
const TrainingFlag = ".Training.eval"
