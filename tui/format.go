package tui

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/theme"
)

// This file is numbers, ids and places as the screens write them.

// seconds is a duration as people read it: 0.41 s, 3.2 s, 2 m 05 s.
func seconds(d time.Duration) string {
	s := d.Seconds()
	switch {
	case s < 0.01:
		return fmt.Sprintf("%.1f ms", s*1000)
	case s < 1:
		return fmt.Sprintf("%.0f ms", s*1000)
	case s < 10:
		return fmt.Sprintf("%.2f s", s)
	case s < 100:
		return fmt.Sprintf("%.1f s", s)
	}
	return fmt.Sprintf("%d m %02d s", int(s)/60, int(s)%60)
}

// secondsOr is seconds, or "-" where nothing is known.
func secondsOr(s float64) string {
	if s <= 0 {
		return "-"
	}
	return seconds(time.Duration(s * 1e9))
}

func nanos(n int64) string { return explain.Nanos(n) }

func bytesText(n int64) string { return explain.Bytes(n) }

// number is n, or "-" when it is negative: unknown is never 0.
func number(n int64) string {
	if n < 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// percent is part of whole.
func percent(part, whole float64) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*part/whole)
}

// idText is a compile id as PyTorch prints it: [0/1], [0/1_2].
func idText(id explain.ID) string {
	c := id.CompileID
	if c.Frame < 0 {
		return ""
	}
	s := fmt.Sprintf("%d/%d", c.Frame, c.Compile)
	if c.Attempt > 0 {
		s += fmt.Sprintf("_%d", c.Attempt)
	}
	if id.Epoch > 0 {
		s += fmt.Sprintf(" e%d", id.Epoch)
	}
	if id.Rank >= 0 {
		s += fmt.Sprintf(" r%d", id.Rank)
	}
	return "[" + s + "]"
}

// ofRank reports whether a filter names the rank of an id: r1.
func ofRank(id explain.ID, q string) bool {
	return id.Rank >= 0 && strings.EqualFold(q, fmt.Sprintf("r%d", id.Rank))
}

// about reports whether a filter names the rank, the compile, the function or the
// file of a row.
func about(id explain.ID, p logs.Pos, q string) bool {
	return ofRank(id, q) || id.CompileID.Frame >= 0 &&
		strings.HasPrefix(strings.TrimPrefix(idText(id), "["), strings.Trim(q, "[]")) && strings.Contains(q, "/") ||
		theme.IndexFold(p.File, q) >= 0 || theme.IndexFold(p.Func, q) >= 0
}

// shortFile is a path from the run's root, or its last two elements where it
// lies elsewhere.
func shortFile(root, file string) string {
	if root != "" {
		if rest, ok := strings.CutPrefix(file, strings.TrimRight(root, "/")+"/"); ok {
			return rest
		}
	}
	if !strings.HasPrefix(file, "/") {
		return file
	}
	if i := strings.Index(file, "/site-packages/"); i >= 0 {
		return file[i+len("/site-packages/"):]
	}
	return filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))
}

// placeText is file:line.
func placeText(p logs.Pos) string {
	if p.File == "" {
		return ""
	}
	s := p.File
	if p.Line > 0 {
		s += fmt.Sprintf(":%d", p.Line)
	}
	return theme.Clean(s)
}

// library reports whether a file is not the user's own.
func library(file string) bool {
	for _, part := range []string{
		"/site-packages/", "/dist-packages/", "/lib/python", "/torch/nn/", "<eval_with_key>", "<frozen", "tcdbg/torch/",
	} {
		if strings.Contains(file, part) {
			return true
		}
	}
	return strings.HasPrefix(file, "_dynamo/") || strings.HasPrefix(file, "_inductor/") // as guards name torch's own files
}

// bar is a bar of n of total, w cells wide.
func bar(n, total float64, w int) string {
	if total <= 0 || w <= 0 {
		return ""
	}
	share := n / total
	if !(share > 0) { // numbers come from traces, which may lie
		share = 0
	}
	eighths := int(min(share, 1)*float64(w)*8 + 0.5)
	if n > 0 && eighths == 0 {
		eighths = 1
	}
	const parts = "▏▎▍▌▋▊▉"
	s := strings.Repeat("█", min(w, eighths/8))
	if r := eighths % 8; r > 0 && eighths/8 < w {
		s += string([]rune(parts)[r-1])
	}
	return s
}

// caret is the line that marks the columns of a position under its code: ~
// before the marked part's last call, ^ under it.
func caret(p logs.Pos, code string, offset int) string {
	if p.Col < 1 || p.Col > len(code)+1 {
		return ""
	}
	end := p.EndCol
	if end <= p.Col || end > len(code)+1 {
		end = p.Col + 1
	}
	lead := strings.Map(func(r rune) rune {
		if r == '\t' {
			return '\t'
		}
		return ' '
	}, code[:p.Col-1])
	return theme.Spaces(offset) + strings.ReplaceAll(lead, "\t", "    ") + strings.Repeat("^", end-p.Col)
}

// opList is "9 ops [a, b, c]", cut to a width.
func opList(ops []string, w int) string {
	if len(ops) == 0 {
		return "no operators"
	}
	return theme.Cut(fmt.Sprintf("%s [%s]", count(len(ops), "op"), strings.Join(ops, ", ")), w)
}

// count is "1 graph", "2 graphs".
func count(n int, noun string) string { return explain.Count(n, noun) }
