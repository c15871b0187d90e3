import { beforeAll, describe, expect, it } from '@jest/globals';
import type { MemoryReadStore } from '../../../shared/testing/engines/read-store.memory.ts';
import { Projections } from '../../../shared/edge/answers/projections.ts';
import {
  crowdContract,
  crowdedCaller,
  crowdedContract,
  crowdedWatches,
} from '../../../shared/testing/crowded-contract.ts';
import { storedEvent } from '../../../shared/testing/event-builder.ts';
import { projectInto } from '../../../shared/testing/project.ts';
import { testFoundation } from '../../../shared/testing/test-foundation.ts';
import { watchesModel } from '../../../shared/read-models/event-catcher/watches.ts';
import { FindChannel } from './find-channel.ts';

const { oldest, other, own, newest } = crowdedWatches;

describe('however many fragments of an event strangers have registered, a subscriber finds', () => {
  let channels: FindChannel;
  let readStore: MemoryReadStore;
  beforeAll(async () => {
    const { eventStore, clock, ...foundation } = await testFoundation();
    ({ readStore } = foundation);
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

  it('the watch that the caller has claimed since a lookup that found the oldest', async () => {
    const caller = { appId: 'app_8', userId: 'usr_8' };
    const asked = { eventSignature: 'Transfer' };
    expect(await find(asked, caller)).toBe(oldest);
    const claimed = { ...crowdedContract, ...caller, watchId: 'wch_a5' };
    await projectInto(readStore, [watchesModel], [storedEvent('ContractRegistered', claimed, { position: 30_000 })]);
    expect(await find(asked, caller)).toBe('wch_a5');
  });

  it('any watch by its id, and an event by its signature', async () => {
    expect(await find({ watchId: newest })).toBe(newest);
    expect(await find({ eventSignature: 'Transfer(address,uint256)' })).toBe(other);
    await expect(find({ eventSignature: 'Transfer(address)' })).rejects.toMatchObject({ code: 'watch_not_found' });
    await expect(find({ watchId: 'wch_none' })).rejects.toMatchObject({ code: 'watch_not_found' });
  });
});
