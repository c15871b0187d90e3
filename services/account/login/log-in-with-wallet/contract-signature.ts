import { signatureValidator } from './signature-validator.ts';

/** Of all hashes together. A passkey that is checked without a precompile takes some 400,000. */
export const VALIDATION_GAS = 15_000_000;
/** Below this no further hash is tried: an honest wallet would fail for want of gas. */
const GAS_LEFT_MIN = 500_000;
const WORD_BYTES = 32;

const word = (value: number): string => value.toString(16).padStart(2 * WORD_BYTES, '0');
const push3 = (value: number): string => `62${value.toString(16).padStart(6, '0')}`;
const push2 = (value: number): string => `61${value.toString(16).padStart(4, '0')}`;
const pushAddress = (address: string): string => `73${address.slice(2).toLowerCase()}`;
const push1 = (value: number): string => `60${value.toString(16).padStart(2, '0')}`;

export interface ContractSignature {
  /** The address that is said to have signed. */
  signer: string;
  /** `0x` hex. */
  signature: string;
  /** 32 bytes in hex, of each message that may have been signed, at most 255. */
  hashes: readonly string[];
}

/** What is returned where there is no code at the address. */
export const NO_CODE = 256;
/** Ends the signature of a wallet that is yet to be deployed (ERC-6492). */
const UNDEPLOYED_SUFFIX = '6492'.repeat(16);
/** What is created may have no longer code (EIP-3860). */
const CREATION_BYTES_MAX = 49_152;
/** Of ERC-1271: the selector of `isValidSignature(bytes32,bytes)`, and what it returns of a valid one. */
const MAGIC = '1626ba7e';

export const isOfUndeployed = (signature: string): boolean => signature.endsWith(UNDEPLOYED_SUFFIX);

/**
 * EVM code that returns the number of the first hash, counted from 1, whose signature the contract at an address accepts; 0
 * if it accepts none, and `NO_CODE` where there is no contract. What a contract does cannot change that it returns one word:
 * whatever reverts, loops or returns megabytes ends in a call, or in the validator.
 * @returns the code, and what it is called with where both together are too long to be created
 */
export const contractSignatureCode = (asked: ContractSignature): { code: string; input?: string } => {
  if (isOfUndeployed(asked.signature)) return { code: programOf(asked, deployingAttempt(asked), true) };
  const attempt = callingAttempt(asked);
  const code = programOf(asked, attempt, true);
  if (code.length / 2 - 1 <= CREATION_BYTES_MAX) return { code };
  return { code: programOf(asked, attempt, false), input: `0x${attempt.data}` };
};

interface Attempt {
  /** Hex digits; they are copied to the memory before the first hash is tried. */
  data: string;
  /** Where in the memory a hash is to stand. */
  hashAt: number;
  /** Leaves 1 on the stack if the hash in the memory is accepted, else 0. */
  steps: (resultAt: number) => string;
}

const bytesArgument = (signature: string): string => {
  const bytes = signature.slice(2);
  return word(bytes.length / 2) + bytes.padEnd(Math.ceil(bytes.length / (2 * WORD_BYTES)) * 2 * WORD_BYTES, '0');
};

/** Calls the contract (ERC-1271). */
const callingAttempt = ({ signer, signature }: ContractSignature): Attempt => {
  const data = `${MAGIC}${word(0)}${word(2 * WORD_BYTES)}${bytesArgument(signature)}`;
  const size = data.length / 2;
  return {
    data,
    hashAt: 4,
    steps: (resultAt) =>
      [
        `${push1(0)}${push3(resultAt)}52`, // MSTORE(resultAt, 0)
        `${push1(WORD_BYTES)}${push3(resultAt)}${push3(size)}${push1(0)}${pushAddress(signer)}5afa`, // STATICCALL
        `63${MAGIC}${push1(224)}1b${push3(resultAt)}5114`, // whether MAGIC << 224 was returned
        `${push1(WORD_BYTES - 1)}3d11`, // in a whole word: RETURNDATASIZE > 31
        '1616',
      ].join(''),
  };
};

/**
 * Creates the validator, which deploys the wallet and calls it. By itself it would take a key's signature too, also one with
 * a high s, and for the zero address any.
 */
const deployingAttempt = ({ signer, signature }: ContractSignature): Attempt => {
  const validator = signatureValidator.slice(2);
  const address = signer
    .slice(2)
    .toLowerCase()
    .padStart(2 * WORD_BYTES, '0');
  const data = `${validator}${address}${word(0)}${word(3 * WORD_BYTES)}${bytesArgument(signature)}`;
  return {
    data,
    hashAt: validator.length / 2 + WORD_BYTES,
    steps: (resultAt) =>
      [
        `${push3(data.length / 2)}${push1(0)}${push1(0)}f0`, // CREATE(0, 0, size)
        `${push1(1)}${push1(0)}${push3(resultAt)}833c50`, // EXTCODECOPY(created, resultAt, 0, 1)
        `${push3(resultAt)}51${push1(248)}1c`, // the byte
      ].join(''),
  };
};

/** @param isCreated the data stands behind the code; else the code is called with it */
const programOf = ({ signer, hashes }: ContractSignature, { data, hashAt, steps }: Attempt, isCreated: boolean) => {
  const size = data.length / 2;
  const resultAt = Math.ceil(size / WORD_BYTES) * WORD_BYTES;
  const codeSize = `${pushAddress(signer)}3b15`; // whether EXTCODESIZE(signer) is 0
  const tryHash = (hash: string, number: number, { none, found }: { none: number; found: number }) =>
    [
      `${push3(GAS_LEFT_MIN)}5a10${push2(none)}57`, // if (GAS < GAS_LEFT_MIN) goto none
      push1(number),
      `7f${hash.slice(2)}${push3(hashAt)}52`, // MSTORE(hashAt, hash)
      steps(resultAt),
      `${codeSize}1516`, // and whether there is code
      `${push2(found)}5750`, // goto found, with the number; else POP
    ].join('');
  const none = `5b${codeSize}${push1(8)}1b`; // NO_CODE or 0
  const found = `5b${push1(0)}52${push1(WORD_BYTES)}${push1(0)}f3`; // RETURN(the number)
  const program = (end: number) => {
    const foundAt = end - found.length / 2;
    const places = { found: foundAt, none: foundAt - none.length / 2 };
    // CODECOPY(0, the end, size) or CALLDATACOPY(0, 0, size)
    const copy = isCreated ? `${push3(size)}${push3(end)}${push1(0)}39` : `${push3(size)}${push1(0)}${push1(0)}37`;
    return [copy, ...hashes.map((hash, index) => tryHash(hash, index + 1, places)), none, found].join('');
  };
  return `0x${program(program(0).length / 2)}${isCreated ? data : ''}`;
};
