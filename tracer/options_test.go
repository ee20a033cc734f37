package tracer

import (
	"strings"
	"testing"
)

// TestBudgetThatDoesNothingIsNoted: the program hears of an activation_memory_budget that has no
// effect, and only of such.
func TestBudgetThatDoesNothingIsNoted(t *testing.T) {
	for _, c := range []struct {
		o    options
		want string
	}{
		{options{named: "inductor", mode: "default", budget: 0.5, backward: true}, "with capture_backward one graph"},
		{options{named: "eager", mode: "default", budget: 0.5}, "backend eager ignores activation_memory_budget"},
		{options{named: "inductor", mode: "default", budget: 0.5}, ""},
		{options{named: "inductor", mode: "default", budget: 1, backward: true}, ""},
	} {
		var notes []string
		tr := &Tracer{cfg: Config{
			Note:    func(s string) { notes = append(notes, s) },
			Backend: func(string) (Backend, error) { return eager{t}, nil },
		}}
		if _, err := tr.checkBackend(c.o); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(notes, "\n")
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%+v: note %q, want %q", c.o, got, c.want)
		}
	}
}
