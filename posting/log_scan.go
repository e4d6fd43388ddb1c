package posting

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// segmentScan goes through the records of one segment.
type segmentScan struct {
	file   LogFile
	name   string
	number uint64
	size   int64
	// at is where the next record begins.
	at int64
	// durable is what the last record read knew to be durable.
	durable int64
}

// errNoRecord says that there is no good record at a place; what is wrong with
// it stands behind.
var errNoRecord = errors.New("no record")

func noRecord(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errNoRecord, fmt.Sprintf(format, args...))
}

// next reads the record at s.at and moves behind it. The commits are the
// caller's. An error wraps errNoRecord unless the file could not be read.
func (s *segmentScan) next() ([]encodedCommit, error) {
	head, table, err := s.headAt(s.at)
	if err != nil {
		return nil, err
	}
	start := s.at + recordHeadLen + head.tableLen()
	if head.length > uint64(s.size-start) {
		return nil, noRecord("%d bytes of commits, and %d are left", head.length, s.size-start)
	}
	body := make([]byte, head.length)
	if _, err := s.file.ReadAt(body, start); err != nil {
		return nil, err
	}
	group, err := cutCommits(table, body)
	if err != nil {
		return nil, err
	}
	s.at, s.durable = start+int64(head.length), int64(head.durable)
	return group, nil
}

// headAt reads the head and the table of the record at a place.
func (s *segmentScan) headAt(at int64) (h recordHead, table []byte, err error) {
	if s.size-at < recordHeadLen {
		return h, nil, noRecord("%d bytes are left", s.size-at)
	}
	b := make([]byte, recordHeadLen)
	if _, err := s.file.ReadAt(b, at); err != nil {
		return h, nil, err
	}
	h, ok := parseRecordHead(b)
	switch {
	case !ok:
		return h, nil, noRecord("no record begins here")
	case h.number != s.number || h.offset != uint64(at):
		return h, nil, noRecord("the record of byte %d of segment %d", h.offset, h.number)
	case h.tableLen() > s.size-at-recordHeadLen:
		return h, nil, noRecord("a table of %d bytes, and %d are left", h.tableLen(), s.size-at-recordHeadLen)
	}
	table = make([]byte, h.tableLen())
	if _, err := s.file.ReadAt(table, at+recordHeadLen); err != nil {
		return h, nil, err
	}
	sum := crc32.Update(crc32.Checksum(b[12:], castagnoli), castagnoli, table)
	if sum != h.crc {
		return h, nil, noRecord("damaged head")
	}
	return h, table, nil
}

// cutCommits takes the commits of a record apart and checks each.
func cutCommits(table, body []byte) ([]encodedCommit, error) {
	group := make([]encodedCommit, 0, len(table)/tableRowLen)
	for ; len(table) > 0; table = table[tableRowLen:] {
		row := parseTableRow(table)
		if row.length > uint64(len(body)) {
			return nil, noRecord("commit %d runs over the record's end", len(group))
		}
		data := body[:row.length:row.length]
		body = body[row.length:]
		if crc32.Checksum(data, castagnoli) != row.crc {
			return nil, noRecord("commit %d is damaged", len(group))
		}
		r, err := readCommit(data)
		if err != nil {
			return nil, noRecord("%v", err)
		}
		group = append(group, encodedCommit{data: data, crc: row.crc, entries: row.entries, ts: r.ts, applied: r.applied})
	}
	if len(body) > 0 {
		return nil, noRecord("%d bytes behind the last commit", len(body))
	}
	return group, nil
}

// scanWindow is how many bytes are looked through at a time for a record's
// magic.
const scanWindow = 1 << 20

// provesDurable looks behind `at` for a record that knows the bytes at `at` to
// have been durable, and returns where it is, or -1. A torn tail has none
// behind it: a group is written only after the sync of the one before.
func (s *segmentScan) provesDurable(at int64) (int64, error) {
	buf := make([]byte, scanWindow)
	for from := at + 1; s.size-from >= recordHeadLen; {
		n, err := s.file.ReadAt(buf[:min(scanWindow, s.size-from)], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return -1, err
		}
		i := bytes.Index(buf[:n], []byte(recordMagic))
		if i < 0 {
			from += max(int64(n-len(recordMagic)+1), 1)
			continue
		}
		h, _, err := s.headAt(from + int64(i))
		if err == nil && int64(h.durable) > at {
			return from + int64(i), nil
		}
		if err != nil && !errors.Is(err, errNoRecord) {
			return -1, err
		}
		from += int64(i) + 1
	}
	return -1, nil
}

// errorAt names the file and the place.
func (s *segmentScan) errorAt(at int64, err error) error {
	return fmt.Errorf("%s: %w: byte %d: %w", s.name, ErrBadState, at, err)
}
