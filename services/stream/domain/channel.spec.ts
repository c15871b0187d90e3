import { expect, it } from '@jest/globals';
import { channel } from '../testing/some-subscription.ts';
import { channelKey, channelName, cursorScope } from './channel.ts';

it('a channel has a public name, what its cursors are signed for, and the key of its messages', () => {
  const contract = 'eip155:1/0xd8da6bf26964af9d7eed9e03e53415d37aa96045';
  expect(channelName(channel)).toBe(`wch_1/${contract}/Transfer(uint256)/latest`);
  expect(channelName({ ...channel, finality: 'finalized' })).toBe(`wch_1/${contract}/Transfer(uint256)/finalized`);
  expect(cursorScope(channel)).toBe(`${contract}/Transfer(uint256)/latest`);
  expect(channelKey(channel)).toBe(contract);
});
