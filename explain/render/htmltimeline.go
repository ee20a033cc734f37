package render

import (
	"fmt"
	"strconv"
	"time"

	"tcdbg/explain"
)

// This file writes the compile time of the HTML report: phases over time, of a job a chart for each group of ranks, and
// their sums.

// timeline draws the flame charts: bars are plain elements, placed in per cent.
func (h *htmlWriter) timeline(r *explain.Report) {
	if len(r.Phases) == 0 || r.End.Sub(r.Start) <= 0 {
		return
	}
	h.section("timeline", fmt.Sprintf("Compile time (%s)", explain.Duration(r.Totals.CompileSeconds)), false)
	charts, more := flames(r)
	f := flameWriter{h: h, span: float64(r.End.Sub(r.Start)), start: r.Start}
	for _, c := range charts {
		if c.title != "" {
			h.raw("<p>")
			h.esc(c.title)
			h.raw("</p>")
		}
		f.draw(c.phases)
	}
	if more > 0 {
		h.raw(`<p class="cut">Not drawn: ` + explain.Count(more, "more group") + " of ranks.</p>")
	}
	f.end(r)
	t := h.table("phases, costliest first", "phase", "times", "total s", "self s")
	t.each(len(r.PhaseSums), "phase", func(i int) {
		p := &r.PhaseSums[i]
		t.row(p.Name, strconv.Itoa(p.Count), fmt.Sprintf("%.3f", p.Seconds), fmt.Sprintf("%.3f", p.Self))
	})
	t.end()
	h.end()
}

// flameChart is one chart: the phases of a process, or of the one rank that is drawn for a group.
type flameChart struct {
	title  string
	phases []*explain.Phase
}

// mostFlames bounds the groups of ranks that have a chart.
const mostFlames = 12

// flames are the charts of a report, and how many groups of ranks have none.
func flames(r *explain.Report) (charts []flameChart, more int) {
	if len(r.RankGroups) == 0 {
		return []flameChart{{phases: r.Phases}}, 0
	}
	by := map[int][]*explain.Phase{}
	for _, p := range r.Phases {
		by[p.ID.Rank] = append(by[p.ID.Rank], p)
	}
	for _, g := range r.RankGroups {
		rank, longest, ok := r.Standing(g, func(rank int) bool { return by[rank] != nil })
		switch {
		case !ok:
			continue
		case len(charts) == mostFlames:
			more++
			continue
		}
		title := g.Title()
		if len(g.Ranks) > 1 {
			title = explain.Alike(len(g.Ranks), rank, longest) + ": " + g.Title()
		} else if g.Parted.Text != "" {
			title += ": " + g.Parted.Text
		}
		charts = append(charts, flameChart{title, by[rank]})
	}
	return charts, more
}

// flameWriter draws charts on one axis, and counts what it draws.
type flameWriter struct {
	h          *htmlWriter
	start      time.Time
	span       float64
	shown, cut int
}

func (f *flameWriter) draw(phases []*explain.Phase) {
	const deepest, narrowest = 40, 0.02 // levels, per cent
	h, depth := f.h, 0
	for _, p := range phases {
		depth = max(depth, p.Depth)
	}
	h.raw(fmt.Sprintf(`<div class="flame" role="img" aria-label="phases over time; the table below has their sums" style="height:%dpx">`,
		(min(depth, deepest)+1)*16))
	for _, p := range phases {
		width := float64(p.Dur) / f.span * 100
		if width < narrowest || p.Depth > deepest || f.shown >= maxFlame || h.sectionFull() {
			f.cut++
			continue
		}
		f.shown++
		left := float64(p.Start.Sub(f.start)) / f.span * 100
		h.raw(fmt.Sprintf(`<i style="left:%.3f%%;width:%.3f%%;top:%dpx" title="`, left, width, p.Depth*16))
		h.esc(fmt.Sprintf("%s %s %.1f ms", p.Name, p.ID.CompileID.String(), float64(p.Dur)/1e6))
		h.raw(`">`)
		h.esc(p.Name)
		h.raw("</i>")
	}
	h.raw("</div>")
}

// end says what is not drawn, and what is not kept.
func (f *flameWriter) end(r *explain.Report) {
	h := f.h
	if f.cut > 0 {
		all := "All of them"
		if r.PhasesLeftOut > 0 {
			all = "All that are kept"
		}
		h.raw(`<p class="cut">Not drawn: ` + explain.Count(f.cut, "span") + `, too short or too many. ` + all + `: <code>`)
		h.esc("tcdbg report --format chrome " + h.trace)
		h.raw("</code></p>")
	}
	if n := r.PhasesLeftOut; n > 0 {
		h.raw(`<p class="cut">` + explain.Are(int(n), "phase") + ` not kept one by one; the table has them.</p>`)
	}
}
