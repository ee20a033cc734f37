package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"tcdbg/torch"
)

type Code int

const (
	NotFound Code = iota + 1
	Broken
)

func (c Code) Error() string { return "code " + strconv.Itoa(int(c)) }
func (c Code) Is(t error) bool {
	return t == fs.ErrNotExist && c == NotFound
}

type OpError struct {
	Op   string
	Path string
	Err  error
}

func (e *OpError) Error() string { return e.Op + " " + e.Path + ": " + e.Err.Error() }
func (e *OpError) Unwrap() error { return e.Err }
func (e *OpError) Timeout() bool { return e.Op == "wait" }

type multi []error

func (m multi) Error() string {
	var b strings.Builder
	for i, e := range m {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(e.Error())
	}
	return b.String()
}
func (m multi) Unwrap() []error { return m }

type asErr struct{ n int }

func (a asErr) Error() string { return fmt.Sprint("as", a.n) }
func (a asErr) As(target any) bool {
	switch t := target.(type) {
	case *Code:
		*t = Code(a.n)
		return true
	case **OpError:
		*t = &OpError{"as", "p", io.EOF}
		return true
	}
	return false
}

type valueErr struct{ msg string }

func (v valueErr) Error() string { return v.msg }

func find(n int) error {
	switch n {
	case 0:
		return nil
	case 1:
		return &OpError{"open", "x", NotFound}
	case 2:
		return fmt.Errorf("wrapped %d: %w and %w", n, Broken, &OpError{"wait", "y", io.ErrUnexpectedEOF})
	case 3:
		return multi{Broken, io.EOF, &OpError{"z", "z", context.DeadlineExceeded}}
	case 4:
		return errors.Join(valueErr{"v"}, asErr{7})
	}
	panic(fmt.Errorf("bad %d: %w", n, valueErr{"out of range"}))
}

func safe(n int) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("recovered: %w", r)
		default:
			err = fmt.Errorf("recovered %v", r)
		}
	}()
	return find(n)
}

func main() {
	for n := range 6 {
		err := safe(n)
		var c Code
		var op *OpError
		var to interface{ Timeout() bool }
		var v valueErr
		fmt.Println(n, err, errors.Is(err, fs.ErrNotExist), errors.Is(err, io.EOF), errors.Is(err, context.DeadlineExceeded), errors.Is(err, Broken), errors.Is(err, valueErr{"v"}))
		fmt.Println(errors.As(err, &c), c, errors.As(err, &op), op, errors.As(err, &to), to != nil && to.Timeout(), errors.As(err, &v), v)
		fmt.Printf("%v %+v %T %q\n", err, err, err, []error{err})
	}
	_, err := os.Open("/does/not/exist")
	var pe *fs.PathError
	fmt.Println(errors.As(err, &pe), pe.Op, pe.Path, errors.Is(err, os.ErrNotExist))
	_, err = strconv.Atoi("x1")
	var ne *strconv.NumError
	fmt.Println(errors.As(err, &ne), ne.Func, ne.Num, errors.Is(err, strconv.ErrSyntax))
	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Millisecond, Broken)
	defer cancel()
	<-ctx.Done()
	fmt.Println(ctx.Err(), context.Cause(ctx), errors.Is(context.Cause(ctx), Broken))
	type key struct{ s string }
	ctx2 := context.WithValue(context.Background(), key{"a"}, Broken)
	fmt.Println(ctx2.Value(key{"a"}), ctx2.Value(key{"b"}), ctx2)
	f := torch.Compile(func(x *torch.Tensor) (*torch.Tensor, error) {
		if x.Size(0) > 2 {
			return nil, &OpError{"forward", "x", Broken}
		}
		return x.Add(1), nil
	})
	for _, n := range []int{2, 3} {
		y, err := f(torch.Ones(n))
		fmt.Println(y, err, errors.Is(err, Broken))
	}
	func() {
		defer func() {
			r := recover()
			fmt.Println(r, r.(error).(Code) == NotFound)
		}()
		panic(NotFound)
	}()
	defer fmt.Println("deferred")
	defer func() {
		fmt.Println("inner", recover())
		panic(fmt.Sprintf("%v", errors.Join(NotFound, Broken)))
	}()
	var m map[string]*OpError
	fmt.Println(m["x"].Op)
}
