/**
 * A request signed by scheme `v1`, for the documents. The key is the one that EIP-155 shows: everybody has it. A spec signs it
 * anew.
 */
export const appSignatureExample = {
  signingKey: '0x4646464646464646464646464646464646464646464646464646464646464646',
  origin: 'https://shop.example',
  timestamp: '1767225600000',
  apiKey: 'ak_0123456789abcdefghjkmnpqrstvwxyz',
  text: 'shop.example:1767225600000:ak_0123456789abcdefghjkmnpqrstvwxyz',
  bytes:
    '0x73686f702e6578616d706c653a313736373232353630303030303a616b5f3031323334353637383961626364656667686a6b6d6e7071727374767778797a',
  signature:
    '0xbed0ebae6199b38a47c56b1f4ed48305772e656fc42305a6ee449b85121669b66509ce58ae35977b071d198f3cca7e4fc7c23518121bec781f288879b2b7c4a71c',
} as const;

const { signingKey, origin, timestamp, apiKey, text, bytes, signature } = appSignatureExample;

/** The example as docs/signatures.md and the description of the header show it. */
export const appSignatureExampleText = `signing key   ${signingKey}
origin        ${origin}
x-timestamp   ${timestamp}
x-api-key     ${apiKey}
text          ${text}
its bytes     ${bytes}
x-signature   ${signature}`;
