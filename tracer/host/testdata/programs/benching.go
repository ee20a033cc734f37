package main

import (
	"fmt"
	"testing"
)

type Small int8
type Sq struct{ S float64 }

func (s Sq) String() string { return fmt.Sprintf("Sq<%g>", s.S) }

func try(what string, f func() any) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Printf("%s: panic %T %v\n", what, r, r)
		}
	}()
	fmt.Println(what, f())
}

func main() {
	testing.Init()
	for i, end := range []func(testing.TB){
		func(t testing.TB) { t.Log(Sq{1}); t.Logf("%v", Sq{2}); fmt.Println(t.Failed(), t.Name()) },
		func(t testing.TB) { t.Error(Sq{1}); fmt.Println(t.Failed()) },
		func(t testing.TB) { t.Errorf("%v", Sq{1}); fmt.Println(t.Failed()) },
		func(t testing.TB) { t.Fatal(Sq{1}) },
		func(t testing.TB) { t.Fatalf("%v", Sq{1}) },
		func(t testing.TB) { t.Skip(Sq{1}) },
		func(t testing.TB) { t.Skipf("%v", Sq{1}) },
	} {
		reached := false
		testing.Benchmark(func(b *testing.B) {
			defer func() { fmt.Println(i, b.Failed(), b.Skipped(), recover()) }()
			b.StopTimer()
			if b.N > 1 {
				b.SkipNow()
			}
			end(b)
			reached = true
			b.SkipNow()
		})
		fmt.Println(i, reached)
	}
	var f testing.F
	f.Add("a", 3, []byte("x"))
	try("add", func() any { f.Add(Small(3)); return 0 })
	try("add", func() any { f.Add(Sq{3}); return 0 })
	try("fuzz", func() any { f.Fuzz(3); return 0 })
	try("fuzz", func() any { f.Fuzz(func(t *testing.T, s Sq) {}); return 0 })
	try("fuzz", func() any { f.Fuzz(func(t *testing.T, s string) {}); return 0 })
}
