package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
	"tcdbg/torch/optim"
)

type TrainState struct {
	Epoch int       `json:"epoch"`
	Best  float64   `json:"best"`
	Hist  []float64 `json:"hist,omitempty"`
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func main() {
	torch.ManualSeed(0)
	dir := must(os.MkdirTemp("", "ck"))
	defer os.RemoveAll(dir)
	var sb strings.Builder
	for i := range 12 {
		fmt.Fprintf(&sb, "%d,%.2f,%v\n", i, float64(i)*0.3, i%2)
	}
	p := filepath.Join(dir, "d.csv")
	if err := os.WriteFile(p, []byte(sb.String()), 0o644); err != nil {
		panic(err)
	}
	fh := must(os.Open(p))
	rows := must(csv.NewReader(bufio.NewReader(fh)).ReadAll())
	fh.Close()
	var X [][]float64
	var Y []int
	for _, r := range rows {
		X = append(X, []float64{must(strconv.ParseFloat(r[0], 64)) / 10, must(strconv.ParseFloat(r[1], 64))})
		Y = append(Y, must(strconv.Atoi(r[2])))
	}
	x, y := torch.NewTensor(X), torch.NewTensor(Y)
	m := nn.NewSequential(nn.NewLinear(2, 8), nn.NewTanh(), nn.NewLinear(8, 2))
	opt := optim.NewAdam(nn.Parameters(m), kw.Lr(0.1))
	st := TrainState{Best: 1e9}
	f := torch.Compile(func(x, y *torch.Tensor) *torch.Tensor { return F.CrossEntropy(m.Forward(x), y) })
	for st.Epoch = 0; st.Epoch < 6; st.Epoch++ {
		opt.ZeroGrad()
		l := f(x, y)
		l.Backward()
		opt.Step()
		loss := math.Round(l.Item()*1e4) / 1e4 // backends add in other orders
		st.Hist = append(st.Hist, loss)
		if loss < st.Best {
			st.Best = loss
			if err := nn.Save(m, filepath.Join(dir, "m.pt")); err != nil {
				panic(err)
			}
			must(0, optim.Save(opt, filepath.Join(dir, "o.pt")))
		}
	}
	b := must(json.Marshal(st))
	must(0, os.WriteFile(filepath.Join(dir, "s.json"), b, 0o600))
	var st2 TrainState
	must(0, json.Unmarshal(must(os.ReadFile(filepath.Join(dir, "s.json"))), &st2))
	fmt.Printf("%+v\n", st2)
	m2 := nn.NewSequential(nn.NewLinear(2, 8), nn.NewTanh(), nn.NewLinear(8, 2))
	fmt.Println(nn.Load(m2, filepath.Join(dir, "m.pt")), nn.Load(m2, filepath.Join(dir, "nope.pt")) != nil)
	g := torch.Compile(m2.Forward)
	fmt.Println(g(x).Detach().At(0))
	must(0, torch.SaveSafetensors(map[string]*torch.Tensor{"a": x}, filepath.Join(dir, "x.safetensors")))
	mp := must(torch.LoadSafetensors(filepath.Join(dir, "x.safetensors")))
	fmt.Println(mp["a"].Equal(x).Bool())
	sc := bufio.NewScanner(strings.NewReader("a b\nc"))
	sc.Split(bufio.ScanWords)
	for sc.Scan() {
		fmt.Print(sc.Text(), ";")
	}
	fmt.Println()
}
