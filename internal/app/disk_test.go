package app

import (
	"fmt"
	"os"
)

// textBefore is a file that neg is for, and textAfter the file after it.
const (
	textBefore = "a\n\tif c {\n\t\tx\n\t}\nz\n"
	textAfter  = "a\n\ty\nz\n"
)

// fixAndUndo writes a fix into model.go, or takes it back where the folder's name ends so.
func fixAndUndo(dir string) int {
	f := &feed{root: dir}
	err := f.Apply("model.go", neg)
	if err == nil {
		fmt.Println("fixed")
		if os.Getenv("TCDBG_TEST_UNDO") == "" {
			return 0
		}
		if _, err = f.Undo(); err == nil {
			fmt.Println("undone")
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}
