// SPDX-License-Identifier: Apache-2.0
package main

/*
#cgo LDFLAGS: -lcrypto
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <stdlib.h>

static EVP_CIPHER_CTX *cipher(void)
{
	static const unsigned char key[32], iv[16];
	EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
	unsigned char out[64];
	int size;

	if (!context ||
	    !EVP_EncryptInit_ex(context, EVP_aes_256_cbc(), NULL, key, iv) ||
	    !EVP_EncryptUpdate(context, out, &size, key, sizeof(key)))
		abort();
	return context;
}

static EVP_MD_CTX *digest(void)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();

	if (!context || !EVP_DigestInit_ex(context, EVP_sha256(), NULL) ||
	    !EVP_DigestUpdate(context, "text", 4))
		abort();
	return context;
}

static BIGNUM *number(void)
{
	BIGNUM *number = BN_new();

	if (!number || !BN_set_word(number, 3) || !BN_lshift(number, number, 500))
		abort();
	return number;
}
*/
import "C"

import "unsafe"

type opensslLibrary struct{}

func (opensslLibrary) name() string { return "openssl" }

type opensslSession struct {
	cipher *C.EVP_CIPHER_CTX
	digest *C.EVP_MD_CTX
	number *C.BIGNUM
}

func (opensslLibrary) open() session {
	return &opensslSession{C.cipher(), C.digest(), C.number()}
}

func (s *opensslSession) objects() map[string]unsafe.Pointer {
	return map[string]unsafe.Pointer{
		"EVP_CIPHER_CTX": unsafe.Pointer(s.cipher),
		"EVP_MD_CTX":     unsafe.Pointer(s.digest),
		"BIGNUM":         unsafe.Pointer(s.number),
	}
}

func (s *opensslSession) close() {
	C.EVP_CIPHER_CTX_free(s.cipher)
	C.EVP_MD_CTX_free(s.digest)
	C.BN_free(s.number)
}
