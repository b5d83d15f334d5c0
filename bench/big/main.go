// SPDX-License-Identifier: Apache-2.0

// big: a large executable with a small heap: much of the standard library, of
// which reflection keeps all methods, and types that bench/programs.py writes.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"compress/lzw"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"debug/dwarf"
	"debug/elf"
	"debug/gosym"
	"debug/macho"
	"debug/pe"
	"encoding/asn1"
	"encoding/csv"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"expvar"
	"fmt"
	"go/ast"
	"go/build"
	"go/constant"
	"go/doc"
	"go/format"
	"go/importer"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	htmpl "html/template"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"index/suffixarray"
	"log/slog"
	"log/syslog"
	"math/big"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	_ "net/http/pprof"
	"net/mail"
	"net/rpc"
	"net/rpc/jsonrpc"
	"net/smtp"
	"net/textproto"
	"os"
	"os/user"
	"plugin"
	"reflect"
	"regexp"
	"runtime/debug"
	rpprof "runtime/pprof"
	"runtime/trace"
	"testing"
	"text/tabwriter"
	ttmpl "text/template"
)

var keep = []any{
	&tar.Reader{}, &zip.Reader{}, &bytes.Buffer{}, bzip2.NewReader, flate.NewReader, lzw.NewReader,
	&ecdsa.PrivateKey{}, ed25519.PrivateKey{}, &tls.Config{}, &tls.Conn{}, &x509.Certificate{}, &sql.DB{}, &sql.Tx{},
	&dwarf.Data{}, &elf.File{}, &gosym.Table{}, &macho.File{}, &pe.File{}, asn1.Unmarshal, &csv.Reader{}, &gob.Encoder{}, &gob.Decoder{},
	&json.Decoder{}, &xml.Decoder{}, &xml.Encoder{}, &expvar.Map{}, &ast.File{}, &build.Context{}, constant.MakeInt64, &doc.Package{},
	format.Source, importer.ForCompiler, parser.ParseFile, &printer.Config{}, &token.FileSet{}, &types.Config{}, &types.Named{}, &types.Checker{},
	&htmpl.Template{}, &image.RGBA{}, &image.NRGBA64{}, gif.DecodeAll, jpeg.Decode, png.Decode, &suffixarray.Index{}, &slog.Logger{}, &syslog.Writer{},
	&big.Int{}, &big.Float{}, &big.Rat{}, &multipart.Reader{}, &http.Server{}, &http.Client{}, &http.Transport{}, &cookiejar.Jar{}, &httptest.Server{}, &httputil.ReverseProxy{},
	&mail.Message{}, &rpc.Server{}, jsonrpc.NewClient, &smtp.Client{}, &textproto.Conn{}, &user.User{}, &plugin.Plugin{}, &regexp.Regexp{}, &debug.BuildInfo{},
	&rpprof.Profile{}, trace.Start, &testing.B{}, &testing.M{}, &tabwriter.Writer{}, &ttmpl.Template{},
}

func main() {
	methods := 0
	for _, k := range keep {
		t := reflect.TypeOf(k)
		for i := 0; i < t.NumMethod(); i++ {
			if t.Method(i).Func.IsValid() {
				methods++
			}
		}
	}
	fmt.Printf(`{"methods": %d}`+"\n", methods)
	os.Stdin.Read(make([]byte, 1))
}
