package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

type kind int

func (k kind) String() string { return fmt.Sprint("kind", int(k)) }

type secret string

func (secret) LogValue() slog.Value { return slog.StringValue("REDACTED") }

// spy is a handler of the program.
type spy struct {
	slog.Handler
	n *int
}

func (s spy) Handle(ctx context.Context, r slog.Record) error {
	*s.n++
	f, _ := runtime.CallersFrames([]uintptr{r.PC}).Next()
	src := r.Source()
	fmt.Println("spy", filepath.Base(f.File), f.Line, f.Function, r.NumAttrs(), src.Line, src.Function)
	return s.Handler.Handle(ctx, r)
}

func (s spy) WithAttrs(as []slog.Attr) slog.Handler { return spy{s.Handler.WithAttrs(as), s.n} }

func noTime(groups []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case time.Time:
		return slog.Attr{}
	case *slog.Source:
		v.File = filepath.Base(v.File)
	}
	return a
}

// wrapped logs for its caller, as the documentation of package slog shows.
func wrapped(l *slog.Logger, format string, args ...any) {
	var pcs [1]uintptr
	runtime.Callers(2, pcs[:])
	r := slog.NewRecord(time.Now(), slog.LevelInfo, fmt.Sprintf(format, args...), pcs[0])
	_ = l.Handler().Handle(context.Background(), r)
}

type model struct{ log *slog.Logger }

func (m *model) step(i int) {
	m.log.Info("step", "i", i)
	defer func() { m.log.WarnContext(context.Background(), "deferred", slog.Int("i", i)) }()
}

func main() {
	log.SetFlags(log.Lshortfile)
	log.SetOutput(os.Stdout)
	slog.Info("default", "k", kind(3), "s", secret("x"), "err", errors.New("e"))
	slog.Default().With("a", 1).WithGroup("g").Warn("grouped", "b", []float32{1, 2})
	slog.Debug("not seen")
	slog.Log(context.Background(), slog.LevelError+2, "log", "d", time.Second)
	slog.LogAttrs(context.Background(), slog.LevelInfo, "attrs", slog.Group("g", "x", 1, "y", struct{ A, B int }{1, 2}))
	log.Printf("printf %d", 1)
	log.New(os.Stdout, "pre ", log.Lshortfile|log.Lmsgprefix).Println("own")
	slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn).Print("bridge")
	log.SetFlags(log.Lshortfile)

	var buf bytes.Buffer
	opts := &slog.HandlerOptions{AddSource: true, Level: slog.LevelDebug, ReplaceAttr: noTime}
	for _, h := range []slog.Handler{slog.NewTextHandler(&buf, opts), slog.NewJSONHandler(&buf, opts)} {
		l := slog.New(h)
		l.Info("here", "k", kind(1), "m", map[string]any{"a": []int{1}, "b": nil})
		(&model{l}).step(2)
		wrapped(l, "wrapped %d", 3)
		for range 2 {
			func() { l.Error("closure", "err", fmt.Errorf("w: %w", os.ErrNotExist)) }()
		}
		n := 0
		s := slog.New(spy{h, &n})
		s.With("w", true).Info("spied", "x", 1.5)
		f := l.Info
		f("method value")
		fmt.Println(n)
	}
	fmt.Print(strings.ReplaceAll(buf.String(), "\\\\", "/"))

	log.SetFlags(log.Lshortfile)
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stdout, opts)))
	log.Print("through slog")
	log.Printf("through %s", "slog")
	func() {
		defer func() { fmt.Println(recover()) }()
		log.Panicln("panics", 1)
	}()
	slog.Info("last")
	slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn).Print("bridge")
	lv := new(slog.LevelVar)
	lv.Set(slog.LevelWarn)
	l2 := slog.New(slog.NewMultiHandler(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: lv, AddSource: true, ReplaceAttr: noTime}), slog.DiscardHandler))
	l2.Info("no")
	l2.Warn("yes", slog.Any("lv", lv), "!BADKEY")
}
