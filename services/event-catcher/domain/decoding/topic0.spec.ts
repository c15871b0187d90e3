import { expect, it } from '@jest/globals';
import { topic0Of } from './event-abi.ts';

const inputs = [
  { name: 'from', type: 'address', indexed: true },
  { name: 'to', type: 'address', indexed: true },
  { name: 'value', type: 'uint256', indexed: false },
];

it('the first topic of a log is the hash of the event signature, and an anonymous event has none', () => {
  // The hashes are those that block explorers show.
  const transfer = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
  expect(topic0Of({ name: 'Transfer', anonymous: false, inputs })).toBe(transfer);
  expect(topic0Of({ name: 'Transfer', anonymous: true, inputs })).toBeNull();
});
