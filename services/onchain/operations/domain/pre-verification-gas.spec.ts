import { concat, getBytes, Interface, toBeHex } from 'ethers';
import { describe, expect, it } from '@jest/globals';
import { FORKS, type ForkRules } from './fork-rules.ts';
import { preVerificationGas } from './pre-verification-gas.ts';
import type { UserOperation } from './user-operation.ts';

const address = '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985';
const entryPoint = new Interface([
  'function handleOps((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address)',
]);
const operation: UserOperation = {
  sender: address,
  nonce: 3n,
  factory: undefined,
  callData: '0x',
  callGasLimit: 0n,
  verificationGasLimit: 0n,
  preVerificationGas: 0n,
  maxFeePerGas: 0n,
  maxPriorityFeePerGas: 0n,
  paymaster: undefined,
  signature: `0x${'00'.repeat(65)}`,
};
const factory = { address, data: `0x5fbfb9cf${'00'.repeat(64)}` };
const paymaster = { address, verificationGasLimit: 0n, postOpGasLimit: 0n, data: `0x${'ab00'.repeat(50)}` };
const gasOf = (changes: Partial<UserOperation>, rules = FORKS.london as ForkRules): number =>
  Number(preVerificationGas({ ...operation, ...changes }, rules));

const GAS = '0xffffffff';
const PRICE = '0xffffffffffffffff';
const halves = (first: string, second: string) => concat([toBeHex(first, 16), toBeHex(second, 16)]);
/** As ethers writes it, with limits, fees, signature and beneficiary that have no zero byte. */
const bundleOf = (changes: Partial<UserOperation>): Uint8Array => {
  const one = { ...operation, ...changes };
  const packed = [
    one.sender,
    one.nonce,
    one.factory ? concat([one.factory.address, one.factory.data]) : '0x',
    one.callData,
    halves(GAS, GAS),
    GAS,
    halves(PRICE, PRICE),
    one.paymaster ? concat([one.paymaster.address, halves(GAS, GAS), one.paymaster.data]) : '0x',
    `0x${'ff'.repeat(getBytes(one.signature).length)}`,
  ];
  return getBytes(entryPoint.encodeFunctionData('handleOps', [[packed], `0x${'ff'.repeat(20)}`]));
};
/** What is left of the gas without that of any transaction, of the EntryPoint and of the bundle's bytes. */
const copyingOf = (changes: Partial<UserOperation>): number => {
  const bytes = bundleOf(changes).reduce((gas, byte) => gas + (byte === 0 ? 4 : 16), 0);
  return gasOf(changes) - 21_000 - 19_400 - bytes;
};
const words = (count: number): string => 'ab'.repeat(32 * count);

describe('the gas that a bundle uses beyond what the EntryPoint counts', () => {
  it('is that of a transaction, of the EntryPoint and of the bytes of the bundle', () => {
    for (const changes of [{}, { factory }, { paymaster }, { factory, paymaster }]) {
      expect(copyingOf(changes)).toBe(0);
    }
  });

  it('is the same whatever its limits, fees and signature are, but for how long that is', () => {
    const ofPaymaster = { ...paymaster, verificationGasLimit: 7n, postOpGasLimit: 8n };
    const limits = { callGasLimit: 1n, verificationGasLimit: 2n, preVerificationGas: 3n, maxFeePerGas: 4n };
    const signature = `0x${'ab'.repeat(65)}`;
    expect(gasOf({ ...limits, maxPriorityFeePerGas: 5n, signature, paymaster: ofPaymaster })).toBe(
      gasOf({ paymaster }),
    );
    expect(gasOf({ signature: `${signature}ab` })).toBe(gasOf({}) + 12);
  });

  it.each([
    [0, 0],
    [1, 11],
    [16, 161],
    [320, 3_400],
    [512, 5_632],
  ])('has for %i words of call data %i more for their copies', (count, gas) => {
    expect(copyingOf({ callData: `0x${words(count)}` })).toBe(gas);
  });

  it('has for an account that asks for the whole operation that of its copy', () => {
    const ofWords = (count: number) => ({ callData: `0x8dd7712f${words(count).slice(8)}` });
    expect(copyingOf(ofWords(240))).toBe(2_000 + 256 * 80 + 512);
    expect(copyingOf(ofWords(496))).toBe(2_000 + 512 * 80 + 2_048);
    expect(copyingOf({ callData: `0x00${ofWords(1).callData.slice(2, -2)}` })).toBe(11);
  });

  it('is what a bundle of so much data costs at least since Prague, where that is more', () => {
    const long = { callData: `0x${words(100)}` };
    const tokens = bundleOf(long).reduce((count, byte) => count + (byte === 0 ? 1 : 4), 0);
    for (const rules of [FORKS.prague, FORKS.osaka]) {
      expect(gasOf(long, rules)).toBe(21_000 + 10 * tokens);
      expect(gasOf({}, rules)).toBe(gasOf({}));
    }
  });
});
