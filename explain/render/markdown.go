package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
)

// This file writes the report as GitHub's Markdown: for issues, pull requests and the
// summary of a workflow. It stays below what GitHub takes, and says what it left out.

// Origin is what a report says of where it is from.
type Origin struct {
	Tool    string // tcdbg's version
	Machine string // operating system and architecture on which it was written
	Command string // makes the report again; "" where none does
}

// maxMarkdown is how many bytes are written: a comment on GitHub holds 65,536 characters.
const maxMarkdown = 64_500

// firstShown is how many things to do first are listed.
const firstShown = 5

// mdWriter collects Markdown piece by piece, each whole or not at all.
type mdWriter struct {
	names   explain.Names
	b       strings.Builder
	room    int // bytes that are left
	dropped int // pieces of the current kind that found no room
}

// add writes a piece if there is room for it.
func (m *mdWriter) add(piece string) bool {
	if len(piece) > m.room {
		m.dropped++
		return false
	}
	m.room -= len(piece)
	m.b.WriteString(piece)
	return true
}

// list writes the pieces of one kind, and says how many found no room.
func (m *mdWriter) list(title, what string, n int, piece func(i int) string) {
	if n == 0 {
		return
	}
	m.dropped = 0
	m.add("#### " + title + "\n\n")
	const spared = 200 // for what is said of those left out
	m.room -= spared
	for i := range n {
		m.add(piece(i))
	}
	m.room += spared
	if m.dropped > 0 {
		m.add(fmt.Sprintf("_%s left out, for which there is no room here._\n\n", explain.Count(m.dropped, what)))
	}
}

// WriteMarkdown writes the report as Markdown of less than 65,000 characters.
func WriteMarkdown(w io.Writer, r *explain.Report, from Origin) error {
	m := &mdWriter{names: explain.BriefNames(r)}
	foot := mdFoot(r, from)
	m.room = maxMarkdown - len(foot)
	m.add("### " + mdLine(orReport(r.Title)) + "\n\n**" + mdVerdict(r) + "**\n\n")
	for i, s := range explain.Warnings(r) {
		if i == Rows {
			break
		}
		m.add("> " + mdLine(s) + "\n\n")
	}
	m.first(r)
	groups := mdGroups(r)
	m.list(fmt.Sprintf("Breaks: %s at %s", explain.Count(r.Totals.Breaks, "break"), explain.Count(r.Totals.DistinctBreaks, "place")),
		"break", len(groups), func(i int) string { return m.group(groups[i]) })
	causes := recompileRows(r)
	m.list(fmt.Sprintf("Recompiles: %d", r.Totals.Recompiles), "function", len(causes),
		func(i int) string { return m.recompiled(causes[i]) })
	_, err := io.WriteString(w, m.b.String()+foot)
	return err
}

func orReport(title string) string {
	if title == "" {
		return "report"
	}
	return title
}

// mdVerdict says in a line how good the run is.
func mdVerdict(r *explain.Report) string {
	var parts []string
	bad := false
	count := func(n int, what, more string) {
		if n > 0 {
			bad = true
			parts = append(parts, explain.Count(n, what)+more)
		} else if r.Unlogged(n) {
			parts = append(parts, explain.NotLogged(what))
		}
	}
	n := &r.Totals
	count(n.Failures, "failed compile", "")
	count(n.Breaks, "graph break", " at "+explain.Count(n.DistinctBreaks, "place"))
	count(n.Recompiles, "recompile", "")
	mark := "✂ "
	if !bad {
		mark = "✓ "
		if len(parts) == 0 {
			parts = append(parts, "no break, no recompile, no failure")
		}
		if n.Graphs == 0 {
			mark = ""
		}
	}
	parts = append(parts, fmt.Sprintf("%s (%s)", explain.Count(n.Graphs, "graph"), opsWords(r)))
	if compiled, eager, known := r.Share(); known && compiled > 0 {
		parts = append(parts, fmt.Sprintf("%d%% of operators run compiled", 100*compiled/(compiled+eager)))
	}
	if n.CompileSeconds > 0 {
		parts = append(parts, explain.Duration(n.CompileSeconds)+" compiling")
	}
	return mark + strings.Join(parts, ", ")
}

// first lists what to do first: compiles that failed, then the advice, worst first.
func (m *mdWriter) first(r *explain.Report) {
	raised, _ := r.Raised()
	causes := explain.AlikeAdvice(r.Advice)
	shown := min(firstShown, len(raised)+len(causes))
	if shown == 0 {
		return
	}
	m.add("#### First\n\n")
	for i := range shown {
		if i < len(raised) {
			f := raised[i]
			m.item(i+1, f.Pos, f.Function()+" failed: "+f.Title(), "", f.Fix)
			continue
		}
		same := &causes[i-len(raised)]
		a := &r.Advice[same.Lead]
		cost := a.Cost
		if more := same.MoreText(r.Advice); more != "" {
			cost = strings.TrimPrefix(cost+"; "+more, "; ")
		}
		m.item(i+1, a.Pos, a.Text, cost, a.Fix)
	}
	if left := len(raised) + len(causes) - shown; left > 0 {
		m.add(fmt.Sprintf("_and %d more, below or in the whole report._\n\n", left))
	}
}

// item is one thing to do, with its line of code and its fix.
func (m *mdWriter) item(n int, at logs.Pos, text, cost string, fix explain.Fix) {
	var b strings.Builder
	fmt.Fprintf(&b, "**%d.** ", n)
	if at.File != "" {
		b.WriteString(mdCode(m.names.Place(at)) + ": ")
	}
	b.WriteString(mdLine(text))
	if cost != "" {
		b.WriteString(" (" + mdLine(cost) + ")")
	}
	b.WriteString("\n\n")
	if at.Code != "" {
		b.WriteString(mdBlock(mdLanguage(at.File), codeLines(at.Code)) + "\n")
	}
	b.WriteString(mdFix(fix))
	m.add(b.String())
}

// codeLines are the first lines of recorded code.
func codeLines(code string) []string {
	lines := strings.Split(strings.Trim(code, "\n"), "\n")
	return lines[:min(len(lines), 4)]
}

// mdFix is the text of a fix and its lines.
func mdFix(f explain.Fix) string {
	out := ""
	if f.Text != "" {
		out = f.Label() + mdLine(f.Text) + "\n\n"
	}
	if len(f.Lines) > 0 {
		out += mdBlock("diff", f.Lines[:min(len(f.Lines), 30)]) + "\n"
	}
	return out
}

// mdLanguage is the language in which a file's lines are shown.
func mdLanguage(file string) string {
	switch {
	case strings.HasSuffix(file, ".py"):
		return "python"
	case strings.HasSuffix(file, ".go"):
		return "go"
	}
	return "text"
}

// mdGroups are the breaks, those of the program before those of the framework.
func mdGroups(r *explain.Report) []*explain.BreakGroup {
	var own, noise []*explain.BreakGroup
	for _, g := range r.Breaks {
		switch {
		case g.Lead.Noise:
			noise = append(noise, g)
		case g.CausedBy == nil || g.CausedBy.Lead.Noise:
			own = append(own, g)
		}
	}
	return append(own, noise...)
}

// group is one break, folded.
func (m *mdWriter) group(g *explain.BreakGroup) string {
	var b strings.Builder
	lead := g.Lead
	inside := ""
	if lead.Noise {
		inside = " (inside the framework)"
	}
	fmt.Fprintf(&b, "<details><summary>%s %s: <code>%s</code>, %s%s</summary>\n\n", mdHTML(lead.Code), mdHTML(lead.Title()),
		mdHTML(m.names.Place(lead.Pos)), mdHTML(explain.GroupOften(g)), inside)
	if lead.Pos.Code != "" {
		b.WriteString(mdBlock(mdLanguage(lead.Pos.File), codeLines(lead.Pos.Code)) + "\n")
	}
	if line, ok := diagnose.CallerOf(lead); ok && lead.Noise {
		b.WriteString("- called from " + mdCode(m.names.Place(line)) + "\n")
	}
	b.WriteString("- " + mdLine(lead.Fixability+", "+lead.Outcome) + "\n")
	if cost := mdCost(g); cost != "" {
		b.WriteString("- cost: " + mdLine(cost) + "\n")
	}
	if chain := userChain(m.names, lead.Stack); len(chain) > 1 {
		b.WriteString("- chain: " + mdCode(strings.Join(chain, " > ")) + "\n")
	}
	if lead.Explanation != "" {
		b.WriteString("- " + mdLine(lead.Explanation) + "\n")
	}
	for i, c := range g.Causes {
		if i == firstShown {
			fmt.Fprintf(&b, "- and %s caused by it\n", explain.Count(len(g.Causes)-i, "more break"))
			break
		}
		b.WriteString("- caused by it: " + mdLine(c.Lead.Code+" "+c.Lead.Title()) + " at " + mdCode(m.names.Place(c.Lead.Pos)) + "\n")
	}
	b.WriteString("\n" + mdFix(g.Fix))
	if g.Rewrite != nil && len(g.Fix.Lines) == 0 {
		b.WriteString(mdRewrite(g.Rewrite))
	}
	b.WriteString("</details>\n\n")
	return b.String()
}

func mdCost(g *explain.BreakGroup) string {
	var parts []string
	if len(g.Lost) > 0 {
		parts = append(parts, g.LostWords())
	}
	if g.Graphs > 0 {
		parts = append(parts, "adds "+explain.Count(g.Graphs, "graph"))
	}
	if g.Seconds > 0 {
		parts = append(parts, explain.Duration(g.Seconds)+" to compile them")
	}
	if g.EagerOps > 0 {
		parts = append(parts, explain.Count(int(g.EagerOps), "eager operator"))
	}
	return strings.Join(parts, ", ")
}

// mdRewrite is a change of the user's file as a diff.
func mdRewrite(rw *explain.Rewrite) string {
	var lines []string
	for _, h := range rw.Hunks {
		lines = append(lines, fmt.Sprintf("@@ line %d @@", h.Line))
		lines = append(lines, h.Lines...)
	}
	return mdBlock("diff", lines[:min(len(lines), 40)]) + "\n"
}

// recompileRows are the recompiles by function, the costliest first.
func recompileRows(r *explain.Report) [][]*explain.Recompile {
	var out [][]*explain.Recompile
	at := map[string]int{}
	for _, rc := range r.Recompiles {
		fr := rc.Compile.Frame
		key := fmt.Sprint(fr.Name, "|", fr.Pos.File, "|", fr.Pos.Line)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], rc)
	}
	weight := func(list []*explain.Recompile) (sum float64) {
		for _, rc := range list {
			sum += diagnose.RecompileWeight(rc)
		}
		return sum
	}
	slices.SortStableFunc(out, func(a, b []*explain.Recompile) int { return cmp.Compare(weight(b), weight(a)) })
	return out
}

// recompiled is the recompiles of one function, folded.
func (m *mdWriter) recompiled(list []*explain.Recompile) string {
	var b strings.Builder
	fr, took := list[0].Compile.Frame, 0.0
	for _, rc := range list {
		took += rc.Compile.Seconds
	}
	fmt.Fprintf(&b, "<details><summary><code>%s</code> %s: %s, %s</summary>\n\n", mdHTML(explain.FrameTitle(fr)),
		mdHTML(m.names.At(fr.Pos)), explain.Count(len(list), "time"), seconds(took))
	for i, rc := range list {
		if i == 9 {
			fmt.Fprintf(&b, "- ... and %d more\n", len(list)-i)
			break
		}
		why := "reason not recorded"
		if len(rc.Failures) > 0 {
			why = explain.FailureText(&rc.Failures[0]) + also(rc)
		}
		if rc.Compile.Status == explain.Limit {
			why += "; limit reached: " + rc.AtLimit() + " from here"
		}
		b.WriteString("- " + mdCode(idText(rc.Compile.ID)) + " " + mdLine(why) + "\n")
	}
	b.WriteString("\n")
	for i, f := range fixesOf(list) {
		if i == firstShown {
			break
		}
		b.WriteString("fix: " + mdLine(f) + "\n\n")
	}
	b.WriteString("</details>\n\n")
	return b.String()
}

// mdFoot is the versions, and what makes the report again.
func mdFoot(r *explain.Report, from Origin) string {
	var b strings.Builder
	var versions []string
	for _, v := range []string{"tcdbg " + from.Tool, r.Engine, from.Machine} {
		if v != "" && v != "tcdbg " {
			versions = append(versions, v)
		}
	}
	b.WriteString("---\n\nwritten by " + mdLine(strings.Join(explain.Distinct(versions), " · ")) + "\n\n")
	if from.Command != "" {
		b.WriteString("To reproduce:\n\n" + mdBlock("sh", codeLines(from.Command)))
	}
	return b.String()
}
