package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"

	"tcdbg/torch"
)

type Dtype torch.DType
type Optim interface{ LR() float64 }
type SGD struct {
	Rate float64 `json:"lr"`
}
type Adam struct {
	Rate  float64    `json:"lr"`
	Betas [2]float64 `json:"betas"`
}

func (s SGD) LR() float64   { return s.Rate }
func (a *Adam) LR() float64 { return a.Rate }

type OptimBox struct{ Optim }

func (o *OptimBox) UnmarshalJSON(b []byte) error {
	var head struct{ Type string }
	if err := json.Unmarshal(b, &head); err != nil {
		return err
	}
	switch head.Type {
	case "sgd":
		var s SGD
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		o.Optim = s
	case "adam":
		a := &Adam{Betas: [2]float64{0.9, 0.999}}
		if err := json.Unmarshal(b, a); err != nil {
			return err
		}
		o.Optim = a
	default:
		return fmt.Errorf("unknown optimiser %q", head.Type)
	}
	return nil
}
func (o OptimBox) MarshalJSON() ([]byte, error) {
	switch x := o.Optim.(type) {
	case SGD:
		return json.Marshal(struct {
			Type string
			SGD
		}{"sgd", x})
	case *Adam:
		return json.Marshal(struct {
			Type string
			*Adam
		}{"adam", x})
	}
	return []byte("null"), nil
}

type Duration struct{ time.Duration }

func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }
func (d *Duration) UnmarshalText(b []byte) (err error) {
	d.Duration, err = time.ParseDuration(string(b))
	return
}

type Level int

func (l Level) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "L%d", int(l)), nil }
func (l *Level) UnmarshalText(b []byte) error {
	_, err := fmt.Sscanf(string(b), "L%d", (*int)(l))
	return err
}

type Common struct {
	Seed  int64     `json:"seed"`
	When  time.Time `json:"when,omitzero"`
	Extra *string   `json:"extra"`
}
type hiddenBase struct {
	Visible string
	secret  string
}
type Config struct {
	Common
	*hiddenBase
	Opt     OptimBox            `json:"optimizer"`
	Timeout Duration            `json:"timeout"`
	Levels  map[Level][]float32 `json:"levels"`
	Raw     json.RawMessage     `json:"raw,omitempty"`
	Num     json.Number         `json:"num"`
	Big     *big.Int            `json:"big"`
	Bytes   []byte              `json:"bytes"`
	Arr     [2]bool             `json:"arr"`
	Str     int                 `json:"str,string"`
	Skip    func()              `json:"-"`
	Dash    int                 `json:"-,"`
	Any     any
	Nested  struct {
		A, B int
		C    struct{ D []Level }
	}
	Ptr *Config `json:",omitempty"`
}

func main() {
	const text = `{"seed": 7, "when": "2024-01-02T03:04:05Z", "optimizer": {"type": "adam", "lr": 0.1},
 "timeout": "1m30s", "levels": {"L3": [1, 2.5], "L1": null}, "raw": {"a": [1, 2]}, "num": 12.50, "big": 123456789012345678901234567890,
 "bytes": "aGk=", "arr": [true], "str": "42", "-": 5, "Any": {"x": [1, "a", null, 1e3]}, "nested": {"a": 1, "C": {"D": ["L5"]}}, "Unknown": 1, "VISIBLE": "v",
 "Ptr": {"seed": 8, "optimizer": {"Type": "sgd", "lr": 0.5}, "timeout": "0s"}}`
	var c Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Println("first:", err)
		c.hiddenBase = &hiddenBase{}
		fmt.Println(json.Unmarshal([]byte(text), &c))
	}
	fmt.Println(c.Seed, c.When.Year(), c.Opt.LR(), c.Timeout, c.Levels, string(c.Raw), c.Num, c.Big, string(c.Bytes), c.Arr, c.Str, c.Dash, c.Any, c.Nested, c.Ptr.Opt.LR(), c.Visible)
	b, err := json.Marshal(c)
	fmt.Println(string(b), err)
	for _, bad := range []string{`{"optimizer":{"type":"x"}}`, `{"timeout":"zz"}`, `{"levels":{"K":[]}}`, `{"arr":3}`, `{"Nested":{"C":{"D":[1]}}}`, `{"Nested":{"C":{"D":3}}}`, `{"seed":1.5}`, `{`, `[]`, `{"seed":"x"}`, `{"str":"x"}`} {
		var d Config
		err := json.Unmarshal([]byte(bad), &d)
		var te *json.UnmarshalTypeError
		fmt.Println(err, errors.As(err, &te))
		if te != nil {
			fmt.Println(te.Field, te.Struct, te.Value, te.Type, te.Offset)
		}
	}
	dec := json.NewDecoder(strings.NewReader(`{"Rate":1,"lr":2} {"lr":3} {"zz":1}`))
	dec.DisallowUnknownFields()
	for {
		var s SGD
		err := dec.Decode(&s)
		if err == io.EOF {
			break
		}
		fmt.Println(s, err)
		if err != nil {
			break
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent(">", " ")
	enc.SetEscapeHTML(false)
	fmt.Println(enc.Encode(map[Level]any{2: SGD{1}, 1: &Adam{Rate: 2}, 3: []Optim{SGD{3}, nil}, 4: "<b>"}))
	fmt.Print(buf.String())
	var opts []OptimBox
	fmt.Println(json.Unmarshal([]byte(`[{"type":"sgd","lr":1},{"type":"adam"},null]`), &opts))
	var m map[string]*SGD
	fmt.Println(json.Unmarshal([]byte(`{"a":{"lr":1},"b":null}`), &m), m["a"].Rate, m["b"])
	var sl = []SGD{{1}, {2}, {3}}
	fmt.Println(json.Unmarshal([]byte(`[{"lr":9}]`), &sl), sl)
	var o Optim = &Adam{Rate: 4}
	fmt.Println(json.Unmarshal([]byte(`{"lr":5}`), o), o.LR())
	var o2 Optim
	fmt.Println(json.Unmarshal([]byte(`{"lr":5}`), &o2), o2)
	_, err = json.Marshal(map[string]any{"c": make(chan Level), "f": 1})
	fmt.Println(err)
	_, err = json.Marshal(badM{})
	fmt.Println(err)
	lr := c.Opt.LR()
	f := torch.Compile(func(w, g *torch.Tensor) *torch.Tensor { return w.Sub(g.Mul(lr)) })
	fmt.Println(f(torch.Ones(2), torch.Ones(2)))
}

type badM struct{}

func (badM) MarshalJSON() ([]byte, error) { return nil, errors.New("cannot") }
