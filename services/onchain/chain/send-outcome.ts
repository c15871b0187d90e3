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
    said: /replac.{0,40}(underpriced|fee|not.?allowed)|conflicting (nonce|transaction)/i,
  },
  {
    outcome: 'pays-too-little',
    said: /under ?priced|fee.{0,20}too ?low|gas ?price.{0,20}too low|(fee|price|tip|per ?gas).{0,20}below.{0,20}(base ?fee|minimum|required)|fee.{0,20}less than.{0,20}base ?fee/i,
  },
  {
    outcome: 'insufficient-funds',
    said: /insufficient.{0,3}funds|insufficient (sender )?balance|up.?front.?cost|not enough (funds|balance)|exceeds (account )?balance|lack of funds|doesn't have enough funds/i,
  },
];

/** Tells the outcome of a transaction from the text that a node answered instead of its hash. */
export const sendOutcome = (message: string): SendOutcome =>
  OUTCOMES.find(({ said }) => said.test(message))?.outcome ?? 'refused';

/** How geth, bor, reth and Nethermind name the lowest tip that they take, in wei. */
const LEAST_TIP = [
  /minimum needed:? (\d+)/i,
  /tip needed:? (\d+)/i,
  /minimum (?:required )?(?:priority fee|tip)\D{0,20}(\d+)/i,
  /priority ?fee ?per ?gas too low:? \d+ < (\d+)/i,
].map((form) => new RegExp(`${form.source}(?![\\d.]|\\s*(?:gwei|ether|eth)\\b)`, 'i'));

/**
 * Returns the lowest tip that a node takes, in wei, from its refusal of a transaction; `undefined` if the refusal is not about the
 * tip, or names none.
 */
export const leastTipIn = (message: string): bigint | undefined => {
  if (sendOutcome(message) !== 'pays-too-little') return undefined;
  const [digits] = LEAST_TIP.flatMap((form) => form.exec(message)?.[1] ?? []);
  return digits === undefined ? undefined : BigInt(digits);
};
