package render

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"runtime"
	"strings"
	"sync"

	"tcdbg/explain"

	"github.com/klauspost/compress/flate"
)

// This file packs the long texts of a page: stages of graphs, guards, generated code, metrics. Each is deflated and put
// in an attribute, which the page's script unpacks when a reader unfolds it. Texts are read and packed side by side with
// what is written; they are written in their order, until the page is full.

// The bounds of texts, in bytes: below plainText a text is not packed, of a longer one than longText the rest is left out.
const (
	plainText = 300
	longText  = 8 << 20
)

// packedText is a text of a page.
type packedText struct {
	id    string // "": none
	title string
	load  func() string
	of    *packedText // it is lines of another text
	from  int         // first of these lines, from 1
	to    int

	out  string // the element
	done chan struct{}
}

// text puts a text that unfolds into the page.
func (h *htmlElements) text(id, title string, load func() string) *packedText {
	if load == nil {
		return nil
	}
	if id != "" {
		id = h.at.name(id)
	}
	t := &packedText{id: id, title: title, load: load}
	h.flush(t)
	return t
}

// lines puts lines of a text that the page has into the page.
func (h *htmlElements) lines(title string, of *packedText, from, to int) {
	h.flush(&packedText{title: title, of: of, from: from, to: to})
}

// writePieces writes a page. The texts have what HTML leaves of its size.
func writePieces(w io.Writer, pieces []piece, size int, trace string) error {
	var texts []*packedText
	for i := range pieces {
		if t := pieces[i].text; t != nil {
			t.done = make(chan struct{})
			texts = append(texts, t)
			size += len(leftOutText(t, trace)) // which is the least that it takes
		}
	}
	stop := make(chan struct{})
	var working sync.WaitGroup
	defer working.Wait() // nobody reads of the trace afterwards
	defer close(stop)
	working.Go(func() { packAll(texts, trace, stop, &working) })

	out := bufio.NewWriterSize(w, 1<<16)
	full := false // from then on texts are left out: which ones must not depend on who is quick
	for i := range pieces {
		_, _ = out.Write(pieces[i].html)
		t := pieces[i].text
		if t == nil {
			continue
		}
		left := leftOutText(t, trace)
		if !full {
			<-t.done
			full = size+len(t.out)-len(left) > maxPage
		}
		if full {
			_, _ = out.WriteString(left)
			continue
		}
		size += len(t.out) - len(left)
		_, _ = out.WriteString(t.out)
		t.out = ""
	}
	return out.Flush()
}

// packAll packs texts in their order, as many at once as there are processors.
func packAll(texts []*packedText, trace string, stop <-chan struct{}, working *sync.WaitGroup) {
	free := make(chan *packer, runtime.GOMAXPROCS(0))
	for range cap(free) {
		free <- &packer{trace: trace}
	}
	for _, t := range texts {
		select {
		case <-stop:
			return
		case p := <-free:
			working.Go(func() {
				p.pack(t)
				close(t.done)
				free <- p
			})
		}
	}
}

// packer packs one text after the other.
type packer struct {
	trace string
	b     strings.Builder
	z     *flate.Writer
}

func (p *packer) pack(t *packedText) {
	p.b.Reset()
	if t.of != nil {
		p.open(t, explain.Count(t.to-t.from+1, "line"))
		fmt.Fprintf(&p.b, `<pre tabindex="0" data-of="%s" data-from="%d" data-to="%d"></pre></details>`, t.of.id, t.from, t.to)
		t.out = p.b.String()
		return
	}
	s := t.load()
	whole := len(s)
	if whole > longText {
		s = s[:longText]
		if end := strings.LastIndexByte(s, '\n'); end >= 0 {
			s = s[:end+1]
		}
	}
	s = cleanLines(s)
	p.open(t, explain.Count(strings.Count(strings.TrimSuffix(s, "\n"), "\n")+1, "line")+", "+explain.Bytes(int64(len(s))))
	if whole > longText {
		p.b.WriteString(`<p class="cut">Cut: ` + explain.Bytes(int64(len(s))) + " of " + explain.Bytes(int64(whole)) + ". ")
		p.b.WriteString(wholeText(p.trace) + "</p>")
	}
	if len(s) < plainText {
		p.b.WriteString(`<pre tabindex="0">` + html.EscapeString(s) + "</pre></details>")
	} else {
		p.b.WriteString(`<pre tabindex="0" data-z="`)
		p.deflate(s)
		p.b.WriteString(`"></pre></details>`)
	}
	t.out = p.b.String()
}

// open begins the element of a text.
func (p *packer) open(t *packedText, size string) {
	p.b.WriteString(`<details class="text"`)
	if t.id != "" {
		p.b.WriteString(` id="` + t.id + `"`)
	}
	p.b.WriteString("><summary>" + html.EscapeString(cleanLines(t.title)) + ` <span class="dim">` + size + "</span></summary>")
}

// deflate writes a text packed, as base64.
func (p *packer) deflate(s string) {
	to := base64.NewEncoder(base64.StdEncoding, &p.b)
	if p.z == nil {
		p.z, _ = flate.NewWriter(to, packLevel) // no error: the level is one
	} else {
		p.z.Reset(to)
	}
	_, _ = io.WriteString(p.z, s) // a Builder takes all
	_ = p.z.Close()
	_ = to.Close()
}

// packLevel is quick: a page may take three times what the text report takes.
const packLevel = 1

// leftOutText is the element of a text that a full page has no room for.
func leftOutText(t *packedText, trace string) string {
	id := ""
	if t.id != "" {
		id = ` id="` + t.id + `"`
	}
	title := html.EscapeString(cleanLines(t.title))
	return `<p class="cut"` + id + ">" + title + ": left out, this page is full. " + wholeText(trace) + "</p>"
}

// wholeText says how to see all of a text.
func wholeText(trace string) string {
	return "The whole: <code>" + html.EscapeString(cleanLines("tcdbg replay "+trace)) + "</code>"
}
