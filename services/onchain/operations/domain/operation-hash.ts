import { hash } from 'node:crypto';
import { addressWord, digitsOf, word } from './abi-encoding.ts';
import { accountGasLimits, gasFees, initCode, paymasterAndData, paymasterLimits } from './operation-encoding.ts';
import type { UserOperation } from './user-operation.ts';

/** Unix seconds, inclusive; `validUntil` 0 means for ever. */
export interface Validity {
  validUntil: number;
  validAfter: number;
}

/** The members of an operation that its hash covers. */
type UnsignedOperation = Omit<UserOperation, 'signature'>;
type SponsoredOperation = UnsignedOperation & { paymaster: Omit<NonNullable<UserOperation['paymaster']>, 'data'> };

/**
 * A made-up signature for estimating gas: SimpleAccount and VerifyingPaymaster recover another signer from it than the
 * right one, and do not revert (r is that of a point, s is low). It has no zero byte, which would cost less gas.
 */
export const STUB_SIGNATURE = `0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798${'7a'.repeat(32)}1c`;
/** Times that are valid now and have no more zero bytes than the times of any signature made before the year 2106. */
const STUB_VALIDITY = { validUntil: 0xffffffffffff, validAfter: 0x01010101 };

const MESSAGE_PREFIX = Buffer.from('\x19Ethereum Signed Message:\n32');

const keccak = (digits: string): string => hash('keccak-256', Buffer.from(digits, 'hex'), 'hex');
const hashOf = (hex: string): string => keccak(digitsOf(hex));

/** Returns the hash by which EntryPoint v0.7 knows an operation (its `getUserOpHash`). */
export const userOpHash = (operation: UnsignedOperation, entryPoint: string, chainId: number): string => {
  const packed = [
    addressWord(operation.sender),
    word(operation.nonce),
    hashOf(initCode(operation)),
    hashOf(operation.callData),
    accountGasLimits(operation),
    word(operation.preVerificationGas),
    gasFees(operation),
    hashOf(paymasterAndData(operation)),
  ].join('');
  return `0x${keccak(keccak(packed) + addressWord(entryPoint) + word(chainId))}`;
};

/** Returns the digest of an operation's hash that the owner of a SimpleAccount signs (EIP-191). */
export const ownerDigest = (operationHash: string): Buffer => signedMessageDigest(digitsOf(operationHash));

/** Returns the digest of an operation that the signer of a VerifyingPaymaster v0.7 signs (EIP-191 of its `getHash`). */
export const paymasterDigest = (
  operation: SponsoredOperation,
  { chainId, validUntil, validAfter }: Validity & { chainId: number },
): Buffer => {
  const encoded = [
    addressWord(operation.sender),
    word(operation.nonce),
    hashOf(initCode(operation)),
    hashOf(operation.callData),
    accountGasLimits(operation),
    paymasterLimits(operation.paymaster),
    word(operation.preVerificationGas),
    gasFees(operation),
    word(chainId),
    addressWord(operation.paymaster.address),
    word(validUntil),
    word(validAfter),
  ];
  return signedMessageDigest(keccak(encoded.join('')));
};

/** Returns the data that a VerifyingPaymaster v0.7 reads after its address and limits. */
export const paymasterData = ({ validUntil, validAfter, signature }: Validity & { signature: string }): string =>
  `0x${word(validUntil)}${word(validAfter)}${digitsOf(signature)}`;

/** Paymaster data for estimating gas: as long as the signed data, with no more zero bytes. */
export const STUB_PAYMASTER_DATA = paymasterData({ ...STUB_VALIDITY, signature: STUB_SIGNATURE });

const signedMessageDigest = (digits: string): Buffer =>
  hash('keccak-256', Buffer.concat([MESSAGE_PREFIX, Buffer.from(digits, 'hex')]), 'buffer');
