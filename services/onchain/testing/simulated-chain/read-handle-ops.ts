import { checksumAddress } from '../../../../shared/chain/identifiers/address.ts';
import type { UserOperation } from '../../operations/domain/user-operation.ts';

const HANDLE_OPS = '765e827f';
const WORD = 32;
const HALF = 16;
const ADDRESS = 20;

/** Returns the arguments of a call of `handleOps`; `undefined` for other call data. */
export const readHandleOps = (data: Buffer): { operations: UserOperation[]; beneficiary: string } | undefined => {
  if (data.subarray(0, 4).toString('hex') !== HANDLE_OPS) return undefined;
  const body = data.subarray(4);
  const list = body.subarray(offsetAt(body, 0));
  const elements = list.subarray(WORD);
  const operations = Array.from({ length: offsetAt(list, 0) }, (_, index) =>
    readOperation(elements.subarray(offsetAt(elements, index))),
  );
  return { operations, beneficiary: addressOf(body.subarray(WORD, 2 * WORD).subarray(-ADDRESS)) };
};

/** Reads a PackedUserOperation. */
const readOperation = (tuple: Buffer): UserOperation => {
  const initCode = bytesAt(tuple, 2);
  const paymasterAndData = bytesAt(tuple, 7);
  return {
    sender: addressOf(wordAt(tuple, 0).subarray(-ADDRESS)),
    nonce: numberOf(wordAt(tuple, 1)),
    factory:
      initCode.length === 0
        ? undefined
        : { address: addressOf(initCode.subarray(0, ADDRESS)), data: hex(initCode.subarray(ADDRESS)) },
    callData: hex(bytesAt(tuple, 3)),
    verificationGasLimit: numberOf(wordAt(tuple, 4).subarray(0, HALF)),
    callGasLimit: numberOf(wordAt(tuple, 4).subarray(HALF)),
    preVerificationGas: numberOf(wordAt(tuple, 5)),
    maxPriorityFeePerGas: numberOf(wordAt(tuple, 6).subarray(0, HALF)),
    maxFeePerGas: numberOf(wordAt(tuple, 6).subarray(HALF)),
    paymaster: paymasterAndData.length === 0 ? undefined : readPaymaster(paymasterAndData),
    signature: hex(bytesAt(tuple, 8)),
  };
};

const readPaymaster = (bytes: Buffer): NonNullable<UserOperation['paymaster']> => ({
  address: addressOf(bytes.subarray(0, ADDRESS)),
  verificationGasLimit: numberOf(bytes.subarray(ADDRESS, ADDRESS + HALF)),
  postOpGasLimit: numberOf(bytes.subarray(ADDRESS + HALF, ADDRESS + 2 * HALF)),
  data: hex(bytes.subarray(ADDRESS + 2 * HALF)),
});

const wordAt = (bytes: Buffer, index: number): Buffer => bytes.subarray(index * WORD, (index + 1) * WORD);
const offsetAt = (bytes: Buffer, index: number): number => Number(numberOf(wordAt(bytes, index)));
/** Reads bytes of any length: the word is the offset of their length, and the bytes follow the length. */
const bytesAt = (tuple: Buffer, index: number): Buffer => {
  const at = tuple.subarray(offsetAt(tuple, index));
  return at.subarray(WORD, WORD + offsetAt(at, 0));
};
const numberOf = (bytes: Buffer): bigint => BigInt(`0x0${bytes.toString('hex')}`);
const hex = (bytes: Buffer): string => `0x${bytes.toString('hex')}`;

const addresses = new Map<string, string>();
/** Computes the checksum of each address once, for there are few. */
const addressOf = (bytes: Buffer): string => {
  const digits = bytes.toString('hex');
  let address = addresses.get(digits);
  if (address === undefined) addresses.set(digits, (address = checksumAddress(digits)));
  return address;
};
