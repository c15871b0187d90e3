import { expect, it } from '@jest/globals';
import { leastTipIn, sendOutcome } from './send-outcome.ts';
import type { SendOutcome } from './operations-chain.ts';

it.each<[said: string, outcome: SendOutcome]>([
  // geth, reth
  ['already known', 'known'],
  ['nonce too low', 'nonce-too-low'],
  ['nonce too low: next nonce 5, tx nonce 3', 'nonce-too-low'],
  ['replacement transaction underpriced', 'underpriced'],
  ['transaction underpriced', 'pays-too-little'],
  ['transaction underpriced: tip needed 1000000, tip permitted 1', 'pays-too-little'],
  ['transaction gas price below minimum: gas tip cap 1, minimum needed 25000000000', 'pays-too-little'],
  ['max fee per gas less than block base fee: address 0x00, maxFeePerGas: 1, baseFee: 7', 'pays-too-little'],
  ['insufficient funds for gas * price + value: balance 0, tx cost 21000, overshot 21000', 'insufficient-funds'],
  ['exceeds block gas limit', 'refused'],
  ['gas limit below minimum 21000', 'refused'],
  ['intrinsic gas too low', 'refused'],
  ['tx fee (1.10 ether) exceeds the configured cap (1.00 ether)', 'refused'],
  ['invalid sender', 'refused'],
  ['txpool is full', 'refused'],
  // anvil
  ['transaction already imported', 'known'],
  ['max fee per gas less than block base fee', 'pays-too-little'],
  ['Insufficient funds for gas * price + value', 'insufficient-funds'],
  // erigon
  ['ALREADY_EXISTS: already known', 'known'],
  ['INTERNAL_ERROR: nonce too low', 'nonce-too-low'],
  ['INTERNAL_ERROR: could not replace existing tx: underpriced', 'underpriced'],
  ['fee too low', 'pays-too-little'],
  // nethermind
  ['AlreadyKnown', 'known'],
  ['OldNonce, Current nonce: 4, nonce of rejected tx: 3', 'nonce-too-low'],
  ['FeeTooLow, FeePerGas needs to be higher than 7 to be added to the TxPool', 'pays-too-little'],
  ['FeeTooLowToCompete', 'pays-too-little'],
  ['ReplacementNotAllowed', 'underpriced'],
  ['InsufficientFunds, Account balance: 0, cumulative cost: 21000', 'insufficient-funds'],
  ['NonceGap, Future nonce. Expected nonce: 1', 'refused'],
  // besu
  ['Known transaction', 'known'],
  ['Transaction nonce below sender account nonce', 'nonce-too-low'],
  ['Nonce too low', 'nonce-too-low'],
  ['Gas price too low', 'pays-too-little'],
  ['Transaction gas price below configured minimum gas price', 'pays-too-little'],
  ['Gas price below current base fee', 'pays-too-little'],
  ['Upfront cost exceeds account balance', 'insufficient-funds'],
])('of %p it says: %s', (said, outcome) => {
  expect(sendOutcome(said)).toBe(outcome);
});

it.each<[said: string, tip: bigint | undefined]>([
  // geth and bor, newer and older
  ['transaction gas price below minimum: gas tip cap 1, minimum needed 25000000000', 25_000_000_000n],
  ['transaction underpriced: gas tip cap 1, minimum needed 25000000000', 25_000_000_000n],
  ['transaction underpriced: tip needed 25000000000, tip permitted 1', 25_000_000_000n],
  // reth
  ['transaction priority fee is below the minimum required priority fee 7', 7n],
  // nethermind
  ['FeeTooLow, EffectivePriorityFeePerGas too low 0 < 30, BaseFee: 7', 30n],
  ['FeeTooLow, FeePerGas needs to be higher than 7 to be added to the TxPool', undefined],
  ['intrinsic gas too low: gas 21000, minimum needed 53000', undefined],
  ['underpriced: the minimum priority fee is 25 gwei', undefined],
  ['underpriced: the minimum priority fee is 1.5 gwei', undefined],
  ['transaction underpriced', undefined],
  ['replacement transaction underpriced', undefined],
])('in %p the lowest tip is %p', (said, tip) => {
  expect(leastTipIn(said)).toBe(tip);
});
