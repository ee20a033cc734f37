// Package diagnose says what the facts of a report mean: which breaks have one cause, what
// changed when a guard failed, which ranks differ, what a wrapped module is called, and what
// to change, by the rows of explain/advice (PyTorch) and of gotexts.go (Go).
//
// It imports explain, explain/advice, logs and tracer/breaks; never fold, which calls it when
// a report is taken. Open this file first, then finding.go (what a row is asked with) and
// advice.go.
package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file draws conclusions from a copied report: which graph follows which
// break, what the breaks' root causes are and what they cost, how ranks differ.

// Analyse finds what the facts of a report mean, in the order in which the findings build on
// each other.
func Analyse(r *explain.Report) {
	nameFrames(r)
	link(r)
	CompleteFiles(r)
	joinProfiles(r)
	groupBreaks(r)
	CompareRanks(r)
	ListRecompiles(r)
	Advise(r)
}

// link ties each resumed break to the graph that follows it.
func link(r *explain.Report) {
	index := resumeIndex{}
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			for _, b := range c.Breaks {
				if b.Outcome != "resumed" && b.Outcome != "partial" {
					continue
				}
				var next *explain.Compile
				if b.Resumed = index.followers(fr, c); len(b.Resumed) > 0 {
					next = b.Resumed[0].Compiles[0]
				} else if b.Resumed = index.resumesAt(fr, b); len(b.Resumed) > 0 {
					next = following(b.Resumed[0], c)
				}
				if next != nil {
					b.After = next.Graph
					if c.Graph != nil {
						c.Graph.Next = next.Graph
					}
				}
			}
		}
	}
}

// resumeIndex finds the resume frames of a function by the line where they go on.
// and by the compile that they follow, where our engine says that.
type resumeIndex map[*explain.Frame]*resumesOf

type resumesOf struct {
	byLine map[int][]*explain.Frame
	byFrom map[[2]int][]*explain.Frame // frame and compile
}

func (x resumeIndex) resumes(base *explain.Frame) *resumesOf {
	if known, ok := x[base]; ok {
		return known
	}
	known := &resumesOf{map[int][]*explain.Frame{}, map[[2]int][]*explain.Frame{}}
	for _, res := range base.Resumes {
		if f := res.From; f != nil && len(res.Compiles) > 0 {
			key := [2]int{f.Frame, f.Compile}
			known.byFrom[key] = append(known.byFrom[key], res)
		}
		_, at, _ := explain.ResumedFunction(res.Name)
		if at == 0 { // ours: the resume point's place says it
			at = res.Pos.Line
		}
		known.byLine[at] = append(known.byLine[at], res)
	}
	x[base] = known
	return known
}

// followers are the parts that our engine says go on after a break of c; a branch goes
// on in several, of which the first is its follower.
func (x resumeIndex) followers(fr *explain.Frame, c *explain.Compile) []*explain.Frame {
	base := fr
	if fr.Parent != nil {
		base = fr.Parent
	}
	return x.resumes(base).byFrom[[2]int{c.ID.Frame, c.ID.Compile}]
}

// resumesAt finds the parts that go on after a break: the resume frames of the same
// function at the line where this function was left. A branch has one for each side.
func (x resumeIndex) resumesAt(fr *explain.Frame, b *explain.Break) []*explain.Frame {
	base := fr
	if fr.Parent != nil {
		base = fr.Parent
	}
	line, code := b.Pos.Line, base.Pos
	code.Func = base.Name
	if base.Wraps != nil {
		code = *base.Wraps
	}
	for _, p := range b.Stack {
		if p.Func == code.Func && (p.File == code.File || code.File == "") {
			line = p.Line
		}
	}
	var out []*explain.Frame
	for _, res := range x.resumes(base).byLine[line] {
		if res != fr && len(res.Compiles) > 0 && res.ID.Frame >= fr.ID.Frame {
			out = append(out, res)
		}
	}
	return out
}

// following is the compile of a resumed part that came next after the compile
// that broke: a recompile of a function recompiles what follows it too.
func following(res *explain.Frame, c *explain.Compile) *explain.Compile {
	for _, r := range res.Compiles {
		if !c.Start.IsZero() && r.Start.After(c.Start) {
			return r
		}
	}
	return res.Compiles[0]
}

// groupBreaks gathers breaks by place and code, then hangs those that an
// earlier break caused under it.
func groupBreaks(r *explain.Report) {
	groups := map[string]*explain.BreakGroup{}
	var order []*explain.BreakGroup
	add := func(b *explain.Break) *explain.BreakGroup { // a break, or what came up while it was handled
		place := BreakKey(b)
		g := groups[place]
		if g == nil {
			g = &explain.BreakGroup{Lead: b, EagerOps: -1}
			groups[place] = g
			order = append(order, g)
		}
		g.Breaks = append(g.Breaks, b)
		if len(b.Stack) > len(g.Lead.Stack) {
			g.Lead = b
		}
		g.Chains = addChain(g.Chains, b.Stack)
		return g
	}
	for _, fr := range r.Frames {
		var earlier *explain.BreakGroup
		for _, c := range fr.Compiles {
			for _, b := range c.Breaks {
				g := add(b)
				for _, ch := range b.Chained {
					cg := add(ch)
					cause(cg, g)
				}
				if earlier != nil && b.Fixability == string(breaks.CausedByEarlier) {
					cause(g, earlier)
				}
				earlier = g
			}
		}
	}
	assignParts(order)
	eager := map[*explain.Frame]int64{}
	for _, g := range order {
		costs(g, eager)
		g.Fix = FixBreakAt(g.Lead, r.Engine, slices.ContainsFunc(g.Breaks, inLoop), r.Source)
	}
	runCosts(order)
	nameGroups(order)
	sort.SliceStable(order, func(i, j int) bool { return dearer(order[i], order[j]) })
	r.Breaks = order
}

// cause hangs g under its cause, unless that would close a circle.
func cause(g, by *explain.BreakGroup) {
	if g == by || g.CausedBy != nil {
		return
	}
	for p := by; p != nil; p = p.CausedBy {
		if p == g {
			return
		}
	}
	g.CausedBy = by
	by.Causes = append(by.Causes, g)
}

func addChain(chains [][]logs.Pos, st []logs.Pos) [][]logs.Pos {
	if len(st) == 0 {
		return chains
	}
next:
	for _, c := range chains {
		if len(c) != len(st) {
			continue
		}
		for i := range c {
			if c[i].File != st[i].File || c[i].Line != st[i].Line {
				continue next
			}
		}
		return chains
	}
	if len(chains) >= 50 {
		return chains
	}
	return append(chains, st)
}

// assignParts gives each resumed part to one break: where several of its function left at
// its line, to the one that came last before it.
func assignParts(groups []*explain.BreakGroup) {
	type left struct {
		g     *explain.BreakGroup
		frame int
		parts []*explain.Frame
	}
	var all []left
	for _, g := range groups {
		for _, b := range g.Breaks {
			if len(b.Resumed) > 0 {
				all = append(all, left{g, b.Compile.Frame.ID.Frame, b.Resumed})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b left) int { return cmp.Compare(b.frame, a.frame) })
	taken := map[*explain.Frame]bool{}
	for _, l := range all {
		for _, part := range l.parts {
			if !taken[part] {
				taken[part] = true
				l.g.Parts = append(l.g.Parts, part)
			}
		}
	}
}

// costs sums what a group's breaks cost: the graphs of the parts that go on after it and
// the time that compiling them took, and the operators that its functions leave eager,
// which eager remembers.
func costs(g *explain.BreakGroup, eager map[*explain.Frame]int64) {
	functions := map[*explain.Frame]bool{}
	for _, part := range g.Parts {
		n := part.Sum()
		g.Graphs += n.Graphs
		if n.Graphs > 0 {
			g.Seconds += n.Seconds
		}
	}
	for _, b := range g.Breaks {
		if fn := explain.FrameTitle(b.Compile.Frame); b.Outcome == "skipped" && b.Compile.Status == explain.Skipped &&
			b.Compile.Frame.OfProgram() && !slices.Contains(g.Lost, fn) {
			g.Lost = append(g.Lost, fn)
		}
		if fn := b.Compile.Frame.Root(); !functions[fn] {
			functions[fn] = true
			n, known := eager[fn]
			if !known {
				n = fn.Whole().EagerOps
				eager[fn] = n
			}
			if n >= 0 {
				g.EagerOps = max(g.EagerOps, 0) + n
			}
		}
	}
}

// runCosts sets what a steady call spends outside of graphs after each break. A part of a
// function that several breaks leave does not tell which of them it was.
func runCosts(groups []*explain.BreakGroup) {
	left := map[*explain.Frame]*explain.BreakGroup{} // nil: by several breaks
	for _, g := range groups {
		for _, b := range g.Breaks {
			if of, known := left[b.Compile.Frame]; known && of != g {
				left[b.Compile.Frame] = nil
			} else {
				left[b.Compile.Frame] = g
			}
		}
	}
	for _, g := range groups {
		g.LeftNanos = -1
		seen := map[*explain.Frame]bool{}
		calls := map[*explain.Frame]*leftCost{} // by whole function
		alone := true
		for _, b := range g.Breaks {
			fr := b.Compile.Frame
			if seen[fr] {
				continue
			}
			seen[fr] = true
			alone = alone && left[fr] == g
			if fr.Left > 0 {
				root := fr.Root()
				if calls[root] == nil {
					calls[root] = &leftCost{}
				}
				calls[root].add(fr)
			}
		}
		if alone {
			g.LeftNanos = meanLeft(calls)
		}
		g.Memory = breakMemory(g)
	}
}

// breakMemory is what a steady call allocates and copies for a break: nil where it was not
// counted. A part of a function that several breaks leave is told apart by its entries. As in
// runCosts a call goes through all parts of one function.
func breakMemory(g *explain.BreakGroup) *explain.BreakMemory {
	parts := map[*explain.Frame]*explain.Served{}
	seen := map[*explain.Compile]bool{}
	for _, b := range g.Breaks {
		c := b.Compile
		if seen[c] || c.Served == nil {
			continue
		}
		seen[c] = true
		if parts[c.Frame] == nil {
			parts[c.Frame] = &explain.Served{}
		}
		addSpent(&parts[c.Frame].Inside, c.Served.Inside)
		addSpent(&parts[c.Frame].Outside, c.Served.Outside)
	}
	type sums struct {
		times int64
		explain.BreakMemory
	}
	functions := map[*explain.Frame]*sums{}
	for fr, s := range parts {
		results, ok := explain.Allocated(s.Inside)
		if !ok {
			continue
		}
		f := functions[fr.Root()]
		if f == nil {
			f = &sums{}
			functions[fr.Root()] = f
		}
		copied, _ := explain.Copied(s.Inside)
		outside, _ := explain.Allocated(s.Outside)
		f.times = max(f.times, s.Inside.Metered)
		f.Results, f.Copied, f.Outside = f.Results+results, f.Copied+copied, f.Outside+outside
	}
	var all sums
	for _, f := range functions {
		all.times += f.times
		all.Results, all.Copied, all.Outside = all.Results+f.times*f.Results, all.Copied+f.times*f.Copied, all.Outside+f.times*f.Outside
	}
	if all.times == 0 {
		return nil
	}
	n := all.times
	return &explain.BreakMemory{Results: (all.Results + n/2) / n, Copied: (all.Copied + n/2) / n, Outside: (all.Outside + n/2) / n}
}

func addSpent(to *logs.Spent, s logs.Spent) {
	to.Times, to.Nanos, to.Metered = to.Times+s.Times, to.Nanos+s.Nanos, to.Metered+s.Metered
	to.Allocated, to.Copied = to.Allocated+s.Allocated, to.Copied+s.Copied
}

// leftCost is what the calls of one function spend after one break. A line that breaks twice
// leaves two parts, and a call goes through both.
type leftCost struct {
	times int64 // calls that left
	nanos int64 // of one of them, in all parts
}

func (c *leftCost) add(fr *explain.Frame) {
	c.times = max(c.times, fr.Left)
	c.nanos += fr.LeftNanos / fr.Left
}

// meanLeft is the mean over the calls of several functions, -1 where there are none.
func meanLeft(of map[*explain.Frame]*leftCost) int64 {
	var times, nanos int64
	for _, c := range of {
		times, nanos = times+c.times, nanos+c.times*c.nanos
	}
	if times == 0 {
		return -1
	}
	return nanos / times
}

// dearer orders groups: the user's own before the framework's, causes before
// what they caused, then by cost.
func dearer(a, b *explain.BreakGroup) bool {
	if a.Lead.Noise != b.Lead.Noise {
		return !a.Lead.Noise
	}
	if (a.CausedBy == nil) != (b.CausedBy == nil) {
		return a.CausedBy == nil
	}
	if len(a.Lost) != len(b.Lost) {
		return len(a.Lost) > len(b.Lost)
	}
	if x, y := max(a.LeftNanos, 0), max(b.LeftNanos, 0); x != y { // what every call pays
		return x > y
	}
	if a.Seconds != b.Seconds {
		return a.Seconds > b.Seconds
	}
	if a.Graphs != b.Graphs {
		return a.Graphs > b.Graphs
	}
	return a.Times() > b.Times()
}

// nameGroups gives each group a key of its own that survives edits elsewhere and a
// renamed file: code, function and text of the line.
func nameGroups(order []*explain.BreakGroup) {
	keys := make([]PlacedKey, len(order))
	for i, g := range order {
		keys[i] = PlacedKey{&g.Key, StableKey(g.Lead), g.Lead.Pos, 0}
	}
	NumberKeys(keys)
}

// PlacedKey is where a finding's key goes, what it is made of, and the place that
// tells findings apart whose keys would be the same.
type PlacedKey struct {
	To    *string
	Base  string
	At    logs.Pos
	Frame int // of functions that begin on one line, such as two lambdas
}

func (k *PlacedKey) compare(o *PlacedKey) int {
	return cmp.Or(
		cmp.Compare(k.Base, o.Base), cmp.Compare(k.At.File, o.At.File), cmp.Compare(k.At.Line, o.At.Line),
		cmp.Compare(k.Frame, o.Frame),
	)
}

// NumberKeys numbers what is at several places under one key; what is at one place
// shares it.
func NumberKeys(list []PlacedKey) {
	slices.SortStableFunc(list, func(a, b PlacedKey) int { return a.compare(&b) })
	n := 0
	for i := range list {
		k := &list[i]
		switch {
		case i == 0 || list[i-1].Base != k.Base:
			n = 1
		case list[i-1].compare(k) != 0:
			n++
		}
		*k.To = k.Base
		if n > 1 {
			*k.To += "#" + strconv.Itoa(n)
		}
	}
}

// StableKey names a break by what it is and where, in words that survive lines inserted above.
func StableKey(b *explain.Break) string {
	code := b.Code
	if code == "" {
		code = b.Type
	}
	return strings.Join([]string{code, explain.FunctionOf(b.Pos, b.Compile), explain.Squeeze(b.Pos.Code)}, "|")
}

// ListRecompiles collects the recompiles of every frame.
func ListRecompiles(r *explain.Report) {
	fixed, open, known := fixedSizes(r), OpenNumbers(r), gatherFacts(r)
	var keys []PlacedKey
	alike := rankFixes(r)
	for _, fr := range r.Frames {
		for c := range fr.Recompiles {
			rc := c.Recompile
			if rc == nil {
				rc = &explain.Recompile{Compile: c}
				c.Recompile = rc
			}
			keys = append(keys, PlacedKey{&rc.Key, recompileKey(rc), fr.Pos, fr.ID.Frame})
			rc.Facts = known
			var ok bool
			if known.Ours {
				if rc.Fix, ok = goEarly(rc); ok {
					// the number is the break's, or that of torch.Compile in a loop
				} else if rc.Fix, ok = needsNumber(rc, fixed); !ok {
					rc.Fix, ok = BecameInput(rc, open)
				}
			}
			if !ok {
				rc.Fix = alike.of(rc, func() explain.Fix {
					fix := recompileFix(rc, known)
					fix.Text += ForeignGuard(&explain.Recompile{Compile: c, Failures: rc.Failures, Fix: fix})
					return fix
				})
			}
			r.Recompiles = append(r.Recompiles, rc)
		}
		for _, c := range Causes(fr) { // one advice on one cause, whichever report shows it
			for _, rc := range c.Recompiles {
				rc.Fix = c.Fix
			}
		}
	}
	NumberKeys(keys)
}

// ForeignGuard says what remains where a library asks for a value of its own, such as a
// container of its objects, which no user can edit. The keywords of a call are the caller's.
func ForeignGuard(rc *explain.Recompile) string {
	if rc.Fix.Text == "" || len(rc.Failures) == 0 {
		return ""
	}
	g := &rc.Failures[0]
	library := explain.InstalledPackage(g.Pos.File)
	if library == "" || explain.FrameworkFile(g.Pos.File) || !slices.Contains(containerKinds, g.Kind) ||
		strings.HasPrefix(explain.PlainSource(g.Source), "kwargs") {
		return ""
	}
	return fmt.Sprintf("; the line that asks is %s's: where the value is too, accept the entries, or keep the call outside", library)
}

// containerKinds are the guards on objects and what they hold; a tensor is the user's,
// whoever reads it.
var containerKinds = []string{
	breaks.LengthChanged, breaks.DictKeyChanged, breaks.AttributeChanged, breaks.IdentityChanged, breaks.ValueChanged,
	breaks.TypeChanged,
}

// recompileKey is what identifies the cause of a recompile: the function, the guard,
// and the process and numbering in which it happened.
func recompileKey(rc *explain.Recompile) string {
	key := CauseOfRecompile(rc)
	if id := rc.Compile.ID; id.Rank >= 0 {
		key = "rank " + strconv.Itoa(id.Rank) + "|" + key
	}
	if epoch := rc.Compile.ID.Epoch; epoch > 0 {
		key = "epoch " + strconv.Itoa(epoch) + "|" + key
	}
	return key
}

// CauseOfRecompile is recompileKey whatever the rank and epoch.
func CauseOfRecompile(rc *explain.Recompile) string {
	fn := explain.FunctionOf(logs.Pos{Func: rc.Compile.Frame.Name}, nil)
	if len(rc.Failures) == 0 {
		return fn
	}
	g := rc.Failures[0]
	return strings.Join([]string{fn, keyKind(g.Kind), keySource(&g), strconv.Itoa(g.Dim), explain.Squeeze(g.Pos.Code)}, "|")
}

// keyKind is the kind in a stable key. Before 2.9 the check of a flag or of None
// reads as that of any object; and which of a function's free variables are
// arguments of it differs between releases.
func keyKind(kind string) string {
	switch kind {
	case breaks.IdentityChanged, breaks.NoneChanged, breaks.ClosureChanged:
		return breaks.ValueChanged
	}
	return kind
}

// keySource is the source in a stable key; releases name one setting of autocast or
// all of them.
func keySource(g *explain.GuardFailure) string {
	source := explain.PlainSource(g.Source)
	if g.Kind == breaks.GlobalStateChanged && strings.HasPrefix(source, "autocast") {
		return "autocast"
	}
	return source
}

// BreakKey is the place and the code of a break.
func BreakKey(b *explain.Break) string {
	what := b.Code
	if what == "" {
		what = b.Type
	}
	return b.Pos.File + ":" + strconv.Itoa(b.Pos.Line) + "\x00" + what
}

// nameFrames names the frames of text logs, which nothing else names, by the
// function that their graph's first node or their break is in.
func nameFrames(r *explain.Report) {
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			if fr.Name != "" {
				break
			}
			for _, b := range c.Breaks {
				if fr.Name == "" && b.Pos.Func != "" {
					fr.Name, fr.Pos = b.Pos.Func, b.Pos
				}
			}
			if g := c.Graph; g != nil && fr.Name == "" && g.First.Func != "" {
				fr.Name, fr.Pos = g.First.Func, g.First
			}
			for _, n := range c.Graph.Nodes() {
				if fr.Name == "" && n.Pos.Func != "" {
					fr.Name, fr.Pos = n.Pos.Func, n.Pos
					break
				}
			}
		}
	}
}
