package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"text/template"
	"time"

	"tcdbg/torch"
)

type Level int

const (
	Low Level = iota
	High
)

func (l Level) String() string               { return [...]string{"low", "high"}[l] }
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }
func (l *Level) UnmarshalText(b []byte) error {
	*l = map[string]Level{"low": Low, "high": High}[string(b)]
	return nil
}

type Base struct {
	ID   int    `json:"id"`
	Name string `json:"name,omitempty"`
}
type Cfg struct {
	Base
	Lvl   Level         `json:"lvl"`
	M     map[Level]int `json:"m"`
	Any   any           `json:"any"`
	P     *float64      `json:"p"`
	D     time.Duration `json:"d"`
	inner int
	Sub   []struct{ X, Y int } `json:"sub"`
	Raw   json.RawMessage      `json:"raw"`
}
type list []string

func (l *list) String() string     { return strings.Join(*l, "+") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

type upper struct{ r io.Reader }

func (u upper) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	copy(p, bytes.ToUpper(p[:n]))
	return n, err
}

type byLen []string

func (b byLen) Len() int           { return len(b) }
func (b byLen) Less(i, j int) bool { return len(b[i]) < len(b[j]) }
func (b byLen) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }

type fm struct{ v float64 }

func (f fm) Format(s fmt.State, c rune) {
	w, ok := s.Width()
	fmt.Fprintf(s, "<%c %v %v %.1f>", c, w, ok, f.v)
}

type G[T any] struct{ v T }

func (g G[T]) Get() T { return g.v }

type errT struct{ op string }

func (e *errT) Error() string   { return e.op }
func (e *errT) Is(t error) bool { return t == os.ErrExist }
func (e *errT) Unwrap() []error { return []error{io.EOF, os.ErrClosed} }

func try(n string, f func()) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Println(n, "PANIC", r)
		}
	}()
	fmt.Print(n, ": ")
	f()
}

func main() {
	try("json", func() {
		pf := 2.5
		c := Cfg{Base: Base{3, "x"}, Lvl: High, M: map[Level]int{Low: 1}, Any: []any{1, "a", nil}, P: &pf, D: time.Second, Sub: []struct{ X, Y int }{{1, 2}}, Raw: json.RawMessage(`{"z":1}`)}
		b, err := json.Marshal(c)
		fmt.Println(string(b), err)
		var d Cfg
		fmt.Println(json.Unmarshal(b, &d), reflect.DeepEqual(c.Sub, d.Sub), d.Lvl, d.M, *d.P, d.D, d.Any, d.Name)
		fmt.Println(json.Unmarshal([]byte(`{"id":"no"}`), &d))
		fmt.Printf("%v|%+v|%T\n", c.Base, c.Base, c)
		dec := json.NewDecoder(strings.NewReader(`{"id":1,"bogus":2}`))
		dec.DisallowUnknownFields()
		fmt.Println(dec.Decode(&d))
	})
	try("flag", func() {
		fs := flag.NewFlagSet("t", flag.ContinueOnError)
		var l list
		fs.Var(&l, "l", "list")
		n := fs.Int("n", 3, "num")
		dur := fs.Duration("d", 0, "dur")
		fs.Func("f", "func", func(s string) error { l = append(l, "f"+s); return nil })
		fmt.Println(fs.Parse([]string{"-l", "a", "-n=4", "-l", "b", "-d", "3s", "-f", "z", "rest"}), l, *n, *dur, fs.Args())
	})
	try("reader", func() {
		sc := bufio.NewScanner(upper{strings.NewReader("ab cd\nef")})
		for sc.Scan() {
			fmt.Print(sc.Text(), "|")
		}
		b, _ := io.ReadAll(io.LimitReader(io.TeeReader(upper{strings.NewReader("hello")}, io.Discard), 3))
		fmt.Println(string(b))
	})
	try("sort", func() {
		s := byLen{"ccc", "a", "bb"}
		sort.Sort(sort.Reverse(s))
		fmt.Println(s, sort.IsSorted(s))
		slices.SortStableFunc(s, func(a, b string) int { return strings.Compare(a, b) })
		fmt.Println(s, sort.SearchStrings(s, "bb"))
	})
	try("fmt", func() {
		fmt.Printf("%v %6.2x %s %d %v %+v %T %T\n", fm{1}, fm{2}, High, High, G[int]{3}, G[Level]{1}, G[string]{}, G[G[int]]{})
		var a int
		var lv Level
		var s string
		n, err := fmt.Sscanf("12 abc 7", "%d %s %d", &a, &s, (*int)(&lv))
		fmt.Println(n, err, a, s, int(lv))
		fmt.Printf("%#v %v %p\n", Base{1, "q"}, []Level{Low, High}, nil)
		fmt.Printf("%#v %#v\n", G[int]{2}, map[string]Level{"a": 1})
		fmt.Printf("%v %v\n", &Base{1, "z"}, struct {
			L Level
			e error
		}{High, nil})
	})
	try("reflect", func() {
		c := Cfg{Base: Base{ID: 4}}
		t := reflect.TypeOf(c)
		for i := range t.NumField() {
			fmt.Print(t.Field(i).Name, ":", t.Field(i).Type, ":", t.Field(i).Tag.Get("json"), " ")
		}
		v := reflect.ValueOf(&c).Elem()
		v.FieldByName("Lvl").SetInt(1)
		fmt.Println(c.Lvl, t.Name(), t.Kind(), reflect.TypeOf(High).String())
		m := reflect.ValueOf(High).MethodByName("String")
		fmt.Println(m.Call(nil)[0], reflect.TypeOf(&c).NumMethod(), reflect.TypeFor[Level]().NumMethod())
		f := reflect.ValueOf(func(a int, b string) string { return fmt.Sprint(a, b) })
		fmt.Println(f.Call([]reflect.Value{reflect.ValueOf(1), reflect.ValueOf("x")})[0])
		sl := reflect.MakeSlice(reflect.TypeOf([]Level{}), 2, 2)
		sl.Index(1).Set(reflect.ValueOf(High))
		fmt.Println(sl.Interface().([]Level), reflect.TypeOf(G[int]{}))
	})
	try("errors", func() {
		e := fmt.Errorf("w: %w", &errT{"op"})
		var t *errT
		fmt.Println(e, errors.Is(e, os.ErrExist), errors.Is(e, io.EOF), errors.As(e, &t), t.op, errors.Join(e, nil, io.EOF))
	})
	try("template", func() {
		t := template.Must(template.New("x").Funcs(template.FuncMap{"up": strings.ToUpper}).Parse("{{range .L}}{{.Name|up}}={{.ID}} {{end}}{{.Lv}} {{.Lv.String}}\n"))
		fmt.Println(t.Execute(os.Stdout, struct {
			L  []Base
			Lv Level
		}{[]Base{{1, "a"}, {2, "b"}}, High}))
		w := tabwriter.NewWriter(os.Stdout, 0, 4, 1, ' ', 0)
		fmt.Fprintln(w, "a\tbbb\tc")
		fmt.Fprintln(w, "aaaa\tb\tc")
		w.Flush()
	})
	try("atomic", func() {
		var v atomic.Value
		v.Store(Base{1, "s"})
		var p atomic.Pointer[Base]
		p.Store(&Base{2, "t"})
		fmt.Println(v.Load().(Base).Name, p.Load().Name, p.CompareAndSwap(nil, nil))
		var m sync.Map
		m.Store(High, "h")
		x, ok := m.Load(Level(1))
		fmt.Println(x, ok)
		of := sync.OnceValue(func() int { fmt.Print("once "); return 5 })
		fmt.Println(of(), of())
	})
	try("binary", func() {
		var b bytes.Buffer
		fmt.Println(binary.Write(&b, binary.LittleEndian, struct {
			A uint16
			B float32
		}{1, 2}), b.Bytes())
		var h struct{ A, B uint16 }
		fmt.Println(binary.Read(&b, binary.BigEndian, &h), h)
	})
	try("misc", func() {
		_, file, line, ok := runtime.Caller(0)
		fmt.Println(file[strings.LastIndex(file, "/")+1:], line, ok)
		fmt.Println(regexp.MustCompile(`a(\d)`).ReplaceAllStringFunc("a1b a2", func(s string) string { return s + "!" }))
		fmt.Println(strings.Map(func(r rune) rune { return r + 1 }, "abc"), strings.FieldsFunc("a,b;c", func(r rune) bool { return r < 'a' }))
		fmt.Println(time.Duration(1500)*time.Millisecond, time.Unix(0, 0).UTC().Format(time.RFC3339), time.March)
		var e *errT
		var err error = e
		fmt.Println(err == nil, e == nil, reflect.ValueOf(err).IsNil())
		type pt struct{ x, y int }
		mm := map[any]int{pt{1, 2}: 1, "a": 2, High: 3, [2]int{1, 2}: 4}
		fmt.Println(mm[pt{1, 2}], mm["a"], mm[Level(1)], mm[1], mm[[2]int{1, 2}])
		fmt.Fprintln(os.Stderr, "stderr")
		fmt.Println(torch.Ones(2).String(), fmt.Sprintf("%.2f", torch.Ones(2)), fmt.Sprint(map[string]*torch.Tensor{"a": torch.Zeros(1)}))
	})
}
