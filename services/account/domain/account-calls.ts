import { addressWord, bytesTail, digitsOf, tuple, word } from './abi-encoding.ts';
import { AbiReader, readIfWellFormed } from './abi-reader.ts';

/** What an account is to call. */
export interface AccountCall {
  /** EIP-55. */
  to: string;
  value: bigint;
  /** `0x` hex. */
  data: string;
}

/** `execute(address,uint256,bytes)` */
const EXECUTE = '0xb61d27f6';
/** `executeBatch(address[],uint256[],bytes[])` */
const EXECUTE_BATCH = '0x47e1da2a';
/** `createAccount(address,uint256)` */
const CREATE_ACCOUNT = '0x5fbfb9cf';
const SELECTOR_LENGTH = EXECUTE.length;

/** Returns the call data of a SimpleAccount that makes one call. */
export const executeCall = ({ to, value, data }: AccountCall): string =>
  EXECUTE + tuple(addressWord(to), word(value), { tail: bytesTail(digitsOf(data)) });

/** Returns the call data of the factory that deploys the account of an owner, with salt 0. */
export const createAccountData = (owner: string): string => CREATE_ACCOUNT + tuple(addressWord(owner), word(0));

/**
 * Returns the calls that `execute` or `executeBatch` of a SimpleAccount v0.7 makes.
 * @returns `undefined` of any other call data, and of such that does not hold what it says
 */
export const callsOf = (callData: string): AccountCall[] | undefined => {
  if (!/^0x[0-9a-f]*$/i.test(callData) || callData.length % 2 === 1) return undefined;
  const decode = decoders.get(callData.slice(0, SELECTOR_LENGTH).toLowerCase());
  if (!decode) return undefined;
  const encoded = Buffer.from(callData.slice(SELECTOR_LENGTH), 'hex');
  return readIfWellFormed(() => decode(new AbiReader(encoded), encoded.length));
};

const decodeExecute = (reader: AbiReader): AccountCall[] => [
  { to: reader.address(0), value: reader.uint(1), data: hexOf(reader.content(2)) },
];

const decodeExecuteBatch = (reader: AbiReader, encodedBytes: number): AccountCall[] => {
  const targets = reader.items(0, (items, at) => items.address(at));
  const values = reader.items(1, (items, at) => items.uint(at));
  const contents = reader.items(2, (items, at) => items.content(at));
  const lengths = [contents.length, values.length === 0 ? targets.length : values.length];
  if (lengths.some((length) => length !== targets.length)) throw new RangeError('as many of one as of another');
  // Many that name the same bytes could stand for far more than was sent.
  if (contents.reduce((sum, { length }) => sum + length, 0) > encodedBytes) throw new RangeError('more than was sent');
  return targets.map((to, at) => ({ to, value: values[at] ?? 0n, data: hexOf(contents[at]) }));
};

const hexOf = (bytes: Buffer | undefined): string => `0x${bytes?.toString('hex') ?? ''}`;

const decoders = new Map([
  [EXECUTE, decodeExecute],
  [EXECUTE_BATCH, decodeExecuteBatch],
]);
