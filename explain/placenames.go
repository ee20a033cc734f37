package explain

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tcdbg/logs"
)

// This file names files briefly: by the last element of their path, and where
// files of one report share it, by as many folders before it as tell them apart.

// Names are the brief names of a report's files.
type Names struct {
	longer map[string]string // of files that share their last element
}

// maxFolders bounds the folders of a brief name; files that are still alike have
// their whole names.
const maxFolders = 8

// BriefNames finds the names for the files that a report tells.
func BriefNames(r *Report) Names {
	n := Names{longer: map[string]string{}}
	byBase := map[string][]string{}
	seen := map[string]bool{}
	last := ""
	eachFile(r, func(file string) {
		if file == last || file == "" || seen[file] {
			return
		}
		last, seen[file] = file, true
		base := filepath.Base(file)
		byBase[base] = append(byBase[base], file)
	})
	for _, files := range byBase {
		files = absolute(files)
		for folders := 1; len(files) > 1; folders++ {
			files = n.tellApart(files, folders)
		}
	}
	return n
}

// absolute leaves out relative names where there are absolute ones: PyTorch
// prints one file both ways.
func absolute(files []string) []string {
	relative := func(f string) bool { return !strings.HasPrefix(f, "/") }
	if !slices.ContainsFunc(files, func(f string) bool { return !relative(f) }) {
		return files
	}
	return slices.DeleteFunc(files, relative)
}

// tellApart names the files that so many folders tell apart, and returns the rest.
func (n *Names) tellApart(files []string, folders int) (alike []string) {
	having := map[string]int{}
	for _, f := range files {
		having[lastElements(f, folders)]++
	}
	for _, f := range files {
		switch brief := lastElements(f, folders); {
		case having[brief] == 1 || brief == f:
			n.longer[f] = brief
		case folders == maxFolders:
			n.longer[f] = f
		default:
			alike = append(alike, f)
		}
	}
	if len(alike) == 1 { // the others of its name are shorter as a whole
		n.longer[alike[0]] = lastElements(alike[0], folders+1)
	}
	return alike
}

// lastElements is the end of a path: its last element and so many folders.
func lastElements(path string, folders int) string {
	at := len(path)
	for range folders + 1 {
		if at = strings.LastIndexByte(path[:at], '/'); at < 0 {
			return path
		}
	}
	return path[at+1:]
}

// eachFile calls f with the files of a report's places, each at least once.
func eachFile(r *Report, f func(file string)) {
	all := func(list []logs.Pos) {
		for i := range list {
			f(list[i].File)
		}
	}
	for _, fr := range r.Frames {
		f(fr.Pos.File)
		for _, c := range fr.Compiles {
			all(c.Stack)
			for _, b := range c.Breaks {
				f(b.Pos.File)
				all(b.Stack)
			}
			if c.Recompile != nil {
				for i := range c.Recompile.Failures {
					f(c.Recompile.Failures[i].Pos.File)
				}
			}
		}
	}
	for _, fl := range r.Failures {
		f(fl.Pos.File)
	}
	for _, k := range r.Kernels {
		all(k.Pos)
	}
	for _, s := range r.Symbols {
		f(s.Pos.File)
	}
}

// File is the brief name of a file.
func (n Names) File(file string) string {
	if s, ok := n.longer[file]; ok {
		return s
	}
	return filepath.Base(file)
}

// At is "file.py:12", and "?" for no place.
func (n Names) At(p logs.Pos) string {
	if p.File == "" {
		return "?"
	}
	return n.File(p.File) + ":" + strconv.Itoa(p.Line)
}

// Place is at with the function.
func (n Names) Place(p logs.Pos) string {
	s := n.At(p)
	if fn := FunctionOf(p, nil); fn != "" {
		s += " in " + fn
	}
	return s
}

// List tells places, those of one file together.
func (n Names) List(list []logs.Pos) string {
	var out []string
	file := ""
	for _, p := range list {
		if p.File != "" && p.File == file {
			out[len(out)-1] += "," + strconv.Itoa(p.Line)
			continue
		}
		file = p.File
		out = append(out, n.At(p))
	}
	return strings.Join(out, " ")
}
