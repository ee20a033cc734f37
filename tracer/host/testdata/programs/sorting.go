// sorting: package sort calls the program's comparisons, which may sort, panic,
// recover, or be native functions themselves.
package main

import (
	"fmt"
	"sort"
	"strings"
)

type person struct {
	name string
	age  int
}

type byAge []person

func (p byAge) Len() int           { return len(p) }
func (p byAge) Less(i, j int) bool { return p[i].age < p[j].age }
func (p byAge) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }

func people() []person {
	return []person{{"Ann", 40}, {"Bob", 30}, {"Cy", 40}, {"Di", 20}, {"Ed", 30}, {"Flo", 40}}
}

// nested sorts a copy within every comparison.
func nested(p []person) {
	sort.Slice(p, func(i, j int) bool {
		q := []int{p[i].age, p[j].age}
		sort.Slice(q, func(a, b int) bool { return q[a] > q[b] })
		return q[0] != p[i].age || p[i].age == p[j].age && p[i].name < p[j].name
	})
}

func failing(xs []int) (err any) {
	defer func() { err = recover() }()
	n := 0
	sort.Slice(xs, func(i, j int) bool {
		if n++; n == 5 {
			panic(fmt.Sprintf("comparison %d", n))
		}
		return xs[i] < xs[j]
	})
	return nil
}

func main() {
	p := people()
	sort.SliceStable(p, func(i, j int) bool { return p[i].age < p[j].age })
	fmt.Println(p)
	fmt.Println(sort.SliceIsSorted(p, func(i, j int) bool { return p[i].age < p[j].age }), sort.SliceIsSorted(p, func(i, j int) bool { return p[i].name < p[j].name }))
	p = people()
	nested(p)
	fmt.Println(p)
	p = people()
	sort.Stable(sort.Reverse(byAge(p)))
	fmt.Println(p)
	fmt.Println(failing([]int{5, 3, 9, 1, 7, 2, 8}))
	xs := make([]int, 1000)
	for i := range xs {
		xs[i] = i * 7919 % 1009
	}
	calls := 0
	sort.Slice(xs, func(i, j int) bool { calls++; return xs[i] < xs[j] })
	fmt.Println(sort.IntsAreSorted(xs), xs[:5], xs[995:], calls > 1000)
	for _, want := range []int{-1, 0, 500, 2000} {
		at := sort.Search(len(xs), func(i int) bool { return xs[i] >= want })
		fmt.Print(at, " ")
	}
	at, found := sort.Find(len(xs), func(i int) int { return 77 - xs[i] })
	fmt.Println(xs[at] >= 77, found == (xs[at] == 77))
	words := strings.Fields("the quick brown fox jumps over the lazy dog")
	sort.Slice(words, func(i, j int) bool {
		return len(words[i]) > len(words[j]) || len(words[i]) == len(words[j]) && words[i] < words[j]
	})
	fmt.Println(words)
}
