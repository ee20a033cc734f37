package fold

import (
	"path/filepath"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/chrome"
)

// This file takes what a profiler measured.

// profile is a Chrome trace as it was added up.
type profile struct {
	chrome.Profile
	rank int
	file string
}

// heldCost is what a row of a profile holds.
const heldCost = 200

func tcdbgProfile(f *Fold, r *logs.Record) {
	p := &profile{rank: r.Rank}
	if !f.versioned(r, &p.Profile) {
		return
	}
	if f.store != nil {
		if sources := f.store.Sources(); r.Source < len(sources) {
			p.file = sources[r.Source].Path
		}
	}
	for _, k := range p.Kernels {
		if k.Graph < 0 || k.Graph >= len(p.Graphs) {
			return // of no profiler
		}
	}
	f.hold(heldCost * (len(p.Regions) + len(p.Graphs) + len(p.Kernels) + len(p.Eager)))
	f.profiles = append(f.profiles, p)
}

// tcdbgProfiled says how recording went in one process.
func tcdbgProfiled(f *Fold, r *logs.Record) {
	var v logs.Profiled
	if !f.versioned(r, &v) {
		return
	}
	for _, text := range v.Problems {
		f.hold(heldEvent + len(text))
		f.side = append(f.side, explain.SideNote{ID: f.id(r), Kind: "profile", Text: f.intern(text)})
	}
}

// The ends of the names of our own files.
const (
	timesFile  = "_times.json.gz"
	stacksFile = "_stacks.json.gz"
)

// copyProfiles gives the report its profiles: one of ours with the step that has stacks.
func copyProfiles(f *Fold, r *explain.Report) {
	var stacks []*profile
	byName := map[string]*explain.Profile{}
	for _, p := range f.profiles {
		name := filepath.Base(p.file)
		if strings.HasPrefix(name, "tcdbg_profile_") && strings.HasSuffix(name, stacksFile) {
			stacks = append(stacks, p)
			continue
		}
		r.Traces = append(r.Traces, explain.ChromeTrace{Rank: p.rank, File: p.file})
		if p.Foreign {
			continue
		}
		out := &explain.Profile{Profile: &p.Profile, Rank: p.rank, File: p.file}
		r.Profiles = append(r.Profiles, out)
		byName[strings.TrimSuffix(p.file, timesFile)] = out
	}
	for _, p := range stacks {
		if times := byName[strings.TrimSuffix(p.file, stacksFile)]; times != nil {
			times.Stacks = &p.Profile
		}
	}
}
