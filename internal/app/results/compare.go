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
	End   *End // nil: it was killed, or crashed
	path  string
}

// Trial is the results of all processes of a trial, ranks in order, others as they started.
type Trial struct {
	Processes []*Process
	Output    string // standard output
	Long      bool   // of which only the beginning is here
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
		case l.End != nil:
			p.End = l.End
		}
	}
	return p, nil
}

// Compare compares the results of a trial with those of another without its remedy. quieter
// says that it may print less.
func Compare(base, t *Trial, quieter bool) (*remedy.Comparison, error) {
	c := &remedy.Comparison{}
	if len(base.Processes) != len(t.Processes) {
		c.First = fmt.Sprintf("%d processes call compiled functions, and without the remedy %d", len(t.Processes), len(base.Processes))
		return c, nil
	}
	for i := range base.Processes {
		first, err := compareProcess(c, base.Processes[i], t.Processes[i])
		if err != nil {
			return nil, err
		}
		if first != "" {
			if len(base.Processes) > 1 {
				first = fmt.Sprintf("process %d: %s", i, first)
			}
			c.First = first
			return c, nil
		}
	}
	if base.Output == "" && t.Output == "" {
		limit(c, remedy.NoOutput)
	}
	c.First, c.Fewer = compareOutput(base.Output, t.Output, quieter)
	if base.Long || t.Long {
		limit(c, "of standard output the first megabyte was compared")
	}
	c.Equal = c.First == ""
	return c, nil
}

func compareProcess(c *remedy.Comparison, base, t *Process) (first string, err error) {
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
	for i := range min(len(base.Calls), len(t.Calls)) {
		a, b := &base.Calls[i], &t.Calls[i]
		where := fmt.Sprintf("call %d of %s", i+1, b.Function)
		switch {
		case a.Function != b.Function:
			return fmt.Sprintf("call %d is of %s, and without the remedy of %s", i+1, b.Function, a.Function), nil
		case a.Raised != b.Raised:
			return fmt.Sprintf("%s %s, and without the remedy %s", where, ended(b), ended(a)), nil
		case a.Full || b.Full:
			limit(c, fmt.Sprintf("of a process the first %d calls were compared", i))
			if len(base.Calls) != len(t.Calls) {
				return fmt.Sprintf("%d calls of compiled functions, and without the remedy %d", len(t.Calls), len(base.Calls)), nil
			}
			return "", nil
		case a.Unused != b.Unused:
			limit(c, "calls whose results are not used in both runs")
			continue
		case a.Unused:
			limit(c, "calls whose results nobody uses")
			continue
		}
		first, err := compareLeaves(c, a, b, x, y)
		if first != "" || err != nil {
			return where + ", " + first, err
		}
		c.Calls++
	}
	if len(base.Calls) != len(t.Calls) {
		return fmt.Sprintf("%d calls of compiled functions, and without the remedy %d", len(t.Calls), len(base.Calls)), nil
	}
	return "", nil
}

// limit notes what was not compared, once.
func limit(c *remedy.Comparison, what string) {
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

func compareLeaves(c *remedy.Comparison, a, b *Call, x, y io.ReaderAt) (string, error) {
	if len(a.Out) != len(b.Out) {
		return fmt.Sprintf("%d values are returned, and without the remedy %d", len(b.Out), len(a.Out)), nil
	}
	if len(a.Out) >= MaxLeaves {
		limit(c, fmt.Sprintf("of the results of a call the first %d values were compared", MaxLeaves))
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
			limit(c, "values that are neither tensors nor numbers, texts or flags")
		case p.Dtype != q.Dtype || !slices.Equal(p.Shape, q.Shape) || p.N != q.N:
			return fmt.Sprintf("%s is %s%v, and without the remedy %s%v", name, q.Dtype, q.Shape, p.Dtype, p.Shape), nil
		case p.Dtype == "":
			if !closeWords(p.Text, q.Text) {
				return fmt.Sprintf("%s is %s, and without the remedy %s", name, brief(q.Text), brief(p.Text)), nil
			}
			c.Values++
		default:
			first, err := compareValues(p, q, x, y)
			if first != "" || err != nil {
				return name + first, err
			}
			c.Values += p.N
		}
	}
	return "", nil
}

// compareValues compares the numbers of a tensor.
func compareValues(p, q *Leaf, x, y io.ReaderAt) (string, error) {
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
	sum, n := 0.0, 0
	for _, w := range a {
		if v := math.Float64frombits(w); !math.IsNaN(v) && !math.IsInf(v, 0) {
			sum, n = sum+v*v, n+1
		}
	}
	scale := math.Sqrt(sum / float64(max(n, 1)))
	tolerance := remedy.Tolerance(p.Dtype)
	for i := range a {
		v, w := math.Float64frombits(a[i]), math.Float64frombits(b[i])
		if !remedy.Near(v, w, tolerance, scale) {
			return fmt.Sprintf("%s is %.6g, and without the remedy %.6g", index(i, p), w, v), nil
		}
	}
	return "", nil
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

// compareOutput compares what two runs printed, a line at a time; numbers may differ in
// their last digits. fewer counts the lines that are missing where that is allowed.
func compareOutput(a, b string, quieter bool) (first string, fewer int) {
	x, y := strings.Split(strings.TrimRight(a, "\n"), "\n"), strings.Split(strings.TrimRight(b, "\n"), "\n")
	j := 0
	for i, line := range x {
		switch {
		case j < len(y) && closeWords(line, y[j]):
			j++
		case quieter:
			fewer++
		case j >= len(y):
			return fmt.Sprintf("line %d of standard output is missing: %s", i+1, brief(line)), 0
		default:
			return fmt.Sprintf("line %d of standard output is %s, and without the remedy %s", j+1, brief(y[j]), brief(line)), 0
		}
	}
	if j < len(y) && strings.TrimSpace(y[j]) != "" {
		return fmt.Sprintf("line %d of standard output is %s, which is not there without the remedy", j+1, brief(y[j])), 0
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
func closeWords(a, b string) bool {
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
		if err1 != nil || err2 != nil || whole || !remedy.Near(p, q, printedTolerance, 0) && math.Abs(p-q) > lastDigit(x[i]) {
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
