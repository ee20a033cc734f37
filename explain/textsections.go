package explain

import (
	"fmt"
	"sort"
	"strings"
)

// This file writes the sections of the text report that are about the machinery:
// guards, graphs, kernels, fusion, time, caches, sizes, ranks and remarks.

func (t *textWriter) guards(r *Report) {
	leaves, noise, entries := 0, 0, 0
	var dearest *Compile
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			if c.Guards == nil {
				continue
			}
			entries++
			leaves += c.Guards.Leaves
			noise += c.Guards.Noise
			if dearest == nil || c.Guards.Micros > dearest.Guards.Micros {
				dearest = c
			}
		}
	}
	if entries == 0 {
		return
	}
	t.section(fmt.Sprintf("GUARDS: %s in %s, %d of them about hasattr and dynamic marking", count(leaves, "guard"), count(entries, "entry"), noise))
	if dearest != nil && dearest.Guards.Micros > 0 {
		t.line("  dearest: %s [%s] %d guards, %.1f us a check", dearest.Frame.Name, dearest.ID.CompileID.String(), dearest.Guards.Leaves, dearest.Guards.Micros)
	}
	t.guardDiffs(r)
}

// guardDiffs shows what changed in the guards from entry to entry of a frame.
func (t *textWriter) guardDiffs(r *Report) {
	shown := 0
	for _, fr := range r.Frames {
		var last *Compile
		for _, c := range fr.Compiles {
			if c.Guards == nil {
				continue
			}
			if last != nil && shown < 6 {
				if changes := DiffGuards(last.Guards.Root(), c.Guards.Root()); len(changes) > 0 {
					shown++
					t.line("  %s [%s] against [%s]: %d guards differ", fr.Name, c.ID.CompileID.String(), last.ID.CompileID.String(), len(changes))
					for i, ch := range changes {
						if i == 3 {
							break
						}
						t.line("      %s %s: %s", ch.Kind, plainSource(ch.Source), changeText(ch.Old, ch.New))
					}
				}
			}
			last = c
		}
	}
}

// changeText shows the part of two checks that differs.
func changeText(old, now string) string {
	if old == "" {
		return "new: " + clipText(now, 100)
	}
	if now == "" {
		return "gone: " + clipText(old, 100)
	}
	i := 0
	for i < len(old) && i < len(now) && old[i] == now[i] {
		i++
	}
	j := 0
	for j < len(old)-i && j < len(now)-i && old[len(old)-1-j] == now[len(now)-1-j] {
		j++
	}
	from := strings.LastIndexAny(old[:i], " (") + 1
	for j > 0 && !strings.ContainsRune("]) ,", rune(old[len(old)-j])) {
		j--
	}
	if j > 0 && old[len(old)-j] == ']' {
		j--
	}
	a, b := old[from:len(old)-j], now[from:len(now)-j]
	return clipText(a, 60) + " -> " + clipText(b, 60)
}

func (t *textWriter) graphs(r *Report) {
	if len(r.Graphs) == 0 {
		return
	}
	t.section(fmt.Sprintf("GRAPHS: %d, %s", len(r.Graphs), count(r.Totals.Ops, "op")))
	for i, g := range r.Graphs {
		if i == rows {
			t.more(len(r.Graphs)-rows, "graphs")
			return
		}
		var stages []string
		for _, s := range g.Stages {
			stages = appendNew(stages, s.Name)
		}
		t.line("  [%s] %d ops [%s]", g.ID.CompileID.String(), len(g.Ops), clipText(strings.Join(g.Ops, ", "), 80))
		t.line("      stages: %s", clipText(strings.Join(stages, ", "), 110))
	}
}

func (t *textWriter) kernels(r *Report) {
	if len(r.Kernels) == 0 {
		return
	}
	t.section(fmt.Sprintf("KERNELS: %d generated, %d extern", r.Totals.Kernels, len(r.Kernels)-r.Totals.Kernels))
	for i, k := range r.Kernels {
		if i == rows {
			t.more(len(r.Kernels)-rows, "kernels")
			return
		}
		from := ""
		for _, p := range k.Pos {
			from += " " + shortPlace(p.File, p.Line)
		}
		t.line("  [%s] %-44s %-6s %s  %s", k.ID.CompileID.String(), clipText(k.Name, 44), k.Lang, clipText(strings.Join(k.Ops, "+"), 50), clipText(from, 60))
	}
}

func (t *textWriter) fusion(r *Report) {
	if len(r.Fusions) == 0 {
		return
	}
	t.section("FUSION")
	for i, f := range r.Fusions {
		if i == rows {
			t.more(len(r.Fusions)-rows, "graphs")
			return
		}
		fused := 0
		reasons := map[string]int{}
		for _, s := range f.Steps {
			if s.Fused {
				fused++
			} else {
				reasons[reasonClass(s.Reason)]++
			}
		}
		t.line("  [%s] %d nodes into %d kernels, %d fusions, %d refusals", f.ID.CompileID.String(), f.Before, f.After, fused, len(f.Steps)-fused)
		for j, k := range byCount(reasons) {
			if j == 4 {
				break
			}
			t.line("      %3d x %s", reasons[k], k)
		}
	}
}

// reasonClass drops the numbers of a refusal's reason.
func reasonClass(s string) string {
	if i := strings.IndexAny(s, "(0123456789"); i > 8 {
		s = s[:i]
	}
	return strings.TrimRight(s, " :,")
}

func byCount(m map[string]int) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		if m[keys[i]] != m[keys[j]] {
			return m[keys[i]] > m[keys[j]]
		}
		return keys[i] < keys[j]
	})
	return keys
}

func (t *textWriter) time(r *Report) {
	if len(r.PhaseSums) == 0 {
		return
	}
	t.section(fmt.Sprintf("COMPILE TIME: %.2f s", r.Totals.CompileSeconds))
	t.line("  %-44s %7s %10s %10s", "phase", "times", "total s", "own s")
	for i, p := range r.PhaseSums {
		if i == rows {
			t.more(len(r.PhaseSums)-rows, "phases")
			return
		}
		t.line("  %-44s %7d %10.3f %10.3f", clipText(p.Name, 44), p.Count, p.Seconds, p.Self)
	}
}

func (t *textWriter) caches(r *Report) {
	if len(r.Caches) == 0 {
		return
	}
	n := map[string]int{}
	for _, c := range r.Caches {
		n[c.Cache+" "+c.Hit]++
	}
	var parts []string
	for _, k := range byCount(n) {
		parts = append(parts, fmt.Sprintf("%s %d", k, n[k]))
	}
	t.section("CACHES: " + strings.Join(parts, ", "))
	for _, c := range r.Caches {
		if c.Hit == "bypass" && c.Reason != "" {
			t.line("  [%s] %s bypassed: %s", c.ID.CompileID.String(), c.Cache, clipText(c.Reason, 100))
		}
	}
}

func (t *textWriter) symbols(r *Report) {
	if len(r.Symbols) == 0 {
		return
	}
	t.section(fmt.Sprintf("DYNAMIC SIZES: %d", len(r.Symbols)))
	for i, s := range r.Symbols {
		if i == rows {
			t.more(len(r.Symbols)-rows, "symbols")
			return
		}
		end := ""
		if s.Specialized != "" {
			end = fmt.Sprintf("  specialised to %s (%s)", s.Specialized, s.Reason)
		}
		if s.Hint != "" {
			end = " first " + s.Hint + end
		}
		t.line("  [%s] %s = %s in %s%s  %s", s.ID.CompileID.String(), s.Name, s.Source, s.Range, end, place(s.Pos))
	}
}

func (t *textWriter) ranks(r *Report) {
	if len(r.Ranks) == 0 {
		return
	}
	t.section(fmt.Sprintf("RANKS: %d", len(r.Ranks)))
	for _, k := range r.Ranks {
		t.line("  rank %d: %d frames, %d graphs, %d breaks, %d recompiles, %.2f s %s", k.Rank, k.Totals.Frames, k.Totals.Graphs, k.Totals.Breaks, k.Totals.Recompiles, k.Totals.CompileSeconds, k.Caches)
		for i, d := range k.Diverged {
			if i == 5 {
				t.line("      ... and %d more", len(k.Diverged)-5)
				break
			}
			t.line("      differs: %s", d)
		}
	}
}

func (t *textWriter) notes(r *Report) {
	n := map[string]int{}
	first := map[string]string{}
	for _, s := range r.Side {
		if n[s.Kind]++; first[s.Kind] == "" {
			first[s.Kind] = firstLine(s.Text)
		}
	}
	if len(n) == 0 {
		return
	}
	t.section("REMARKS")
	for i, k := range byCount(n) {
		if i == rows {
			break
		}
		t.line("  %d x %s: %s", n[k], k, clipText(first[k], 100))
	}
}
