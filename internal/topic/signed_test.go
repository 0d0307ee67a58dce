package topic

import (
	"encoding/base64"
	"testing"
	"time"
)

// signedURL is a token as AWS's own signer for Python printed it, in the region eu-west-1, for the key pair AKIDEXAMPLE.
const signedURL = "aHR0cHM6Ly9rYWZrYS5ldS13ZXN0LTEuYW1hem9uYXdzLmNvbS8_QWN0aW9uPWthZmthLWNsdXN0ZXIlM0FDb25uZWN0JlgtQW16LUFsZ29yaXRo" +
	"bT1BV1M0LUhNQUMtU0hBMjU2JlgtQW16LUNyZWRlbnRpYWw9QUtJREVYQU1QTEUlMkYyMDI2MTEyOSUyRmV1LXdlc3QtMSUyRmthZmthLWNsdXN0" +
	"ZXIlMkZhd3M0X3JlcXVlc3QmWC1BbXotRGF0ZT0yMDI2MTEyOVQwMzA5MzRaJlgtQW16LUV4cGlyZXM9OTAwJlgtQW16LVNpZ25lZEhlYWRlcnM9" +
	"aG9zdCZYLUFtei1TaWduYXR1cmU9MzJkZmM2ZGQyNTMzMjFhZTY0ZmJjYjY1ZmZjODY3MDhiOGQ5MTU5ZWU1NjA3YjBkZmEwY2NiYmQyZmVhZjYy" +
	"ZSZVc2VyLUFnZW50PWF3cy1tc2staWFtLXNhc2wtc2lnbmVyLXB5dGhvbiUyRjEuMC4y"

// A token of Amazon MSK, which is no JWT, is sent as it is and kept for four fifths of its 15 minutes.
func TestTokensOfMSKSayHowLongTheyLive(t *testing.T) {
	if got, want := expiryOf(signedURL), time.Date(2026, 11, 29, 3, 24, 34, 0, time.UTC); !got.Equal(want) {
		t.Errorf("it lives until %v, not %v", got, want)
	}
	b, err := newBearer("", "echo "+signedURL)
	if err != nil {
		t.Fatal(err)
	}
	_, sent, err := b.Start(t.Context())
	if err != nil || string(sent) != "n,,\x01auth=Bearer "+signedURL+"\x01\x01" {
		t.Errorf("%q, %v", sent, err)
	}
	for _, other := range []string{"opaque", "b3BhcXVl", base64.RawURLEncoding.EncodeToString([]byte("https://kafka/?X-Amz-Expires=900"))} {
		if got := expiryOf(other); !got.IsZero() {
			t.Errorf("%.20s lives until %v", other, got)
		}
	}
}

// A token that lives for longer than a duration reaches, times eight, is kept too: its command is not run for each connection.
func TestATokenOfACenturyIsKept(t *testing.T) {
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"exp":4102444800}`)) // 2100
	b, err := newBearer("", "echo head."+claims+".seal")
	if err != nil || time.Until(b.until) < 24*time.Hour {
		t.Errorf("kept for %v, %v", time.Until(b.until), err)
	}
}
