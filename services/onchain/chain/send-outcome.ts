import type { SendOutcome } from './operations-chain.ts';

/**
 * How nodes refuse a transaction, the more specific texts first. Geth's texts are also those of
 * erigon, reth and anvil, with changes.
 */
const OUTCOMES: readonly { outcome: SendOutcome; said: RegExp }[] = [
  {
    outcome: 'known',
    said: /already.?known|known transaction|already imported|already.?exists|already in (the )?(pool|mempool)|duplicate transaction/i,
  },
  {
    outcome: 'nonce-too-low',
    said: /nonce.{0,20}too low|old.?nonce|nonce is too low|nonce below|nonce has already been used|nonce too small|lower than (the )?(sender|account)/i,
  },
  {
    outcome: 'underpriced',
    said: /underpriced|fee.{0,20}too ?low|gas ?price.{0,20}too low|below.{0,20}(base ?fee|minimum)|less than.{0,20}base ?fee|replacement.?not.?allowed|under ?priced|conflicting (nonce|transaction)/i,
  },
  {
    outcome: 'insufficient-funds',
    said: /insufficient.{0,3}funds|insufficient (sender )?balance|up.?front.?cost|not enough (funds|balance)|exceeds (account )?balance|lack of funds|doesn't have enough funds/i,
  },
];

/** Tells the outcome of a transaction from the text that a node answered instead of its hash. */
export const sendOutcome = (message: string): SendOutcome =>
  OUTCOMES.find(({ said }) => said.test(message))?.outcome ?? 'refused';
