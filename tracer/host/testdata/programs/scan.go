package main

import "fmt"

type Celsius float64

func (c *Celsius) Scan(st fmt.ScanState, verb rune) error {
	var f float64
	_, err := fmt.Fscan(st, &f)
	*c = Celsius(f * 2)
	return err
}

type Small int8
type Text string
type Sq struct{ S float64 }

func main() {
	var c Celsius
	var n Small
	var s Text
	fmt.Println(fmt.Scan(&c, &n, &s))
	fmt.Println(c, n, s)
	fmt.Println(fmt.Scanf("\n%v-%d-%s\n", &c, &n, &s))
	fmt.Println(c, n, s)
	fmt.Println(fmt.Scanln(&c, &s))
	fmt.Println(c, n, s)
	fmt.Println(fmt.Scanln(&n))
	fmt.Println(fmt.Scan(&Sq{}))
	fmt.Println(fmt.Scan(n))
	fmt.Println(fmt.Scan(&n, &n))
}
