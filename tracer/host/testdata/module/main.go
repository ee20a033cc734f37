package main

import (
	"fmt"

	"example.com/mod/sub"
	"example.com/other/er"
)

func main() { fmt.Println(sub.Double(helper()), er.Name, sub.Calls) }
