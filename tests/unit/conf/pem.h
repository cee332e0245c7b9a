/* SPDX-License-Identifier: MIT */
/*
 * Self-signed ECDSA certificates for tests that load files, and their keys, which are known to
 * everybody. Unless the name says otherwise they are valid from 2020 to 2120.
 */
#ifndef PUSHGATE_TESTS_CONF_PEM_H
#define PUSHGATE_TESTS_CONF_PEM_H

/* Covers test1.invalid. */
static const char PEM_CERTIFICATE_1[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBXDCCAQKgAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA10ZXN0MS5p\n"
    "bnZhbGlkMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAYMRYwFAYD\n"
    "VQQDDA10ZXN0MS5pbnZhbGlkMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEqkIu\n"
    "N/zdQ1F1FdkQPwR1D/UE14s84J5xfxljtnM8scEj/YpzrP/FM4FciKnXUZtBap57\n"
    "Uion4ohjfZ2iLRaiiKM7MDkwGAYDVR0RBBEwD4INdGVzdDEuaW52YWxpZDAdBgNV\n"
    "HQ4EFgQU5PTqlBU06RsbB/Kk2qZkrxGX12wwCgYIKoZIzj0EAwIDSAAwRQIgTDND\n"
    "J9uA2Z++98Ys8OxDWw346r0BGzYjbVcfHP36xXECIQCdPlsqheJC/f6wmKrqDKZR\n"
    "+qRlKFSKRcwyINVydyeq3g==\n"
    "-----END CERTIFICATE-----\n";
static const char PEM_KEY_1[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg+VUd+9cqh7pxdyGO\n"
    "1R9DTDUa/hOyp7qr63Qd0ajqH0ehRANCAASqQi43/N1DUXUV2RA/BHUP9QTXizzg\n"
    "nnF/GWO2czyxwSP9inOs/8UzgVyIqddRm0FqnntSKifiiGN9naItFqKI\n"
    "-----END PRIVATE KEY-----\n";
/* Covers test2.invalid and *.test2.invalid. */
static const char PEM_CERTIFICATE_2[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBbjCCAROgAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA10ZXN0Mi5p\n"
    "bnZhbGlkMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAYMRYwFAYD\n"
    "VQQDDA10ZXN0Mi5pbnZhbGlkMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAETOgA\n"
    "mmN44ifZMMn7rFCeo6t9er13XZAxtNg2xg7ooyVBLerCx1ChYCoUlqTsf4Rd5GLy\n"
    "8EElRWTCWPB69yw4a6NMMEowKQYDVR0RBCIwIIINdGVzdDIuaW52YWxpZIIPKi50\n"
    "ZXN0Mi5pbnZhbGlkMB0GA1UdDgQWBBTP0mPEUpwHCyUU4TdrbrYtuVfLpDAKBggq\n"
    "hkjOPQQDAgNJADBGAiEAkZLZ5c/rl2Rh6nvtouAVT2e8LLKZO+EVHf/7q7pOVboC\n"
    "IQCnKu9dBsVpcU0iR8JcH8tObOuxssLw5/qsNG6qn8LRPQ==\n"
    "-----END CERTIFICATE-----\n";
static const char PEM_KEY_2[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg/FSMwHEDNCXuq2Fm\n"
    "n6cUXAmJlHHEx5FmT4s2x//mRA6hRANCAARM6ACaY3jiJ9kwyfusUJ6jq316vXdd\n"
    "kDG02DbGDuijJUEt6sLHUKFgKhSWpOx/hF3kYvLwQSVFZMJY8Hr3LDhr\n"
    "-----END PRIVATE KEY-----\n";
/* Of the second key, signed by the first certificate. */
static const char PEM_SIGNED_2[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBfTCCASOgAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA10ZXN0MS5p\n"
    "bnZhbGlkMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAYMRYwFAYD\n"
    "VQQDDA10ZXN0Mi5pbnZhbGlkMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAETOgA\n"
    "mmN44ifZMMn7rFCeo6t9er13XZAxtNg2xg7ooyVBLerCx1ChYCoUlqTsf4Rd5GLy\n"
    "8EElRWTCWPB69yw4a6NcMFowGAYDVR0RBBEwD4INdGVzdDIuaW52YWxpZDAdBgNV\n"
    "HQ4EFgQUz9JjxFKcBwslFOE3a262LblXy6QwHwYDVR0jBBgwFoAU5PTqlBU06Rsb\n"
    "B/Kk2qZkrxGX12wwCgYIKoZIzj0EAwIDSAAwRQIgdFg92yth0T60X1CLptvsEsak\n"
    "+nh+oLIUUJ+VBFV4RqACIQCBGtusDG+J0CuCaysOxgX1HoWu1Y0h6Q4Rrsuru83N\n"
    "GA==\n"
    "-----END CERTIFICATE-----\n";
/* Of the first key: ended in 2021; begins in 2100; without a subjectAltName. */
static const char PEM_EXPIRED_1[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBWTCCAQCgAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA10ZXN0MS5p\n"
    "bnZhbGlkMB4XDTIwMDEwMTAwMDAwMFoXDTIxMDEwMTAwMDAwMFowGDEWMBQGA1UE\n"
    "AwwNdGVzdDEuaW52YWxpZDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABKpCLjf8\n"
    "3UNRdRXZED8EdQ/1BNeLPOCecX8ZY7ZzPLHBI/2Kc6z/xTOBXIip11GbQWqee1Iq\n"
    "J+KIY32doi0WooijOzA5MBgGA1UdEQQRMA+CDXRlc3QxLmludmFsaWQwHQYDVR0O\n"
    "BBYEFOT06pQVNOkbGwfypNqmZK8Rl9dsMAoGCCqGSM49BAMCA0cAMEQCIEsx/3wS\n"
    "rUHEXPIhiorW+Zh7xodaf1AYsFqLK9BMH1zDAiBI75NsZshxHBXBySFR8zb8jTku\n"
    "8e37X61DcZz38EDBjQ==\n"
    "-----END CERTIFICATE-----\n";
static const char PEM_FUTURE_1[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBXzCCAQSgAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA10ZXN0MS5p\n"
    "bnZhbGlkMCIYDzIxMDAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBgxFjAU\n"
    "BgNVBAMMDXRlc3QxLmludmFsaWQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASq\n"
    "Qi43/N1DUXUV2RA/BHUP9QTXizzgnnF/GWO2czyxwSP9inOs/8UzgVyIqddRm0Fq\n"
    "nntSKifiiGN9naItFqKIozswOTAYBgNVHREEETAPgg10ZXN0MS5pbnZhbGlkMB0G\n"
    "A1UdDgQWBBTk9OqUFTTpGxsH8qTapmSvEZfXbDAKBggqhkjOPQQDAgNJADBGAiEA\n"
    "1AP8GCFdqtCsM/9vtPrcKPwy6UuiGLj1vLa1oj7SCtkCIQDgyACveZrP+b04ooYb\n"
    "I9+vGkMGUR4huLANIJ/jQFCdVg==\n"
    "-----END CERTIFICATE-----\n";
static const char PEM_NAMELESS_1[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBhzCCAS2gAwIBAgIUaU7gsc3evSJHrIqnlS3HdvwLuO4wCgYIKoZIzj0EAwIw\n"
    "GDEWMBQGA1UEAwwNdGVzdDEuaW52YWxpZDAgFw0yNjExMjEwMzQwMzhaGA8yMTI2\n"
    "MTAyODAzNDAzOFowGDEWMBQGA1UEAwwNdGVzdDEuaW52YWxpZDBZMBMGByqGSM49\n"
    "AgEGCCqGSM49AwEHA0IABKpCLjf83UNRdRXZED8EdQ/1BNeLPOCecX8ZY7ZzPLHB\n"
    "I/2Kc6z/xTOBXIip11GbQWqee1IqJ+KIY32doi0WooijUzBRMB0GA1UdDgQWBBTk\n"
    "9OqUFTTpGxsH8qTapmSvEZfXbDAfBgNVHSMEGDAWgBTk9OqUFTTpGxsH8qTapmSv\n"
    "EZfXbDAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQDbGXI+ehsf\n"
    "SDy1dMrdNg7dqli2Utf58H2PM6uknzwyvAIgZEbjaN+OcSK0YJMG0Xu1tW+ZyWzD\n"
    "IXD/pTcUrCK2mnw=\n"
    "-----END CERTIFICATE-----\n";
/* The first key, encrypted. */
static const char PEM_ENCRYPTED_KEY_1[] =
    "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
    "MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiEf7DSniIxOQICCAAw\n"
    "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEEAeijIOfLBMmhpk+xX2frhcEgZCk\n"
    "f6q8GT5a3aryRDt7eF0QnLA/QjOhwp5H+TKCWPaw9X+2o5sJfzNEdbu3u86dJ2j2\n"
    "RcOhzQtEjAfr2vxRyyJtjRAWqNDEjWFZcBTTHyuUh+1kUONRy8kv5t0DK5FUBfkd\n"
    "YqHzprQVIhHP7ljfJAU1FopD/uqpBbUulMxqAJc20WOi8p+ujbAITjsE4xosLoA=\n"
    "-----END ENCRYPTED PRIVATE KEY-----\n";

#endif
