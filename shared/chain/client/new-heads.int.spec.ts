import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Anvil } from '../../testing/chain/anvil.ts';
import { eventually } from '../../testing/eventually.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { NewHeads } from './new-heads.websocket.ts';

const WITHIN_MS = 15_000;
const SOON_MS = 50;
const urlOf = (server: Server): string => `ws://127.0.0.1:${String((server.address() as AddressInfo).port)}`;

const folder = temporaryFolder();

describe('announced blocks', () => {
  let anvil: Anvil;
  let url: string;
  let heads: NewHeads | undefined;
  beforeAll(async () => {
    anvil = await Anvil.start(join(folder, 'chain'));
    url = anvil.rpcUrl.replace('http', 'ws');
  });
  afterEach(() => heads?.close());
  afterAll(() => anvil.stop());

  const mineUntilAnnounced = (announcing: NewHeads) =>
    eventually(
      async () => {
        await anvil.call('anvil_mine', '0x1');
        return announcing.announced.rung > 0;
      },
      WITHIN_MS,
      'a block must be announced',
    );

  it('wake up whoever waits', async () => {
    heads = new NewHeads([url]);
    expect([heads.announcedAgoMs, heads.isListening]).toEqual([Infinity, false]);
    await mineUntilAnnounced(heads);
    expect(heads.isListening).toBe(true);
    const { rung } = heads.announced;
    const woken = heads.announced.wait(rung, new AbortController().signal);
    await anvil.call('anvil_mine', '0x1');
    await woken;
    expect(heads.announced.rung).toBeGreaterThan(rung);
    expect(heads.announcedAgoMs).toBeLessThan(Infinity);
    await heads.close();
    expect(heads.isListening).toBe(false);
  });

  it('come from the next endpoint where one is down or silent', async () => {
    heads = new NewHeads(['ws://127.0.0.1:1', url], { firstPauseMs: SOON_MS });
    await mineUntilAnnounced(heads);
    await heads.close();
    const [silent, next] = [createServer(), createServer()];
    for (const server of [silent, next]) await once(server.listen(0, '127.0.0.1'), 'listening');
    const connected = once(next, 'connection');
    heads = new NewHeads([silent, next].map(urlOf), { silentMaxMs: SOON_MS, firstPauseMs: SOON_MS });
    await connected;
    await heads.close();
    for (const server of [silent, next]) {
      server.closeAllConnections();
      server.close();
    }
  });

  it('are none without an endpoint', async () => {
    heads = new NewHeads([]);
    expect(heads.announced.rung).toBe(0);
    await heads.close();
  });
});
