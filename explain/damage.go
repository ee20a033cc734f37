package explain

import "fmt"

// This file words what is wrong with what was read: nothing is left out in silence.

// MostOpen bounds the phases of one thread that run within each other.
const MostOpen = 1 << 10

// Damage says what could not be read, does not fit, was left out or is never recorded.
func (r *Report) Damage() []string {
	var out []string
	add := func(n int64, what, one, many string) {
		switch {
		case n == 1:
			out = append(out, "1 "+what+" "+one)
		case n > 1:
			out = append(out, Count(int(n), what)+" "+many)
		}
	}
	for _, s := range r.Sources {
		switch {
		case s.Unread:
			out = append(out, s.Path+": "+s.Err.Error()+": left out")
		case s.Err != nil:
			out = append(out, s.Path+": "+s.Err.Error()+": read up to there")
		}
	}
	add(
		r.Totals.UnexplainedRecords-r.Stats.BadJSON, "record",
		"of an unknown kind, counted in records_by_kind and shown raw",
		"of unknown kinds, counted in records_by_kind and shown raw",
	)
	add(r.Stats.BadJSON, "record", "with broken JSON", "with broken JSON")
	add(r.Stats.MD5Mismatch, "payload", "that does not fit its md5", "that do not fit their md5")
	add(r.Stats.Stray, "line", "that belongs to no record", "that belong to no record")
	add(r.Stats.Oversized, "record", "cut for its size", "cut for their size")
	add(r.UnlistedGuards, "guard", "on sizes that is left out, there are too many", "on sizes that are left out, there are too many")
	add(r.LeftOut, "record", "that is counted and left out, the report is full", "that are counted and left out, the report is full")
	add(
		r.DeepPhases, "phase", fmt.Sprintf("within %d others that is left out", MostOpen),
		fmt.Sprintf("within %d others that are left out", MostOpen),
	)
	add(r.InstantsLeftOut, "instant event", "that is left out, there are too many", "that are left out, there are too many")
	if r.Exports {
		out = append(out, ExportUnrecorded)
	}
	return out
}

// Warnings is what a written report begins with: the damage, and that there is
// nothing to report on.
func Warnings(r *Report) []string {
	out := r.Damage()
	if r.Totals.Records == 0 && !r.Live {
		out = append([]string{"no records: nothing was compiled, or this is no trace"}, out...)
	}
	return out
}

// ExportUnrecorded is the remark on what a trace does not tell of exports.
const ExportUnrecorded = "PyTorch does not record how an export ends: one that failed may be missing from the failures; the " +
	"program's own output tells"
