package stop_test

import (
	"strings"
	"testing"

	"tcdbg/logs"
)

const kindsOfValues = `
type Celsius float64

type Point struct{ X, Y int }

func (p Point) Sum() int { return p.X + p.Y }

func (p *Point) Move(d int) int { p.X += d; return p.X }

type Node struct {
	Name string
	Next *Node
	any  any
}

type Shape interface{ Sum() int }

type Pair[T any] struct{ A, B T }

var global = map[string]int{"b": 2, "a": 1}

func largest[T int | float64](xs ...T) T {
	var best T
	for _, x := range xs {
		if x > best {
			best = x
		}
	}
	return best // largest
}

func forever() int {
	for {
	}
}

func two() (int, error) { return 1, errors.New("bad") }

func show(arg int, text string, opts ...float64) (result int) {
	b, u8, f32, c := true, uint8(200), float32(0.1), complex(1, 2)
	long := strings.Repeat("x", 1000)
	temp := Celsius(36.6)
	p := Point{1, 2}
	pp := &p
	loop := &Node{Name: "loop"}
	loop.Next = loop
	var none *Node
	ints := []int{3, 1, 2}
	many := make([]int, 200)
	var nothing []string
	array := [3]string{"a", "b\n", "c"}
	m := map[int]Point{2: {3, 4}, 1: {1, 1}}
	var iface Shape = p
	var empty any
	err := errors.New("bad")
	fn := func(x int) int { return x + arg }
	ch := make(chan int, 4)
	ch <- 1
	wait := 1500 * time.Millisecond
	x := torch.NewTensor([]float32{1, 2, -3, float32(math.NaN())})
	w := torch.Ones(2, 3, kw.RequiresGrad(true))
	pair := Pair[string]{"l", "r"}
	big := torch.Zeros(600, 600)
	arr := [2]Point{{1, 2}, {3, 4}}
	result = arg + len(opts)
	fmt.Sprint(b, u8, f32, c, long, temp, pp, loop, none, ints, many, nothing, array, m, iface, empty, err, fn(1), ch, wait, pair, arr) // stop
	fmt.Sprint(x.Sum(), w.Sum(), big.Sum(), text)
	later := 1
	return result + later
}

func main() {
	fmt.Println(show(7, "hé\"", 1, 2))
	fmt.Println(largest(1.5, 2.5), largest(1, 3, 2))
}
`

// Values of every kind of type, folded and bounded.
func TestValues(t *testing.T) {
	s := load(t, "\n"+kindsOfValues)
	st := s.run(s.at("// stop"))
	for name, want := range map[string]string{
		"arg": "7", "text": `"hé\""`, "opts": "[1, 2]", "result": "9", "b": "true", "u8": "200", "f32": "0.1", "c": "(1+2i)",
		"temp": "36.6", "p": "{X: 1, Y: 2}", "pp": "&{X: 1, Y: 2}", "none": "nil", "ints": "[3, 1, 2]", "nothing": "nil",
		"array": `["a", "b\n", "c"]`, "m": "map[1: {X: 1, Y: 1}, 2: {X: 3, Y: 4}]", "iface": "{X: 1, Y: 2}", "empty": "nil",
		"err": `"bad"`, "fn": "show.func1", "ch": "1 of 4", "wait": "1.5s", "pair": `{A: "l", B: "r"}`,
		"loop": `&{Name: "loop", Next: (what it is inside of), any: nil}`,
	} {
		if v := local(t, st, 0, name); v.Text != want || v.Unknown != "" {
			t.Errorf("%s: %q, want %q: %+v", name, v.Text, want, v)
		}
	}
	for name, want := range map[string]string{
		"temp": "main.Celsius", "pp": "*main.Point", "iface": "main.Shape(main.Point)", "err": "error(*errors.errorString)",
		"pair": "main.Pair[string]", "empty": "any", "m": "map[int]main.Point",
	} {
		if v := local(t, st, 0, name); v.Type != want {
			t.Errorf("%s is of type %q, want %q", name, v.Type, want)
		}
	}
	if v := local(t, st, 0, "long"); len(v.Text) > 400 || v.More < 600 {
		t.Errorf("long: %+v", v)
	}
	if v := local(t, st, 0, "many"); len(v.Items) != 50 || v.More != 150 {
		t.Errorf("many: %d items, %d more", len(v.Items), v.More)
	}
	if v := item(t, local(t, st, 0, "m"), "2", "Y"); v.Text != "4" {
		t.Errorf("m[2].Y: %+v", v)
	}
	x := local(t, st, 0, "x").Tensor
	if x == nil || x.Min != "-3" || x.Max != "2" || x.Mean != "0" || x.NaN != 1 || strings.Join(x.First, " ") != "1 2 -3 NaN" ||
		len(x.Histogram) != 16 || x.Sampled != 0 {
		t.Errorf("x: %+v", x)
	}
	w := local(t, st, 0, "w").Tensor
	if w == nil || !w.RequiresGrad || strings.Join(w.Shape, " ") != "2 3" || strings.Join(w.Stride, " ") != "3 1" || w.Device != "cpu" {
		t.Errorf("w: %+v", w)
	}
	if big := local(t, st, 0, "big").Tensor; big == nil || big.Sampled != 436*600 {
		t.Errorf("big: %+v", big)
	}
	if !local(t, st, 0, "opts").Arg || local(t, st, 0, "b").Arg {
		t.Error("arguments are not told from variables")
	}
	for _, v := range st.Stack[0].Locals {
		if v.Name == "later" {
			t.Errorf("a variable of a later line is shown: %+v", v)
		}
	}
	s.finish()
}

// expressions are evaluated in the frame of kindsOfValues; an error begins with "error: ".
var expressions = []struct{ expr, want string }{
	{"arg", "7"},
	{"arg + 1", "8"},
	{"arg*2 - 3", "11"},
	{"-arg", "-7"},
	{"arg / 2", "3"},
	{"arg % 4", "3"},
	{"arg << 2", "28"},
	{"arg &^ 2", "5"},
	{"7 / 2.0", "7/2"},
	{"1 << 70", "1180591620717411303424"},
	{`"a" + "b"`, `"ab"`},
	{"'x'", "120"},
	{"arg > 3 && b", "true"},
	{"!b || arg == 7", "true"},
	{"text", `"hé\""`},
	{"text[1:]", `"é\""`},
	{"len(text)", "4"},
	{`text + "!"`, `"hé\"!"`},
	{"u8 + 100", "44"},
	{"float64(f32) > 0.1", "true"},
	{"int(temp)", "36"},
	{"temp * 2", "73.2"},
	{"Celsius(1) + temp", "37.6"},
	{"real(c)", "1"},
	{"p.X", "1"},
	{"p", "{X: 1, Y: 2}"},
	{"p.Sum()", "3"},
	{"pp.Y", "2"},
	{"pp.Sum()", "3"},
	{"*pp", "{X: 1, Y: 2}"},
	{"p == Point{1, 2}", "true"},
	{"&Point{5, 6}", "&{X: 5, Y: 6}"},
	{"loop.Next.Next.Name", `"loop"`},
	{"none == nil", "true"},
	{"ints[1]", "1"},
	{"ints[1:]", "[1, 2]"},
	{"ints[:2:3]", "[3, 1]"},
	{"len(ints) + cap(ints)", "6"},
	{"len(many)", "200"},
	{"array[1]", `"b\n"`},
	{"m[2].Y", "4"},
	{"m[9]", "{X: 0, Y: 0}"},
	{"len(m)", "2"},
	{"iface.Sum()", "3"},
	{"iface.(Point).X", "1"},
	{"empty == nil", "true"},
	{"err.Error()", `"bad"`},
	{"fn(10)", "17"},
	{"len(ch)", "1"},
	{"wait", "1.5s"},
	{"wait.Seconds()", "1.5"},
	{"pair.A + pair.B", `"lr"`},
	{"append(ints, 4)", "[3, 1, 2, 4]"},
	{"max(arg, 9)", "9"},
	{"global[\"a\"]", "1"},
	{"largest(ints...)", "3"},
	{"largest[float64](opts...)", "2"},
	{"two()", `(1, "bad")`},
	{"func(a int) int { return a * arg }(3)", "21"},
	{"strings.ToUpper(text)", `"HÉ\""`},
	{"fmt.Sprintf(\"%05.1f\", opts[1])", `"002.0"`},
	{"x.Shape()", "[4]"},
	{"x.At(1).Item()", "2"},
	{"w.Sum().Item()", "6"},
	{"w.Add(w).Data()", "[2, 2, 2, 2, 2, 2]"},
	{"x.Sum().Item() > 3", "false"},
	{"w.RequiresGrad()", "true"},
	{"torch.Ones(2).Data()", "[1, 1]"},
	{"[]int{1, 2}[1]", "2"},
	{"map[string]int{\"q\": 3}[\"q\"]", "3"},
	{"result", "9"},
	{"arr[1].X", "3"},
	{"string(rune(65))", `"A"`},
	{"[]byte(text)[0]", "104"},
	{"undefined", "error: undefined: undefined"},
	{"arg +", "error: syntax error: expected operand, found 'EOF'"},
	{"arg + text", "error: invalid operation: arg + text (mismatched types int and string)"},
	{"p.Z", "error: p.Z undefined (type main.Point has no field or method Z)"},
	{"Point", "error: Point is a type, not a value"},
	{"len", "error: len must be called"},
	{"nil", "error: nil has no type here"},
	{"ints[9]", "error: panic: runtime error: index out of range [9] with length 3"},
	{"none.Name", "error: panic: runtime error: invalid memory address or nil pointer dereference"},
	{"iface.(*Node)", "error: impossible type assertion: iface.(*Node)"},
	{"arg / len(nothing)", "error: panic: runtime error: integer divide by zero"},
	{"w.Add(x)", "error: panic: "},
	{"later", "error: undefined: later"},
	{"arg = 3", "error: syntax error: "},
	{"x.Reshape(3)", "error: panic: "},
	{"forever()", "error: it did not end within 2s"},
	{"func() int { panic(\"no\") }()", "error: panic: no"},
	{"<-make(chan int)", "error: it did not end within 2s"},
}

// Expressions mean what they mean in Go; what goes wrong is an error in words.
func TestEvaluate(t *testing.T) {
	s := load(t, "\n"+kindsOfValues)
	s.run(s.at("// stop"))
	for _, e := range expressions {
		got := s.eval(e.expr, 0)
		if got != e.want && !(strings.HasPrefix(e.want, "error: ") && strings.HasPrefix(got, e.want)) {
			t.Errorf("%s: %s, want %s", e.expr, got, e.want)
		}
	}
	if a := s.value("w", 0); a.Value.Tensor == nil || a.Value.Tensor.Max != "1" || a.Value.Type != "*torch.Tensor" {
		t.Errorf("w: %+v", a)
	}
	if got := s.eval("arg", 9); got != "error: the stack has no level 9" {
		t.Error(got)
	}
	// What is called does what it does: a variable with an address is changed.
	if got := s.eval("pp.Move(10)", 0); got != "11" {
		t.Error(got)
	}
	if got := s.eval("p.X", 0); got != "11" {
		t.Error(got)
	}
	st := s.run(s.at("// largest") + " if best > 2")
	if got := s.eval("best * 2", 0); got != "5" || local(t, st, 0, "best").Type != "float64" {
		t.Errorf("%s in %+v", got, st.Stack[0])
	}
	if e := s.finish(); e.Code != 0 || s.stdout.String() != "10\n2.5 3\n" {
		t.Errorf("%+v %q", e, s.stdout.String())
	}
}

// A watched expression is evaluated at every stop until it is not watched any more.
func TestWatches(t *testing.T) {
	s := load(t, "\n"+walk)
	s.send("watch", "a + b")
	s.send("watch", "nothing")
	st := s.run("func add")
	if len(st.Watches) != 2 || st.Watches[0].Value.Text != "0" || !strings.Contains(st.Watches[1].Error, "undefined") {
		t.Errorf("%+v", st.Watches)
	}
	s.send("unwatch", "nothing")
	if st = s.run(); len(st.Watches) != 1 || st.Watches[0].Value.Text != "1" {
		t.Errorf("%+v", st.Watches)
	}
	s.finish()
}

// A panic stops before the frames are unwound, unless somebody may catch it.
func TestRaised(t *testing.T) {
	s := load(t, `
func caught() (err error) {
	defer func() { err = fmt.Errorf("caught %v", recover()) }()
	var m map[string]int
	m["a"] = 1
	return nil
}

func index(xs []int, at int) int {
	return xs[at]
}

func main() {
	fmt.Println(caught())
	fmt.Println(index([]int{1, 2}, 5))
}
`)
	st := s.run("raised")
	if st.Kind != logs.StopRaised || st.Where.Func != "index" || !strings.Contains(st.Reason, "index out of range [5] with length 2") {
		t.Errorf("%+v", st)
	}
	if local(t, st, 0, "at").Text != "5" || s.eval("xs[at-4]", 0) != "2" || len(st.Stack) != 2 {
		t.Errorf("%+v", st.Stack)
	}
	if e := s.finish(); e.Code != 2 || !strings.Contains(s.stderr.String(), "index out of range") {
		t.Errorf("%+v %q", e, s.stderr.String())
	}
}

// A panic that a deferred function could have caught, but has not, stops when its frames
// are gone, and says so.
func TestRaisedTooLate(t *testing.T) {
	s := load(t, `
func main() {
	defer func() {
		if len(os.Args) > 5 {
			recover()
		}
	}()
	panic("no")
}
`)
	st := s.run("raised")
	if st.Kind != logs.StopRaised || !strings.Contains(st.Reason, "no") || len(st.Missing) == 0 || len(st.Stack) == 0 {
		t.Errorf("%+v", st)
	}
	if e := s.finish(); e.Code != 2 {
		t.Errorf("%+v", e)
	}
}

// A stop in one goroutine keeps the others at their next line; each has its name.
func TestGoroutines(t *testing.T) {
	s := load(t, `
var ticks int

func work(id int, wg *sync.WaitGroup) {
	defer wg.Done()
	for i := range 3 {
		time.Sleep(time.Millisecond)
		fmt.Println(id, i) // work
	}
}

func main() {
	var wg sync.WaitGroup
	for id := range 3 {
		wg.Add(1)
		go work(id, &wg)
	}
	go func() {
		for {
			ticks++
		}
	}()
	wg.Wait()
	fmt.Println("over")
}
`)
	threads := map[string]bool{}
	for i := range 9 {
		var st logs.Stop
		if i == 0 {
			st = s.run(s.at("// work"))
		} else {
			st = s.run()
		}
		threads[st.Thread] = true
		if !strings.HasPrefix(st.Thread, "goroutine ") || st.Where.Func != "work" {
			t.Errorf("%+v", st)
		}
		if a, b := s.eval("ticks", 0), s.eval("ticks", 0); a != b {
			t.Errorf("another goroutine goes on at a stop: %s, %s", a, b)
		}
	}
	if len(threads) != 3 {
		t.Errorf("%v", threads)
	}
	if e := s.finish(); e.Code != 0 || !strings.HasSuffix(s.stdout.String(), "over\n") {
		t.Errorf("%+v %q", e, s.stdout.String())
	}
}
