package results

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain/remedy"
)

// This file reads the results of a trial and compares two.

// Process is what one process wrote.
type Process struct {
	Hello Hello
	Calls []Call
	Grads []Grads
	End   *End // nil: it was killed, or crashed
	path  string
}

// Trial is the results of all processes of a trial, ranks in order, others as they started.
type Trial struct {
	Processes []*Process
	Output    string // standard output
	Long      bool   // of which only the beginning is here
	Errors    string // standard error, without what the engines log
	ErrorsCut bool
	// Noisy says that standard error differs from run to run of the same program.
	Noisy bool
}

// maxLine bounds one line of a file of calls.
const maxLine = 16 << 20

// Read reads the folder of a trial. A line that was cut off is the end.
func Read(dir string) (*Trial, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	t := &Trial{}
	for _, e := range entries {
		if pid, ok := strings.CutPrefix(e.Name(), linesPrefix); ok {
			p, err := readProcess(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			p.path = filepath.Join(dir, valuesPrefix+pid)
			if len(p.Calls) > 0 || p.End != nil {
				t.Processes = append(t.Processes, p)
			}
		}
	}
	slices.SortFunc(t.Processes, func(a, b *Process) int {
		if d := a.rank() - b.rank(); d != 0 {
			return d
		}
		switch {
		case a.Hello.Started < b.Hello.Started:
			return -1
		case a.Hello.Started > b.Hello.Started:
			return 1
		}
		return a.Hello.PID - b.Hello.PID
	})
	return t, nil
}

func (p *Process) rank() int {
	for _, c := range p.Calls {
		if c.Rank != nil {
			return *c.Rank
		}
	}
	return -1
}

func readProcess(path string) (*Process, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := &Process{}
	in := bufio.NewScanner(f)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		var l Line
		if json.Unmarshal(in.Bytes(), &l) != nil {
			break
		}
		switch {
		case l.Hello != nil:
			p.Hello = *l.Hello
		case l.Call != nil:
			p.Calls = append(p.Calls, *l.Call)
			p.Calls[len(p.Calls)-1].number = len(p.Calls)
		case l.Grads != nil:
			p.Grads = append(p.Grads, *l.Grads)
		case l.End != nil:
			p.End = l.End
		}
	}
	return p, nil
}

// Compare compares the results of a trial with those of another without its remedy. quieter
// says that it may print less.
func Compare(base, t *Trial, quieter bool) (*remedy.Comparison, error) {
	c := &comparison{}
	err := c.compare(base, t, quieter)
	return &c.Comparison, err
}

// comparison is one at work.
type comparison struct {
	remedy.Comparison
	// rounded says that of the tensors that this call writes, or of the gradients of this pass, some
	// differ by no more than rounding, and older that such did before it: what
	// a program keeps is what its next step begins with.
	rounded, older bool
	// number says that the difference that was found is of two numbers, none of them whole.
	number bool
	// at is the call whose results differ first.
	at Place
}

func (c *comparison) compare(base, t *Trial, quieter bool) error {
	if len(base.Processes) != len(t.Processes) {
		c.First = fmt.Sprintf("%d processes call compiled functions, and without the remedy %d", len(t.Processes), len(base.Processes))
		return nil
	}
	for _, p := range append(slices.Clone(base.Processes), t.Processes...) {
		if p.End == nil {
			continue
		}
		for _, problem := range p.End.Problems {
			c.limit(problem)
		}
	}
	for i := range base.Processes {
		first, err := c.compareProcess(base.Processes[i], t.Processes[i])
		if err != nil {
			return err
		}
		if first != "" {
			if len(base.Processes) > 1 {
				first = fmt.Sprintf("process %d: %s", i, first)
			}
			c.First, c.Grown, c.at.Process = first, c.number && c.older, i
			return nil
		}
	}
	if base.Output == "" && t.Output == "" {
		c.limit(remedy.NoOutput)
	}
	c.First, c.Fewer = c.output("standard output", base.Output, t.Output, quieter)
	if base.Long || t.Long {
		c.limit("of standard output the first megabyte was compared")
	}
	if c.First == "" {
		c.errors(base, t, quieter)
	}
	c.Equal, c.Grown = c.First == "", c.number && c.older
	return nil
}

// errors compares standard error.
func (c *comparison) errors(base, t *Trial, quieter bool) {
	if base.Noisy {
		c.limit("standard error, which differs from run to run without any change")
		return
	}
	first, fewer := c.output("standard error", base.Errors, t.Errors, quieter)
	c.First, c.Fewer, c.OnlyErrors = first, c.Fewer+fewer, first != ""
	if base.ErrorsCut || t.ErrorsCut {
		c.limit("of standard error the first megabyte was compared")
	}
}

func (c *comparison) compareProcess(base, t *Process) (first string, err error) {
	x, err := os.Open(base.path)
	if err != nil {
		return "", err
	}
	defer x.Close()
	y, err := os.Open(t.path)
	if err != nil {
		return "", err
	}
	defer y.Close()
	g := gradients{c: c, base: base.Grads, trial: t.Grads, x: x, y: y}
	for i := range min(len(base.Calls), len(t.Calls)) {
		if first, err := g.upTo(i); first != "" || err != nil {
			return first, err
		}
		a, b := &base.Calls[i], &t.Calls[i]
		where := fmt.Sprintf("call %d of %s", b.number, b.Function)
		switch {
		case a.Function != b.Function:
			return fmt.Sprintf("call %d is of %s, and without the remedy of %s", i+1, b.Function, a.Function), nil
		case a.Raised != b.Raised:
			return fmt.Sprintf("%s %s, and without the remedy %s", where, ended(b), ended(a)), nil
		case a.Full || b.Full:
			c.limit(fmt.Sprintf("of a process the first %d calls were compared", i))
			if len(base.Calls) != len(t.Calls) {
				return fmt.Sprintf("%d calls of compiled functions, and without the remedy %d", len(t.Calls), len(base.Calls)), nil
			}
			return "", nil
		case a.Unused != b.Unused:
			c.limit("calls whose results are not used in both runs")
		case a.Unused:
			c.limit("calls whose results nobody uses")
		default:
			first, err := c.leaves(a, b, x, y)
			if first != "" || err != nil {
				c.at.Call = b.number
				return where + ", " + first, err
			}
			c.Calls++
		}
		if first, err := c.state(a, b, x, y); first != "" || err != nil {
			return where + ", " + first, err
		}
	}
	if len(base.Calls) != len(t.Calls) {
		return fmt.Sprintf("%d calls of compiled functions, and without the remedy %d", len(t.Calls), len(base.Calls)), nil
	}
	return g.upTo(len(base.Calls))
}

// Threads reports whether calls come from several threads of a process: they have no order.
func (t *Trial) Threads() bool {
	for _, p := range t.Processes {
		for i := range p.Calls {
			if p.Calls[i].Thread != p.Calls[0].Thread {
				return true
			}
		}
	}
	return false
}

// OnlyReturned is a trial with what calls return alone: training makes of rounding other gradients
// and parameters sooner than other results.
func (t *Trial) OnlyReturned() *Trial {
	out := *t
	out.Processes = nil
	for _, p := range t.Processes {
		q := *p
		q.Grads, q.Calls = nil, slices.Clone(p.Calls)
		for i := range q.Calls {
			c := &q.Calls[i]
			c.State, c.StateFull, c.Hidden = nil, false, 0
		}
		out.Processes = append(out.Processes, &q)
	}
	return &out
}

// DropFailed takes out of two trials the calls that raise in one of them alone, and returns how many
// there were: they say nothing of numbers.
func DropFailed(base, t *Trial) (dropped int) {
	for i := range min(len(base.Processes), len(t.Processes)) {
		a, b := base.Processes[i], t.Processes[i]
		var x, y []Call
		for k := range min(len(a.Calls), len(b.Calls)) {
			if c, d := &a.Calls[k], &b.Calls[k]; c.Function == d.Function && c.Raised != d.Raised {
				dropped++
				continue
			}
			x, y = append(x, a.Calls[k]), append(y, b.Calls[k])
		}
		n := min(len(a.Calls), len(b.Calls))
		a.Calls, b.Calls = append(x, a.Calls[n:]...), append(y, b.Calls[n:]...)
	}
	return dropped
}

// limit notes what was not compared, once.
func (c *comparison) limit(what string) {
	if !slices.Contains(c.Limits, what) {
		c.Limits = append(c.Limits, what)
	}
}

func ended(c *Call) string {
	if c.Raised == "" {
		return "returns"
	}
	return "fails with " + c.Raised
}

// leaves compares what a call returns.
func (c *comparison) leaves(a, b *Call, x, y io.ReaderAt) (string, error) {
	if len(a.Out) != len(b.Out) {
		return fmt.Sprintf("%d values are returned, and without the remedy %d", len(b.Out), len(a.Out)), nil
	}
	if len(a.Out) >= MaxLeaves {
		c.limit(fmt.Sprintf("of the results of a call the first %d values were compared", MaxLeaves))
	}
	for i := range a.Out {
		p, q := &a.Out[i], &b.Out[i]
		name := "output"
		if q.Path != "" {
			name += q.Path
		}
		switch {
		case p.Path != q.Path || p.Opaque != q.Opaque:
			return fmt.Sprintf("what is returned is made otherwise at %s", name), nil
		case p.Opaque:
			c.limit("values that are neither tensors nor numbers, texts or flags")
		case p.Dtype != q.Dtype || !slices.Equal(p.Shape, q.Shape) || p.N != q.N:
			return fmt.Sprintf("%s is %s%v, and without the remedy %s%v", name, q.Dtype, q.Shape, p.Dtype, p.Shape), nil
		case p.Dtype == "":
			if !closeWords(p.Text, q.Text) {
				c.number = sameWords(p.Text, q.Text, math.Inf(1))
				return fmt.Sprintf("%s is %s, and without the remedy %s", name, brief(q.Text), brief(p.Text)), nil
			}
			c.Values++
		default:
			first, err := c.values(p, q, x, y, held{slack: 1})
			if first != "" || err != nil {
				return name + first, err
			}
			c.Values += p.N
		}
	}
	return "", nil
}

// held is how closely numbers are held together: so many tolerances, and the least that counts as
// their typical size.
type held struct{ slack, least float64 }

// values compares the numbers of a tensor.
func (c *comparison) values(p, q *Leaf, x, y io.ReaderAt, h held) (string, error) {
	a, err := words(x, p)
	if err != nil {
		return "", err
	}
	b, err := words(y, q)
	if err != nil {
		return "", err
	}
	if p.Int {
		for i := range a {
			if a[i] != b[i] {
				return fmt.Sprintf("%s is %d, and without the remedy %d", index(i, p), int64(b[i]), int64(a[i])), nil
			}
		}
		return "", nil
	}
	scale := max(typical(a), h.least)
	tolerance := h.slack * remedy.Tolerance(p.Dtype)
	for i := range a {
		v, w := math.Float64frombits(a[i]), math.Float64frombits(b[i])
		c.rounded = c.rounded || a[i] != b[i]
		if !remedy.Near(v, w, tolerance, scale) {
			c.number = !math.IsNaN(v-w) && !math.IsInf(v-w, 0)
			return fmt.Sprintf("%s is %.6g, and without the remedy %.6g", index(i, p), w, v), nil
		}
	}
	return "", nil
}

// typical is the root of the mean square of what is a number.
func typical(bits []uint64) float64 {
	sum, n := 0.0, 0
	for _, w := range bits {
		if v := math.Float64frombits(w); !math.IsNaN(v) && !math.IsInf(v, 0) {
			sum, n = sum+v*v, n+1
		}
	}
	return math.Sqrt(sum / float64(max(n, 1)))
}

// index spells the place of element i of a tensor.
func index(i int, l *Leaf) string {
	if strings.HasPrefix(l.Dtype, "complex") {
		i /= 2
	}
	if len(l.Shape) == 0 {
		return ""
	}
	at := make([]string, len(l.Shape))
	for d := len(l.Shape) - 1; d >= 0; d-- {
		at[d] = strconv.Itoa(i % max(l.Shape[d], 1))
		i /= max(l.Shape[d], 1)
	}
	return "[" + strings.Join(at, ", ") + "]"
}

func words(f io.ReaderAt, l *Leaf) ([]uint64, error) {
	if l.N < 0 || l.N > MaxValues/8 {
		return nil, fmt.Errorf("the results name %d values", l.N)
	}
	buf := make([]byte, 8*l.N)
	if _, err := f.ReadAt(buf, l.At); err != nil && l.N > 0 {
		return nil, fmt.Errorf("the values of the results are incomplete: %w", err)
	}
	out := make([]uint64, l.N)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(buf[8*i:])
	}
	return out, nil
}

// output compares what two runs printed, a line at a time; numbers may differ in
// their last digits. fewer counts the lines that are missing where that is allowed.
func (c *comparison) output(of, a, b string, quieter bool) (first string, fewer int) {
	x, y := strings.Split(strings.TrimRight(a, "\n"), "\n"), strings.Split(strings.TrimRight(b, "\n"), "\n")
	j := 0
	for i, line := range x {
		switch {
		case j < len(y) && closeWords(line, y[j]):
			j++
		case quieter:
			fewer++
		case j >= len(y):
			return fmt.Sprintf("line %d of %s is missing: %s", i+1, of, brief(line)), 0
		default:
			c.number = sameWords(line, y[j], math.Inf(1))
			return fmt.Sprintf("line %d of %s is %s, and without the remedy %s", j+1, of, brief(y[j]), brief(line)), 0
		}
	}
	if j < len(y) && strings.TrimSpace(y[j]) != "" {
		return fmt.Sprintf("line %d of %s is %s, which is not there without the remedy", j+1, of, brief(y[j])), 0
	}
	return "", fewer
}

// brief is a text in quotes, cut to what fits a message.
func brief(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "..."
	}
	return strconv.Quote(s)
}

// printedTolerance is how far numbers that are printed may be apart: that of float32.
var printedTolerance = remedy.Tolerance("float32")

// closeWords compares texts word by word, numbers with their tolerance.
func closeWords(a, b string) bool { return sameWords(a, b, printedTolerance) }

func sameWords(a, b string, tolerance float64) bool {
	if a == b {
		return true
	}
	x, y := strings.FieldsFunc(a, between), strings.FieldsFunc(b, between)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		p, err1 := strconv.ParseFloat(x[i], 64)
		q, err2 := strconv.ParseFloat(y[i], 64)
		whole := !strings.ContainsAny(x[i]+y[i], ".eE")
		// a number of four decimals may be rounded to another last one
		if err1 != nil || err2 != nil || whole || !remedy.Near(p, q, tolerance, 0) && math.Abs(p-q) > lastDigit(x[i]) {
			return false
		}
	}
	return true
}

// lastDigit is one unit of the last decimal of a printed number.
func lastDigit(s string) float64 {
	if strings.ContainsAny(s, "eE") {
		return 0
	}
	_, decimals, ok := strings.Cut(s, ".")
	if !ok || len(decimals) > 6 {
		return 0
	}
	if len(decimals) < 4 {
		return 0
	}
	return 1.01 * math.Pow(10, -float64(len(decimals)))
}

// between separates the words of a printed line.
func between(r rune) bool { return strings.ContainsRune(" \t,[](){}=:;'\"", r) }
