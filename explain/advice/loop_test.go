package advice

import (
	"strings"
	"testing"

	"tcdbg/tracer/breaks"
)

// A loop's body is worth a function of its own where something is left to compile in it, and where
// it has no entries for each element: of metrics that a loop runs over each is a function, a tensor
// as an index is read out as a number.
func TestABodyThatIsNoFunctionOfItsOwn(t *testing.T) {
	for _, c := range []struct {
		loop  string
		apart bool
	}{
		{"for m, fn in self.metrics.items():|    v = x.sin()|    result.add(m, fn(x, y).item())", false},
		{"for i in hits:|    z = z + 1|    self.alerts.append(score[i].item())", false},
		{"for i in hits:|    z = z + w[z[0], i + 1]|    self.alerts.append(z.item())", false},
		{"for x in xs:|    self.alerts.append(x.item())", false},
		{"for x in xs:|    # a comment|    self.alerts.append(x.item())", false},
		{"for x in xs:|    y = x.sin()|    self.alerts.append(y.item())", true},
		{"for i, x in enumerate(xs):|    y = [x.sin(), torch.ones(3)[0]]  # fn(i)[i]|    self.alerts.append(y[0].item())", true},
		{"for fn, x in xs:|    y = make.fn(x, [fn]).sin()|    self.alerts.append(y.item())", true},
		{"while n > 0:|    n = n - 1|    self.alerts.append(x.item())", false}, // its condition asks a number
	} {
		body := []string{"def f(self, xs):"}
		for line := range strings.SplitSeq(c.loop, "|") {
			body = append(body, "    "+line)
		}
		f := Finding{Body: body, At: len(body) - 1}
		f.Line = strings.TrimSpace(body[f.At])
		if text := LostLoop(&f); has(text, "compile the loop's body") != c.apart || has(text, "leave the loop outside") == c.apart {
			t.Errorf("%s: %s", c.loop, text)
		}
	}
}

// A loop over a tensor's values whose body keeps them has nothing to compile, and what is kept would
// be tensors in place of numbers.
func TestALoopThatKeepsAValueIsNotCompiled(t *testing.T) {
	for body, compile := range map[string]bool{
		"        self.usage[e] += c":                           false,
		"        y = y + x * c|        self.seen.append(c)":    false,
		"        total = total + x.sin().sum() * c|    return": true,
		"": false,
	} {
		f := Finding{Kind: Break, Code: breaks.TensorToList, Line: "for e, c in enumerate(counts.tolist()):", At: 1}
		if f.Body = []string{"def f(counts):", "    " + f.Line}; body != "" {
			f.Body = append(f.Body, strings.Split(body, "|")...)
		}
		if text := textOf(t, &f); has(text, "compile its body") != compile || !has(text, "leave the loop outside") {
			t.Errorf("%q: %s", body, text)
		}
	}
	f := Finding{Kind: Break, Code: breaks.TensorToList, Line: "for c in counts.tolist():"}
	if text := textOf(t, &f); has(text, "compile its body") {
		t.Errorf("a loop that cannot be read: %s", text)
	}
}

// Elements of a list that becomes a tensor are tensors, which a line may have as an index.
func TestAListIsNotToBecomeATensor(t *testing.T) {
	f := Finding{Kind: Recompile, Guard: breaks.LengthChanged, Name: "banned", Expected: "1", Line: "for t in banned:"}
	if text := textOf(t, &f); has(text, "tensor") || !has(text, "pad a list") {
		t.Error(text)
	}
}
