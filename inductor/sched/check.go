package sched

import "fmt"

// CheckOrder verifies that every group comes after those that it depends on.
func CheckOrder(groups []*Group) error {
	done := map[*Group]bool{}
	for _, g := range groups {
		for p := range g.preds {
			if !done[p] {
				return fmt.Errorf("schedule: %s comes before %s, which it needs", g.Name(), p.Name())
			}
		}
		done[g] = true
	}
	return nil
}
