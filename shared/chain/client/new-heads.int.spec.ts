import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Anvil } from '../../testing/chain/anvil.ts';
import { eventually } from '../../testing/eventually.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { NewHeads } from './new-heads.websocket.ts';

const WITHIN_MS = 15_000;
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
    expect(heads.announcedAgoMs).toBe(Infinity);
    await mineUntilAnnounced(heads);
    const { rung } = heads.announced;
    const woken = heads.announced.wait(rung, AbortSignal.timeout(WITHIN_MS));
    await anvil.call('anvil_mine', '0x1');
    await woken;
    expect(heads.announced.rung).toBeGreaterThan(rung);
    expect(heads.announcedAgoMs).toBeLessThan(WITHIN_MS);
  });

  it('come from the next endpoint where one is down or silent', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    heads = new NewHeads(['ws://127.0.0.1:1', `ws://127.0.0.1:${String(port)}`, url], 300);
    await mineUntilAnnounced(heads);
    silent.close();
  });

  it('are none without an endpoint', async () => {
    heads = new NewHeads([]);
    expect(heads.announced.rung).toBe(0);
    await heads.close();
  });
});
