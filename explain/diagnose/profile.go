package diagnose

import (
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file joins what a profiler measured to the trace: by the ids of entries and the
// names of kernels.

// joinProfiles finds the compiles of each profile, and gives frames and kernels their times.
func joinProfiles(r *explain.Report) {
	if !r.Profiled() {
		return
	}
	for _, p := range r.Profiles {
		if p.Apart = apart(r, p); p.Apart != "" {
			continue
		}
		p.Compiles = map[string]*explain.Compile{}
		for _, fr := range r.Frames {
			if !sameRank(r, p, fr.ID.Rank) {
				continue
			}
			for _, c := range fr.Compiles {
				p.Compiles[idOf(c.ID.CompileID)] = c
			}
		}
		frameTimes(p)
		kernelTimes(r, p)
	}
	for _, k := range r.Kernels {
		if k.Timed == 0 && k.Calls == 0 {
			k.Calls = -1
		}
	}
}

// idOf is an id as a profiler's events have it.
func idOf(id logs.CompileID) string { return fmt.Sprintf("%d/%d", id.Frame, id.Compile) }

// sameRank says whether a rank of the trace is the profile's. Where the trace has one process the
// name of the profile's file decides nothing.
func sameRank(r *explain.Report, p *explain.Profile, rank int) bool {
	return len(r.Ranks) < 2 || p.Rank == rank
}

// apart is why a profile's ids are not the trace's.
func apart(r *explain.Report, p *explain.Profile) string {
	if len(r.Ranks) > 1 && p.Rank < 0 {
		return "its name tells no rank, and the trace has several"
	}
	epoch, known := 0, false
	for _, fr := range r.Frames {
		if !sameRank(r, p, fr.ID.Rank) {
			continue
		}
		if known && fr.ID.Epoch != epoch {
			return "the trace has the same ids several times: of several processes, or after torch._dynamo.reset"
		}
		epoch, known = fr.ID.Epoch, true
	}
	if !known {
		return "the trace has no compiled function of its process"
	}
	return ""
}

// frameTimes gives frames what their calls spend on finding an entry, and after breaks.
func frameTimes(p *explain.Profile) {
	for _, region := range p.Regions {
		c := p.Compiles[region.Compile]
		if c == nil {
			continue
		}
		c.Frame.GuardTimed += region.Lookup.Calls
		c.Frame.GuardNanos += region.Lookup.Nanos
		if len(c.Breaks) > 0 && !p.Unmarked(region) {
			c.Frame.Left += region.Calls
			c.Frame.LeftNanos += region.Left
		}
	}
}

// kernelTimes gives kernels their times, where the names tell which is which.
func kernelTimes(r *explain.Report, p *explain.Profile) {
	type key struct {
		compile  string
		backward bool
		name     string
	}
	of := map[key]*explain.Kernel{} // nil: several
	for _, k := range r.Kernels {
		if !sameRank(r, p, k.ID.Rank) {
			continue
		}
		at := key{idOf(k.ID.CompileID), k.Backward(), plainName(k.Name)}
		if _, twice := of[at]; twice {
			of[at] = nil
		} else {
			of[at] = k
		}
	}
	for _, k := range p.Kernels {
		g := p.Graphs[k.Graph]
		kernel := of[key{g.Compile, g.Backward, plainName(k.Name)}]
		if kernel == nil || g.Compile == "" {
			continue
		}
		kernel.Calls += k.Calls
		kernel.Timed += k.Calls
		kernel.Nanos = max(0, kernel.Nanos)
		if p.Device {
			kernel.Nanos += k.Device
		} else {
			kernel.Nanos += k.Nanos
		}
	}
}

// plainName is a kernel's name without what differs between the code, which calls
// extern_kernels.mm or torch.ops.aten.sort.default, and the profiler, which calls it aten::sort.
func plainName(name string) string {
	if rest, ok := strings.CutPrefix(name, "torch.ops."); ok {
		parts := strings.Split(rest, ".")
		if len(parts) >= 2 {
			return parts[0] + "::" + parts[1]
		}
	}
	if rest, ok := strings.CutPrefix(name, "extern_kernels."); ok {
		return "aten::" + rest
	}
	return name
}
