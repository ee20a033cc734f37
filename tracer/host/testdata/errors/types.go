package main

import (
	"fmt"
	"os"
)

func main() {
	x := 1
	var s string = 2
	fmt.Println(undefined)
	return 3
}
