package host

import (
	"fmt"
	"os"
	"testing"
)

// childEnv makes the test binary run a program instead of the tests: tests that
// look at exit codes and fatal errors start it again.
const childEnv = "TCDBG_HOST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		_ = os.Unsetenv(childEnv)
		os.Exit(child(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// child runs the program args[0] with the remaining arguments.
func child(args []string) int {
	p, err := Load(LoadConfig{Paths: args[:1]})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return New(p, Config{Args: args}).Run().Code
}
