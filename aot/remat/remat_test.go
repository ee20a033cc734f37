package remat

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
)

func kept(c *Choice) (list []int) {
	for i, k := range c.Kept {
		if k {
			list = append(list, i)
		}
	}
	return list
}

// TestChoose has graphs whose cheapest choice is known.
func TestChoose(t *testing.T) {
	input := Value{Keep: 4, Again: Never}
	for name, c := range map[string]struct {
		values []Value
		kept   []int
	}{
		"an input is there, what is computed from it is not kept": {
			[]Value{input, {From: []int{0}, Keep: 8, Again: 1, Memory: 4, Wanted: true}},
			[]int{0},
		},
		"an input that nobody may keep": {
			[]Value{{Keep: Never, Again: Never}, {From: []int{0}, Keep: 8, Again: 1, Memory: 4, Wanted: true}},
			[]int{1},
		},
		"what takes long to compute is kept": {
			[]Value{input, {From: []int{0}, Keep: 8, Again: 9, Memory: 4, Wanted: true}},
			[]int{1},
		},
		"one value that two are computed from": {
			[]Value{
				input,
				{From: []int{0}, Keep: 8, Again: Never, Memory: 4},
				{From: []int{1}, Keep: 8, Again: 1, Memory: 4, Wanted: true},
				{From: []int{1}, Keep: 8, Again: 1, Memory: 4, Wanted: true},
			},
			[]int{1},
		},
		"the narrow place of an hourglass": {
			[]Value{
				{Keep: 40, Again: Never, Memory: 40},
				{From: []int{0}, Keep: 5, Again: 1, Memory: 5},
				{From: []int{1}, Keep: 40, Again: 1, Memory: 40, Wanted: true},
			},
			[]int{1},
		},
		"two inputs against their sum": {
			[]Value{input, input, {From: []int{0, 1}, Keep: 6, Again: 0, Memory: 1, Wanted: true}},
			[]int{2},
		},
		"nothing is wanted": {[]Value{input, {From: []int{0}, Keep: 1, Again: 1}}, nil},
	} {
		if got := kept(Choose(c.values)); !slices.Equal(got, c.kept) {
			t.Errorf("%s: kept %v, want %v", name, got, c.kept)
		}
	}
}

// chain is n expensive layers; the backward pass reads the result of each.
func chain(n int) []Value {
	values := []Value{{Keep: 10, Again: Never}}
	for i := range n {
		values = append(values, Value{From: []int{i}, Keep: 10, Again: int64(1000 + i), Memory: 10, Wanted: true})
	}
	return values
}

// TestWithin keeps what a budget allows, and of what takes longest to compute most.
func TestWithin(t *testing.T) {
	for limit, want := range map[int64]int64{100: 100, 99: 90, 50: 50, 5: 0, 0: 0} {
		c, fits := Within(chain(10), limit)
		if !fits || c.Memory != want {
			t.Errorf("limit %d: kept %d bytes, fits %v, want %d", limit, c.Memory, fits, want)
		}
	}
	random := append(chain(3), Value{From: []int{3}, Keep: 10, Again: Never, Memory: 10, Wanted: true})
	if c, fits := Within(random, 5); fits || c.Memory != 10 {
		t.Errorf("a value that cannot be computed again: %d bytes, fits %v", c.Memory, fits)
	}
}

// TestSmallestCut compares choices for random graphs with the best of all there are.
func TestSmallestCut(t *testing.T) {
	for seed := range int64(400) {
		values := randomValues(rand.New(rand.NewSource(seed)), 9)
		price := float64(seed % 3)
		got := cost(values, choose(values, price), price)
		if want := leastCost(values, price); got != want {
			t.Fatalf("seed %d: cost %v, the least is %v\n%+v", seed, got, want, values)
		}
	}
}

func randomValues(r *rand.Rand, n int) []Value {
	values := make([]Value, n)
	for i := range values {
		v := &values[i]
		v.Keep, v.Again, v.Memory = int64(r.Intn(9)), int64(r.Intn(9)), int64(r.Intn(9))
		v.Wanted = r.Intn(3) == 0
		if i == 0 || r.Intn(4) == 0 {
			v.Again = Never
		}
		for range r.Intn(3) {
			if i > 0 {
				v.From = append(v.From, r.Intn(i))
			}
		}
	}
	return values
}

// cost adds up what a choice costs; a value that is missing costs too much.
func cost(values []Value, c *Choice, price float64) float64 {
	sum := 0.0
	there := func(i int) bool { return c.Kept[i] || c.Again[i] }
	for i, v := range values {
		switch {
		case c.Kept[i]:
			sum += capacity(v.Keep) + price*float64(v.Memory)
		case c.Again[i]:
			sum += capacity(v.Again)
			if slices.ContainsFunc(v.From, func(j int) bool { return !there(j) }) {
				return never
			}
		case v.Wanted:
			return never
		}
	}
	return sum
}

// leastCost tries the three states of each value.
func leastCost(values []Value, price float64) float64 {
	least := never
	c := &Choice{Kept: make([]bool, len(values)), Again: make([]bool, len(values))}
	var try func(i int)
	try = func(i int) {
		if i == len(values) {
			least = min(least, cost(values, c, price))
			return
		}
		for state := range 3 {
			c.Kept[i], c.Again[i] = state == 1, state == 2
			try(i + 1)
		}
	}
	try(0)
	return least
}

// BenchmarkChoose is graphs of 20,000 values: a chain in which each is read, and random ones.
func BenchmarkChoose(b *testing.B) {
	r := rand.New(rand.NewSource(1))
	for name, values := range map[string][]Value{"chain": chain(20_000), "random": randomValues(r, 20_000), "layers": layers(2_000)} {
		b.Run(fmt.Sprintf("%s/%d", name, len(values)), func(b *testing.B) {
			for b.Loop() {
				Choose(values)
			}
		})
		b.Run(fmt.Sprintf("%s/%d/budget", name, len(values)), func(b *testing.B) {
			best := Choose(values).Memory
			for b.Loop() {
				Within(values, best/2)
			}
		})
	}
}

// layers is a residual network: a product, eight cheap steps, of which the last adds what came before.
func layers(n int) []Value {
	values := []Value{{Keep: 10, Again: Never}}
	for i := range n {
		at := len(values) - 1
		values = append(values, Value{From: []int{at}, Keep: 20, Again: Never, Memory: 10, Wanted: i%2 == 0})
		for k := range 8 {
			values = append(values, Value{From: []int{len(values) - 1}, Keep: 20, Again: int64(1 + k), Memory: 10, Wanted: k%2 == 0})
		}
		last := &values[len(values)-1]
		last.From = append(last.From, at)
		last.Keep = 10
	}
	return values
}
