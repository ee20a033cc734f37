package results

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/logs"
)

// ran makes the operators of a call from lines such as "y = mul(x, 2)": names of values stand for their digests,
// known are those that the call begins with.
func ran(known, returns string, lines ...string) *noted {
	n := &noted{graphs: 1}
	values := func(text string) (out []Digest) {
		for _, v := range strings.Fields(strings.ReplaceAll(text, ",", " ")) {
			if strings.ToLower(v[:1]) >= "a" && strings.ToLower(v[:1]) <= "z" {
				out = append(out, Digest{Type: "float32[2]", Sum: v})
			} else if v == "?" {
				out = append(out, Digest{Type: "float32[2]"})
			}
		}
		return out
	}
	n.known, n.out = values(known), values(returns)
	for i, l := range lines {
		outs, call, _ := strings.Cut(l, " = ")
		name, args, _ := strings.Cut(strings.TrimSuffix(call, ")"), "(")
		text := []string{}
		for _, a := range strings.Split(args, ", ") {
			if len(values(a)) > 0 {
				a = "float32[2]"
			}
			text = append(text, a)
		}
		n.ops = append(n.ops, &Operator{
			Name: name, Text: name + "(" + strings.Join(text, ", ") + ")", Args: values(args), Outs: values(outs),
			Node: fmt.Sprint("n", i), Pos: &logs.Pos{File: "f", Line: i},
		})
	}
	return n
}

// What a trace may do is no difference; the first operator that makes something else is found.
func TestFindCapture(t *testing.T) {
	plain := func() *noted {
		return ran("x w", "d", "a = exp(x)", "b = mul(a, 2)", "c = add(b, w)", "u = neg(c)", "d = tanh(c)")
	}
	for _, c := range []struct {
		name            string
		captured        *noted
		found, why, agr string // node and operator, or eager operator
	}{
		{
			"left out and in another way", ran("x w", "d", "a = exp(x)", "b = add(a, a)", "c = add(b, w)", "d = tanh(c)"),
			"", "is what eager execution computes", "tanh(",
		},
		{
			"other number", ran("x w", "D", "a = exp(x)", "B = mul(a, 3)", "C = add(B, w)", "D = tanh(C)"),
			"n1 mul(float32[2], 3)", "", "exp(",
		},
		{
			"other operand", ran("x w", "D", "a = exp(x)", "b = mul(a, 2)", "C = add(b, x)", "D = tanh(C)"),
			"n2 add(float32[2], float32[2])", "", "mul(",
		},
		{"lacks one", ran("x w", "D", "a = exp(x)", "b = mul(a, 2)", "D = tanh(b)"), "add(float32[2], float32[2])", "", "mul("},
		{"lacks the last", ran("x w", "c", "a = exp(x)", "b = mul(a, 2)", "c = add(b, w)"), "tanh(float32[2])", "", "add("},
		{
			"filled later", ran("x w", "D", "a = exp(x)", "? = empty(2)", "B = mul(a, 3)", "D = tanh(B)"),
			"n2 mul(float32[2], 3)", "", "exp(",
		},
		{
			"given other values", ran("X w", "D", "A = exp(X)", "D = tanh(A)"),
			"", "n0, is given values that eager execution of the call does not have", "",
		},
		{"from elsewhere", ran("x w", "Z", "a = exp(x)", "b = mul(a, 2)"), "", "comes from what is not within", "mul("},
	} {
		f := (&alignment{plain: plain(), captured: c.captured}).find()
		found := strings.TrimSpace(f.Node + " " + f.Captured)
		if found == "" {
			found = f.Eager
		}
		if found != c.found || !strings.Contains(f.Why, c.why) || (c.why == "") != (f.Why == "") || !strings.HasPrefix(f.Agreed, c.agr) {
			t.Errorf("%s: %q %+v", c.name, found, f)
		}
	}
}

// Another rounding is told from another value.
func TestSketch(t *testing.T) {
	v := []float64{1, -2, 3e-3, 4}
	near := append([]float64(nil), v...)
	near[2] += 1e-6 // against a mean size of 1.75
	far := append([]float64(nil), v...)
	far[3] *= 1.0001
	d := func(v []float64) *Digest { return &Digest{Type: "float32[4]", Sketch: SketchOf(v)} }
	if !d(v).rounding(d(near)) || d(v).rounding(d(far)) || d(v).rounding(&Digest{Type: "float32[4]"}) {
		t.Error("rounding is not told from values")
	}
}
