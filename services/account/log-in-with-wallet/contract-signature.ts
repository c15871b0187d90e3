import { signatureValidator } from './signature-validator.ts';

/** Of all hashes together. A passkey that is checked without a precompile takes some 400,000. */
export const VALIDATION_GAS = 15_000_000;
/** Below this no further hash is tried: an honest wallet would fail for want of gas. */
const GAS_LEFT_MIN = 500_000;
const WORD_BYTES = 32;

const word = (value: number): string => value.toString(16).padStart(2 * WORD_BYTES, '0');
const push3 = (value: number): string => `62${value.toString(16).padStart(6, '0')}`;
const push2 = (value: number): string => `61${value.toString(16).padStart(4, '0')}`;
const push1 = (value: number): string => `60${value.toString(16).padStart(2, '0')}`;

export interface ContractSignature {
  /** The address that is said to have signed. */
  signer: string;
  /** `0x` hex. */
  signature: string;
  /** 32 bytes in hex, of each message that may have been signed, at most 255. */
  hashes: readonly string[];
}

/**
 * EVM code that returns the number of the first hash, counted from 1, whose signature the contract at an address accepts, or
 * 0. What a contract does cannot change that it returns one word: whatever reverts, loops or returns megabytes ends in the
 * validator. Only an address with code is taken: by itself the validator would take a key's signature too, also one with a
 * high s, and for the zero address any.
 */
export const contractSignatureCode = ({ signer, signature, hashes }: ContractSignature): string => {
  const address = signer.slice(2).toLowerCase();
  const bytes = signature.slice(2);
  const padded = bytes.padEnd(Math.ceil(bytes.length / (2 * WORD_BYTES)) * 2 * WORD_BYTES, '0');
  const validator = signatureValidator.slice(2);
  const withArguments = `${validator}${address.padStart(2 * WORD_BYTES, '0')}${word(0)}${word(3 * WORD_BYTES)}${word(bytes.length / 2)}${padded}`;
  const size = withArguments.length / 2;
  const hashAt = validator.length / 2 + WORD_BYTES;
  const resultAt = Math.ceil(size / WORD_BYTES) * WORD_BYTES;

  // CODECOPY(0, its own end, size)
  const copy = (end: number) => `${push3(size)}${push3(end)}${push1(0)}39`;
  const attempt = (hash: string, number: number, { none, found }: { none: number; found: number }) =>
    [
      `${push3(GAS_LEFT_MIN)}5a10${push2(none)}57`, // if (GAS < GAS_LEFT_MIN) goto none
      push1(number),
      `7f${hash.slice(2)}${push3(hashAt)}52`, // MSTORE(hashAt, hash)
      `${push3(size)}${push1(0)}${push1(0)}f0`, // CREATE(0, 0, size)
      `${push1(1)}${push1(0)}${push3(resultAt)}833c50`, // EXTCODECOPY(created, resultAt, 0, 1)
      `${push3(resultAt)}51${push1(248)}1c`, // the byte
      `73${address}3b151516`, // and whether EXTCODESIZE(signer) is more than 0
      `${push2(found)}5750`, // goto found, with the number; else POP
    ].join('');
  const program = (places: { none: number; found: number; end: number }) =>
    [
      copy(places.end),
      ...hashes.map((hash, index) => attempt(hash, index + 1, places)),
      `5b${push1(0)}`, // none:
      `5b${push1(0)}52${push1(WORD_BYTES)}${push1(0)}f3`, // found: RETURN(the number)
    ].join('');
  const end = program({ none: 0, found: 0, end: 0 }).length / 2;
  const found = end - 9;
  return `0x${program({ none: found - 3, found, end })}${withArguments}`;
};
