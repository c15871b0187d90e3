import { expect, it } from '@jest/globals';
import type { UserOperation } from '../../operations/domain/user-operation.ts';
import { bundleFees, raisedFees } from './bundle-terms.ts';

const GWEI = 10n ** 9n;
const offering = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint) =>
  ({ maxFeePerGas, maxPriorityFeePerGas }) as UserOperation;

it('a bundle on a chain without a base fee is a legacy transaction, whose price is the tip', () => {
  const terms = { feeCap: 500n * GWEI, tipMax: 3n * GWEI, baseFee: 0n };
  const fees = bundleFees([offering(5n * GWEI, 5n * GWEI), offering(9n * GWEI, 4n * GWEI)], terms);
  expect(fees).toEqual({ maxFeePerGas: 3n * GWEI, maxPriorityFeePerGas: 3n * GWEI, isLegacy: true });
  expect(bundleFees([offering(5n * GWEI, GWEI)], { ...terms, baseFee: 1n })).toEqual({
    ...{ maxFeePerGas: 5n * GWEI, maxPriorityFeePerGas: GWEI, isLegacy: false },
  });
});

it.each([true, false])('a raised tip is not above the raised fee, which the feeCap limits (legacy: %p)', (isLegacy) => {
  const fees = { maxFeePerGas: 27n * GWEI, maxPriorityFeePerGas: 27n * GWEI, isLegacy };
  const [operation, most] = [offering(27n * GWEI, 27n * GWEI), 30n * GWEI];
  expect(raisedFees(fees, [operation], most)).toEqual({ maxFeePerGas: most, maxPriorityFeePerGas: most, isLegacy });
});
