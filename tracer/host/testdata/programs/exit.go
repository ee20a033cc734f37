package main

import (
	"fmt"
	"os"
)

func main() {
	defer fmt.Println("not printed")
	fmt.Println("before", len(os.Args) > 0)
	os.Exit(3)
}
