package explain

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file draws conclusions from a copied report: which graph follows which
// break, what the breaks' root causes are and what they cost, how ranks differ.

func analyse(r *Report) {
	nameFrames(r)
	link(r)
	completeFiles(r)
	groupBreaks(r)
	listRecompiles(r)
	compareRanks(r)
	advise(r)
}

// link ties each resumed break to the graph that follows it.
func link(r *Report) {
	index := resumeIndex{}
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			for _, b := range c.Breaks {
				if b.Outcome != "resumed" && b.Outcome != "partial" {
					continue
				}
				var next *Compile
				if b.resumed = index.followers(fr, c); len(b.resumed) > 0 {
					next = b.resumed[0].Compiles[0]
				} else if b.resumed = index.resumesAt(fr, b); len(b.resumed) > 0 {
					next = following(b.resumed[0], c)
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
type resumeIndex map[*Frame]*resumesOf

type resumesOf struct {
	byLine map[int][]*Frame
	byFrom map[[2]int][]*Frame // frame and compile
}

func (x resumeIndex) resumes(base *Frame) *resumesOf {
	if known, ok := x[base]; ok {
		return known
	}
	known := &resumesOf{map[int][]*Frame{}, map[[2]int][]*Frame{}}
	for _, res := range base.Resumes {
		if f := res.From; f != nil && len(res.Compiles) > 0 {
			key := [2]int{f.Frame, f.Compile}
			known.byFrom[key] = append(known.byFrom[key], res)
		}
		_, at, _ := resumedFunction(res.Name)
		if at == 0 { // ours: the resume point's place says it
			at = res.Pos.Line
		}
		known.byLine[at] = append(known.byLine[at], res)
	}
	x[base] = known
	return known
}

// followers are the parts that our engine says go on behind a break of c; a branch goes
// on in several, of which the first is its follower.
func (x resumeIndex) followers(fr *Frame, c *Compile) []*Frame {
	base := fr
	if fr.Parent != nil {
		base = fr.Parent
	}
	return x.resumes(base).byFrom[[2]int{c.ID.Frame, c.ID.Compile}]
}

// resumesAt finds the parts that go on behind a break: the resume frames of the same
// function at the line where this function was left. A branch has one for each side.
func (x resumeIndex) resumesAt(fr *Frame, b *Break) []*Frame {
	base := fr
	if fr.Parent != nil {
		base = fr.Parent
	}
	line, code := b.Pos.Line, base.Pos
	code.Func = base.Name
	if base.wraps != nil {
		code = *base.wraps
	}
	for _, p := range b.Stack {
		if p.Func == code.Func && (p.File == code.File || code.File == "") {
			line = p.Line
		}
	}
	var out []*Frame
	for _, res := range x.resumes(base).byLine[line] {
		if res != fr && len(res.Compiles) > 0 && res.ID.Frame >= fr.ID.Frame {
			out = append(out, res)
		}
	}
	return out
}

// following is the compile of a resumed part that came next after the compile
// that broke: a recompile of a function recompiles what follows it too.
func following(res *Frame, c *Compile) *Compile {
	for _, r := range res.Compiles {
		if !c.Start.IsZero() && r.Start.After(c.Start) {
			return r
		}
	}
	return res.Compiles[0]
}

// groupBreaks gathers breaks by place and code, then hangs those that an
// earlier break caused under it.
func groupBreaks(r *Report) {
	groups := map[string]*BreakGroup{}
	var order []*BreakGroup
	add := func(b *Break) *BreakGroup { // a break, or what came up while it was handled
		place := breakKey(b)
		g := groups[place]
		if g == nil {
			g = &BreakGroup{Lead: b, EagerOps: -1}
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
		var earlier *BreakGroup
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
	eager := map[*Frame]int64{}
	for _, g := range order {
		costs(g, eager)
		g.Fix = fixBreakAt(g.Lead, r.Engine, slices.ContainsFunc(g.Breaks, inLoop), r.source)
	}
	nameGroups(order)
	sort.SliceStable(order, func(i, j int) bool { return dearer(order[i], order[j]) })
	r.Breaks = order
}

// cause hangs g under its cause, unless that would close a circle.
func cause(g, by *BreakGroup) {
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
func assignParts(groups []*BreakGroup) {
	type left struct {
		g     *BreakGroup
		frame int
		parts []*Frame
	}
	var all []left
	for _, g := range groups {
		for _, b := range g.Breaks {
			if len(b.resumed) > 0 {
				all = append(all, left{g, b.Compile.Frame.ID.Frame, b.resumed})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b left) int { return cmp.Compare(b.frame, a.frame) })
	taken := map[*Frame]bool{}
	for _, l := range all {
		for _, part := range l.parts {
			if !taken[part] {
				taken[part] = true
				l.g.parts = append(l.g.parts, part)
			}
		}
	}
}

// costs sums what a group's breaks cost: the graphs of the parts that go on after it and
// the time that compiling them took, and the operators that its functions leave eager,
// which eager remembers.
func costs(g *BreakGroup, eager map[*Frame]int64) {
	functions := map[*Frame]bool{}
	for _, part := range g.parts {
		n := part.Sum()
		g.Graphs += n.Graphs
		if n.Graphs > 0 {
			g.Seconds += n.Seconds
		}
	}
	for _, b := range g.Breaks {
		if fn := frameTitle(b.Compile.Frame); b.Outcome == "skipped" && b.Compile.Status == Skipped && b.Compile.Frame.ofProgram() && !slices.Contains(g.Lost, fn) {
			g.Lost = append(g.Lost, fn)
		}
		if fn := b.Compile.Frame.root(); !functions[fn] {
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

// Times is how often compiles met the break. What came up while another break was
// handled is no break of its own; Times is 0 where that is all there is.
func (g *BreakGroup) Times() int {
	n := 0
	for _, b := range g.Breaks {
		if !b.During {
			n++
		}
	}
	return n
}

// lostWords names the functions that run eager.
func (g *BreakGroup) lostWords() string {
	if len(g.Lost) == 1 {
		return g.Lost[0] + " runs eagerly"
	}
	return count(len(g.Lost), "function") + " run eagerly"
}

// dearer orders groups: the user's own before the framework's, causes before
// what they caused, then by cost.
func dearer(a, b *BreakGroup) bool {
	if a.Lead.Noise != b.Lead.Noise {
		return !a.Lead.Noise
	}
	if (a.CausedBy == nil) != (b.CausedBy == nil) {
		return a.CausedBy == nil
	}
	if len(a.Lost) != len(b.Lost) {
		return len(a.Lost) > len(b.Lost)
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
func nameGroups(order []*BreakGroup) {
	keys := make([]placedKey, len(order))
	for i, g := range order {
		keys[i] = placedKey{&g.Key, stableKey(g.Lead), g.Lead.Pos, 0}
	}
	numberKeys(keys)
}

// placedKey is where a finding's key goes, what it is made of, and the place that
// tells findings apart whose keys would be the same.
type placedKey struct {
	to    *string
	base  string
	at    logs.Pos
	frame int // of functions that begin on one line, such as two lambdas
}

func (k *placedKey) compare(o *placedKey) int {
	return cmp.Or(cmp.Compare(k.base, o.base), cmp.Compare(k.at.File, o.at.File), cmp.Compare(k.at.Line, o.at.Line), cmp.Compare(k.frame, o.frame))
}

// numberKeys numbers what is at several places under one key; what is at one place
// shares it.
func numberKeys(list []placedKey) {
	slices.SortStableFunc(list, func(a, b placedKey) int { return a.compare(&b) })
	n := 0
	for i := range list {
		k := &list[i]
		switch {
		case i == 0 || list[i-1].base != k.base:
			n = 1
		case list[i-1].compare(k) != 0:
			n++
		}
		*k.to = k.base
		if n > 1 {
			*k.to += "#" + itoa(n)
		}
	}
}

func stableKey(b *Break) string {
	code := b.Code
	if code == "" {
		code = b.Type
	}
	return strings.Join([]string{code, functionOf(b.Pos, b.Compile), squeeze(b.Pos.Code)}, "|")
}

// functionOf is the user's function of a place, without the names that resume
// functions get.
func functionOf(p logs.Pos, c *Compile) string {
	name := p.Func
	if name == "" && c != nil {
		name = c.Frame.Name
	}
	if fn, _, ok := resumedFunction(name); ok {
		return fn
	}
	return name
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// listRecompiles collects the recompiles of every frame.
func listRecompiles(r *Report) {
	fixed, open, known := fixedSizes(r), openNumbers(r), gatherFacts(r)
	var keys []placedKey
	for _, fr := range r.Frames {
		for c := range fr.recompiles {
			rc := c.Recompile
			if rc == nil {
				rc = &Recompile{Compile: c}
				c.Recompile = rc
			}
			keys = append(keys, placedKey{&rc.Key, recompileKey(rc), fr.Pos, fr.ID.Frame})
			rc.facts = known
			var ok bool
			if known.ours {
				if rc.Fix, ok = goEarly(rc); ok {
					// the number is the break's, or that of torch.Compile in a loop
				} else if rc.Fix, ok = needsNumber(rc, fixed); !ok {
					rc.Fix, ok = becameInput(rc, open)
				}
			}
			if !ok {
				rc.Fix = rc.advise(known)
				rc.Fix.Text += foreignGuard(rc)
			}
			r.Recompiles = append(r.Recompiles, rc)
		}
		for _, c := range fr.Causes() { // one advice on one cause, whichever report shows it
			for _, rc := range c.Recompiles {
				rc.Fix = c.Fix
			}
		}
	}
	numberKeys(keys)
}

// foreignGuard says what remains where a library asks for a value of its own, such as a
// container of its objects, which no user can edit. The keywords of a call are the caller's.
func foreignGuard(rc *Recompile) string {
	if rc.Fix.Text == "" || len(rc.Failures) == 0 {
		return ""
	}
	g := &rc.Failures[0]
	library := installedPackage(g.Pos.File)
	if library == "" || frameworkFile(g.Pos.File) || !slices.Contains(containerKinds, g.Kind) || strings.HasPrefix(plainSource(g.Source), "kwargs") {
		return ""
	}
	return fmt.Sprintf("; the line that asks is %s's: where the value is too, accept the entries, or keep the call outside", library)
}

// containerKinds are the guards on objects and what they hold; a tensor is the user's,
// whoever reads it.
var containerKinds = []string{breaks.LengthChanged, breaks.DictKeyChanged, breaks.AttributeChanged, breaks.IdentityChanged, breaks.ValueChanged, breaks.TypeChanged}

// root is the function that a part which was resumed belongs to; others are their own.
func (fr *Frame) root() *Frame {
	at := fr
	for at.Parent != nil && at.Parent != fr {
		at = at.Parent
	}
	return at
}

// recompiles yields every compile of a frame that was asked for because entries
// did not fit. Where all before it failed there was no entry, and it is a new try.
func (fr *Frame) recompiles(yield func(*Compile) bool) {
	tried := false // and nothing came of it
	for i, c := range fr.Compiles {
		if i == 0 {
			tried = c.Status == Failed
		}
		later := c.ID.Compile > 0 && (i == 0 || !tried) && !c.fresh
		if (later || c.Recompile != nil) && !yield(c) {
			return
		}
		tried = tried && c.Status == Failed
	}
}

// recompileKey is what identifies the cause of a recompile: the function, the guard,
// and the process and numbering in which it happened.
func recompileKey(rc *Recompile) string {
	key := causeOfRecompile(rc)
	if id := rc.Compile.ID; id.Rank >= 0 {
		key = "rank " + itoa(id.Rank) + "|" + key
	}
	if epoch := rc.Compile.ID.Epoch; epoch > 0 {
		key = "epoch " + itoa(epoch) + "|" + key
	}
	return key
}

// causeOfRecompile is recompileKey whatever the rank and epoch.
func causeOfRecompile(rc *Recompile) string {
	fn := functionOf(logs.Pos{Func: rc.Compile.Frame.Name}, nil)
	if len(rc.Failures) == 0 {
		return fn
	}
	g := rc.Failures[0]
	return strings.Join([]string{fn, keyKind(g.Kind), keySource(&g), itoa(g.Dim), squeeze(g.Pos.Code)}, "|")
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
func keySource(g *GuardFailure) string {
	source := plainSource(g.Source)
	if g.Kind == breaks.GlobalStateChanged && strings.HasPrefix(source, "autocast") {
		return "autocast"
	}
	return source
}

// Title is what every screen and report calls a frame: a resumed part by its function
// and the line where it goes on.
func (fr *Frame) Title() string { return frameTitle(fr) }

// builtinTitle names the built-in that a break is about: a print, or another one.
func builtinTitle(b *Break, c breaks.Cause) string {
	switch name := builtinName(b); {
	case name == "print" || name == "println" || strings.HasPrefix(b.Context, "call of "):
		return c.Title()
	case name != "":
		return "call to built-in " + name
	}
	return "call to an unsupported built-in"
}

// Title is the table's short name of a break's cause: the words in which every
// screen and report speaks of it.
func (b *Break) Title() string {
	if c, ok := breaks.Lookup(b.Code); ok {
		if b.Code == breaks.BuiltinPrint {
			return builtinTitle(b, c)
		}
		if unknownNumber(b) {
			return "branch on a number that has no value yet"
		}
		return c.Title()
	}
	return b.Type
}
