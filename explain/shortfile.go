package explain

import (
	"strings"
	"sync"

	"tcdbg/logs"
)

// This file gives files their names back. PyTorch prints those of guards without
// what they have in common with its own folder, letter by letter: /tmp/m/net.py is
// "mp/m/net.py" where torch lies below /t, and "tmp/m/net.py" elsewhere.

// fileNames are the absolute names that a report tells elsewhere. Its trees are
// read by several goroutines.
type fileNames struct {
	last  string
	known []string
	seen  map[string]bool

	mu    sync.Mutex
	found map[string]string // short name -> whole
}

func collectFiles(r *Report) *fileNames {
	n := &fileNames{seen: map[string]bool{}, found: map[string]string{}}
	for _, fr := range r.Frames {
		n.add(fr.Pos.File)
		for _, c := range fr.Compiles {
			n.addAll(c.Stack)
			for _, b := range c.Breaks {
				n.addAll(b.Stack)
			}
		}
	}
	return n
}

func (n *fileNames) addAll(stack []logs.Pos) {
	for i := range stack {
		n.add(stack[i].File)
	}
}

func (n *fileNames) add(file string) {
	if file == n.last || !strings.HasPrefix(file, "/") || n.seen[file] {
		return
	}
	n.last = file
	n.seen[file] = true
	n.known = append(n.known, file)
}

// whole is the absolute name that a short one stands for: the shortest that ends
// so, the short one itself where none does.
func (n *fileNames) whole(short string) string {
	if n == nil || short == "" || strings.HasPrefix(short, "/") {
		return short
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	file, ok := n.found[short]
	if ok {
		return file
	}
	for _, k := range n.known {
		if strings.HasSuffix(k, short) && (file == "" || len(k) < len(file) || len(k) == len(file) && k < file) {
			file = k
		}
	}
	if file == "" {
		file = short
	}
	n.found[short] = file
	return file
}

// tree completes the places of a guard tree.
func (n *fileNames) tree(g *GuardNode) {
	if g == nil {
		return
	}
	g.Pos.File = n.whole(g.Pos.File)
	for _, c := range g.Children {
		n.tree(c)
	}
}

// completeFiles completes the places of failed guards, and those of guard trees
// when they are read.
func completeFiles(r *Report) {
	n := collectFiles(r)
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			if c.Guards != nil {
				g := *c.Guards
				g.files = n
				c.Guards = &g
			}
			if c.Recompile == nil {
				continue
			}
			for i := range c.Recompile.Failures {
				p := &c.Recompile.Failures[i].Pos
				p.File = n.whole(p.File)
			}
		}
	}
}
