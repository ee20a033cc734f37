package guard

import "testing"

// TestKindsHaveRows wants a whole row for each kind, and no name twice.
func TestKindsHaveRows(t *testing.T) {
	seen := map[string]bool{}
	for k := range numKinds {
		row := kinds[k]
		if row.name == "" || row.wording == "" || row.cost == "" || seen[row.name] {
			t.Errorf("kind %d has the row %+v", k, row)
		}
		seen[row.name] = true
	}
}
