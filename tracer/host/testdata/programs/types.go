// types: %T names the program's types, in formats with widths, stars and indexes.
package main

import "fmt"

type Int int

func (i Int) String() string { return fmt.Sprintf("Int=%d", int(i)) }

type S struct{ A, B any }

func main() {
	fmt.Printf("%[1]T %[1]v\n", Int(2))
	fmt.Printf("%[2]v %[1]T %T\n", Int(2), "x")
	fmt.Printf("%[1]T %v %[3]*[2]T|%[1]T\n", Int(2), S{}, 10)
	fmt.Printf("%*d|%-*T|\n", 5, 3, 10, Int(1))
	fmt.Printf("%T %T %T\n", S{1, 2}, &S{}, []S{})
	fmt.Printf("%v %+v\n", S{Int(1), "x"}, S{Int(1), "x"})
	fmt.Printf("%[3]d %[9]d %T\n", 1, 2, 3)
	fmt.Printf("%T %T\n", map[Int]S{}, func(Int) S { return S{} })
	fmt.Printf("%12T|%-12T|%T 100%%\n", Int(1), Int(1), 2.5)
	fmt.Printf("%T %d\n", Int(7))
	fmt.Printf("%[1", Int(7))
	fmt.Printf("%T %", Int(7))
	fmt.Println()
}
