import { describe, expect, it } from '@jest/globals';
import { faultOfBounds, gasToGive } from './operation-bounds.ts';
import { FORKS, type ForkRules } from './fork-rules.ts';
import { preVerificationGas } from './pre-verification-gas.ts';
import type { UserOperation } from './user-operation.ts';

const ALL_BITS = 2n ** 120n - 1n;
const address = '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985';
const paymaster = { address, verificationGasLimit: 5_000n, postOpGasLimit: 3_969n, data: '0x' };
/** With as much `preVerificationGas` as it needs. */
const operationWith = (changes: Partial<UserOperation> = {}, rules: ForkRules = FORKS.london): UserOperation => {
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
  return { ...operation, preVerificationGas: changes.preVerificationGas ?? preVerificationGas(operation, rules) };
};
const head = { gasLimit: 30_000_000n, baseFeePerGas: 1n };
const tips = { least: 2n, max: ALL_BITS };
const faultOf = (changes: Partial<UserOperation>, at = head, rules: ForkRules = FORKS.london) =>
  faultOfBounds(operationWith(changes, rules), { head: at, rules, dataFeeGas: 0n, tips });

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
    const endless = { gasLimit: 2n ** 130n, baseFeePerGas: 0n };
    expect(faultOf(changesFor(ALL_BITS), endless)).toBeUndefined();
    expect(faultOf(changesFor(ALL_BITS + 1n), endless)).toBe('a limit or a fee has more than 120 bits');
  });

  it('offers no higher priority fee than its fee', () => {
    expect(faultOf({ maxPriorityFeePerGas: 20n })).toBeUndefined();
    expect(faultOf({ maxPriorityFeePerGas: 21n })).toBe('maxPriorityFeePerGas is above maxFeePerGas');
  });

  it('offers a tip that the nodes take, and none above the tipMax of the chain', () => {
    const withTip = (tip: bigint) => ({ maxFeePerGas: ALL_BITS, maxPriorityFeePerGas: tip });
    const bounds = { head, rules: FORKS.london, dataFeeGas: 0n, tips: { least: 2n, max: 10n } };
    const faultWith = (tip: bigint) => faultOfBounds(operationWith(withTip(tip)), bounds);
    for (const tip of [2n, 10n]) expect(faultWith(tip)).toBeUndefined();
    expect(faultWith(1n)).toContain('below the least that the nodes of this chain take, which is 2 wei');
    expect(faultWith(11n)).toContain('above the tipMax of this chain, which is 10 wei');
  });

  it('pays the base fee', () => {
    expect(faultOf({}, { ...head, baseFeePerGas: 20n })).toBeUndefined();
    expect(faultOf({}, { ...head, baseFeePerGas: 21n })).toBe('maxFeePerGas is below the base fee, which is 21');
  });

  it('fits a block with all of its limits, what the EntryPoint keeps back of them, and the bundle', () => {
    const own = operationWith({ paymaster });
    const gasLimit = 200_000n + own.preVerificationGas + 5_000n + 11n * 4_096n + 100_000n;
    const faultAt = (limit: bigint) =>
      faultOfBounds(own, { head: { ...head, gasLimit: limit }, rules: FORKS.london, dataFeeGas: 0n, tips });
    expect(faultAt(gasLimit)).toBeUndefined();
    expect(faultAt(gasLimit - 1n)).toBe('the gas limits fit no block');
  });

  it('fits a transaction, which since Osaka has 2^24 gas at most', () => {
    const callGasLimit = 15_900_000n;
    expect(faultOf({ callGasLimit }, head, FORKS.osaka)).toBeUndefined();
    const more = { callGasLimit: callGasLimit + 800_000n };
    expect(faultOf(more, head, FORKS.prague)).toBeUndefined();
    expect(faultOf(more, head, FORKS.osaka)).toBe(
      'a transaction may have 16777216 gas here (EIP-7825), and the gas limits need more',
    );
  });

  it('fits a block with what its data costs at least', () => {
    const long = { callData: `0x${'ab'.repeat(100_000)}` };
    expect(faultOf(long, { ...head, gasLimit: 4_000_000n }, FORKS.london)).toBeUndefined();
    expect(faultOf(long, { ...head, gasLimit: 4_000_000n }, FORKS.prague)).toBe('the gas limits fit no block');
  });

  it('costs no more than nodes take for one transaction', () => {
    const operation = { callGasLimit: 2_500_000n, maxFeePerGas: 10n ** 12n };
    expect(faultOf(operation, { ...head, baseFeePerGas: 300n * 10n ** 9n })).toBeUndefined();
    expect(faultOf(operation, { ...head, baseFeePerGas: 400n * 10n ** 9n })).toMatch(
      /^with these gas limits a bundle costs more than nodes take for one transaction: 10{18} wei$/,
    );
  });

  it('is no longer than a transaction may be', () => {
    const callDataBytes = 4_042 * 32;
    expect(faultOf({ callData: `0x${'ab'.repeat(callDataBytes)}` })).toBeUndefined();
    expect(faultOf({ callData: `0x${'ab'.repeat(callDataBytes + 1)}` })).toBe(
      'the operation is too long for a transaction',
    );
  });

  it('pays for what a bundle costs beyond what the EntryPoint counts', () => {
    const least = preVerificationGas(operationWith(), FORKS.london);
    expect(faultOf({ preVerificationGas: least })).toBeUndefined();
    expect(faultOf({ preVerificationGas: least - 1n })).toBe(`preVerificationGas is below ${String(least)}`);
  });
});

it('the gas to give is more by 64/63 for each of two calls', () => {
  expect(gasToGive(0n)).toBe(0n);
  expect(gasToGive(63n * 63n)).toBe(64n * 64n);
  expect(gasToGive(1_000_000n)).toBe(1_031_997n);
});
