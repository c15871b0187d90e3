import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { userOperation as schema } from '../../../../schemas/events/onchain/user-operation.ts';
import { anOperation, aPaymaster } from '../../testing/random-operation.ts';
import {
  maxCostOf,
  nonceOf,
  nonceParts,
  openOperation,
  storedOperation,
  type UserOperation,
} from './user-operation.ts';

const operation: UserOperation = {
  sender: '0x1234567890AbcdEF1234567890aBcdef12345678',
  nonce: 1n,
  factory: undefined,
  callData: '0x',
  callGasLimit: 1n,
  verificationGasLimit: 20n,
  preVerificationGas: 300n,
  maxFeePerGas: 7n,
  maxPriorityFeePerGas: 5n,
  paymaster: undefined,
  signature: '0x',
};
const address = '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985';

describe('what an operation can cost at most', () => {
  it('is all of its gas at its fee, with that of its paymaster', () => {
    expect(maxCostOf(operation)).toBe(321n * 7n);
    const paymaster = { address, verificationGasLimit: 4_000n, postOpGasLimit: 50_000n, data: '0x' };
    expect(maxCostOf({ ...operation, paymaster })).toBe(54_321n * 7n);
  });
});

describe('a stored operation', () => {
  it('is the same when it is opened, and holds no bigint', () => {
    fc.assert(
      fc.property(anOperation, aPaymaster, (any, paymaster) => {
        for (const one of [any, { ...any, paymaster }, { ...any, factory: { address, data: '0xab' } }]) {
          expect(openOperation(schema.parse(JSON.parse(JSON.stringify(storedOperation(one)))))).toEqual(one);
        }
      }),
    );
  });

  it('has null for a factory and a paymaster that it does without', () => {
    expect(storedOperation(operation)).toMatchObject({
      factory: null,
      factoryData: null,
      paymaster: null,
      paymasterVerificationGasLimit: null,
      paymasterPostOpGasLimit: null,
      paymasterData: null,
    });
    expect(openOperation(storedOperation(operation))).toEqual(operation);
  });

  it('has a factory and a paymaster without data where none is stored', () => {
    const stored = { ...storedOperation(operation), factory: address, paymaster: address };
    expect(openOperation(stored)).toMatchObject({
      factory: { address, data: '0x' },
      paymaster: { address, verificationGasLimit: 0n, postOpGasLimit: 0n, data: '0x' },
    });
  });
});

describe('a nonce', () => {
  it('has 192 bits of key and 64 of sequence', () => {
    const last = 2n ** 64n - 1n;
    expect(nonceParts(nonceOf(3n, last))).toEqual({ key: 3n, sequence: last });
    expect(nonceOf(3n, last) + 1n).toBe(nonceOf(4n, 0n));
    const largest = 2n ** 192n - 1n;
    expect(nonceParts(2n ** 256n - 1n)).toEqual({ key: largest, sequence: last });
  });
});
