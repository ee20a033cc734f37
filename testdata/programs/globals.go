package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"

	"tcdbg/torch"
	"tcdbg/torch/nn"
)

var (
	B     = A * 2
	A     = initA()
	order []string
	Cfg   = mustLoad(`{"hidden": 5, "act": "tanh", "layers": [4, 5, 3], "scale": 0.25, "opts": {"bias": true}}`)
	lr    = flag.Float64("lr", 0.5, "rate")
	reg   = map[string]func(*torch.Tensor) *torch.Tensor{"tanh": torch.Tanh, "relu": torch.Relu}
)

func initA() int { order = append(order, "A"); return 21 }
func init()      { order = append(order, "init1") }
func init() {
	order = append(order, "init2")
	reg["gelu"] = func(x *torch.Tensor) *torch.Tensor { return x.Mul(x.Sigmoid()) }
}

type Config struct {
	Hidden int             `json:"hidden"`
	Act    string          `json:"act"`
	Layers []int           `json:"layers"`
	Scale  float64         `json:"scale"`
	Opts   map[string]bool `json:"opts"`
}

func mustLoad(s string) (c Config) {
	if err := json.NewDecoder(strings.NewReader(s)).Decode(&c); err != nil {
		panic(err)
	}
	return
}

type Net struct {
	Layers []*nn.Linear
	cfg    *Config
	steps  int
}

func (n *Net) Forward(x *torch.Tensor) *torch.Tensor {
	n.steps++
	v := reflect.ValueOf(n).Elem()
	if v.Kind() == reflect.Struct && v.NumField() == 3 {
		x = x.Mul(math.Sqrt(n.cfg.Scale))
	}
	for i, l := range n.Layers {
		x = l.Forward(x)
		if i < len(n.Layers)-1 {
			x = reg[n.cfg.Act](x)
		}
	}
	if Cfg.Opts["bias"] {
		x = x.Add(*lr)
	}
	return x.Mul(B)
}

func main() {
	flag.Parse()
	torch.ManualSeed(0)
	fmt.Println(order, A, B, Cfg, *lr, flag.Args(), len(os.Args))
	n := &Net{cfg: &Cfg}
	for i := 1; i < len(Cfg.Layers); i++ {
		n.Layers = append(n.Layers, nn.NewLinear(Cfg.Layers[i-1], Cfg.Layers[i]))
	}
	f := torch.Compile(n.Forward)
	x := torch.Ones(2, 4)
	fmt.Println(f(x).Detach())
	Cfg.Act = "gelu"
	fmt.Println(f(x).Detach())
	B = 7
	fmt.Println(f(x).Detach())
	*lr = 3
	fmt.Println(f(x).Detach())
	reg["gelu"] = torch.Sin
	fmt.Println(f(x).Detach(), n.steps)
	data, _ := json.MarshalIndent(n.cfg, "", " ")
	os.Stdout.Write(data)
	fmt.Println()
}
