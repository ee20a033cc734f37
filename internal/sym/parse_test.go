package sym

import (
	"fmt"
	"strings"
	"testing"
)

// TestParseReadsWhatIsPrinted: an expression is the same after the way through its
// text, and what is none is refused by a word about it.
func TestParseReadsWhatIsPrinted(t *testing.T) {
	env := &Env{}
	names := map[string]Int{}
	for _, name := range []string{"s0", "s77", "u_1"} {
		names[name] = env.NewSymbol(name, "", 7)
	}
	lookup := func(name string) (Int, error) {
		if x, ok := names[name]; ok {
			return x, nil
		}
		return Int{}, fmt.Errorf("no size is called %q", name)
	}
	a, b := names["s0"], names["s77"]
	for _, want := range []Int{
		Const(12), Const(-3), a, names["u_1"], Neg(a), Add(Mul(Const(2), b), Const(1)), Mul(a, Add(b, Const(-4))),
		FloorDiv(a, Const(4)), FloorDiv(Add(a, b), Const(3)), Mod(a, Const(4)), Max(Const(5), a), Min(a, b), Mod(FloorDiv(b, a), Const(3)),
	} {
		got, err := Parse(want.String(), lookup)
		if err != nil || !Same(got, want) {
			t.Errorf("%s: %s, %v", want, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "a size expected", "s0 +": "a size expected", "s1": `no size is called "s1"`, "3x": "bad number", "(s0": ") expected", "s0 s77": "unexpected",
		"Mod(s0)": ", expected", "Mod(s0, 0)": "division by zero", "(s0//0)": "division by zero", "Log(s0, 2)": `unknown function "Log"`, "Max(s0, 2": ") expected",
	} {
		if got, err := Parse(text, lookup); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s, %v, want %q", text, got, err, want)
		}
	}
}
