import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../shared/testing/eventually.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { SendsUnderTest, type Sender } from '../testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const PATIENCE_MS = 5_000;
/** What the estimates call, and the send does not. */
const CALLED = 'ca11ed00ca11ed00ca11ed00ca11ed00ca11ed00';
const SIMULATED_MAX = 20_000_000;

describe('more estimates than a node takes at a time', () => {
  let sends: SendsUnderTest;
  let senders: Sender[];
  let before: Server;
  let isHeld = false;
  let held = 0;
  const { promise: released, resolve: release } = Promise.withResolvers<undefined>();

  /** Before the node: it does not answer what the estimates ask, as long as they are held. */
  const through = async (rpcUrl: string): Promise<string> => {
    before = createServer((request, response) => {
      void (async () => {
        const body = await text(request);
        if (isHeld && body.includes(CALLED)) {
          held += 1;
          await released;
        }
        const answer = await fetch(rpcUrl, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
        response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
      })();
    });
    await new Promise<void>((resolve) => before.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${String((before.address() as AddressInfo).port)}`;
  };

  beforeAll(async () => {
    const simulatedGas = { points: SIMULATED_MAX, seconds: 3_600 };
    sends = await SendsUnderTest.start(folder, {
      through,
      settings: { RATE_LIMITS: JSON.stringify({ simulatedGas }) },
    });
    const app = await sends.app();
    senders = [await sends.sender(app), await sends.sender(app), await sends.sender(app)];
  });
  afterAll(async () => {
    await sends.stop();
    before.close();
  });

  const estimate = (by: Sender) =>
    sends.post('/onchain/estimate-user-op-gas', by, { transactionReq: { to: `0x${CALLED}` } });

  it('have four requests there, while a send is answered', async () => {
    const [first, second, third] = senders as [Sender, Sender, Sender];
    isHeld = true;
    const asked = [first, second].flatMap((by) => Array.from({ length: 4 }, () => estimate(by)));
    await eventually(() => held >= 4, PATIENCE_MS, 'the node must be asked');
    expect((await sends.send(third)).status).toBe(201);
    expect(held).toBe(4);
    isHeld = false;
    release(undefined);
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(asked.map(() => 201));
  });

  it('are refused once a caller has had so much gas simulated, and nobody else is', async () => {
    const [first, second] = senders as [Sender, Sender];
    const last = await eventually(
      async () => {
        const answer = await estimate(first);
        return answer.status !== 201 && answer;
      },
      10 * PATIENCE_MS,
      'one must be refused',
    );
    expect(last).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await estimate(second)).status).toBe(201);
  });
});
