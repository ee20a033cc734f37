package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"tcdbg/torch"
)

type Shape []int

func (s Shape) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("rank", len(s)), slog.Any("dims", []int(s)))
}

type Secret string

func (Secret) LogValue() slog.Value { return slog.StringValue("***") }

type Level int

func (l Level) Level() slog.Level { return slog.Level(l) }

type Config struct {
	Name string
	LR   float64
	in   int
}

func (c *Config) String() string { return "cfg:" + c.Name }

type memory struct {
	mu     *sync.Mutex
	lines  *[]string
	prefix string
	attrs  []slog.Attr
	min    slog.Leveler
}

func (m memory) Enabled(_ context.Context, l slog.Level) bool { return l >= m.min.Level() }
func (m memory) Handle(ctx context.Context, r slog.Record) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", r.Level, r.Message)
	if id, ok := ctx.Value(ctxKey{}).(int); ok {
		fmt.Fprintf(&b, " id=%d", id)
	}
	write := func(a slog.Attr) bool {
		v := a.Value.Resolve()
		fmt.Fprintf(&b, " %s%s=%v(%s)", m.prefix, a.Key, v, v.Kind())
		return true
	}
	for _, a := range m.attrs {
		write(a)
	}
	r.Attrs(write)
	m.mu.Lock()
	defer m.mu.Unlock()
	*m.lines = append(*m.lines, b.String())
	return nil
}
func (m memory) WithAttrs(as []slog.Attr) slog.Handler {
	m.attrs = append(slices.Clip(m.attrs), as...)
	return m
}
func (m memory) WithGroup(g string) slog.Handler { m.prefix += g + "."; return m }

type ctxKey struct{}

type tee []slog.Handler

func (t tee) Enabled(ctx context.Context, l slog.Level) bool {
	return slices.ContainsFunc(t, func(h slog.Handler) bool { return h.Enabled(ctx, l) })
}
func (t tee) Handle(ctx context.Context, r slog.Record) error {
	for _, h := range t {
		if h.Enabled(ctx, r.Level) {
			if err := h.Handle(ctx, r.Clone()); err != nil {
				return err
			}
		}
	}
	return nil
}
func (t tee) WithAttrs(as []slog.Attr) slog.Handler {
	out := make(tee, len(t))
	for i, h := range t {
		out[i] = h.WithAttrs(as)
	}
	return out
}
func (t tee) WithGroup(g string) slog.Handler {
	out := make(tee, len(t))
	for i, h := range t {
		out[i] = h.WithGroup(g)
	}
	return out
}

type Model struct {
	log   *slog.Logger
	steps int
}

func (m *Model) Forward(x *torch.Tensor) *torch.Tensor {
	y := x.Mul(2).Add(1)
	m.steps++
	m.log.Debug("forward", "shape", Shape(x.Shape()), "step", m.steps)
	return y.Relu()
}

func main() {
	noTime := func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && len(groups) == 0 {
			return slog.Attr{}
		}
		if a.Key == "lr" {
			return slog.String("lr", fmt.Sprintf("%.3f@%v", a.Value.Float64(), groups))
		}
		return a
	}
	var level slog.LevelVar
	var lines []string
	mem := memory{mu: new(sync.Mutex), lines: &lines, min: Level(-8)}
	text := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: &level, ReplaceAttr: noTime})
	js := slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: noTime})
	l := slog.New(tee{text, js, mem})
	c := &Config{"tiny", 0.1, 3}
	l.Info("start", "cfg", c, "val", *c, "shape", Shape{2, 3}, "key", Secret("pw"), "lr", 0.1)
	g := l.WithGroup("train").With("lr", 0.25, slog.Group("opt", "name", "adam", "beta", []float64{0.9, 0.99}))
	g.Warn("slow", "err", fmt.Errorf("w: %w", os.ErrNotExist), "d", 1500*time.Millisecond, "m", map[string]int{"b": 2, "a": 1}, "nil", nil, "odd")
	g.LogAttrs(context.WithValue(context.Background(), ctxKey{}, 7), slog.LevelError+1, "attrs", slog.Any("s", Shape{1}), slog.Uint64("u", 3), slog.Bool("b", true))
	level.Set(slog.LevelDebug)
	m := &Model{log: g}
	f := torch.Compile(m.Forward)
	for i := range 3 {
		fmt.Println(f(torch.Ones(2, i+1)))
	}
	slog.SetDefault(l)
	slog.Info("default", "x", torch.Ones(2).Sum().Item(), "t", torch.Ones(2))
	fmt.Println(strings.Join(lines, "\n"))
	fmt.Println(l.Enabled(context.Background(), -4), level.Level(), Level(3).Level())
}
