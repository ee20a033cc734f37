package render

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain"
)

// This file gives the elements of the HTML page their ids: made of keys that stay from run to run, not of numbers of
// rows, so that a link to a break still leads to it in tomorrow's report.

// anchors are the ids of a report's parts.
type anchors struct {
	used       map[string]int
	breaks     map[*explain.BreakGroup]string
	groups     map[*explain.Break]*explain.BreakGroup
	recompiles map[*explain.Recompile]string
	failures   map[*explain.Failure]string
	frames     map[*explain.Frame]string
	compiles   map[*explain.Compile]string
	graphs     map[*explain.Graph]string
	kernels    map[*explain.Kernel]string
	fusions    map[*explain.Fusion]string

	owner  map[*explain.Graph]*explain.Compile
	byID   map[explain.ID]*explain.Compile
	made   map[explain.ID][]*explain.Kernel    // kernels of a compile
	advice map[*explain.BreakGroup][]int       // what of the advice is about a break
	advise map[*explain.Recompile][]int        // likewise
	code   map[*explain.OutputCode]*packedText // texts that kernels are lines of
}

func newAnchors(r *explain.Report) *anchors {
	a := &anchors{
		used: map[string]int{}, breaks: map[*explain.BreakGroup]string{}, groups: map[*explain.Break]*explain.BreakGroup{},
		recompiles: map[*explain.Recompile]string{}, failures: map[*explain.Failure]string{}, frames: map[*explain.Frame]string{},
		compiles: map[*explain.Compile]string{}, graphs: map[*explain.Graph]string{}, kernels: map[*explain.Kernel]string{},
		fusions: map[*explain.Fusion]string{},
		owner:   map[*explain.Graph]*explain.Compile{}, byID: map[explain.ID]*explain.Compile{}, made: map[explain.ID][]*explain.Kernel{},
		advice: map[*explain.BreakGroup][]int{}, advise: map[*explain.Recompile][]int{}, code: map[*explain.OutputCode]*packedText{},
	}
	for _, g := range r.Breaks {
		a.breaks[g] = a.name("break", g.Lead.Code, hashed(g.Key))
		for _, b := range g.Breaks {
			a.groups[b] = g
		}
	}
	for _, fr := range r.Frames {
		a.frame(fr)
	}
	for _, rc := range r.Recompiles {
		a.recompiles[rc] = a.name("recompile", rc.Compile.Frame.Name, hashed(rc.Key))
	}
	for _, f := range r.Failures {
		a.failures[f] = a.name("failure", f.Code, hashed(f.Type+"\n"+f.Title()+"\n"+f.Frame))
	}
	for _, g := range r.Graphs {
		if a.graphs[g] == "" {
			a.graphs[g] = a.name("graph", fmt.Sprintf("%s%d-%d", rankEpoch(g.ID), g.ID.Frame, g.ID.Compile))
		}
	}
	for _, k := range r.Kernels {
		under := ""
		if c := a.byID[k.ID]; c != nil {
			under = a.compiles[c]
		}
		a.kernels[k] = a.name("kernel", k.Name, hashed(under+"\n"+k.Name))
		a.made[k.ID] = append(a.made[k.ID], k)
	}
	for i, same := range explain.AlikeAdvice(r.Advice) {
		a.entry(i, &r.Advice[same.Lead])
		for _, m := range same.More {
			a.entry(i, &r.Advice[m])
		}
	}
	return a
}

// entry notes what an entry of the advice is about, which links back to it.
func (a *anchors) entry(i int, advice *explain.Advice) {
	add := func(list []int) []int {
		if slices.Contains(list, i) {
			return list
		}
		return append(list, i)
	}
	if g := advice.Break; g != nil {
		a.advice[g] = add(a.advice[g])
	}
	if c := advice.Cause; c != nil {
		for _, rc := range c.Recompiles {
			a.advise[rc] = add(a.advise[rc])
		}
	}
}

// frame names a frame by function and file, its compiles and graphs by its name and their numbers.
func (a *anchors) frame(fr *explain.Frame) {
	id := a.name("frame", fr.Name, hashed(rankEpoch(fr.ID)+"\n"+fr.Name+"\n"+filepath.Base(fr.Pos.File)))
	a.frames[fr] = id
	rest := strings.TrimPrefix(id, "frame-")
	for _, c := range fr.Compiles {
		a.compiles[c] = a.name("compile", rest, strconv.Itoa(c.ID.Compile))
		a.byID[c.ID] = c
		if c.Graph != nil {
			a.owner[c.Graph] = c
			a.graphs[c.Graph] = a.name("graph", rest, strconv.Itoa(c.ID.Compile))
		}
	}
}

func rankEpoch(id explain.ID) string {
	s := ""
	if id.Rank >= 0 {
		s = fmt.Sprintf("r%d-", id.Rank)
	}
	if id.Epoch > 0 {
		s += fmt.Sprintf("e%d-", id.Epoch)
	}
	return s
}

// notOfIDs is what an id does not hold.
var notOfIDs = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// longestPart bounds each part of an id.
const longestPart = 48

// name makes an id of its parts, numbered where it is taken.
func (a *anchors) name(parts ...string) string {
	var out []string
	for _, p := range parts {
		p = strings.Trim(notOfIDs.ReplaceAllString(p, "-"), "-")
		if len(p) > longestPart {
			p = p[:longestPart]
		}
		if p != "" {
			out = append(out, p)
		}
	}
	first := strings.Join(out, "-")
	id := first
	for a.used[id] > 0 {
		a.used[first]++
		id = first + "-" + strconv.Itoa(a.used[first])
	}
	a.used[id]++
	return id
}

func hashed(key string) string {
	f := fnv.New32a()
	_, _ = f.Write([]byte(key))
	return fmt.Sprintf("%08x", f.Sum32())
}

// registrySite has a page for each code of PyTorch's registry of graph breaks.
const registrySite = "https://meta-pytorch.github.io/compile-graph-break-site/gb/"

// ofPyTorch knows a code of PyTorch's registry of graph breaks; codes from GB9000 on are tcdbg's own.
var ofPyTorch = regexp.MustCompile(`^GB[0-8][0-9]{3}$`)

// registryPage is PyTorch's page on a code, "" where it has none.
func registryPage(code string) string {
	if !ofPyTorch.MatchString(code) {
		return ""
	}
	return registrySite + "gb" + strings.TrimPrefix(code, "GB") + ".html"
}

// traceArgument is what opens the trace again, as an argument on a command line.
func traceArgument(r *explain.Report) string {
	path := ""
	for i := range r.Sources {
		p := r.Sources[i].Path
		switch {
		case i == 0:
			path = p
		case filepath.Dir(p) == path || filepath.Dir(p) == filepath.Dir(path):
			path = filepath.Dir(p)
		default:
			return "PATH"
		}
	}
	if path == "" || path == "-" {
		return "PATH"
	}
	return shellWord(path)
}

// rankTraces is what opens the trace of one rank, where it has a file of its own.
func rankTraces(r *explain.Report) map[int]string {
	out := map[int]string{}
	for i := range r.Sources {
		if s := &r.Sources[i]; s.Rank >= 0 && len(r.Sources) > 1 {
			if _, twice := out[s.Rank]; !twice {
				out[s.Rank] = shellWord(s.Path)
			}
		}
	}
	return out
}

// shellWord quotes a path for a command line where it has to be.
func shellWord(path string) string {
	if strings.ContainsAny(path, " \t\n'\"\\$&|;<>()*?[]#~`!{}") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
