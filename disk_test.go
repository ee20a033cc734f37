package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/internal/test"
)

// This file is disks that are full, that cannot be written and that fail: a program ends
// as it would have without us.

// exitsWith3 is a program with a result that has an exit code of its own.
const exitsWith3 = `package main

import (
	"fmt"
	"os"

	"tcdbg/torch"
)

func main() {
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Sin().Add(1) })
	fmt.Println(f(torch.Ones(2)))
	os.Exit(3)
}
`

// TestUnrecorded: where there can be no run folder a program without screens runs, which
// is said in one line, and what is there to show or judge the record refuses.
func TestUnrecorded(t *testing.T) {
	s := warmSession(t)
	none := filepath.Join(s.state, "file")
	if err := os.WriteFile(none, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.state = none
	file := program(t, exitsWith3)
	for _, c := range []struct {
		args []string
		out  string
		code int
		last string // of the line
	}{
		{[]string{"run", "--plain", file}, "tensor([1.8415, 1.8415])\n", 3, "this run is not recorded"},
		{
			[]string{"exec", "--plain", "--", "sh", "-c", "echo out; echo ${TORCH_TRACE-none}; exit 4"},
			"out\nnone\n", 4, "this run is not recorded",
		},
		{[]string{"exec", "--plain", "--", "sh", "-c", "kill -9 $$"}, "", 137, "was ended by SIGKILL"},
		{[]string{"exec", "--plain", "--", "no-such-command"}, "", 66, "is it installed and on PATH?"},
		{[]string{"explain", file}, "", 73, "can be written"},
		{[]string{"check", file}, "", 73, "can be written"},
	} {
		out, errs, code := s.run(t, c.args...)
		if out != c.out || code != c.code {
			t.Errorf("%q: exit %d, standard output %q, want %d and %q\n%s", c.args, code, out, c.code, c.out, errs)
		}
		errs = strings.TrimSuffix(errs, "\n")
		if first, _, _ := strings.Cut(errs, "\n"); !strings.Contains(first, "cannot make the run folder "+none) {
			t.Errorf("%q does not say what failed first: %s", c.args, errs)
		}
		if !strings.HasSuffix(errs, c.last) {
			t.Errorf("%q ends with %q, want %q", c.args, errs, c.last)
		}
	}
}

// smallDisk runs a command line, "$@", with a file system of so many KB as the folder
// $SMALL, of which so many are taken.
const smallDisk = `mount -t tmpfs -o size=$KB"k" none "$SMALL" && head -c "$FILL"k /dev/zero > "$SMALL/fill"; exec "$@"`

// TestFullDisk has the disk of the records, and then that of compiled code, fill up at
// many places of a run: the program ends as it would have.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if err := exec.Command("unshare", "-rm", "true").Run(); err != nil {
		t.Skip("no user namespaces here: a full disk is not tested")
	}
	file := program(t, exitsWith3)
	for _, disk := range []struct {
		env      string
		kb, step int
	}{{"XDG_STATE_HOME", 64, 8}, {"XDG_CACHE_HOME", 400, 80}} {
		if !test.IsLong() {
			disk.step *= 5
		}
		s := newSession(t)
		if _, _, code := s.run(t, "run", "--plain", file); code != 3 { // fills the cache
			t.Fatalf("exit code %d on an empty disk", code)
		}
		unshare, err := exec.LookPath("unshare")
		if err != nil {
			t.Fatal(err)
		}
		for fill := 0; fill < disk.kb; fill += disk.step {
			small := t.TempDir()
			cmd := s.command()
			cmd.Path = unshare
			cmd.Args = []string{"unshare", "-rm", "sh", "-c", smallDisk, "sh", s.bin, "run", "--plain", file}
			cmd.Env = append(cmd.Env, disk.env+"="+small, "SMALL="+small, fmt.Sprint("KB=", disk.kb), fmt.Sprint("FILL=", fill))
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			_ = cmd.Run()
			code := cmd.ProcessState.ExitCode()
			if code != 3 || out.String() != "tensor([1.8415, 1.8415])\n" || strings.Count(errs.String(), "tcdbg: ") > 2 {
				t.Errorf("%s with %d of %d KB taken: exit code %d, output %q, errors %q", disk.env, fill, disk.kb, code, &out, &errs)
			}
		}
	}
}
