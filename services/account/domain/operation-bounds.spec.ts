import { describe, expect, it } from '@jest/globals';
import { faultOfBounds, gasToGive } from './operation-bounds.ts';
import { preVerificationGas } from './pre-verification-gas.ts';
import type { UserOperation } from './user-operation.ts';

const ALL_BITS = 2n ** 120n - 1n;
const address = '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985';
const paymaster = { address, verificationGasLimit: 5_000n, postOpGasLimit: 3_969n, data: '0x' };
/** With as much `preVerificationGas` as it needs. */
const operationWith = (changes: Partial<UserOperation> = {}): UserOperation => {
  const operation = {
    sender: address,
    nonce: 0n,
    factory: undefined,
    callData: '0x',
    callGasLimit: 39_690n,
    verificationGasLimit: 200_000n,
    preVerificationGas: 0n,
    maxFeePerGas: 20n,
    maxPriorityFeePerGas: 10n,
    paymaster: undefined,
    signature: `0x${'ff'.repeat(65)}`,
    ...changes,
  };
  return { ...operation, preVerificationGas: changes.preVerificationGas ?? preVerificationGas(operation) };
};
const head = { gasLimit: 30_000_000n, baseFeePerGas: 1n };
const faultOf = (changes: Partial<UserOperation>, at = head) => faultOfBounds(operationWith(changes), at);

describe('an operation that a block can have', () => {
  it('has no fault, with a paymaster or without one', () => {
    expect(faultOf({})).toBeUndefined();
    expect(faultOf({ paymaster })).toBeUndefined();
  });

  it.each([
    ['callGasLimit', (callGasLimit: bigint) => ({ callGasLimit })],
    ['verificationGasLimit', (verificationGasLimit: bigint) => ({ verificationGasLimit })],
    ['preVerificationGas', (preVerificationGas: bigint) => ({ preVerificationGas })],
    ['maxFeePerGas', (maxFeePerGas: bigint) => ({ maxFeePerGas })],
    ['maxPriorityFeePerGas', (fee: bigint) => ({ maxFeePerGas: ALL_BITS, maxPriorityFeePerGas: fee })],
    ['its paymaster', (limit: bigint) => ({ paymaster: { ...paymaster, verificationGasLimit: limit } })],
    ['postOpGasLimit', (postOpGasLimit: bigint) => ({ paymaster: { ...paymaster, postOpGasLimit } })],
  ])('has 120 bits at most for %s', (_, changesFor) => {
    const endless = { ...head, gasLimit: 2n ** 130n };
    expect(faultOf(changesFor(ALL_BITS), endless)).toBeUndefined();
    expect(faultOf(changesFor(ALL_BITS + 1n), endless)).toBe('a limit or a fee has more than 120 bits');
  });

  it('offers no higher priority fee than its fee', () => {
    expect(faultOf({ maxPriorityFeePerGas: 20n })).toBeUndefined();
    expect(faultOf({ maxPriorityFeePerGas: 21n })).toBe('maxPriorityFeePerGas is above maxFeePerGas');
  });

  it('pays the base fee', () => {
    expect(faultOf({}, { ...head, baseFeePerGas: 20n })).toBeUndefined();
    expect(faultOf({}, { ...head, baseFeePerGas: 21n })).toBe('maxFeePerGas is below the base fee, which is 21');
  });

  it('fits a block with all of its limits, what the EntryPoint keeps back of them, and the bundle', () => {
    const own = operationWith({ paymaster });
    const gasLimit = 200_000n + own.preVerificationGas + 5_000n + 11n * 4_096n + 100_000n;
    expect(faultOfBounds(own, { ...head, gasLimit })).toBeUndefined();
    expect(faultOfBounds(own, { ...head, gasLimit: gasLimit - 1n })).toBe('the gas limits fit no block');
  });

  it('is no longer than a transaction may be', () => {
    const callDataBytes = 4_042 * 32;
    expect(faultOf({ callData: `0x${'ab'.repeat(callDataBytes)}` })).toBeUndefined();
    expect(faultOf({ callData: `0x${'ab'.repeat(callDataBytes + 1)}` })).toBe(
      'the operation is too long for a transaction',
    );
  });

  it('pays for what a bundle costs beyond what the EntryPoint counts', () => {
    const least = preVerificationGas(operationWith());
    expect(faultOf({ preVerificationGas: least })).toBeUndefined();
    expect(faultOf({ preVerificationGas: least - 1n })).toBe(`preVerificationGas is below ${String(least)}`);
  });
});

it('the gas to give is more by 64/63 for each of two calls', () => {
  expect(gasToGive(0n)).toBe(0n);
  expect(gasToGive(63n * 63n)).toBe(64n * 64n);
  expect(gasToGive(1_000_000n)).toBe(1_031_997n);
});
