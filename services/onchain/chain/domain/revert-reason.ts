import { AbiReader, readIfWellFormed } from '../../operations/domain/abi-reader.ts';

/** An operation that makes its bundle fail. */
export interface FailedOperation {
  index: number;
  /** Begins with `AA` and two digits, unless the EntryPoint gives no reason. */
  reason: string;
  /** The bytes with which its account, factory or paymaster reverted, in `0x` hex. */
  inner?: string;
}

/** `FailedOp(uint256,string)` */
const FAILED_OP = '0x220266b6';
/** `FailedOpWithRevert(uint256,string,bytes)` */
const FAILED_OP_WITH_REVERT = '0x65c8fd4d';
/** `Error(string)` */
const ERROR = '0x08c379a0';
/** `Panic(uint256)` */
const PANIC = '0x4e487b71';
const SELECTOR_LENGTH = ERROR.length;

const CHARACTERS_MAX = 256;
const BYTES_OF_CHARACTER_MAX = 4;
/** Control characters, those that turn the direction of text, lone surrogates, unassigned characters, and line ends. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** From Solidity's documentation, "Panic via assert and Error via require". */
const PANICS = new Map([
  [0x00n, 'inserted by the compiler'],
  [0x01n, 'assertion failed'],
  [0x11n, 'arithmetic overflow or underflow'],
  [0x12n, 'division or modulo by zero'],
  [0x21n, 'conversion to an enum that has no such value'],
  [0x22n, 'storage byte array that is encoded incorrectly'],
  [0x31n, 'pop of an empty array'],
  [0x32n, 'array index out of bounds'],
  [0x41n, 'too much memory allocated'],
  [0x51n, 'call of a function that was never set'],
]);

/** Returns why a call reverted, as text that may be shown. */
export const reasonOf = (revertData: string): string => {
  const { selector, reader } = parts(revertData);
  if (selector.length < SELECTOR_LENGTH) return 'the call reverted without a reason';
  const reason = readIfWellFormed(() => {
    if (selector === ERROR) return textOf(reader.content(0));
    return selector === PANIC ? panicOf(reader.uint(0)) : undefined;
  });
  if (reason === '') return 'the call reverted without a reason';
  return reason ?? `custom error ${selector}`;
};

/** Reads the EntryPoint's error about an operation at fault; `undefined` for any other revert data. */
export const failedOperationOf = (revertData: string): FailedOperation | undefined => {
  const { selector, reader } = parts(revertData);
  if (selector !== FAILED_OP && selector !== FAILED_OP_WITH_REVERT) return undefined;
  return readIfWellFormed(() => {
    const failed = { index: Number(reader.uint(0)), reason: textOf(reader.content(1)) };
    return selector === FAILED_OP ? failed : { ...failed, inner: `0x${reader.content(2).toString('hex')}` };
  });
};

const parts = (revertData: string) => ({
  selector: revertData.slice(0, SELECTOR_LENGTH).toLowerCase(),
  reader: new AbiReader(Buffer.from(revertData.slice(SELECTOR_LENGTH), 'hex')),
});

const panicOf = (code: bigint): string => {
  const meaning = PANICS.get(code);
  return `panic 0x${code.toString(16).padStart(2, '0')}${meaning === undefined ? '' : `: ${meaning}`}`;
};

const textOf = (bytes: Buffer): string => {
  const text = bytes.subarray(0, CHARACTERS_MAX * BYTES_OF_CHARACTER_MAX).toString('utf8');
  return Array.from(text.replaceAll(UNPRINTABLE, '\ufffd')).slice(0, CHARACTERS_MAX).join('');
};
