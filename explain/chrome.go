package explain

import (
	"bufio"
	"encoding/json"
	"io"
	"time"
)

// This file writes the compile-time flame chart in Chrome's trace format,
// which Perfetto and chrome://tracing open.

// chromeEvent is one event: a complete one ("X"), an instant ("i") or a name
// of a process ("M").
type chromeEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	TS    float64        `json:"ts"` // µs
	Dur   *float64       `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Scope string         `json:"s,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// WriteChrome writes the report's phases; without any, the compiles
// themselves stand in.
func WriteChrome(w io.Writer, r *Report) error {
	b := bufio.NewWriter(w)
	if _, err := b.WriteString(`{"displayTimeUnit":"ms","traceEvents":[`); err != nil {
		return err
	}
	first := true
	emit := func(e chromeEvent) error {
		if !first {
			if err := b.WriteByte(','); err != nil {
				return err
			}
		}
		first = false
		if err := b.WriteByte('\n'); err != nil {
			return err
		}
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		_, err = b.Write(text)
		return err
	}
	if err := chromeEvents(r, emit); err != nil {
		return err
	}
	if _, err := b.WriteString("\n]}\n"); err != nil {
		return err
	}
	return b.Flush()
}

func chromeEvents(r *Report, emit func(chromeEvent) error) error {
	for _, rk := range r.Ranks {
		e := chromeEvent{Name: "process_name", Phase: "M", PID: rk.Rank, Args: map[string]any{"name": "rank " + itoa(rk.Rank)}}
		if err := emit(e); err != nil {
			return err
		}
	}
	for _, p := range r.Phases {
		dur := float64(p.Dur) / 1e3
		e := chromeEvent{Name: p.Name, Cat: "compile", Phase: "X", TS: micros(p.Start), Dur: &dur, PID: max(p.ID.Rank, 0)}
		if p.ID.Frame >= 0 {
			e.Args = map[string]any{"compile_id": p.ID.CompileID.String(), "epoch": p.ID.Epoch}
		}
		if err := emit(e); err != nil {
			return err
		}
	}
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			if err := compileEvents(c, len(r.Phases) == 0, emit); err != nil {
				return err
			}
		}
	}
	return nil
}

// compileEvents marks breaks and recompiles, and the compile itself where the
// trace holds no phases.
func compileEvents(c *Compile, whole bool, emit func(chromeEvent) error) error {
	if c.Start.IsZero() {
		return nil
	}
	at, pid := micros(c.Start), max(c.ID.Rank, 0)
	if whole {
		dur := c.Seconds * 1e6
		e := chromeEvent{Name: c.Frame.Name, Cat: "compile", Phase: "X", TS: at, Dur: &dur, PID: pid, Args: map[string]any{"compile_id": c.ID.CompileID.String()}}
		if err := emit(e); err != nil {
			return err
		}
	}
	for _, b := range c.Breaks {
		e := chromeEvent{Name: "break " + b.Code, Cat: "break", Phase: "i", Scope: "t", TS: at, PID: pid, Args: map[string]any{"type": b.Type, "place": place(b.Pos), "code": b.Pos.Code}}
		if err := emit(e); err != nil {
			return err
		}
	}
	if c.Recompile != nil && len(c.Recompile.Failures) > 0 {
		g := c.Recompile.Failures[0]
		e := chromeEvent{Name: "recompile", Cat: "recompile", Phase: "i", Scope: "t", TS: at, PID: pid, Args: map[string]any{"function": c.Frame.Name, "reason": failureText(&g)}}
		return emit(e)
	}
	return nil
}

func micros(t time.Time) float64 { return float64(t.UnixNano()) / 1e3 }
