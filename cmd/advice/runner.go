package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/logs"

	"github.com/klauspost/compress/zstd"
)

// This file runs programs on PyTorch and reads their traces.

//go:embed runner.py
var runnerText string

// runner is the Python process.
type runner struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	work string
	// prefixes of the Python, which stay out of the traces that are kept
	prefixes []string
	version  string
	runs     int
	cache    string // the folder of runs that were made before, "" for none
	env      string // what of the environment runs depend on
}

func startRunner(python, work, cache string) (*runner, error) {
	script := filepath.Join(work, "runner.py")
	if err := os.WriteFile(script, []byte(runnerText), 0o600); err != nil {
		return nil, err
	}
	prefix, err := exec.Command(python, "-c", `import sys; print(sys.prefix, sys.base_prefix, sep="\n")`).Output()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(python, script, work)
	cmd.Stderr = io.Discard
	cmd.Env = append(os.Environ(), "TORCHINDUCTOR_COMPILE_THREADS=1", "TORCHINDUCTOR_FORCE_DISABLE_CACHES=1", "PYTHONDONTWRITEBYTECODE=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &runner{
		cmd: cmd, in: in, out: bufio.NewReader(out), work: work, cache: cache, env: python,
		prefixes: strings.Fields(string(prefix)),
	}
	r.version, err = r.line()
	return r, err
}

func (r *runner) line() (string, error) {
	s, err := r.out.ReadString('\n')
	return strings.TrimSpace(s), err
}

func (r *runner) stop() {
	_ = r.in.Close()
	_ = r.cmd.Wait()
}

// run is one run of a program.
type run struct {
	code   int
	stdout string
	stderr string
	trace  []byte
	// uncaught are the compiler's errors that ended it, as it printed them.
	uncaught string
	report   *explain.Report
}

// program runs a Python text that is to be known by a file name.
func (r *runner) program(name, text string, rounds int) (*run, error) {
	key := r.key(name, text, rounds)
	res, ok := r.recall(key)
	if !ok {
		var err error
		if res, err = r.execute(name, text, rounds); err != nil {
			return nil, err
		}
		if err := r.remember(key, res); err != nil {
			return nil, err
		}
	}
	var err error
	res.uncaught = hidden(uncaught(res.stderr), r.prefixes)
	res.report, err = readTrace(res.trace, res.uncaught, name, text)
	return res, err
}

// uncaught is what a program printed of the compiler's errors that ended it; a trace does
// not hold all of them.
func uncaught(stderr string) string {
	var b strings.Builder
	for _, e := range logs.FindUncaught(stderr) {
		b.WriteString(e.Text)
	}
	return b.String()
}

var runFolder, workFolder = regexp.MustCompile(`/[\w/.]*/advice\d+/run\d+/`), regexp.MustCompile(`/[\w/.]*/advice\d+/`)

// hidden replaces the folders of one machine in what a program printed.
func hidden(text string, prefixes []string) string {
	text = workFolder.ReplaceAllString(runFolder.ReplaceAllString(text, "/w/"), "/r/")
	for _, p := range prefixes {
		text = strings.ReplaceAll(text, p, "/v")
	}
	return text
}

// execute runs it in Python.
func (r *runner) execute(name, text string, rounds int) (*run, error) {
	r.runs++
	out := filepath.Join(r.work, fmt.Sprint("run", r.runs))
	if err := os.MkdirAll(out, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(out, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(r.in, "%s\t%s\t%d\n", file, out, rounds); err != nil {
		return nil, err
	}
	answer, err := r.line()
	if err != nil {
		return nil, err
	}
	res := &run{}
	if res.code, err = strconv.Atoi(answer); err != nil {
		return nil, err
	}
	res.stdout, res.stderr = text0(filepath.Join(out, "stdout")), text0(filepath.Join(out, "stderr"))
	logFiles, _ := filepath.Glob(filepath.Join(out, "*.log"))
	for _, l := range logFiles {
		data, err := os.ReadFile(l)
		if err != nil {
			return nil, err
		}
		res.trace = append(res.trace, neutral(data, filepath.Base(r.work)+"/"+filepath.Base(out), r.prefixes)...)
	}
	return res, nil
}

func text0(path string) string {
	data, _ := os.ReadFile(path) // what did not run wrote none
	return string(data)
}

// readTrace reads the trace of a program, and what it printed, as tcdbg does.
func readTrace(data []byte, printed, name, text string) (*explain.Report, error) {
	st, err := logs.Open([]string{"-"}, logs.Options{Stdin: bytes.NewReader(data)})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	fold := fold.New(st)
	fold.SetSource(func(file string) ([]string, error) {
		if filepath.Base(file) != name {
			return nil, os.ErrNotExist
		}
		return strings.Split(text, "\n"), nil
	})
	err = st.Read(context.Background(), fold.Add)
	fold.AddUncaught(printed)
	return fold.Snapshot(), err
}

var (
	checksum = regexp.MustCompile(`"has_payload": "[0-9a-f]{32}"`)
	settings = regexp.MustCompile(`("(?:inductor|dynamo|functorch|compiler)_config": )"(?:[^"\\]|\\.)*"`)
	caches   = regexp.MustCompile(`/[a-z/]*/torchinductor_\w+`)
)

// neutral replaces the folders of one machine in a trace, and the checksums that change
// with them, and leaves out the settings that every compile repeats; of each record's payload
// PyTorch writes the checksum in the line before it.
// Timing events, half of a trace and of no use here, are left out.
func neutral(data []byte, folder string, prefixes []string) []byte {
	text := regexp.MustCompile(`[\w/.]*/`+regexp.QuoteMeta(folder)).ReplaceAllString(string(data), "/w")
	text = regexp.MustCompile(`[\w/.]*/`+regexp.QuoteMeta(filepath.Dir(folder))).ReplaceAllString(text, "/r")
	for _, p := range prefixes {
		text = strings.ReplaceAll(text, p, "/v")
	}
	text = caches.ReplaceAllString(settings.ReplaceAllString(text, "${1}null"), "/c")
	var out, record, payload bytes.Buffer
	flush := func() {
		if s := record.String(); s != "" && !strings.Contains(s, `{"chromium_event"`) {
			if payload.Len() > 0 {
				sum := md5.Sum(bytes.TrimSuffix(payload.Bytes(), []byte("\n"))) //nolint:gosec // as above
				s = checksum.ReplaceAllString(s, `"has_payload": "`+hex.EncodeToString(sum[:])+`"`)
			}
			out.WriteString(s)
			for line := range strings.Lines(payload.String()) {
				out.WriteString("\t" + line)
			}
		}
		record.Reset()
		payload.Reset()
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "\t"); ok {
			payload.WriteString(rest)
			continue
		}
		flush()
		record.WriteString(line)
	}
	flush()
	return out.Bytes()
}

// keep writes a compressed trace.
func keep(path string, data []byte) error {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		return err
	}
	return os.WriteFile(path, enc.EncodeAll(data, nil), 0o600)
}

// sameOutput compares what two runs printed; numbers may differ in the last digits.
func sameOutput(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] && !closeNumbers(x[i], y[i]) {
			return false
		}
	}
	return true
}

func closeNumbers(a, b string) bool {
	cut := func(s string) string { return strings.Trim(s, "tensor()[],") }
	p, err1 := strconv.ParseFloat(cut(a), 64)
	q, err2 := strconv.ParseFloat(cut(b), 64)
	d := p - q
	return err1 == nil && err2 == nil && d*d <= 1e-8*(1+p*p)
}
