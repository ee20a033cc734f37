package explain

import (
	"strings"
	"sync"

	"tcdbg/logs"
)

// This file gives files their names back. PyTorch prints those of guards without
// what they have in common with its own folder, letter by letter: /tmp/m/net.py is
// "mp/m/net.py" where torch lies below /t, and "tmp/m/net.py" elsewhere.

// FileNames are the absolute names that a report tells elsewhere. Its trees are
// read by several goroutines.
type FileNames struct {
	last  string
	known []string
	Seen  map[string]bool

	mu    sync.Mutex
	Found map[string]string // short name -> whole
}

// AddAll adds the files of a stack.
func (n *FileNames) AddAll(stack []logs.Pos) {
	for i := range stack {
		n.Add(stack[i].File)
	}
}

// Add adds a file by its short name.
func (n *FileNames) Add(file string) {
	if file == n.last || !strings.HasPrefix(file, "/") || n.Seen[file] {
		return
	}
	n.last = file
	n.Seen[file] = true
	n.known = append(n.known, file)
}

// Whole is the absolute name that a short one stands for: the shortest that ends
// so, the short one itself where none does.
func (n *FileNames) Whole(short string) string {
	if n == nil || short == "" || strings.HasPrefix(short, "/") {
		return short
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	file, ok := n.Found[short]
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
	n.Found[short] = file
	return file
}

// tree completes the places of a guard tree.
func (n *FileNames) tree(g *GuardNode) {
	if g == nil {
		return
	}
	g.Pos.File = n.Whole(g.Pos.File)
	for _, c := range g.Children {
		n.tree(c)
	}
}
