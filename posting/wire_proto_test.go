package posting

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/edgemill/edgemill/schema/value"
)

// protoTypes is the messages of the format, defined from its page with
// protobuf's own types: what the encoders and decoders are held against.
type protoTypes struct {
	list, pack, block, posting, facet protoreflect.MessageDescriptor
}

type protoField struct {
	num      int32
	name     string
	typ      descriptorpb.FieldDescriptorProto_Type
	message  string
	repeated bool
}

func protoMessage(name string, fields ...protoField) *descriptorpb.DescriptorProto {
	m := &descriptorpb.DescriptorProto{Name: &name}
	for _, f := range fields {
		d := &descriptorpb.FieldDescriptorProto{Name: &f.name, Number: &f.num, Type: f.typ.Enum()}
		d.Label = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
		if f.repeated {
			d.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		if f.message != "" {
			d.TypeName = proto.String("." + f.message)
		}
		m.Field = append(m.Field, d)
	}
	return m
}

func newProtoTypes(t testing.TB) protoTypes {
	t.Helper()
	const (
		u32 = descriptorpb.FieldDescriptorProto_TYPE_UINT32
		u64 = descriptorpb.FieldDescriptorProto_TYPE_UINT64
		f64 = descriptorpb.FieldDescriptorProto_TYPE_FIXED64
		bin = descriptorpb.FieldDescriptorProto_TYPE_BYTES
		str = descriptorpb.FieldDescriptorProto_TYPE_STRING
		msg = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
		num = descriptorpb.FieldDescriptorProto_TYPE_INT32 // an enum's wire form
	)
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("format.proto"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			protoMessage("PostingList", protoField{1, "pack", msg, "UidPack", false}, protoField{2, "postings", msg, "Posting", true},
				protoField{3, "commit_ts", u64, "", false}, protoField{4, "splits", u64, "", true}),
			protoMessage("UidPack", protoField{1, "block_size", u32, "", false}, protoField{2, "blocks", msg, "UidBlock", true}),
			protoMessage("UidBlock", protoField{1, "base", u64, "", false}, protoField{2, "deltas", bin, "", false},
				protoField{3, "num_uids", u32, "", false}),
			protoMessage("Posting", protoField{1, "uid", f64, "", false}, protoField{2, "value", bin, "", false},
				protoField{3, "val_type", num, "", false}, protoField{4, "posting_type", num, "", false},
				protoField{5, "lang_tag", bin, "", false}, protoField{9, "facets", msg, "Facet", true},
				protoField{12, "op", u32, "", false}, protoField{13, "start_ts", u64, "", false}, protoField{14, "commit_ts", u64, "", false}),
			protoMessage("Facet", protoField{1, "key", str, "", false}, protoField{2, "value", bin, "", false},
				protoField{3, "val_type", num, "", false}, protoField{4, "tokens", str, "", true}),
		},
	}, nil)
	require.NoError(t, err)
	m := file.Messages()
	return protoTypes{
		list: m.ByName("PostingList"), pack: m.ByName("UidPack"), block: m.ByName("UidBlock"),
		posting: m.ByName("Posting"), facet: m.ByName("Facet"),
	}
}

// set fills a field; zero values stay unset, as in the wire form.
func set(m *dynamicpb.Message, name protoreflect.Name, v any) {
	m.Set(m.Descriptor().Fields().ByName(name), protoreflect.ValueOf(v))
}

func add(m *dynamicpb.Message, name protoreflect.Name, v any) {
	m.Mutable(m.Descriptor().Fields().ByName(name)).List().Append(protoreflect.ValueOf(v))
}

func (p protoTypes) newPack(uids []uint64) *dynamicpb.Message {
	pack := dynamicpb.NewMessage(p.pack)
	set(pack, "block_size", uint32(256))
	for len(uids) > 0 {
		n := blockLen(uids)
		block := dynamicpb.NewMessage(p.block)
		set(block, "base", uids[0])
		set(block, "deltas", modelDeltas(uids[:n]))
		set(block, "num_uids", uint32(n))
		add(pack, "blocks", block.ProtoReflect())
		uids = uids[n:]
	}
	return pack
}

func (p protoTypes) newPosting(t testing.TB, src *Posting) *dynamicpb.Message {
	m := dynamicpb.NewMessage(p.posting)
	set(m, "uid", src.UID)
	set(m, "value", src.Value)
	set(m, "val_type", int32(src.ValType))
	set(m, "posting_type", int32(src.Type))
	set(m, "lang_tag", src.Lang)
	set(m, "op", uint32(src.Op))
	set(m, "start_ts", src.StartTS)
	set(m, "commit_ts", src.CommitTS)
	fs, err := DecodeFacets(src.Facets)
	require.NoError(t, err)
	for _, f := range fs {
		facet := dynamicpb.NewMessage(p.facet)
		set(facet, "key", f.Key)
		set(facet, "value", f.Value)
		set(facet, "val_type", int32(f.Type))
		for _, token := range f.Tokens {
			add(facet, "tokens", token)
		}
		add(m, "facets", facet.ProtoReflect())
	}
	return m
}

func (p protoTypes) newList(t testing.TB, uids []uint64, l *Complete) *dynamicpb.Message {
	m := dynamicpb.NewMessage(p.list)
	if len(uids) > 0 {
		set(m, "pack", p.newPack(uids).ProtoReflect())
	}
	for i := range l.Postings {
		add(m, "postings", p.newPosting(t, &l.Postings[i]).ProtoReflect())
	}
	set(m, "commit_ts", l.CommitTS)
	for _, s := range l.Splits {
		add(m, "splits", s)
	}
	return m
}

func randomBytes(rng *rand.Rand, most int) []byte {
	b := make([]byte, rng.IntN(most+1))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	if len(b) == 0 {
		return nil
	}
	return b
}

// randomNumber is of any length in bits.
func randomNumber(rng *rand.Rand) uint64 { return rng.Uint64() >> rng.UintN(65) }

func randomPosting(t testing.TB, rng *rand.Rand, uid uint64) Posting {
	p := Posting{
		UID: uid, Op: Op(1 + rng.UintN(3)), Type: PostingType(rng.UintN(3)), ValType: value.Type(rng.UintN(13)),
		StartTS: randomNumber(rng), CommitTS: randomNumber(rng),
	}
	if p.Type != PostingRef {
		p.Value = randomBytes(rng, 300)
	}
	if p.Type == PostingValueLang {
		p.Lang = randomBytes(rng, 5)
	}
	var fs []Facet
	for i := range rng.IntN(4) {
		f := Facet{Key: string(rune('a'+i)) + "é", Type: FacetType(rng.UintN(5)), Value: randomBytes(rng, 130)}
		for range rng.IntN(3) {
			f.Tokens = append(f.Tokens, string(rune(rng.IntN(200))))
		}
		fs = append(fs, f)
	}
	raw, err := AppendFacets(nil, fs)
	require.NoError(t, err)
	p.Facets = raw
	return p
}

func randomPostings(t testing.TB, rng *rand.Rand, most int) (ps []Posting) {
	uids := randomUIDs(rng, rng.IntN(most+1), 50)
	for _, uid := range uids {
		ps = append(ps, randomPosting(t, rng, uid+1)) // protobuf leaves out a zero uid
	}
	return ps
}

// The same random lists in our bytes and in protobuf's, both ways, and in
// protobuf's with the fields in any order.
func TestListsAgainstProtobuf(t *testing.T) {
	types := newProtoTypes(t)
	rng := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		uids := randomUIDs(rng, rng.IntN(600), 34)
		l := Complete{Pack: MakePack(uids), Postings: randomPostings(t, rng, 5)}
		for range rng.IntN(4) {
			l.Splits = append(l.Splits, randomNumber(rng))
		}
		slices.Sort(l.Splits)
		l.Splits = slices.Compact(l.Splits)
		if rng.IntN(4) == 0 {
			l.CommitTS = randomNumber(rng)
		}

		msg := types.newList(t, uids, &l)
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(msg)
		require.NoError(t, err)
		ours := AppendList(nil, &l)
		require.True(t, string(want) == string(ours), "%x, not %x", ours, want)
		require.Len(t, ours, ListSize(&l))

		theirs := dynamicpb.NewMessage(types.list)
		require.NoError(t, proto.Unmarshal(ours, theirs))
		require.True(t, proto.Equal(msg, theirs))

		got, err := DecodeList(want)
		require.NoError(t, err)
		require.True(t, string(want) == string(AppendList(nil, &got)))
		requirePostings(t, l.Postings, got.Postings)

		anyOrder, err := proto.Marshal(msg)
		require.NoError(t, err)
		got, err = DecodeList(anyOrder)
		require.NoError(t, err)
		theirs = dynamicpb.NewMessage(types.list)
		require.NoError(t, proto.Unmarshal(AppendList(nil, &got), theirs))
		require.True(t, proto.Equal(msg, theirs))
	}
}

// requirePostings takes a slice without elements and none for the same.
func requirePostings(t testing.TB, want, got []Posting) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		w, g := want[i], got[i]
		require.Equal(t, string(w.Value), string(g.Value))
		require.Equal(t, string(w.Lang), string(g.Lang))
		require.Equal(t, string(w.Facets), string(g.Facets))
		w.Value, w.Lang, w.Facets = g.Value, g.Lang, g.Facets
		require.Equal(t, w, g)
	}
}
