package guard

import "testing"

// TestKindsHaveRows wants a whole row for each kind, and no name twice.
func TestKindsHaveRows(t *testing.T) {
	seen := map[string]bool{}
	for k := range Kind(len(kinds)) {
		row := kinds[k]
		if row.name == "" || row.wording == "" || row.cost == "" || seen[row.name] {
			t.Errorf("kind %d has the row %+v", k, row)
		}
		seen[row.name] = true
	}
	if ShapeEnv != Kind(len(kinds)-1) {
		t.Errorf("%d rows for %d kinds", len(kinds), ShapeEnv+1)
	}
}
