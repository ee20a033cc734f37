package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sort"
	"strings"
	"sync"

	"tcdbg/torch"
	"tcdbg/torch/nn"
)

type Namer interface{ Name() string }
type base struct{ name string }

func (b *base) Name() string     { return "base:" + b.name }
func (b *base) SetName(s string) { b.name = s }

type Logger struct {
	*base
	sync.Mutex
	io.Writer
	lines int
}

func (l *Logger) Log(format string, a ...any) (n int, err error) {
	l.Lock()
	defer l.Unlock()
	l.lines++
	return fmt.Fprintf(l, "["+l.Name()+"] "+format+"\n", a...)
}

type reverse struct{ sort.Interface }

func (r reverse) Less(i, j int) bool { return r.Interface.Less(j, i) }

type Seq struct{ nn.Module }
type Wrapped struct {
	Namer
	Seq
	Scale float64
}

func (w Wrapped) Forward(x *torch.Tensor) *torch.Tensor { return w.Seq.Forward(x).Mul(w.Scale) }

type Temp float64

func (t Temp) LogValue() slog.Value {
	return slog.GroupValue(slog.Float64("c", float64(t)), slog.String("u", "C"))
}

func main() {
	torch.ManualSeed(2)
	l := &Logger{base: &base{"a"}, Writer: os.Stdout}
	l.Log("%v %d", []string{"x"}, 3)
	l.SetName("b")
	var n Namer = l
	fmt.Fprintln(l, n.Name(), l.lines)
	s := []int{3, 1, 2}
	sort.Sort(reverse{sort.IntSlice(s)})
	fmt.Println(s)
	w := Wrapped{l, Seq{nn.NewLinear(2, 2)}, 3}
	f := torch.Compile(w.Forward)
	fmt.Println(f(torch.Zeros(1, 2)).Shape(), w.Name())
	h := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(g []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && len(g) == 0 {
			return slog.Attr{}
		}
		return a
	}}))
	h.With("who", n.Name()).WithGroup("g").Info("hi", "t", Temp(3), "e", fmt.Errorf("x %w", io.EOF), "k", struct{ A, B int }{1, 2})
	var wg sync.WaitGroup
	out := make([]string, 4)
	for i := range out {
		wg.Go(func() {
			y := f(torch.Full([]int{1, 2}, float64(i)))
			out[i] = fmt.Sprint(i, y.Shape())
			l.Log("%d", 0)
		})
	}
	wg.Wait()
	fmt.Println(strings.Join(out, ";"), l.lines)
	b, err := json.Marshal(struct {
		*base
		Wrapped `json:"w"`
		T       Temp
	}{nil, Wrapped{Scale: 2}, 4})
	fmt.Println(string(b), err)
	type tree map[string]tree
	t := tree{"a": {"b": nil, "c": {}}}
	fmt.Printf("%v %T %d\n", t, t["a"], len(t["a"]))
	b, err = json.Marshal(t)
	fmt.Println(string(b), err)
	type node struct {
		V    int
		Next *node
		Kids []node
		M    map[string]node
	}
	nd := node{1, &node{V: 2}, []node{{V: 3}}, map[string]node{"z": {V: 4}}}
	b, err = json.Marshal(nd)
	var back node
	fmt.Println(string(b), err, json.Unmarshal(b, &back), back.Next.V, back.Kids[0].V, back.M["z"].V)
	fmt.Printf("%+v\n", nd.Kids)
}
