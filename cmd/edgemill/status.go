package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// status tells how far something is: as one line that is written over and over on
// a terminal, else as plain lines every few seconds. It belongs to one goroutine.
type status struct {
	w     io.Writer
	begun time.Time
	// On a terminal there is bar; elsewhere a line is due every so often, next at
	// due.
	bar      *progressbar.ProgressBar
	terminal bool
	due      time.Time
}

// plainEvery is the time between two plain lines.
const plainEvery = 5 * time.Second

// newStatus tells on w.
func newStatus(w io.Writer) *status {
	f, ok := w.(*os.File)
	now := time.Now()
	return &status{
		w: w, begun: now, due: now.Add(plainEvery),
		terminal: ok && term.IsTerminal(int(f.Fd())),
	}
}

// tell says that done of total is done, in whatever unit; a total of 0 is not
// known.
func (s *status) tell(done, total int64, text string) {
	if s.terminal {
		s.draw(done, total, text)
		return
	}
	now := time.Now()
	if now.Before(s.due) {
		return
	}
	s.due = now.Add(plainEvery)
	fmt.Fprintln(s.w, plainLine(done, total, text, now.Sub(s.begun)))
}

// plainLine is the line for what is no terminal.
func plainLine(done, total int64, text string, elapsed time.Duration) string {
	line := "edgemill: " + text
	if total > 0 {
		line += fmt.Sprintf(", %d%% of the input", 100*done/total)
	}
	return line + fmt.Sprintf(", %s", elapsed.Round(time.Second))
}

func (s *status) draw(done, total int64, text string) {
	if s.bar == nil {
		if total == 0 {
			total = -1
		}
		s.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(s.w),
			progressbar.OptionSetWidth(20),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetElapsedTime(true),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionClearOnFinish(),
		)
	}
	s.bar.Describe(text)
	_ = s.bar.Set64(done) // a status that can't be shown is no failure
}

// end takes the line off the terminal.
func (s *status) end() {
	if s.bar != nil {
		_ = s.bar.Finish()
	}
}
