import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventPage } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { ObservedRecord } from '../../../schemas/events/event-catcher/chain-events.ts';
import {
  eventAbi,
  idOfWatch,
  TOKEN,
  TRANSFER,
  transferAbi,
  transferRecord,
} from '../testing/routes/catcher-fixtures.ts';
import { codeOf } from '../../../shared/testing/http/problem-of-answer.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';

describe('querying an event that several watches match', () => {
  const anonymousAbi = { ...transferAbi, name: 'Decoy', anonymous: true };
  const wrongAbi = { ...transferAbi, inputs: transferAbi.inputs.map((input) => ({ ...input, indexed: true })) };
  const WRONG = 'Transfer(address indexed,address indexed,uint256 indexed)';
  let catcher: CatcherRoutes;
  const right = { WatchId: idOfWatch(transferAbi), EventSignature: TRANSFER };
  const wrong = { WatchId: idOfWatch(wrongAbi), EventSignature: WRONG, Data: { raw: {}, error: 'does not fit' } };
  const decoy = {
    WatchId: idOfWatch(anonymousAbi),
    EventName: 'Decoy',
    EventSignature: TRANSFER.replace('Transfer', 'Decoy'),
  };
  const blocks = [10, 11, 12];
  const recordsOf = (watch: Partial<ObservedRecord>) =>
    blocks.map((BlockNumber) => transferRecord({ BlockNumber, ...watch }));

  beforeAll(async () => {
    catcher = await startCatcherRoutes();
    await catcher.register({ eventSignature: decoy.EventSignature, eventAbi: eventAbi(anonymousAbi) }, 'stranger');
    await catcher.register({ eventSignature: WRONG, eventAbi: eventAbi(wrongAbi) }, 'stranger');
    await catcher.register({}, 'app_1', 'usr_1');
    await catcher.documents.project();
    await catcher.documents.observe(
      [...recordsOf(right), ...recordsOf(wrong), ...recordsOf(decoy)],
      ({ BlockNumber }) => BlockNumber === 12,
    );
    await catcher.documents.advance({ finalized: 10 });
  });
  afterAll(() => catcher.service.close());

  const answerTo = (query: Record<string, string>, app = 'app_1', user = 'usr_1', headers = {}) => {
    const text = new URLSearchParams({ chainId: '2484', contractAddress: TOKEN, ...query }).toString();
    return catcher.ask(`/api/v1/events?${text}`, { app, user, headers });
  };
  const ask = async (...asked: Parameters<typeof answerTo>) => {
    const { items, total } = (await (await answerTo(...asked)).json()) as EventPage;
    return { total, found: items.map(({ BlockNumber, WatchId }) => [BlockNumber, WatchId]) };
  };
  const all = (watch: { WatchId: string }) => ({ total: 2, found: [10, 11].map((block) => [block, watch.WatchId]) });

  it('returns the records of the own one, and those of the oldest to everybody else', async () => {
    for (const eventSignature of ['Transfer', 'Transfer(address,address,uint256)']) {
      expect(await ask({ eventSignature })).toEqual(all(right));
      expect(await ask({ eventSignature }, 'stranger')).toEqual(all(wrong));
      expect(await ask({ eventSignature }, 'app_3')).toEqual(all(wrong));
    }
    expect(await ask({ eventSignature: 'Transfer' }, 'app_1', 'usr_9')).toEqual(all(wrong));
    expect(await ask({ eventSignature: TRANSFER }, 'stranger')).toEqual(all(right));
    expect(await ask({ eventSignature: 'Decoy' })).toEqual(all(decoy));
  });

  it('returns the records of the one that an id names', async () => {
    for (const watch of [right, wrong, decoy]) {
      expect(await ask({ watchId: watch.WatchId })).toEqual(all(watch));
      expect((await ask({ watchId: watch.WatchId, status: 'reverted' })).total).toBe(1);
    }
    expect(await ask({ watchId: right.WatchId, 'arg.value': '1' })).toEqual(all(right));
    expect(await codeOf(answerTo({ watchId: 'wch_unknown' }))).toBe('watch_not_found');
    expect(await ask({ watchId: right.WatchId, eventSignature: 'Decoy' })).toEqual({ total: 0, found: [] });
  });

  it('returns one record for each log without a name, of the one that the event would mean', async () => {
    expect(await ask({ watchId: decoy.WatchId })).toEqual(all(decoy));
    for (const [app, user, own] of [
      ['app_1', 'usr_1', right],
      ['stranger', 'usr_1', decoy],
      ['app_3', 'usr_1', decoy],
    ] as const) {
      expect(await ask({ toBlock: '11' }, app, user)).toEqual(all(own));
      const lines = await (await answerTo({}, app, user, { accept: 'application/x-ndjson' })).text();
      expect(
        lines
          .trim()
          .split('\n')
          .map((line) => (JSON.parse(line) as { WatchId: string }).WatchId),
      ).toEqual([own, own].map(({ WatchId }) => WatchId));
    }
  });
});
