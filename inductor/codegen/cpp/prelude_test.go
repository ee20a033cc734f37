package cpp

import (
	"regexp"
	"strings"
	"testing"
)

// TestLargeHelpersAreCalls: what kernels use often, be it through a small
// helper, is a function of its own; what they use once is inlined, and so is
// everything small, in however many spellings: a multiply-add that quotients are made of is one instruction.
func TestLargeHelpersAreCalls(t *testing.T) {
	var code Code
	for range inlineUses + 1 {
		code.uses.fn("sin_f", 8)
	}
	code.uses.fn("erf_f", 8)
	for range inlineUses + 1 {
		code.uses.fn("over_f", 8)
	}
	for range inlineScalarUses + 1 {
		code.uses.fn("tanh_f", 1)
	}
	code.uses.fn("fold_sum_f", 8)
	code.widths = []int{8}
	p := newPrelude()
	p.add(&code)
	text := p.text()
	for name, called := range map[string]bool{
		"sin_f8": false, "trig_f8": true, "erf_f8": false, "exp_f8": false, "tanh_f1": true, "exp_f1": false, "fma_f8": false,
		"over_f8": false, "fold_sum_f8": true,
	} {
		def := regexp.MustCompile(`(?m)^static .* ` + name + `\(`).FindString(text)
		if def == "" {
			t.Errorf("%s is not defined", name)
		} else if strings.Contains(def, "noinline") != called {
			t.Errorf("%q: is a function of its own: want %v", def, called)
		}
	}
}
