import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RegisteredContract } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { WatchStatus } from '../../../schemas/http/event-catcher/watched-contract.ts';
import { problemOfAnswer } from '../../../shared/testing/http/problem-of-answer.ts';
import { eventAbi, HEAD, TOKEN, TRANSFER, transferAbi, transferRecord } from '../testing/routes/catcher-fixtures.ts';
import { startCatcherRoutes, type CatcherRoutes } from '../testing/routes/catcher-routes.module.ts';

const KNOWN = Number.MAX_SAFE_INTEGER;

describe('the status of a watch', () => {
  let catcher: CatcherRoutes;
  let watch: RegisteredContract;
  beforeEach(async () => {
    catcher = await startCatcherRoutes();
    watch = await catcher.registered();
    await catcher.documents.project();
  });
  afterEach(() => catcher.service.close());

  const ask = (eventName = 'Transfer', contractAddress = TOKEN, chainId = '2484', query = '') =>
    catcher.ask(`/api/v1/status/${chainId}/${contractAddress}/${encodeURIComponent(eventName)}${query}`, { app: null });
  const status = async (eventName?: string, query?: string): Promise<WatchStatus> => {
    const answer = await ask(eventName, TOKEN, '2484', query);
    expect(answer.status).toBe(200);
    return (await answer.json()) as WatchStatus;
  };
  const range = (changes: object = {}) => ({
    ...{ watchIds: [watch.id], from: 10, next: 21, to: 40, joins: true },
    ...changes,
  });

  it('is backfilling from its start block before its chain was ever read', async () => {
    expect(await status()).toEqual({
      id: watch.id,
      chainId: 2484,
      contractAddress: TOKEN,
      eventName: 'Transfer',
      state: 'backfilling',
      startBlock: 10,
      currentBlockNumber: 9,
      headBlock: null,
      finalizedBlock: null,
      lagBlocks: null,
      lagSeconds: null,
      eventsTotal: 0,
      eventsPerSecond: 0,
      etaSeconds: null,
      verifiedBlock: null,
      lastError: null,
      gaps: [],
    });
  });

  it('is backfilling up to the head until the follower has added it', async () => {
    await catcher.documents.advance({ watchesUpTo: 0 });
    expect(await status()).toMatchObject({
      state: 'backfilling',
      currentBlockNumber: 9,
      headBlock: HEAD,
      lagBlocks: HEAD - 9,
    });
  });

  it('tells up to which block it was verified, which is never one that was not read', async () => {
    await catcher.documents.advance({ watchesUpTo: KNOWN });
    expect((await status()).verifiedBlock).toBeNull();
    await catcher.documents.verify({ verified: 25, watchesUpTo: KNOWN });
    expect((await status()).verifiedBlock).toBe(25);
    await catcher.documents.advance({ watchesUpTo: KNOWN, backfills: [range({ next: 15 })] });
    expect((await status()).verifiedBlock).toBe(14);
  });

  it('tells how far and how fast the backfill is, and its error', async () => {
    await catcher.documents.advance({
      watchesUpTo: KNOWN,
      finalized: 30,
      backfills: [range(), { ...range(), watchIds: ['wch_other'], next: 3 }],
    });
    Object.assign(catcher.progress, { eventsPerSecond: 500, blocksPerSecond: 8 });
    expect(await status()).toMatchObject({ state: 'backfilling', etaSeconds: 3 });
    catcher.progress.error = 'no provider';
    expect(await status()).toMatchObject({
      state: 'failed',
      currentBlockNumber: 20,
      headBlock: HEAD,
      finalizedBlock: 30,
      lagBlocks: 20,
      lagSeconds: 3,
      eventsPerSecond: 500,
      etaSeconds: null,
      lastError: 'no provider',
      gaps: [],
    });
  });

  it('is live where its chain stands still, and says so, unless it is paused', async () => {
    await catcher.documents.advance({ watchesUpTo: KNOWN });
    catcher.progress.warning = 'there has been no new block for 7 minutes';
    expect(await status()).toMatchObject({ state: 'live', lastError: 'there has been no new block for 7 minutes' });
    await catcher.ask(`/api/v1/contracts/${watch.id}/pause`, { method: 'POST' });
    await catcher.documents.project();
    expect(await status()).toMatchObject({ state: 'paused', lastError: null });
    catcher.progress.warning = null;
  });

  it('is live at the head, and advances through blocks without events', async () => {
    await catcher.documents.advance({ watchesUpTo: KNOWN });
    expect(await status()).toMatchObject({ state: 'live', currentBlockNumber: HEAD, lagBlocks: 0, etaSeconds: 0 });
    await catcher.documents.advance({ watchesUpTo: KNOWN, head: HEAD + 5 });
    expect(await status()).toMatchObject({ state: 'live', currentBlockNumber: HEAD + 5, eventsTotal: 0 });
  });

  it('tells no time in which it is live while it has failed at the head, or is paused', async () => {
    await catcher.documents.advance({ watchesUpTo: KNOWN });
    catcher.progress.error = 'no provider';
    expect(await status()).toMatchObject({ state: 'failed', currentBlockNumber: HEAD, etaSeconds: null });
    catcher.progress.error = null;
    await catcher.ask(`/api/v1/contracts/${watch.id}/pause`, { method: 'POST' });
    await catcher.documents.project();
    await catcher.documents.advance({ watchesUpTo: KNOWN, backfills: [range()] });
    Object.assign(catcher.progress, { eventsPerSecond: 500, blocksPerSecond: 8 });
    expect(await status()).toMatchObject({ state: 'paused', etaSeconds: null });
  });

  it('is live behind blocks that nobody gives, and says which, since when, why, and what helps', async () => {
    const gap = { reason: 'no provider gives these blocks: pruned', since: '2026-01-02T12:00:00.000Z' };
    const backfills = [range({ next: 10, to: 29, joins: false, gap })];
    await catcher.documents.advance({ watchesUpTo: KNOWN, backfills });
    await catcher.documents.verify({ verified: 35, watchesUpTo: KNOWN });
    expect(await status()).toMatchObject({
      state: 'live',
      currentBlockNumber: HEAD,
      verifiedBlock: null,
      gaps: [{ fromBlock: 10, toBlock: 29, ...gap }],
      lastError: expect.stringMatching(/^blocks 10 to 29 are missing: .*pruned.*"rpcUrls".*CHAINS$/),
    });
  });

  it('counts the canonical records', async () => {
    const records = [10, 11, 12].map((BlockNumber) => transferRecord({ BlockNumber }));
    await catcher.documents.observe(records, ({ BlockNumber }) => BlockNumber === 12);
    expect((await status()).eventsTotal).toBe(2);
  });

  it('is found by name, by signature and by address in any case', async () => {
    for (const name of ['Transfer', 'Transfer(address,address,uint256)', TRANSFER]) {
      expect((await status(name)).id).toBe(watch.id);
    }
    expect((await ask('Transfer', TOKEN.toLowerCase())).status).toBe(200);
    const unescaped = `/api/v1/status/2484/${TOKEN}/Transfer(address,address,uint256)`;
    expect((await catcher.ask(unescaped, { app: null })).status).toBe(200);
  });

  it('is refused for a name that two events share, and the detail names both', async () => {
    const other = { ...transferAbi, inputs: transferAbi.inputs.slice(0, 2) };
    const eventSignature = 'Transfer(address indexed,address indexed)';
    const { id } = await catcher.registered({ eventSignature, eventAbi: eventAbi(other) });
    await catcher.documents.project();
    const problem = await problemOfAnswer(await ask());
    expect(problem.code).toBe('validation_failed');
    for (const signature of [TRANSFER, eventSignature]) expect(problem.detail).toContain(signature);
    expect((await status('Transfer(address,address)')).id).toBe(id);
  });

  it('is that of the oldest of several watches that match the event, or of the one that an id names', async () => {
    const unnamed = { ...transferAbi, inputs: transferAbi.inputs.map((input) => ({ ...input, name: '' })) };
    const answer = await catcher.register({ eventAbi: eventAbi(unnamed), startBlock: 20 }, 'app_2');
    const newer = (await answer.json()) as RegisteredContract;
    await catcher.documents.project();
    await catcher.documents.observe([transferRecord({ WatchId: newer.id, BlockNumber: 20 })], () => false);
    expect(await status()).toMatchObject({ id: watch.id, startBlock: 10, eventsTotal: 0 });
    expect(await status('Transfer', `?watchId=${newer.id}`)).toMatchObject({
      id: newer.id,
      startBlock: 20,
      eventsTotal: 1,
    });
  });
});
