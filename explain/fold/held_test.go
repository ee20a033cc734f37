package fold

import (
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/tracer/breaks"
)

// What an argument holds keeps its name after a graph break, where the whole function is seen
// to have the argument and does not ask for the same itself.
func TestWhatAnArgumentHoldsIsNamedAfterABreak(t *testing.T) {
	whole := &explain.Frame{Name: "loss", Compiles: []*explain.Compile{{Sources: []string{"L['batch']['pos']"}}}}
	rest := &explain.Frame{Name: "torch_dynamo_resume_in_loss_at_9", Parent: whole}
	rc := &explain.Recompile{Compile: &explain.Compile{Frame: rest}}
	changed := []string{"batch['hist'], 0"}
	g := &explain.GuardFailure{Kind: breaks.SizeChanged, Source: "L['batch']['hist']"}
	if got := diagnose.OfArgument(rc, g, changed); got != "batch['hist']" {
		t.Errorf("%q", got)
	}
	if got := diagnose.OfArgument(rc, g, append(changed, "batch['uid'], 0")); got != "" {
		t.Errorf("%q, where another size changed with it", got)
	}
	g.Source = "L['out']['hist']"
	if got := diagnose.OfArgument(rc, g, []string{"out['hist'], 0"}); got != "" {
		t.Errorf("%q, of which the whole function knows nothing", got)
	}
	g.Source = "L['batch']['pos']"
	if got := diagnose.OfArgument(rc, g, []string{"batch['pos'], 0"}); got != "" {
		t.Errorf("%q, for which the whole function recompiles itself", got)
	}
}

// The values of a dict are named as a program writes them.
func TestValuesOfADictAreNamed(t *testing.T) {
	for source, want := range map[string]string{
		"dict.__getitem__(L['out'], list(dict.keys(L['out']))[0]).size()[1]": "list(out.values())[0].size()[1]",
		"dict.__getitem__(L['out'], list(dict.keys(L['other']))[0])":         "dict.__getitem__(out, list(dict.keys(other))[0])",
		"dict.__getitem__(L['out'], L['k'])":                                 "dict.__getitem__(out, k)",
	} {
		if got := explain.PlainSource(source); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}
