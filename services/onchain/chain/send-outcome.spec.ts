import { expect, it } from '@jest/globals';
import { sendOutcome } from './send-outcome.ts';
import type { SendOutcome } from './operations-chain.ts';

it.each<[said: string, outcome: SendOutcome]>([
  // geth, reth
  ['already known', 'known'],
  ['nonce too low', 'nonce-too-low'],
  ['nonce too low: next nonce 5, tx nonce 3', 'nonce-too-low'],
  ['replacement transaction underpriced', 'underpriced'],
  ['transaction underpriced', 'underpriced'],
  ['transaction underpriced: tip needed 1000000, tip permitted 1', 'underpriced'],
  ['max fee per gas less than block base fee: address 0x00, maxFeePerGas: 1, baseFee: 7', 'underpriced'],
  ['insufficient funds for gas * price + value: balance 0, tx cost 21000, overshot 21000', 'insufficient-funds'],
  ['exceeds block gas limit', 'refused'],
  ['intrinsic gas too low', 'refused'],
  ['tx fee (1.10 ether) exceeds the configured cap (1.00 ether)', 'refused'],
  ['invalid sender', 'refused'],
  ['txpool is full', 'refused'],
  // anvil
  ['transaction already imported', 'known'],
  ['max fee per gas less than block base fee', 'underpriced'],
  ['Insufficient funds for gas * price + value', 'insufficient-funds'],
  // erigon
  ['ALREADY_EXISTS: already known', 'known'],
  ['INTERNAL_ERROR: nonce too low', 'nonce-too-low'],
  ['INTERNAL_ERROR: could not replace existing tx: underpriced', 'underpriced'],
  ['fee too low', 'underpriced'],
  // nethermind
  ['AlreadyKnown', 'known'],
  ['OldNonce, Current nonce: 4, nonce of rejected tx: 3', 'nonce-too-low'],
  ['FeeTooLow, FeePerGas needs to be higher than 7 to be added to the TxPool', 'underpriced'],
  ['FeeTooLowToCompete', 'underpriced'],
  ['ReplacementNotAllowed', 'underpriced'],
  ['InsufficientFunds, Account balance: 0, cumulative cost: 21000', 'insufficient-funds'],
  ['NonceGap, Future nonce. Expected nonce: 1', 'refused'],
  // besu
  ['Known transaction', 'known'],
  ['Transaction nonce below sender account nonce', 'nonce-too-low'],
  ['Nonce too low', 'nonce-too-low'],
  ['Gas price too low', 'underpriced'],
  ['Transaction gas price below configured minimum gas price', 'underpriced'],
  ['Gas price below current base fee', 'underpriced'],
  ['Upfront cost exceeds account balance', 'insufficient-funds'],
])('of %p it says: %s', (said, outcome) => {
  expect(sendOutcome(said)).toBe(outcome);
});
