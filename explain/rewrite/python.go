package rewrite

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"tcdbg/explain"
	"tcdbg/tracer/breaks"
)

// This file rewrites Python programs, in the few forms that one can be certain of
// without a parser: a branch on a tensor's value becomes a torch.where; a print, a log
// call or a reading of the clock is left out of compiled calls.

var (
	pyImportsTorch = whenAsked(`(?m)^import torch\b`)
	pyIf           = whenAsked(`^\s*if (.+?):\s*(#.*)?$`)
	pyIfSet        = whenAsked(`^\s*if ([^:]+): (\w+) = ([^#;]+?)\s*(#.*)?$`)
	pyElse         = whenAsked(`^\s*else:\s*(#.*)?$`)
	pySet          = whenAsked(`^\s*(\w+) = ([^#;]+?)\s*(#.*)?$`)
	pyReturn       = whenAsked(`^\s*return ([^#;]+?)\s*(#.*)?$`)
	pyCompare      = whenAsked(
		`^([\w.]+?)(?:\.(?:abs|square|detach)\(\))*\.(?:sum|mean|max|min|norm|prod)\(\)((?:\.abs\(\)|\.sqrt\(\))*)` +
			`(?:\.item\(\))? (?:<|>|<=|>=|==|!=) -?[0-9.]+(?:e-?[0-9]+)?$`,
	)
	pyAnyAll = whenAsked(`^(?:\(?([\w.]+)(?: (?:<|>|<=|>=|==|!=) -?[0-9.]+(?:e-?[0-9]+)?)?\)?)\.(?:any|all)\(\)(?:\.item\(\))?$`)
	pyPrint  = whenAsked(
		`^\s*(print|logging\.(?:debug|info|warning|error)|_?log(?:ger)?\.(?:debug|info|warning|error))\((.*)\)\s*(?:#.*)?$`,
	)
	pyCall  = whenAsked(`([\w.]*\w)\(`)
	pyClock = whenAsked(
		`^(?:0\.0 if torch\.compiler\.is_compiling\(\) else )?time\.(?:time|perf_counter|monotonic)\(\)(?: - (\w+))?$`,
	)
)

// whenAsked compiles an expression when it is first needed: most runs rewrite nothing, and
// to compile them all takes half a millisecond of every start.
func whenAsked(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// pyRewrite finds the rewrite for a break, nil for none that is certain.
func pyRewrite(b *explain.Break, f *file) *explain.Rewrite {
	lines := f.lines
	if !explain.SameLine(lines, b.Pos) || !f.importTorch() {
		return nil
	}
	line := strings.TrimRight(lines[b.Pos.Line-1], " \t\r")
	if strings.Contains(line, "\t") {
		return nil // how deep it lies is not certain
	}
	if b.Code == breaks.DataDependentBranching || b.Code == breaks.TensorItem {
		if r := pyWhere(b, f); r != nil {
			return r
		}
		return pySkipPrint(lines, b.Pos.Line) // a number that is read to be printed
	}
	if r := pySkipPrint(lines, b.Pos.Line); r != nil {
		return r
	}
	return pySkipClock(lines, b.Pos.Line)
}

// pyChoice is a branch between two values: of a variable, or returned where target
// is "".
type pyChoice struct {
	cond, target, yes, no string
	last                  int // its last line
}

func pyWhere(b *explain.Break, f *file) *explain.Rewrite {
	c, ok := pyBranch(f.lines, b.Pos.Line)
	if !ok {
		return nil
	}
	tested, ok := pyScalarBool(c.cond)
	base, k := pyElementwise(c.yes)
	other, l := pyElementwise(c.no)
	if !ok || base == "" || base != other {
		return nil
	}
	dtype := inputDtype(b, base)
	if tested != base && dtype == "" || !min(k, l).holds(dtype) || f.inPlace()[base] || f.inPlace()[c.target] {
		return nil // a number that is no tensor would become one
	}
	text := fmt.Sprintf("torch.where(%s, %s, %s)", strings.TrimSuffix(strings.Replace(c.cond, ".item() ", " ", 1), ".item()"), c.yes, c.no)
	if c.target == "" {
		text = "return " + text
	} else {
		text = c.target + " = " + text
	}
	return &explain.Rewrite{Hunks: []explain.Hunk{hunkAt(f.lines, b.Pos.Line, c.last, text)}}
}

// pyBranch reads the branch that begins at a line.
func pyBranch(lines []string, at int) (c pyChoice, ok bool) {
	text := func(n int) string {
		if n > len(lines) {
			return ""
		}
		return strings.TrimRight(lines[n-1], " \t\r")
	}
	depth := len(explain.LeadingSpace(text(at)))
	inside := func(n int) bool { // a line of the branch, the only one of its block
		return strings.TrimSpace(text(n)) != "" && len(explain.LeadingSpace(text(n))) > depth &&
			(strings.TrimSpace(text(n+1)) == "" || len(explain.LeadingSpace(text(n+1))) <= depth)
	}
	if m := pyIfSet().FindStringSubmatch(text(at)); m != nil {
		c = pyChoice{cond: m[1], target: m[2], yes: m[3], no: m[2], last: at}
		return c, !pyContinues(text(at+1), depth)
	}
	m := pyIf().FindStringSubmatch(text(at))
	if m == nil || !inside(at+1) {
		return c, false
	}
	c = pyChoice{cond: m[1], last: at + 1}
	if c.target, c.yes, ok = pyValue(text(at + 1)); !ok {
		return c, false
	}
	next := text(at + 2)
	switch {
	case pyElse().MatchString(next) && len(explain.LeadingSpace(next)) == depth:
		target, no, ok := pyValue(text(at + 3))
		c.no, c.last = no, at+3
		return c, ok && inside(at+3) && target == c.target
	case c.target == "": // if c: return A, then return B
		target, no, ok := pyValue(next)
		c.no, c.last = no, at+2
		return c, ok && target == "" && len(explain.LeadingSpace(next)) == depth && pyReturn().MatchString(next)
	}
	c.no = c.target
	return c, !pyContinues(next, depth)
}

// pyContinues says whether a line goes on with the branch of this depth.
func pyContinues(line string, depth int) bool {
	t := strings.TrimSpace(line)
	return len(explain.LeadingSpace(line)) == depth && (strings.HasPrefix(t, "elif ") || strings.HasPrefix(t, "else"))
}

// pyValue is what a line assigns or returns.
func pyValue(line string) (target, value string, ok bool) {
	if m := pySet().FindStringSubmatch(line); m != nil {
		return m[1], m[2], true
	}
	if m := pyReturn().FindStringSubmatch(line); m != nil {
		return "", m[1], true
	}
	return "", "", false
}

// pyScalarBool is the tensor that a condition reduces to one bool.
func pyScalarBool(cond string) (tensor string, ok bool) {
	if m := pyCompare().FindStringSubmatch(cond); m != nil {
		return m[1], true
	}
	if m := pyAnyAll().FindStringSubmatch(cond); m != nil && strings.Count(cond, "(") == strings.Count(cond, ")") {
		return m[1], true
	}
	return "", false
}

// pyKeeping are the forms of an elementwise result: V is the variable, N a
// number, I an integer.
var pyKeeping = []struct {
	form func() *regexp.Regexp
	of   certainty
}{
	{pyForm(`V`), ofNumbers},
	{pyForm(`-V`), ofNumbers},
	{pyForm(`V [*+-] I`), ofNumbers},
	{pyForm(`I \* V`), ofNumbers},
	{pyForm(`V\.(?:relu|abs|neg)\(\)`), ofNumbers},
	{pyForm(`torch\.(?:relu|abs|neg)\(V\)`), ofNumbers},
	{pyForm(`V [*+-] N`), ofFloats},
	{pyForm(`N \* V`), ofFloats},
	{pyForm(`V / [1-9][0-9.]*`), ofFloats},
	{pyForm(`V\.(?:tanh|sigmoid|sin|cos)\(\)`), ofFloats},
	{pyForm(`torch\.(?:tanh|sigmoid|sin|cos)\(V\)`), ofFloats},
}

func pyForm(s string) func() *regexp.Regexp {
	s = strings.NewReplacer("V", `([A-Za-z_]\w*)`, "N", `-?[0-9]+(?:\.[0-9]*)?(?:e-?[0-9]+)?`, "I", `-?[0-9]+`).Replace(s)
	return whenAsked("^" + s + "$")
}

// pyElementwise is the one variable that an expression computes from, keeping its
// shape and dtype; "" where it is not certain to.
func pyElementwise(expr string) (base string, c certainty) {
	for _, f := range pyKeeping {
		if m := f.form().FindStringSubmatch(expr); m != nil && m[1] != "None" && m[1] != "True" && m[1] != "False" {
			return m[1], f.of
		}
	}
	return "", uncertain
}

var (
	pyName     = whenAsked(`\w+`)
	pyChanging = whenAsked(`^(?:\.\w+_\(|\[[^]]*\] *[-+*/]?=[^=]| *[-+*/]= )`) // after a name
)

// pyInPlace are the variables that a file changes in place: there the tensor that was not
// replaced is another one than the result of torch.where.
func pyInPlace(lines []string) map[string]bool {
	out := map[string]bool{}
	for _, l := range lines {
		for _, at := range pyName().FindAllStringIndex(l, -1) {
			if rest := l[at[1]:]; rest != "" && strings.IndexByte(".[ -+*/", rest[0]) >= 0 && pyChanging().MatchString(rest) {
				out[l[at[0]:at[1]]] = true
			}
		}
	}
	return out
}

const pyAsk = "torch.compiler.is_compiling()"

// pySkipPrint leaves a print or log call on a line of its own out of compiled calls.
func pySkipPrint(lines []string, at int) *explain.Rewrite {
	line := strings.TrimRight(lines[at-1], " \t\r")
	if !pyPrints(line) {
		return nil
	}
	return &explain.Rewrite{
		Note:  skippedNote,
		Hunks: []explain.Hunk{hunkAt(lines, at, at, "if not "+pyAsk+":", "    "+strings.TrimSpace(line))},
	}
}

// pyReading are calls that leave everything as it is; of pyConsuming those that are methods,
// since the function of that name empties a generator. A size may be made a tuple or list.
var (
	pyReading   = words2set("item mean norm abs size dim numel len str float int round format tolist std var")
	pyConsuming = words2set("sum max min any all")
	pySize      = whenAsked(`\b(?:tuple|list)\([\w.]+\.(?:shape|(?:size|stride)\(\))\)`)
)

// pyPrints says whether a line prints or logs, and does nothing else.
func pyPrints(line string) bool {
	m := pyPrint().FindStringSubmatch(line)
	if m == nil || strings.Contains(m[2], ":=") || strings.Contains(m[2], "await ") || strings.Contains(m[2], "yield") {
		return false
	}
	if depth := strings.Count(line, "(") - strings.Count(line, ")"); depth != 0 || strings.Contains(m[2], ";") {
		return false
	}
	for _, call := range pyCall().FindAllStringSubmatch(pySize().ReplaceAllString(m[2], "_"), -1) {
		dot := strings.LastIndexByte(call[1], '.')
		name := call[1][dot+1:]
		if !pyReading[name] && (dot < 0 || !pyConsuming[name]) && !strings.HasPrefix(call[1], "time.") {
			return false
		}
	}
	return true
}

// pySkipClock leaves a reading of the clock, whose value is only printed, out of
// compiled calls.
func pySkipClock(lines []string, at int) *explain.Rewrite {
	m := pySet().FindStringSubmatch(strings.TrimRight(lines[at-1], " \t\r"))
	if m == nil || !pyClock().MatchString(m[2]) || strings.Contains(m[2], pyAsk) || !pyOnlyPrinted(lines, at, m[1], 0) {
		return nil
	}
	return &explain.Rewrite{
		Note:  skippedNote,
		Hunks: []explain.Hunk{hunkAt(lines, at, at, fmt.Sprintf("%s = 0.0 if %s else %s", m[1], pyAsk, m[2]))},
	}
}

// pyOnlyPrinted says whether a variable of the function around a line goes nowhere but
// into prints, log calls and other readings of the clock that go nowhere else.
func pyOnlyPrinted(lines []string, at int, name string, nested int) bool {
	from, to := pyFunction(lines, at)
	if from < 0 || nested > 4 {
		return false
	}
	word := regexp.MustCompile(`\b` + name + `\b`)
	for i := from; i < to; i++ {
		line := strings.TrimRight(lines[i], " \t\r")
		code, _, _ := strings.Cut(line, "#")
		if !word.MatchString(code) || pyPrints(line) {
			continue
		}
		m := pySet().FindStringSubmatch(line)
		if m == nil || !pyClock().MatchString(m[2]) || m[1] != name && !pyOnlyPrinted(lines, i+1, m[1], nested+1) {
			return false
		}
	}
	return true
}

// pyFunction is the body of the function around a line, from and to as indexes.
func pyFunction(lines []string, at int) (from, to int) {
	depth := len(explain.LeadingSpace(lines[at-1]))
	for from = at - 1; from >= 0; from-- {
		t := strings.TrimSpace(lines[from])
		if d := len(explain.LeadingSpace(lines[from])); d < depth && (strings.HasPrefix(t, "def ") || strings.HasPrefix(t, "async def ")) {
			depth = d
			break
		}
	}
	if from < 0 {
		return -1, -1
	}
	for to = from + 1; to < len(lines); to++ {
		if strings.TrimSpace(lines[to]) != "" && len(explain.LeadingSpace(lines[to])) <= depth {
			break
		}
	}
	return from + 1, to
}
