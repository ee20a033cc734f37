package journal

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// Results come back as they were: numbers, texts, times; what has pointers, and errors, are
// refused.
func TestResults(t *testing.T) {
	type pair struct {
		A int32
		B [2]float64
	}
	for _, v := range []any{
		true, 3, int8(-1), uint64(1) << 63, 1.5, float32(2.5), "text \x00", "", time.Second, pair{7, [2]float64{1, 2}}, time.Now(),
	} {
		from := reflect.New(reflect.TypeOf(v)).Elem()
		from.Set(reflect.ValueOf(v))
		b, err := Encode(nil, from)
		if err != nil {
			t.Fatalf("%v: %v", v, err)
		}
		to := reflect.New(reflect.TypeOf(v)).Elem()
		rest, err := Decode(append(b, "rest"...), to)
		if err != nil || string(rest) != "rest" || to.Interface() != v {
			t.Errorf("%v came back as %v, %q, %v", v, to, rest, err)
		}
		if len(b) > 0 {
			if _, err := Decode(b[:len(b)-1], to); err == nil {
				t.Errorf("%v: half of it was taken", v)
			}
		}
	}
	failed := errors.New("no")
	for _, v := range []reflect.Value{
		reflect.ValueOf(&failed).Elem(), reflect.ValueOf(new(*int)).Elem(), reflect.ValueOf(&[]int{1}).Elem(),
		reflect.ValueOf(&struct{ p *int }{}).Elem(),
	} {
		if _, err := Encode(nil, v); err == nil {
			t.Errorf("%s was kept", v.Type())
		}
	}
}

// A tape that is read loses the program where it calls something else, or more than it did.
func TestOtherCalls(t *testing.T) {
	rec := Record()
	rec.Put("os.Getpid", []byte("1"))
	for _, calls := range [][]string{{"os.Getppid"}, {"os.Getpid", "os.Getpid"}} {
		var lost []string
		again := Replay(rec.Data(), t.TempDir())
		again.Lost = func(why string) { lost = append(lost, why) }
		for _, c := range calls {
			again.Take(c)
		}
		again.Take("os.Getpid")
		if len(lost) != 1 || !strings.Contains(lost[0], "it calls "+calls[len(calls)-1]) {
			t.Errorf("%q: %q", calls, lost)
		}
	}
}

// What comes after a refusal is not kept, and the first reason stays.
func TestRefusal(t *testing.T) {
	rec := Record()
	rec.Put("a", nil)
	rec.Clock.Store(7)
	rec.Refuse("first")
	rec.Clock.Store(9)
	rec.Refuse("second")
	rec.Put("b", nil)
	why, at := rec.Refusal()
	if d := rec.Data(); why != "first" || at != 7 || len(d.Entries) != 1 {
		t.Errorf("%s at %d, %+v", why, at, d)
	}
}

// A program that runs again writes into another folder, reads there what it has written
// and finds removed what it has removed; the files themselves stay.
func TestFilesAgain(t *testing.T) {
	dir, scratch := t.TempDir(), t.TempDir()
	old, made := filepath.Join(dir, "old"), filepath.Join(dir, "made")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(old, "old")
	rec := Record()
	rec.Path(Read, "os.ReadFile", old)
	write(rec.Path(Write, "os.WriteFile", made), "made")
	rec.Path(Read, "os.ReadFile", made)
	if err := os.Remove(rec.Path(Remove, "os.Remove", made)); err != nil {
		t.Fatal(err)
	}
	rec.Path(Read, "os.Stat", made)

	lost := ""
	again := Replay(rec.Data(), scratch)
	again.Lost = func(why string) { lost = why }
	if p := again.Path(Read, "os.ReadFile", old); p != old {
		t.Errorf("it reads %s", p)
	}
	own := again.Path(Write, "os.WriteFile", made)
	if !strings.HasPrefix(own, scratch) || again.Given(own) != made {
		t.Errorf("it writes %s", own)
	}
	write(own, "made")
	if p := again.Path(Read, "os.ReadFile", made); p != own {
		t.Errorf("it reads %s", p)
	}
	if err := os.Remove(again.Path(Remove, "os.Remove", made)); err != nil {
		t.Error(err)
	}
	write(made, "somebody else's")
	if p := again.Path(Read, "os.Stat", made); p != own || lost != "" {
		t.Errorf("after its removal it reads %s; %s", p, lost)
	}

	changed := Replay(rec.Data(), t.TempDir())
	changed.Lost = func(why string) { lost = why }
	write(old, "new")
	changed.Path(Read, "os.ReadFile", old)
	if lost != "os.ReadFile reads "+old+", which is not what it was then" {
		t.Errorf("lost: %q", lost)
	}
}

// Policies are those of functions and methods; what nobody has looked at is refused.
func TestPolicies(t *testing.T) {
	for name, want := range map[string]Policy{
		"strings.ToUpper": Pure, "(*strings.Builder).WriteString": Pure, "(*tcdbg/torch.Tensor).Add": Pure, "tcdbg/torch.Save": Write,
		"time.Now": Result, "(time.Time).Sub": Pure, "(*time.Timer).Reset": Wait, "os.Getenv": Pure, "(*os.File).Read": Pure,
		"math/rand.Intn": Random, "math/rand.New": Pure, "(*math/rand.Rand).Intn": Pure, "math/rand/v2.IntN": Random,
		"net.Dial": Refuse, "os/exec.Command": Refuse, "(*os/exec.Cmd).Run": Refuse, "syscall.Getpid": Refuse, "testing.Benchmark": Refuse,
		"(*sync.WaitGroup).Go": Wait, "(*sync.Mutex).Lock": Wait, "(*sync.Mutex).TryLock": Pure, "context.AfterFunc": Refuse,
	} {
		if got := Of(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

// What is kept is bounded: a program that asks for the time without end can be run again up
// to a moment.
func TestBound(t *testing.T) {
	rec := Record()
	rec.Clock.Store(5)
	for range mostEntries + 10 {
		rec.Put("time.Now", nil)
	}
	if why, at := rec.Refusal(); at != 5 || !strings.Contains(why, "than are kept") || len(rec.Data().Entries) != mostEntries {
		t.Errorf("%q at %d", why, at)
	}
	rec = Record()
	rec.Put("crypto/rand.Read", make([]byte, mostBytes+1))
	if why, _ := rec.Refusal(); why == "" || len(rec.Data().Entries) != 0 {
		t.Errorf("%q", why)
	}
	rec = Record()
	in := rec.Stdin(strings.NewReader(strings.Repeat("x", mostBytes+1)))
	if n, err := io.Copy(io.Discard, in); n != mostBytes+1 || err != nil {
		t.Errorf("the program reads %d, %v", n, err)
	}
	if why, _ := rec.Refusal(); !strings.Contains(why, "more input than is kept") {
		t.Errorf("%q", why)
	}
}

// A file is digested again when it has changed.
func TestFileIsDigestedOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	rec := Record()
	for i, text := range []string{"one", "two"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(time.Duration(i-10) * time.Second)
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
		rec.Path(Read, "os.ReadFile", file)
		rec.Path(Read, "os.ReadFile", file)
	}
	e := rec.Data().Entries
	if len(e) != 4 || string(e[0].Data) != string(e[1].Data) || string(e[1].Data) == string(e[2].Data) || len(rec.files.known) != 1 {
		t.Errorf("%q %v", e, rec.files.known)
	}
}
