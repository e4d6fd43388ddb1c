package schema_test

import (
	"encoding/hex"
	"testing"

	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"
)

func pick(names ...string) []*token.Tokenizer {
	var all []*token.Tokenizer
	for _, n := range names {
		t, ok := token.Get(n)
		if !ok {
			panic(n)
		}
		all = append(all, t)
	}
	return all
}

// messages describes the stored messages to the protobuf library.
func messages(t require.TestingT) protoreflect.FileDescriptor {
	var file descriptorpb.FileDescriptorProto
	require.NoError(t, prototext.Unmarshal([]byte(`
		name: "schema.proto" package: "s" syntax: "proto3"
		message_type { name: "SchemaUpdate"
			field { name: "predicate" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
			field { name: "value_type" number: 2 type: TYPE_INT32 label: LABEL_OPTIONAL }
			field { name: "directive" number: 3 type: TYPE_INT32 label: LABEL_OPTIONAL }
			field { name: "tokenizer" number: 4 type: TYPE_STRING label: LABEL_REPEATED }
			field { name: "count" number: 5 type: TYPE_BOOL label: LABEL_OPTIONAL }
			field { name: "list" number: 6 type: TYPE_BOOL label: LABEL_OPTIONAL }
			field { name: "upsert" number: 8 type: TYPE_BOOL label: LABEL_OPTIONAL }
			field { name: "lang" number: 9 type: TYPE_BOOL label: LABEL_OPTIONAL }
			field { name: "non_nullable" number: 10 type: TYPE_BOOL label: LABEL_OPTIONAL }
			field { name: "non_nullable_list" number: 11 type: TYPE_BOOL label: LABEL_OPTIONAL }
			field { name: "object_type_name" number: 12 type: TYPE_STRING label: LABEL_OPTIONAL }
			field { name: "no_conflict" number: 13 type: TYPE_BOOL label: LABEL_OPTIONAL }
			field { name: "unique" number: 14 type: TYPE_BOOL label: LABEL_OPTIONAL }
			field { name: "index_specs" number: 15 type: TYPE_MESSAGE type_name: ".s.IndexSpec" label: LABEL_REPEATED } }
		message_type { name: "IndexSpec"
			field { name: "name" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
			field { name: "options" number: 2 type: TYPE_MESSAGE type_name: ".s.Option" label: LABEL_REPEATED } }
		message_type { name: "Option"
			field { name: "key" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
			field { name: "value" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL } }
		message_type { name: "TypeUpdate"
			field { name: "type_name" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
			field { name: "fields" number: 2 type: TYPE_MESSAGE type_name: ".s.SchemaUpdate" label: LABEL_REPEATED } }
	`), &file))
	fd, err := protodesc.NewFile(&file, nil)
	require.NoError(t, err)
	return fd
}

// libraryBytes gives what the protobuf library writes for a message in its text
// form.
func libraryBytes(t *testing.T, message protoreflect.Name, text string) []byte {
	m := dynamicpb.NewMessage(messages(t).Messages().ByName(message))
	require.NoError(t, prototext.Unmarshal([]byte(text), m))
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	require.NoError(t, err)
	return data
}

func TestUpdate(t *testing.T) {
	for _, c := range []struct {
		name string
		p    schema.Predicate
		want string // the message in protobuf text form
	}{
		{"plain", schema.Predicate{Name: "name"}, `predicate:"0-name"`},
		{"namespace", schema.Predicate{Namespace: 0x1f, Name: "a-b", Type: value.Int}, `predicate:"1f-a-b" value_type:2`},
		{"index", schema.Predicate{Name: "n", Type: value.String, Lang: true, Upsert: true, Unique: true, Tokenizers: pick("term", "exact")},
			`predicate:"0-n" value_type:9 directive:1 tokenizer:"term" tokenizer:"exact" upsert:true lang:true unique:true`},
		{"reverse", schema.Predicate{Name: "n", Type: value.UID, List: true, Count: true, Reverse: true, NoConflict: true},
			`predicate:"0-n" value_type:7 directive:2 count:true list:true no_conflict:true`},
		{"kept", schema.Predicate{Name: "n", Type: value.Vector, NonNullable: true, NonNullableList: true, ObjectTypeName: "T",
			CustomTokenizers: []string{"cidr"},
			IndexSpecs:       []schema.IndexSpec{{Name: "hnsw", Options: []schema.IndexOption{{Key: "metric", Value: "cosine"}, {Key: "empty"}}}}},
			`predicate:"0-n" value_type:12 directive:1 tokenizer:"cidr" non_nullable:true non_nullable_list:true object_type_name:"T" index_specs:{name:"hnsw" options:{key:"metric" value:"cosine"} options:{key:"empty"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := c.p.AppendUpdate([]byte("x"))[1:]
			require.Equal(t, hex.EncodeToString(libraryBytes(t, "SchemaUpdate", c.want)), hex.EncodeToString(data))
			back, err := schema.DecodeUpdate(data)
			require.NoError(t, err)
			require.True(t, back.Equal(&c.p), "%s", back)
		})
	}
}

func TestTypeUpdate(t *testing.T) {
	d := schema.TypeDef{Namespace: 10, Name: "Person", Fields: []string{"name", "~friend"}}
	data := d.AppendUpdate(nil)
	require.Equal(t, libraryBytes(t, "TypeUpdate", `type_name:"a-Person" fields:{predicate:"a-name"} fields:{predicate:"a-~friend"}`), data)
	back, err := schema.DecodeTypeUpdate(data)
	require.NoError(t, err)
	require.True(t, d.Equal(back))
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ hex, why string }{
		{"", "no predicate"},
		{"0a", "EOF"},
		{"0a03612d", "EOF"},
		{"0a046e616d65", "no namespace"},
		{"0a06782d6e616d65", "no namespace"},
		{"0a06302d6e616d6510" + "8002", "value type 256"},
		{"0a06302d6e616d657a020a05", "EOF"},
		{"0a06302d6e616d657a0412021205", "EOF"},
		{"0a06302d6e616d6503", ""},
	} {
		data, err := hex.DecodeString(c.hex)
		require.NoError(t, err)
		_, err = schema.DecodeUpdate(data)
		require.ErrorContains(t, err, c.why, c.hex)
		require.ErrorContains(t, err, "stored schema")
	}
	other := schema.Predicate{Namespace: 2, Name: "f"}
	alien := append([]byte("\x0a\x03\x31-T\x12\x05"), other.AppendUpdate(nil)...)
	_, err := schema.DecodeTypeUpdate(alien)
	require.ErrorContains(t, err, "another namespace")
	_, err = schema.DecodeTypeUpdate(nil)
	require.ErrorContains(t, err, "no type")
	_, err = schema.DecodeTypeUpdate([]byte{0x12, 0})
	require.ErrorContains(t, err, "no predicate")
}

// TestDecodePassesOver fields that are unknown, of every wire type.
func TestDecodePassesOver(t *testing.T) {
	p := schema.Predicate{Name: "n", Type: value.Int}
	data := p.AppendUpdate(nil)
	data = append(data, 0xf8, 0x01, 5)                      // 31: varint
	data = append(data, 0xf9, 0x01, 1, 2, 3, 4, 5, 6, 7, 8) // 31: fixed64
	data = append(data, 0xfa, 0x01, 1, 'x')                 // 31: bytes
	data = append(data, 0xfd, 0x01, 1, 2, 3, 4)             // 31: fixed32
	back, err := schema.DecodeUpdate(data)
	require.NoError(t, err)
	require.True(t, p.Equal(back))
}

// somePredicate draws any predicate, valid or not.
func somePredicate() *rapid.Generator[*schema.Predicate] {
	text := rapid.StringN(0, 8, 20)
	return rapid.Custom(func(t *rapid.T) *schema.Predicate {
		flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
		p := &schema.Predicate{
			Namespace: rapid.Uint64().Draw(t, "ns"), Name: text.Draw(t, "name"),
			Type: value.Type(rapid.Uint8().Draw(t, "type")),
			List: flag("list"), Lang: flag("lang"), Count: flag("count"), Upsert: flag("upsert"),
			NoConflict: flag("noconflict"), Unique: flag("unique"), Reverse: flag("reverse"),
			NonNullable: flag("nn"), NonNullableList: flag("nnl"), ObjectTypeName: text.Draw(t, "object"),
			Tokenizers:       rapid.SliceOf(rapid.SampledFrom(token.All())).Draw(t, "tokenizers"),
			CustomTokenizers: rapid.SliceOf(rapid.StringMatching("x[0-9]")).Draw(t, "custom"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "specs") {
			s := schema.IndexSpec{Name: text.Draw(t, "spec")}
			for range rapid.IntRange(0, 2).Draw(t, "options") {
				s.Options = append(s.Options, schema.IndexOption{Key: text.Draw(t, "key"), Value: text.Draw(t, "value")})
			}
			p.IndexSpecs = append(p.IndexSpecs, s)
		}
		return p
	})
}

func TestUpdateRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := somePredicate().Draw(t, "predicate")
		back, err := schema.DecodeUpdate(p.AppendUpdate(nil))
		require.NoError(t, err)
		require.True(t, p.Equal(back))
		_ = p.Validate()
		_ = p.Unsupported()
		_ = p.String()
	})
}

// TestStringRoundTrip: every valid predicate prints as text that reads as it is.
func TestStringRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := somePredicate().Draw(t, "predicate")
		p.CustomTokenizers, p.NonNullable, p.NonNullableList, p.ObjectTypeName = nil, false, false, ""
		p.IndexSpecs = nil
		p.Tokenizers = p.Tokenizers[:min(len(p.Tokenizers), 1)]
		p.Type = rapid.SampledFrom([]value.Type{value.Default, value.Int, value.String, value.UID}).Draw(t, "usual type")
		if p.Validate() != nil {
			p.Tokenizers, p.Reverse, p.Unique, p.Lang = nil, false, false, false
		}
		if p.Validate() != nil {
			p.Name, p.List = "name", false
		}
		require.NoError(t, p.Validate())
		s, err := schema.Parse(p.String())
		require.NoError(t, err, p.String())
		require.Len(t, s.Predicates, 1)
		require.True(t, p.Equal(s.Predicates[0]), p.String())
	})
}

func FuzzDecodeUpdate(f *testing.F) {
	p := schema.Predicate{Name: "n", Type: value.String, Tokenizers: pick("exact"), CustomTokenizers: []string{"x"},
		IndexSpecs: []schema.IndexSpec{{Name: "hnsw", Options: []schema.IndexOption{{Key: "a", Value: "b"}}}}}
	f.Add(p.AppendUpdate(nil))
	f.Add((&schema.TypeDef{Name: "T", Fields: []string{"a", "b"}}).AppendUpdate(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := schema.DecodeUpdate(data); err == nil {
			back, err := schema.DecodeUpdate(p.AppendUpdate(nil))
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(p.String(), back.String()))
		}
		if d, err := schema.DecodeTypeUpdate(data); err == nil {
			back, err := schema.DecodeTypeUpdate(d.AppendUpdate(nil))
			require.NoError(t, err)
			require.True(t, d.Equal(back))
		}
	})
}
