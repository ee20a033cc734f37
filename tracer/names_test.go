package tracer

import (
	"regexp"
	"strings"
	"testing"
)

// TestTemporariesAreNamed breaks a graph in the middle of expressions: what they
// have computed by then goes by the user's own words in guards and placeholders.
func TestTemporariesAreNamed(t *testing.T) {
	o := both(t, `
type config struct {
	Scale float64
	Names []string
}

func f(x *torch.Tensor, cfg *config) *torch.Tensor {
	return x.Sin().Mul(cfg.Scale*2 + x.Sum().Item()*0).Add(len(cfg.Names))
}

func main() {
	g := torch.Compile(f)
	fmt.Println(g(torch.Ones(2), &config{2, nil}))
	fmt.Println(g(torch.Ones(2), &config{3, []string{"a"}}))
}`)
	var guards, graphs strings.Builder
	for _, out := range o.log.out {
		if out.Kind == "dynamo_cpp_guards_str" {
			guards.Write(out.Payload)
		}
	}
	for _, g := range o.graphs() {
		graphs.WriteString(g.Go)
	}
	for _, want := range []string{"L['x.Sin()']", "L['cfg.Scale * 2 + x.Sum().Item() * 0'] == 4"} {
		if !strings.Contains(guards.String(), want) {
			t.Errorf("no guard speaks of %s\n%s", want, guards.String())
		}
	}
	if m := regexp.MustCompile(`[LG]\['&?t\d+'\]`).FindString(guards.String()); m != "" {
		t.Errorf("a guard speaks of the register %s\n%s", m, guards.String())
	}
	for _, b := range o.breaks() {
		if regexp.MustCompile(`\bt\d+\b`).MatchString(b.Detail) {
			t.Errorf("a break speaks of a register: %s", b.Detail)
		}
	}
	if len(o.recompiles()) == 0 {
		t.Error("nothing was compiled again: the guards were not asked")
	}
	for _, g := range o.graphs() {
		for _, in := range g.Ops {
			if strings.ContainsAny(in, "('&*") {
				t.Errorf("%s is no name of a node", in)
			}
		}
	}
}

// TestVariadicArgumentsAreNamed: what is passed to a variadic parameter goes by
// its own name, not by its place in a list that the user never wrote.
func TestVariadicArgumentsAreNamed(t *testing.T) {
	o := both(t, `
func f(x *torch.Tensor, rows int) *torch.Tensor {
	fmt.Println("go")
	return x.View(rows, x.Sum().ItemInt()/rows)
}

func main() {
	g := torch.Compile(f)
	fmt.Println(g(torch.Ones(6), 2))
	fmt.Println(g(torch.Ones(6), 3))
}`)
	misses := o.recompiles()
	if len(misses) != 1 {
		t.Fatalf("%d recompiles, want 1: %+v", len(misses), misses)
	}
	if got := misses[0].Failures[0].Message; !strings.HasPrefix(got, "L['rows'] == 2") {
		t.Errorf("the guard says %q", got)
	}
}

// TestBreaksQuoteTheProgram: contexts of breaks are the user's code, not the
// instruction that it became.
func TestBreaksQuoteTheProgram(t *testing.T) {
	o := both(t, `
func f(x *torch.Tensor, c chan int) *torch.Tensor {
	y := x.Sin()
	c <- y.Dim()
	go func() { c <- 1 }()
	k := <-c + <-c
	return y.Mul(k)
}

func main() {
	g := torch.Compile(f)
	c := make(chan int, 4)
	fmt.Println(g(torch.Ones(2), c))
}`)
	for _, b := range o.breaks() {
		if !strings.Contains(b.Detail, "c <- y.Dim()") && !strings.Contains(b.Detail, "<-c") {
			t.Errorf("%s says %q", b.Code, b.Detail)
		}
	}
	if len(o.breaks()) == 0 {
		t.Error("no break")
	}
}

// TestOnlyTheProgramsWordsAreArguments: a guard's argument is what the user wrote.
// What torch's own code had computed when a call of it broke, and what a range
// counts, has no such word, and no report may advise to change it.
func TestOnlyTheProgramsWordsAreArguments(t *testing.T) {
	o := both(t, `
func f(fc *nn.Linear, xs []*torch.Tensor) *torch.Tensor {
	total := xs[0]
	for range xs {
		total = total.Add(total.Mul(2))
		fmt.Println("so far")
		total = fc.Forward(total)
	}
	return total
}

func main() {
	g := torch.Compile(f)
	fc := nn.NewLinear(4, 4)
	for _, n := range []int{2, 3} {
		fmt.Println(g(fc, []*torch.Tensor{torch.Ones(n, 4), torch.Ones(n, 4)}).Shape())
	}
}`)
	arguments := map[string]bool{}
	for _, miss := range o.recompiles() {
		for _, f := range miss.Failures {
			arguments[f.Argument] = true
			if regexp.MustCompile(`\bt\d+\b`).MatchString(f.Guard.Text) {
				t.Errorf("a guard speaks of a register: %s", f.Guard.Text)
			}
		}
	}
	for got := range arguments {
		if got != "" && got != "xs[0]" && got != "total" {
			t.Errorf("%q is no word of the program", got)
		}
	}
	if !arguments["xs[0]"] || !arguments[""] {
		t.Errorf("arguments %v: want the user's xs[0], and the counter without a word", arguments)
	}
}

// TestNamesOfWhatIsRangedOver: the variables of a range over a function, what it
// counts and the elements of a literal go by the program's words.
func TestNamesOfWhatIsRangedOver(t *testing.T) {
	o := both(t, `
func f(x *torch.Tensor, turns []int) *torch.Tensor {
	for _, by := range slices.All(turns) {
		fmt.Println("turn")
		x = x.Roll([]int{by})
	}
	for range turns {
		fmt.Println("again")
		x = x.Neg()
	}
	for range 2 {
		fmt.Println("and again")
		x = x.Neg()
	}
	return x
}

func main() {
	g := torch.Compile(f)
	fmt.Println(g(torch.Arange(4), []int{1, 2}))
}`)
	var said []string
	for _, miss := range o.recompiles() {
		for _, f := range miss.Failures {
			said = append(said, f.Argument+": "+f.Guard.Text+" is "+f.Actual)
		}
	}
	text := strings.Join(said, "\n")
	for _, want := range []string{
		"by: L['by'] == 1 is 2", "\n: (L['rangeindex'] + 1) < L['len(turns)'] is false (rangeindex = ",
		"\n: (L['rangecount'] + 1) < 2",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing says %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "arg1") {
		t.Errorf("a number stands for a name:\n%s", text)
	}
}
