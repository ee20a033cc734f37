package explain

import "fmt"

// SavedText says what a graph's forward pass keeps for its backward pass, "" where that is not known.
func (g *Graph) SavedText() string {
	s := g.Saved
	if s == nil {
		return ""
	}
	text := fmt.Sprintf("kept for the backward pass: %s, %s", Count(s.Values, "value"), Bytes(s.Bytes))
	if s.Again > 0 {
		text += fmt.Sprintf("; %s computed again", Count(s.Again, "operator"))
		if s.Read > s.Bytes {
			text += ", which saves " + Bytes(s.Read-s.Bytes)
		}
	}
	switch {
	case s.Over:
		text += fmt.Sprintf("; activation_memory_budget %v allows %s, and nothing more can be computed again", s.Budget, Bytes(s.Limit))
	case s.Budget < 1:
		text += fmt.Sprintf("; activation_memory_budget %v allows %s", s.Budget, Bytes(s.Limit))
	}
	return text
}
