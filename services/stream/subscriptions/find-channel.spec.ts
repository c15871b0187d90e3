import { beforeAll, describe, expect, it } from '@jest/globals';
import { Projections } from '../../../shared/edge/answers/projections.ts';
import {
  crowdContract,
  crowdedCaller,
  crowdedContract,
  crowdedWatches,
} from '../../../shared/testing/crowded-contract.ts';
import { testFoundation } from '../../../shared/testing/test-foundation.ts';
import { FindChannel } from './find-channel.ts';

const { oldest, other, own, newest } = crowdedWatches;

describe('however many fragments of an event strangers have registered, a subscriber finds', () => {
  let channels: FindChannel;
  beforeAll(async () => {
    const { readStore, eventStore, clock } = await testFoundation();
    await crowdContract(readStore);
    channels = new FindChannel(readStore, new Projections(readStore, eventStore), clock);
  });
  const find = async (asked: { eventSignature?: string; watchId?: string }, caller = crowdedCaller) => {
    const command = { ...crowdedContract, eventSignature: 'Transfer', finality: 'latest', ...asked } as const;
    return (await channels.find(command, caller)).watch.id;
  };

  it.each(['Transfer', 'Transfer(address,address,uint256)', 'Transfer(address indexed,address indexed,uint256)'])(
    'by %s the own watch, else the oldest',
    async (eventSignature) => {
      expect(await find({ eventSignature })).toBe(own);
      expect(await find({ eventSignature }, { appId: 'app_9', userId: 'usr_9' })).toBe(oldest);
    },
  );

  it('any watch by its id, and an event by its signature', async () => {
    expect(await find({ watchId: newest })).toBe(newest);
    expect(await find({ eventSignature: 'Transfer(address,uint256)' })).toBe(other);
    await expect(find({ eventSignature: 'Transfer(address)' })).rejects.toMatchObject({ code: 'watch_not_found' });
    await expect(find({ watchId: 'wch_none' })).rejects.toMatchObject({ code: 'watch_not_found' });
  });
});
