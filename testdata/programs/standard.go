package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/optim"
)

type Dur time.Duration

func (d *Dur) Set(s string) error {
	x, err := time.ParseDuration(s)
	*d = Dur(x)
	return err
}
func (d *Dur) String() string { return time.Duration(*d).String() }

type list []string

func (l *list) Set(s string) error { *l = append(*l, strings.Split(s, ",")...); return nil }
func (l *list) String() string     { return fmt.Sprint([]string(*l)) }

type upper struct{ r io.Reader }

func (u upper) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	copy(p, bytes.ToUpper(p[:n]))
	return n, err
}

type count struct{ n int }

func (c *count) Write(p []byte) (int, error) { c.n += len(p); return len(p), nil }

type Point struct {
	X, Y float64
	When time.Time `json:"when"`
	Big  *big.Int
	D    time.Duration
	R    *regexp.Regexp
	H    hexed
}

type hexed []byte

func (h hexed) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h)), nil }
func (h *hexed) UnmarshalText(b []byte) (err error) {
	*h, err = hex.DecodeString(string(b))
	return
}

type state func(*lexer) state
type lexer struct {
	in  []rune
	pos int
	out []string
}

func start(l *lexer) state {
	switch {
	case l.pos >= len(l.in):
		return nil
	case unicode.IsDigit(l.in[l.pos]):
		return number
	case unicode.IsSpace(l.in[l.pos]):
		l.pos++
		return start
	}
	l.out = append(l.out, string(l.in[l.pos]))
	l.pos++
	return start
}
func number(l *lexer) state {
	i := l.pos
	for l.pos < len(l.in) && unicode.IsDigit(l.in[l.pos]) {
		l.pos++
	}
	l.out = append(l.out, "n"+string(l.in[i:l.pos]))
	return start
}

func main() {
	fs := flag.NewFlagSet("x", flag.ContinueOnError)
	fs.SetOutput(os.Stdout)
	var d Dur
	var l list
	fs.Var(&d, "d", "how `long`")
	fs.Var(&l, "l", "names")
	n := fs.Int("n", 3, "count")
	fs.Func("f", "func", func(s string) error { _, err := strconv.Atoi(s); return err })
	fmt.Println(fs.Parse([]string{"-d", "3s", "-l", "a,b", "-l=c", "-n", "4", "rest"}), d, l, *n, fs.Args(), fs.NArg())
	fmt.Println(fs.Parse([]string{"-f", "x"}))
	fs.VisitAll(func(f *flag.Flag) { fmt.Print(f.Name, "=", f.Value, "/", f.DefValue, " ") })
	fmt.Println()
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "a\tbb\t%v\t\nccc\td\t%v\t\n", l, Dur(3))
	w.Flush()
	var c count
	k, err := io.Copy(io.MultiWriter(os.Stdout, &c), io.TeeReader(upper{strings.NewReader("hello\n")}, &c))
	fmt.Println(k, err, c.n)
	sc := bufio.NewScanner(upper{strings.NewReader("one two\nthree")})
	sc.Split(bufio.ScanWords)
	for sc.Scan() {
		fmt.Print(sc.Text(), ";")
	}
	fmt.Println(sc.Err())
	rec, err := csv.NewReader(upper{strings.NewReader("a,\"b \"\"q\"\"\"\n1,2,3\n")}).ReadAll()
	var pe *csv.ParseError
	fmt.Println(rec, err, errors.As(err, &pe), errors.Is(err, csv.ErrFieldCount))
	p := Point{1, 2, time.Date(2024, 2, 29, 1, 2, 3, 4, time.UTC), big.NewInt(1 << 40), time.Second, regexp.MustCompile("a+"), hexed{1, 255}}
	b, err := json.Marshal(p)
	fmt.Println(string(b), err)
	var q Point
	fmt.Println(json.Unmarshal(b, &q), q, q.When.Equal(p.When), q.Big.Cmp(p.Big))
	lx := &lexer{in: []rune("12 + (3*45)")}
	for s := state(start); s != nil; {
		s = s(lx)
	}
	fmt.Println(lx.out)
	re := regexp.MustCompile(`(?P<k>\w+)=(?P<v>\d+)`)
	fmt.Println(re.ReplaceAllStringFunc("a=1 b=22", func(s string) string { return "<" + s + ">" }), re.FindAllStringSubmatch("a=1 b=22", -1), re.SubexpNames())
	dir, _ := os.MkdirTemp("", "h")
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "a.txt"), []byte("x"), 0o600)
	filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, p)
		fmt.Println(rel, e.IsDir(), err)
		return nil
	})
	_, err = os.Open(filepath.Join(dir, "none"))
	fmt.Println(errors.Is(err, os.ErrNotExist))
	r := rand.New(rand.NewSource(3))
	perm := r.Perm(5)
	r.Shuffle(len(perm), func(i, j int) { perm[i], perm[j] = perm[j], perm[i] })
	fmt.Println(perm, r.Intn(10), fmt.Sprintf("%.4f", r.Float64()))

	torch.ManualSeed(0)
	wt := torch.Randn(3, 1, kw.RequiresGrad(true))
	x := torch.Randn(16, 3)
	y := x.Matmul(torch.NewTensor([][]float32{{1}, {-2}, {0.5}}))
	opt := optim.NewSGD([]*torch.Tensor{wt}, kw.Lr(0.1))
	step := torch.Compile(func(x, y *torch.Tensor) *torch.Tensor { return x.Matmul(wt).Sub(y).Pow(2).Mean() })
	for i := range 20 {
		opt.ZeroGrad()
		loss := step(x, y)
		loss.Backward()
		opt.Step()
		if i%10 == 9 {
			fmt.Printf("%d %.4f\n", i, loss.Item())
		}
	}
	fmt.Println(wt.Detach())
}
