package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tcdbg/tui/keys"
)

// slowRecords are records whose search goes on until it is ended.
type slowRecords struct {
	fakeRecords
	search chan context.Context
}

func (r slowRecords) Search(ctx context.Context, _ string, hit func(int), progress func(float64)) {
	hit(3)
	progress(0.34)
	r.search <- ctx
	<-ctx.Done()
	hit(4)
}

type slowFeed struct {
	*fakeFeed
	records slowRecords
}

func (f slowFeed) Records() Records { return f.records }

// TestSearchEnds: while payloads are searched the last line tells how far it is,
// at every width and for long texts too, and esc ends it: what comes late changes
// nothing, what was found stays.
func TestSearchEnds(t *testing.T) {
	for _, query := range []string{"needle", strings.Repeat("long ", 60)} {
		for _, size := range [][2]int{{80, 24}, {160, 50}} {
			t.Run(fmt.Sprint(len(query), size), func(t *testing.T) {
				rich := richFeed()
				feed := slowFeed{rich, slowRecords{fakeRecords{rich}, make(chan context.Context, 1)}}
				d := newDriver(t, feed, Options{}, size[0], size[1])
				d.m.open(keys.Logs)
				news := d.m.startSearch(query)
				_, more := d.m.Update(news())
				d.script("expect searching payloads (esc ends it): 34 %, 1 hit for")
				checkFrame(t, d.frame(), size[0], size[1])
				d.send(keyMsg("esc"))
				if (<-feed.records.search).Err() == nil {
					t.Error("the search goes on")
				}
				d.run(more)
				d.script(`
					screen Logs
					expect the search stopped at 34 %, with 1 hit for
				`)
				if hits := d.m.sc.search.hits; len(hits) != 1 || hits[0] != 3 {
					t.Errorf("hits %v", hits)
				}
			})
		}
	}
}
