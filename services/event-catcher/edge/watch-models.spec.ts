import { beforeAll, describe, expect, it } from '@jest/globals';
import { selectWatches, type WatchSelector } from '../../../shared/chain/identifiers/watch-names.ts';
import { Projections } from '../../../shared/edge/answers/projections.ts';
import {
  crowdContract,
  crowdedCaller,
  crowdedContract,
  crowdedWatches,
} from '../../../shared/testing/crowded-contract.ts';
import { testFoundation } from '../../../shared/testing/test-foundation.ts';
import { WatchModels } from './watch-models.ts';

const { oldest, other, own, newest } = crowdedWatches;

describe('however many fragments of an event strangers have registered', () => {
  let models: WatchModels;
  beforeAll(async () => {
    const { readStore, eventStore } = await testFoundation();
    await crowdContract(readStore);
    models = new WatchModels(readStore, new Projections(readStore, eventStore));
  });
  const ofContract = (selector: WatchSelector) => models.ofContract(crowdedContract, selector);
  const meant = async (selector: WatchSelector) =>
    selectWatches(await ofContract(selector), selector).map(({ id }) => id);

  it('the own watch is meant, else the oldest, or the one that an id names', async () => {
    for (const name of ['Transfer', 'Transfer(address,address,uint256)', undefined]) {
      expect((await meant({ name, caller: crowdedCaller }))[0]).toBe(own);
      expect((await meant({ name }))[0]).toBe(oldest);
    }
    expect(await meant({ name: 'Transfer(address,uint256)' })).toEqual([other]);
    expect(await meant({ watchId: newest })).toEqual([newest]);
  });

  it('few of them are read to find what a name means', async () => {
    const counts = [];
    for (const name of ['Transfer', 'Transfer(address,address,uint256)', 'Transfer(address)', 'Approval'])
      counts.push((await ofContract({ name })).length);
    expect(counts).toEqual([100, 100, 0, 0]);
  });
});
