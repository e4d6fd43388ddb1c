package posting

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

// modelDeltas is the plain encoder of a block: numbers first, then groups of
// four of them, each in as few bytes as it takes.
func modelDeltas(uids []uint64) []byte {
	var nums []uint32
	for i := 1; i < len(uids); i++ {
		nums = append(nums, uint32(uids[i]-uids[i-1]))
	}
	for len(nums) == 0 || len(nums)%4 != 0 {
		nums = append(nums, 0)
	}
	var out []byte
	for group := range slices.Chunk(nums, 4) {
		tag, body := byte(0), []byte{}
		for i, v := range group {
			b := binary.LittleEndian.AppendUint32(nil, v)
			n := 4
			for n > 1 && b[n-1] == 0 {
				n--
			}
			tag |= byte(n-1) << (2 * i)
			body = append(body, b[:n]...)
		}
		out = append(append(out, tag), body...)
	}
	return out
}

func modelBlock(base uint64, deltas []byte, num int) []byte {
	var b []byte
	if base != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), base)
	}
	b = protowire.AppendBytes(protowire.AppendTag(b, 2, protowire.BytesType), deltas)
	return protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), uint64(num))
}

func modelPack(blocks ...[]byte) []byte {
	b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 256)
	for _, block := range blocks {
		b = protowire.AppendBytes(protowire.AppendTag(b, 2, protowire.BytesType), block)
	}
	return b
}

// modelUIDs is the plain encoder of a pack.
func modelUIDs(uids []uint64) []byte {
	var blocks [][]byte
	for len(uids) > 0 {
		n := 1
		for n < len(uids) && n < 256 && uids[n]>>32 == uids[0]>>32 {
			n++
		}
		blocks = append(blocks, modelBlock(uids[0], modelDeltas(uids[:n]), n))
		uids = uids[n:]
	}
	return modelPack(blocks...)
}

// randomUIDs draws n ascending uids whose differences are of the sizes that
// shift allows.
func randomUIDs(rng *rand.Rand, n int, shift uint) []uint64 {
	uids := make([]uint64, 0, n)
	next := rng.Uint64N(1 << 20)
	for range n {
		uids = append(uids, next)
		next += 1 + rng.Uint64N(1<<rng.UintN(shift))
	}
	return uids
}

func uidSets() map[string][]uint64 {
	rng := rand.New(rand.NewPCG(1, 2))
	seq := func(from uint64, n int) (s []uint64) {
		for i := range n {
			s = append(s, from+uint64(i))
		}
		return s
	}
	return map[string][]uint64{
		"one":              {7},
		"zero":             {0},
		"greatest":         {math.MaxUint64},
		"both ends":        {0, math.MaxUint64},
		"four":             {1, 2, 3, 4},
		"five":             {1, 2, 3, 4, 5},
		"six":              {1, 2, 3, 4, 5, 6},
		"upper bits":       {1<<32 - 1, 1 << 32, 1<<33 + 5, 1 << 63, math.MaxUint64 - 1},
		"all lengths":      {0, 1, 1 + 0xff, 1 + 0xff + 0x100, 0x10000, 0x20000, 0x2000000, 0x3000000, 0xffffffff},
		"256":              seq(1, 256),
		"257":              seq(1, 257),
		"258":              seq(1, 258),
		"512":              seq(1<<40, 512),
		"across a border":  seq(1<<32-100, 200),
		"at the end":       seq(math.MaxUint64-299, 300),
		"many, dense":      randomUIDs(rng, 5000, 4),
		"many, sparse":     randomUIDs(rng, 5000, 30),
		"many, very far":   randomUIDs(rng, 3000, 40),
		"many, mixed gaps": randomUIDs(rng, 3000, 17),
	}
}

func TestPack(t *testing.T) {
	for name, uids := range uidSets() {
		t.Run(name, func(t *testing.T) {
			msg := modelUIDs(uids)
			record := append([]byte("x"), protowire.AppendBytes([]byte{tagListPack}, msg)...)
			require.Equal(t, record, AppendPack([]byte("x"), uids))

			var b PackBuilder
			for range 2 {
				for _, uid := range uids {
					b.Add(uid)
				}
				require.Equal(t, len(uids), b.Len())
				built := b.Pack()
				require.Equal(t, record, built.Append([]byte("x")))
				requirePack(t, uids, &built)
				b.Reset()
			}

			p, err := DecodePack(msg)
			require.NoError(t, err)
			requirePack(t, uids, &p)
			made := MakePack(uids)
			requirePack(t, uids, &made)
			require.Equal(t, len(record)-1, p.Size())
			require.Equal(t, record, p.Append([]byte("x")))
		})
	}
}

// requirePack reads the pack in every way.
func requirePack(t *testing.T, uids []uint64, p *Pack) {
	t.Helper()
	require.NoError(t, p.Check())
	require.Equal(t, len(uids), p.Len())
	got, err := p.AppendUIDs([]uint64{9})
	require.NoError(t, err)
	require.Equal(t, uids, got[1:])

	var byBlock []uint64
	for i := range p.Blocks() {
		require.Equal(t, uids[len(byBlock)], p.Base(i))
		byBlock, err = p.AppendBlock(byBlock, i)
		require.NoError(t, err)
	}
	require.Equal(t, uids, byBlock)

	it := p.Iter()
	require.Equal(t, uids, rest(&it))
	require.NoError(t, it.Err())
	requireSeeks(t, uids, p)
}

func rest(it *PackIter) (uids []uint64) {
	for uid, ok := it.Next(); ok; uid, ok = it.Next() {
		uids = append(uids, uid)
	}
	return uids
}

// requireSeeks looks for each of some uids and its neighbours, with one
// iterator in random order and with a fresh one.
func requireSeeks(t *testing.T, uids []uint64, p *Pack) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, uint64(len(uids))))
	old := p.Iter()
	for range 300 {
		uid := uids[rng.IntN(len(uids))] + rng.Uint64N(3) - 1
		at, found := slices.BinarySearch(uids, uid)
		has, err := p.Contains(uid)
		require.NoError(t, err)
		require.Equal(t, found, has)

		fresh := p.Iter()
		for _, it := range []*PackIter{&old, &fresh} {
			it.Seek(uid)
			for i := at; i < min(at+6, len(uids)); i++ {
				got, ok := it.Next()
				require.True(t, ok)
				require.Equal(t, uids[i], got)
			}
		}
		if at == len(uids) {
			_, ok := old.Next()
			require.False(t, ok)
		}
	}
	// Only ascending, as a merge does it.
	it := p.Iter()
	for i := 0; i < len(uids); i += 1 + rng.IntN(5) {
		it.Seek(uids[i])
		got, ok := it.Next()
		require.True(t, ok)
		require.Equal(t, uids[i], got)
	}
}

func TestPackOfNothing(t *testing.T) {
	for name, p := range map[string]Pack{"zero": {}, "made": MakePack(nil), "built": new(PackBuilder).Pack()} {
		t.Run(name, func(t *testing.T) {
			require.Zero(t, p.Len())
			require.Zero(t, p.Blocks())
			require.Zero(t, p.Size())
			require.Empty(t, p.Append(nil))
			require.NoError(t, p.Check())
			it := p.Iter()
			it.Seek(5)
			require.Empty(t, rest(&it))
			has, err := p.Contains(0)
			require.NoError(t, err)
			require.False(t, has)
		})
	}
	require.Empty(t, AppendPack(nil, nil))
	p, err := DecodePack(modelPack())
	require.NoError(t, err)
	require.Zero(t, p.Len())
}

func TestPackSlice(t *testing.T) {
	uids := randomUIDs(rand.New(rand.NewPCG(5, 6)), 2000, 12)
	p := MakePack(uids)
	for i := range p.Blocks() + 1 {
		for j := i; j <= p.Blocks(); j++ {
			s := p.Slice(i, j)
			got, err := s.AppendUIDs(nil)
			require.NoError(t, err)
			want := uids[min(256*i, len(uids)):min(256*j, len(uids))]
			require.Equal(t, want, append([]uint64{}, got...))
			require.Equal(t, AppendPack(nil, want), s.Append(nil))
		}
	}
	low := p.Slice(0, 1)
	low.addBlock(blockRef{base: 1 << 40, num: 1})
	require.NoError(t, p.Check(), "what is added to a slice does not show in its origin")
	require.Equal(t, uids[256], p.Base(1))
}

// What others may write, and can be read, though it is not what we write.
func TestPackOfOthers(t *testing.T) {
	five := []uint64{10, 11, 12, 13, 14}
	long := randomUIDs(rand.New(rand.NewPCG(7, 8)), 1000, 10)
	wide := []uint64{1<<32 - 1, 1 << 32, 1<<32 + 1}
	varint := protowire.AppendVarint
	for _, c := range []struct {
		name string
		msg  []byte
		want []uint64
	}{
		{"small blocks", modelPack(modelBlock(10, modelDeltas(five[:2]), 2), modelBlock(12, modelDeltas(five[2:]), 3)), five},
		{"a large block", modelPack(modelBlock(long[0], modelDeltas(long), 1000)), long},
		{"a block across 32 bits", modelPack(modelBlock(wide[0], modelDeltas(wide), 3)), wide},
		{"one uid without a group", modelPack(modelBlock(10, nil, 1), modelBlock(11, modelDeltas(five[1:]), 4)), five},
		{"another block size", append([]byte{8, 4}, modelPack(modelBlock(10, modelDeltas(five), 5))[3:]...), five},
		{"no block size", modelPack(modelBlock(10, modelDeltas(five), 5))[3:], five},
		{"something in the padding", modelPack(modelBlock(10, []byte{0, 1, 1, 1, 1, 0, 1, 9, 9, 9}, 6)), []uint64{10, 11, 12, 13, 14, 15}},
		{"an unknown field", varint([]byte{0x38}, 300), nil},
		{"unknown fields", append(modelPack(modelBlock(10, modelDeltas(five), 5)), 0x2d, 1, 2, 3, 4, 0x31, 1, 2, 3, 4, 5, 6, 7, 8, 0x3a, 1, 0), five},
		{"fields of a block out of order", modelPack(slices.Concat([]byte{0x18, 5, 0x12, 5}, modelDeltas(five), []byte{0x08, 10})), five},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := DecodePack(c.msg)
			require.NoError(t, err)
			if c.want == nil {
				require.Zero(t, p.Len())
				return
			}
			requirePack(t, c.want, &p)
			again := p.Append(nil)
			require.Len(t, again, p.Size())
			l, err := DecodeList(again)
			require.NoError(t, err)
			requirePack(t, c.want, &l.Pack)
		})
	}
}

func TestDecodePackRefuses(t *testing.T) {
	group := []byte{0, 1, 1, 1, 1}
	for _, c := range []struct {
		name string
		msg  []byte
		want string
	}{
		{"a block without uids", modelPack(modelBlock(1, group, 0)), "block without uids"},
		{"too few bytes for its uids", modelPack(modelBlock(1, group, 6)), "6 uids in a block with 5 bytes"},
		{"a lying number", modelPack(modelBlock(1, group, math.MaxInt)), "uids in a block with 5 bytes"},
		{"two uids, no bytes", modelPack(modelBlock(1, nil, 2)), "2 uids in a block with 0 bytes"},
		{"blocks out of order", modelPack(modelBlock(2, group, 1), modelBlock(1, group, 1)), "block from uid 0x1 after one from 0x2"},
		{"two blocks from one uid", modelPack(modelBlock(2, group, 1), modelBlock(2, group, 1)), "block from uid 0x2 after one from 0x2"},
		{"a length beyond the end", []byte{0x12, 9, 8}, "byte 1: length 9 in the 1 bytes left"},
		{"a number cut short", []byte{0x08, 0x80}, "byte 1: number cut short"},
		{"a number of 70 bits", append([]byte{0x08}, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"...), "more than 64 bits"},
		{"a wrong wire type", []byte{0x10, 1}, "field 2 with wire type 0"},
		{"a group of protobuf", []byte{0x3b}, "wire type 3"},
		{"field number 0", []byte{0x02, 0}, "field number 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := DecodePack(c.msg)
			require.ErrorIs(t, err, ErrBadValue)
			require.ErrorContains(t, err, c.want)
			require.Zero(t, p)
		})
	}
}

// Faults inside a block show when it is read, in whatever way.
func TestBlockFaults(t *testing.T) {
	good := modelBlock(1, modelDeltas([]uint64{1, 2}), 2)
	for name, bad := range map[string][]byte{
		"bytes left over":            modelBlock(100, []byte{0, 1, 1, 1, 1, 0}, 5),
		"a group left over":          modelBlock(100, []byte{0, 1, 1, 1, 1, 0, 1, 1, 1, 1}, 5),
		"one uid, bytes left over":   modelBlock(100, []byte{0, 0, 0, 0, 0, 0}, 1),
		"a group cut short":          modelBlock(100, []byte{3, 1, 1, 1, 1}, 5),
		"the second group cut short": modelBlock(100, []byte{0, 1, 1, 1, 1, 0xff, 1, 1, 1, 1}, 9),
		"a difference of zero":       modelBlock(100, []byte{0, 1, 0, 1, 1}, 5),
		"a zero in the last group":   modelBlock(100, []byte{0, 1, 0, 0, 0}, 3),
		"past the next block":        modelBlock(100, []byte{3, 1, 1, 0, 0, 1, 1, 1}, 5),
		"past 64 bits":               modelBlock(math.MaxUint64-1, []byte{0, 1, 1, 1, 1}, 5),
		"past 64 bits, a large way":  modelBlock(math.MaxUint64-1, slices.Repeat([]byte{0xff, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, 2), 9),
	} {
		t.Run(name, func(t *testing.T) {
			blocks := [][]byte{good, bad, modelBlock(300, modelDeltas([]uint64{300}), 1)}
			if strings.Contains(name, "64 bits") {
				blocks = blocks[:2]
			}
			p, err := DecodePack(modelPack(blocks...))
			require.NoError(t, err)
			require.ErrorIs(t, p.Check(), ErrBadValue)
			require.ErrorContains(t, p.Check(), "block 1 from uid 0x")
			uids, err := p.AppendUIDs([]uint64{9})
			require.ErrorIs(t, err, ErrBadValue)
			require.Equal(t, []uint64{9}, uids)

			it := p.Iter()
			got := rest(&it)
			require.ErrorIs(t, it.Err(), ErrBadValue)
			require.GreaterOrEqual(t, len(got), 2, "what lies before the fault is read")
			it.Seek(1)
			_, ok := it.Next()
			require.False(t, ok, "a fault stays")

			it = p.Iter()
			it.Seek(p.limit(1))
			_, ok = it.Next()
			require.False(t, ok)
			require.ErrorIs(t, it.Err(), ErrBadValue)
		})
	}
}

func TestPackRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		uids := rapid.SliceOfNDistinct(rapid.Uint64(), 0, 700, rapid.ID[uint64]).Draw(rt, "uids")
		slices.Sort(uids)
		record := AppendPack(nil, uids)
		p := MakePack(uids)
		require.Equal(rt, record, p.Append(nil))
		if len(uids) == 0 {
			return
		}
		require.Equal(rt, protowire.AppendBytes([]byte{tagListPack}, modelUIDs(uids)), record)
		got, err := p.AppendUIDs(nil)
		require.NoError(rt, err)
		require.Equal(rt, uids, got)
	})
}

func TestPackAllocations(t *testing.T) {
	uids := randomUIDs(rand.New(rand.NewPCG(1, 1)), 1000, 10)
	buf := AppendPack(nil, uids)
	p := MakePack(uids)
	require.Zero(t, testing.AllocsPerRun(10, func() { buf = AppendPack(buf[:0], uids) }))
	require.Zero(t, testing.AllocsPerRun(10, func() { buf = p.Append(buf[:0]) }))
	require.Zero(t, testing.AllocsPerRun(10, func() { _, _ = p.Contains(uids[500]) }))
	one := modelUIDs(uids[:200])
	require.Zero(t, testing.AllocsPerRun(10, func() { _, _ = DecodePack(one) }))
}

func FuzzDecodePack(f *testing.F) {
	for _, uids := range uidSets() {
		f.Add(modelUIDs(uids[:min(len(uids), 300)]))
	}
	f.Add(modelPack(modelBlock(10, []byte{0, 1, 1, 1, 1, 0, 1, 9, 9, 9}, 6)))
	f.Fuzz(func(t *testing.T, msg []byte) {
		p, err := DecodePack(msg)
		if err != nil {
			require.ErrorIs(t, err, ErrBadValue)
			return
		}
		uids, err := p.AppendUIDs(nil)
		require.Equal(t, err == nil, p.Check() == nil)
		it := p.Iter()
		walked := rest(&it)
		require.Equal(t, err == nil, it.Err() == nil)
		if err != nil {
			require.ErrorIs(t, err, ErrBadValue)
			return
		}
		require.True(t, slices.Equal(uids, walked))
		require.Len(t, uids, p.Len())
		require.True(t, slices.IsSorted(uids))

		record := p.Append(nil)
		require.Len(t, record, p.Size())
		l, err := DecodeList(record)
		require.NoError(t, err)
		again, err := l.Pack.AppendUIDs(nil)
		require.NoError(t, err)
		require.True(t, slices.Equal(uids, again))
		for i, uid := range uids[:min(len(uids), 9)] {
			it.Seek(uids[len(uids)-1-i])
			it.Seek(uid)
			require.True(t, slices.Equal(uids[i:], rest(&it)))
		}
	})
}

func benchUIDs() []uint64 { return randomUIDs(rand.New(rand.NewPCG(1, 1)), 100_000, 12) }

func BenchmarkAppendPack(b *testing.B) {
	uids, buf := benchUIDs(), []byte(nil)
	b.SetBytes(int64(8 * len(uids)))
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendPack(buf[:0], uids)
	}
}

func BenchmarkPackBuilder(b *testing.B) {
	uids, builder := benchUIDs(), new(PackBuilder)
	b.SetBytes(int64(8 * len(uids)))
	b.ReportAllocs()
	for b.Loop() {
		builder.Reset()
		for _, uid := range uids {
			builder.Add(uid)
		}
		builder.Pack()
	}
}

func BenchmarkDecodePackHeaders(b *testing.B) {
	msg := modelUIDs(benchUIDs())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodePack(msg); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPackAppendUIDs(b *testing.B) {
	p := MakePack(benchUIDs())
	var buf []uint64
	b.SetBytes(int64(8 * p.Len()))
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = p.AppendUIDs(buf[:0])
	}
}

func BenchmarkPackIter(b *testing.B) {
	p := MakePack(benchUIDs())
	b.SetBytes(int64(8 * p.Len()))
	b.ReportAllocs()
	for b.Loop() {
		it := p.Iter()
		for _, ok := it.Next(); ok; _, ok = it.Next() {
		}
	}
}

func BenchmarkPackContains(b *testing.B) {
	uids := benchUIDs()
	p := MakePack(uids)
	b.ReportAllocs()
	for i := range b.N {
		if ok, err := p.Contains(uids[i*7919%len(uids)]); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
