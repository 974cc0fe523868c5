package redact_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/idemtable/idem/internal/fuzzing"
	"github.com/idemtable/idem/internal/redact"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ why, text, want string }{
		{"no URL", "read commit 41: 3 of 4 bytes, id=7, sig of 2", "read commit 41: 3 of 4 bytes, id=7, sig of 2"},
		{"a URL without secrets", "s3://bucket/lake/day=1/a.parquet: gone", "s3://bucket/lake/day=1/a.parquet: gone"},
		{"a local one", "file:///lake/my%20orders/a@b:c", "file:///lake/my%20orders/a@b:c"},
		{"in memory", "mem:///", "mem:///"},
		{"user and password", "open s3://AKIA:s3cr3t@bucket/lake: denied", "open s3://***@bucket/lake: denied"},
		{"a user alone is a key id or a token", "https://gh0token@host/x", "https://***@host/x"},
		{"a container of Azure is no user", "abfss://data@account.dfs.core.windows.net/lake", "abfss://data@account.dfs.core.windows.net/lake"},
		{"but one with a password is", "abfss://data:s3cr3t@account/lake", "abfss://***@account/lake"},
		{"a password with a slash", "s3://AKIA:s3/cr3t@bucket/lake", "s3://***@bucket/lake"},
		{"a password with a question mark", "s3://AKIA:s3?cr3t@bucket/lake", "s3://***@bucket/lake"},
		{"a password with an at", "s3://AKIA:s3@cr3t@bucket/lake", "s3://***@bucket/lake"},
		{"a password with a blank", "s3://AKIA:s3 cr3t@bucket/lake gone", "s3://***@bucket/lake gone"},
		{"a password with brackets", "s3://AKIA:[s3cr3t]s3cr3t@bucket/lake", "s3://***@bucket/lake"},
		{"a password that ends as an address does", "s3://AKIA:s3cr3t]#s3cr3t@bucket/lake", "s3://***@bucket/lake"},
		{"and has a blank", "https://AKIA:s3 cr3t]#s3cr3t@host/lake gone", "https://***@host/lake gone"},
		{"a user before an address", "http://AKIA:s3cr3t@[fe80::1%eth0]:9000/lake", "http://***@[fe80::1%eth0]:9000/lake"},
		{"a query behind it", "s3://AKIA:s3 cr3t@bucket/lake?versionId=s3cr3t gone", "s3://***@bucket/lake?*** gone"},
		{"a password without a host", "s3://AKIA:s3cr3t/lake", "s3://AKIA:***/lake"},
		{"a port is none", "hdfs://nn:8020/lake/a@b", "hdfs://nn:8020/lake/a@b"},
		{"nor that of an address", "http://[::1]:9000/lake", "http://[::1]:9000/lake"},
		{"a presigned query", `Get "https://b.s3.amazonaws.com/k?X-Amz-Signature=s3cr3t&x=1": EOF`, `Get "https://b.s3.amazonaws.com/k?***": EOF`},
		{"a shared access signature", "https://a.blob.core.windows.net/c/k?sv=2022&sig=s3cr3t%3D", "https://a.blob.core.windows.net/c/k?***"},
		{"a fragment", "https://host/k#access_token=s3cr3t", "https://host/k#***"},
		{"two in one line", "copy s3://a:b@c/d to s3://e:f@g/h", "copy s3://***@c/d to s3://***@g/h"},
		{"two nested", "https://proxy/?u=s3://a:b@c/d", "https://proxy/?***"},
		{"a request line", "GET /bucket/k?X-Amz-Credential=s3cr3t&X-Amz-Date=1 HTTP/1.1", "GET /bucket/k?X-Amz-Credential=***&X-Amz-Date=*** HTTP/1.1"},
		{"a token in a query without a scheme", "/k?list-type=2&access_token=s3cr3t", "/k?list-type=2&access_token=***"},
		{"old signatures", "AWSAccessKeyId=s3cr3t&Expires=1&Signature=s3cr3t", "AWSAccessKeyId=***&Expires=1&Signature=***"},
		{"a header", "Authorization: Bearer s3cr3t\nHost: h", "Authorization: ***\nHost: h"},
		{"a session token", "x-amz-security-token: s3cr3t", "x-amz-security-token: ***"},
		{"percent-encoded as a whole", `the path "s3%3A%2F%2Fa%3As3cr3t%40b/k"`, `the path "s3%3A%2F%2F***"`},
		{"capitals", "S3A://a:s3cr3t@b/k", "S3A://***@b/k"},
		{"many lines", "one\nhttps://h/k?sig=s3cr3t\ntwo", "one\nhttps://h/k?***\ntwo"},
	} {
		t.Run(c.why, func(t *testing.T) {
			require.Equal(t, c.want, redact.Text(c.text))
			require.Equal(t, c.want, redact.Text(c.want), "twice is once")
		})
	}
}

func TestURL(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"s3://AKIA:s3 cr 3t@bucket/my lake?versionId=s3cr3t", "s3://***@bucket/my lake?***"},
		{"/lake/my orders?really", "/lake/my orders?really"},
		{"AKIA:s3cr3t@bucket/lake", "***@bucket/lake"},
		{"file:AKIA:s3cr3t@bucket/lake", "***@bucket/lake"},
		{"bucket?X-Amz-Signature=s3cr3t", "bucket?X-Amz-Signature=***"},
		{"a@b:c", "a@b:c"},
	} {
		require.Equal(t, c.want, redact.URL(c.text))
	}
}

// Whatever the secret and whatever stands around the URL, it is not in the text any more.
func TestNoSecretStays(t *testing.T) {
	const secret = "s3cr3t"
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`[a-zA-Z0-9/?#@:&=%+._~\[\]-]{0,6}`)
		u := rapid.SampledFrom([]string{"s3", "s3a", "https", "HTTP", "gs", "wasbs", "postgres"}).Draw(t, "scheme") + "://"
		switch rapid.IntRange(0, 3).Draw(t, "where") {
		case 0:
			before := part.Filter(func(s string) bool {
				return strings.Trim(strings.SplitN(s+"x", "/", 2)[0], "0123456789") != "" || s == ""
			}).Draw(t, "before")
			u += rapid.StringMatching(`[A-Z0-9]{1,6}`).Draw(t, "user") + ":" + before + secret + part.Draw(t, "after") + "@bucket/lake"
		case 1:
			u = "https://" + secret + "@bucket/lake" // of Azure's schemes it is a container
		case 2:
			u += "bucket/lake?" + part.Draw(t, "query") + secret
		default:
			u += "bucket/lake?X-Amz-Signature=" + secret
		}
		around := rapid.SampledFrom([]string{"%s", "open %s: denied", "%q", "'%s'", "a\n%s\nb", "<%s>", "first s3://b/c then %s", "(%s)", "url=%s"}).Draw(t, "around")
		text := fmt.Sprintf(around, u)
		require.NotContains(t, redact.Text(text), secret, text)
		require.Equal(t, redact.Text(text), redact.Text(redact.Text(text)), "twice is once: %s", text)
		require.NotContains(t, redact.URL(u), secret, u)
	})
}

func TestErrorStaysWhatItIs(t *testing.T) {
	raw := &url.Error{Op: "Get", URL: "https://h/k?sig=s3cr3t", Err: fmt.Errorf("reset: %w", fs.ErrPermission)}
	err := redact.Error(fmt.Errorf("read commit 4: %w", errors.Join(raw, context.DeadlineExceeded)))
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	var as *url.Error
	require.ErrorAs(t, err, &as)
	require.Equal(t, "read commit 4: Get \"https://h/k?***\": reset: permission denied\ncontext deadline exceeded", err.Error())
	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, verb := range []string{"%v", "%+v", "%s", "%q", "%#v"} {
			require.NotContains(t, fmt.Sprintf(verb, e), "s3cr3t")
		}
	}
	require.Same(t, err, redact.Error(err), "twice is once")
	plain := fmt.Errorf("read commit 4: %w", fs.ErrNotExist)
	require.Same(t, plain, redact.Error(plain), "nothing is put around an error without secrets")
	require.NoError(t, redact.Error(nil))
}

// quiet wraps an error without saying what it says.
type quiet struct{ error }

func (quiet) Error() string   { return "the store failed" }
func (q quiet) Unwrap() error { return q.error }

func TestErrorLooksThroughTheChain(t *testing.T) {
	inner := errors.New("https://h/k?sig=s3cr3t")
	for _, err := range []error{quiet{inner}, quiet{errors.Join(errors.New("a"), inner)}} {
		clean := redact.Error(err)
		require.Equal(t, "the store failed", clean.Error())
		require.ErrorIs(t, clean, inner)
		require.NoError(t, errors.Unwrap(clean), "what it wraps is not printed by who walks the chain")
	}
}

// lazy gives its value when a record is written.
type lazy struct{ v slog.Value }

func (l lazy) LogValue() slog.Value { return l.v }

func TestLogger(t *testing.T) {
	const secret = "s3://a:s3cr3t@b/k"
	for name, make := range map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			l := redact.Logger(slog.New(make(&out)))
			require.Same(t, l, redact.Logger(l), "twice is once")
			l.With("url", secret).WithGroup("g").Warn("opened "+secret, "error", errors.New(secret), "urls", []string{secret}, "n", 7,
				slog.Group("h", "url", secret), "lazy", lazy{slog.StringValue(secret)}, "any", struct{ URL string }{secret}, "file", "a=b")
			l.Debug("not enabled " + secret)
			require.NotContains(t, out.String(), "s3cr3t")
			require.Equal(t, 7, strings.Count(out.String(), "s3://***@b/k"), out.String())
			require.Contains(t, out.String(), "a=b")
		})
	}
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{"s3://a:b@c/d?e#f", "://", "a://b:/c", "x-amz-a=b", "%3a%2f%2f%40", "s3://:@", "Authorization:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var once string
		fuzzing.Bounded(t, len(text), func() { once = redact.Text(text) })
		require.Equal(t, once, redact.Text(once))
		redact.URL(text)
	})
}
