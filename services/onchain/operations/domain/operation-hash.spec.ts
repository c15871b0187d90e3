import { AbiCoder, concat, getBytes, hashMessage, keccak256, recoverAddress, toBeHex } from 'ethers';
import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { anAddress, anOperation, aPaymaster } from '../../testing/random-operation.ts';
import { initCode, paymasterAndData } from './operation-encoding.ts';
import {
  ownerDigest,
  paymasterData,
  paymasterDigest,
  STUB_PAYMASTER_DATA,
  STUB_SIGNATURE,
  userOpHash,
} from './operation-hash.ts';

const abi = AbiCoder.defaultAbiCoder();
const halves = (first: bigint, second: bigint) => concat([toBeHex(first, 16), toBeHex(second, 16)]);
const seconds = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const chain = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const hex = (bytes: Buffer) => `0x${bytes.toString('hex')}`;
const zeroBytes = (data: string) => getBytes(data).filter((byte) => byte === 0).length;

describe('what is signed of an operation', () => {
  it('is, by the owner, the hash of the entry point as a message', () => {
    fc.assert(
      fc.property(anOperation, anAddress, chain, (operation, entryPoint, chainId) => {
        const packed = abi.encode(
          ['address', 'uint256', 'bytes32', 'bytes32', 'bytes32', 'uint256', 'bytes32', 'bytes32'],
          [
            operation.sender,
            operation.nonce,
            keccak256(initCode(operation)),
            keccak256(operation.callData),
            halves(operation.verificationGasLimit, operation.callGasLimit),
            operation.preVerificationGas,
            halves(operation.maxPriorityFeePerGas, operation.maxFeePerGas),
            keccak256(paymasterAndData(operation)),
          ],
        );
        const expected = keccak256(
          abi.encode(['bytes32', 'address', 'uint256'], [keccak256(packed), entryPoint, chainId]),
        );
        expect(userOpHash(operation, entryPoint, chainId)).toBe(expected);
        expect(hex(ownerDigest(expected))).toBe(hashMessage(getBytes(expected)));
      }),
    );
  });

  it('is, by the paymaster, its own hash as a message, in which its data and the signatures are not', () => {
    fc.assert(
      fc.property(
        anOperation,
        aPaymaster,
        chain,
        seconds,
        seconds,
        (any, paymaster, chainId, validUntil, validAfter) => {
          const operation = { ...any, paymaster };
          const encoded = abi.encode(
            [
              'address',
              'uint256',
              'bytes32',
              'bytes32',
              'bytes32',
              'uint256',
              'uint256',
              'bytes32',
              'uint256',
              'address',
              'uint48',
              'uint48',
            ],
            [
              operation.sender,
              operation.nonce,
              keccak256(initCode(operation)),
              keccak256(operation.callData),
              halves(operation.verificationGasLimit, operation.callGasLimit),
              halves(paymaster.verificationGasLimit, paymaster.postOpGasLimit),
              operation.preVerificationGas,
              halves(operation.maxPriorityFeePerGas, operation.maxFeePerGas),
              chainId,
              paymaster.address,
              validUntil,
              validAfter,
            ],
          );
          const digest = paymasterDigest(operation, { chainId, validUntil, validAfter });
          expect(hex(digest)).toBe(hashMessage(getBytes(keccak256(encoded))));
        },
      ),
    );
  });
});

describe('the data of the paymaster', () => {
  it('holds both times and the signature', () => {
    fc.assert(
      fc.property(seconds, seconds, (validUntil, validAfter) => {
        const times = abi.encode(['uint48', 'uint48'], [validUntil, validAfter]);
        const signature = `0x${'ab'.repeat(65)}`;
        expect(paymasterData({ validUntil, validAfter, signature })).toBe(concat([times, signature]));
      }),
    );
  });

  it('is as long in its stub, which has no more zero bytes', () => {
    const untilYear2106 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
    fc.assert(
      fc.property(untilYear2106, untilYear2106, (validUntil, validAfter) => {
        const final = paymasterData({ validUntil, validAfter, signature: `0x${'ff'.repeat(65)}` });
        expect(STUB_PAYMASTER_DATA).toHaveLength(final.length);
        expect(zeroBytes(STUB_PAYMASTER_DATA)).toBeLessThanOrEqual(zeroBytes(final));
      }),
    );
  });
});

it('the stub of a signature has a signer for whatever it stands at, and no zero byte', () => {
  expect(zeroBytes(STUB_SIGNATURE)).toBe(0);
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (digest) => {
      expect(recoverAddress(digest, STUB_SIGNATURE)).toMatch(/^0x[0-9a-fA-F]{40}$/);
    }),
  );
});
