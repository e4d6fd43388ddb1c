package ingest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"unicode/utf8"
)

// The file of names: nameMagic; for each name its length, the name and its uid
// (the numbers as unsigned varints), in no order; a length of 0; the number of
// names as an unsigned varint; and the CRC-32C of all before it, 4 bytes
// little-endian.
const nameMagic = "edgemill names 1\n"

// maxName bounds a name in a file, against lengths that lie.
const maxName = maxStatement

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Save writes all names to w, for LoadNames. Names that are assigned meanwhile
// may be missing.
func (n *Names) Save(w io.Writer) error {
	sum := crc32.New(castagnoli)
	b := bufio.NewWriterSize(io.MultiWriter(w, sum), 256<<10)
	if _, err := b.WriteString(nameMagic); err != nil {
		return err
	}
	count := 0
	for i := range n.parts {
		k, err := n.parts[i].save(b)
		if err != nil {
			return err
		}
		count += k
	}
	end := binary.AppendUvarint([]byte{0}, uint64(count))
	if _, err := b.Write(end); err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	_, err := w.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32()))
	return err
}

// save writes the part's records and counts them.
func (p *namePart) save(w io.Writer) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, page := range p.mu.pages {
		if _, err := w.Write(page); err != nil {
			return 0, err
		}
	}
	return p.mu.count, nil
}

// LoadNames reads what Save wrote. A file that is cut short, changed or of
// another kind is an error.
func LoadNames(r io.Reader) (*Names, error) {
	in := &nameFile{r: bufio.NewReaderSize(r, 256<<10)}
	magic := make([]byte, len(nameMagic))
	if err := in.full(magic); err != nil || string(magic) != nameMagic {
		return nil, errors.New("not a file of names")
	}
	n := NewNames()
	if err := in.names(n); err != nil {
		return nil, fmt.Errorf("file of names: after %d names: %w", n.Len(), err)
	}
	return n, nil
}

// nameFile reads bytes and keeps their checksum.
type nameFile struct {
	r   *bufio.Reader
	sum uint32
}

func (f *nameFile) full(b []byte) error {
	_, err := io.ReadFull(f.r, b)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	f.sum = crc32.Update(f.sum, castagnoli, b)
	return err
}

// ReadByte implements io.ByteReader, for varints.
func (f *nameFile) ReadByte() (byte, error) {
	var b [1]byte
	err := f.full(b[:])
	return b[0], err
}

func (f *nameFile) names(n *Names) error {
	var name []byte
	for {
		size, err := binary.ReadUvarint(f)
		switch {
		case err != nil:
			return err
		case size == 0:
			return f.end(n)
		case size > maxName:
			return fmt.Errorf("a name of %d bytes", size)
		}
		if name, err = f.name(name[:0], int(size)); err != nil {
			return err
		}
		uid, err := binary.ReadUvarint(f)
		if err != nil {
			return err
		}
		if err := n.restore(name, uid); err != nil {
			return err
		}
	}
}

// name reads size bytes, in steps, so that memory follows what is there and not
// what a length says.
func (f *nameFile) name(name []byte, size int) ([]byte, error) {
	for len(name) < size {
		step := min(size-len(name), namePage)
		name = append(name, make([]byte, step)...)
		if err := f.full(name[len(name)-step:]); err != nil {
			return name, err
		}
	}
	return name, nil
}

// restore adds a name that a file holds.
func (n *Names) restore(name []byte, uid uint64) error {
	if !utf8.Valid(name) {
		return fmt.Errorf("name %q is not valid UTF-8", name)
	}
	if uid == 0 || uid > maxUID {
		return fmt.Errorf("name %q has uid %#x: %w", name, uid, errUIDRange)
	}
	if _, taken, _ := n.Assign(name, uid); !taken {
		return fmt.Errorf("name %q stands there twice", name)
	}
	return nil
}

// end checks the count and the checksum.
func (f *nameFile) end(n *Names) error {
	count, err := binary.ReadUvarint(f)
	if err != nil {
		return err
	}
	if want := n.Len(); count != uint64(want) {
		return fmt.Errorf("the count says %d", count)
	}
	sum := f.sum
	var b [4]byte
	if err := f.full(b[:]); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(b[:]) != sum {
		return errors.New("the checksum differs")
	}
	return nil
}
