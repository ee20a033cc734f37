package diagnose

import "tcdbg/explain"

func collectFiles(r *explain.Report) *explain.FileNames {
	n := &explain.FileNames{Seen: map[string]bool{}, Found: map[string]string{}}
	for _, fr := range r.Frames {
		n.Add(fr.Pos.File)
		for _, c := range fr.Compiles {
			n.AddAll(c.Stack)
			for _, b := range c.Breaks {
				n.AddAll(b.Stack)
			}
		}
	}
	return n
}

// CompleteFiles completes the places of failed guards, and those of guard trees
// when they are read.
func CompleteFiles(r *explain.Report) {
	n := collectFiles(r)
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			if c.Guards != nil {
				g := *c.Guards
				g.Files = n
				c.Guards = &g
			}
			if c.Recompile == nil {
				continue
			}
			for i := range c.Recompile.Failures {
				p := &c.Recompile.Failures[i].Pos
				p.File = n.Whole(p.File)
			}
		}
	}
}
