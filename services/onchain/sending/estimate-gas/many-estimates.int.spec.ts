import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { SendsUnderTest, type Sender } from '../../testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const PATIENCE_MS = 5_000;
const CALLED = 'ca11ed00ca11ed00ca11ed00ca11ed00ca11ed00';
/** Has code that takes 4.7 million gas: hashes 100 KB 250 times. */
const BURNING = 'b01ed000b01ed000b01ed000b01ed000b01ed000';
const BURNS = '0x6100fa5b620186a06000205060019003806003570000';
const SIMULATED_MAX = 150_000_000;

describe('more estimates than a node takes at a time', () => {
  let sends: SendsUnderTest;
  let [first, second, heavy]: Sender[] = [];
  let node: HeldNode;

  beforeAll(async () => {
    const simulatedGas = { points: SIMULATED_MAX, seconds: 3_600 };
    const through = async (rpcUrl: string) => (node = await HeldNode.start(rpcUrl)).url;
    sends = await SendsUnderTest.start(folder, {
      through,
      settings: { RATE_LIMITS: JSON.stringify({ simulatedGas }) },
    });
    const app = await sends.app();
    [first, second, heavy] = [await sends.sender(app), await sends.sender(app), await sends.sender(app)];
    await sends.testChain.call('anvil_setCode', `0x${BURNING}`, BURNS);
    await answered(first);
    await answered(second);
    await answered(heavy, BURNING);
  });
  afterAll(async () => {
    await sends.stop();
    node.stop();
  });

  const estimate = (by: Sender | undefined, to = CALLED) => {
    if (!by) throw new Error('nobody is signed in');
    return sends.post('/onchain/estimate-user-op-gas', by, { transactionReq: { to: `0x${to}` } });
  };

  /** On a busy machine one may come too late, and then the next does not. */
  const answered = (by: Sender | undefined, to?: string) =>
    eventually(async () => (await estimate(by, to)).status === 201, PATIENCE_MS, 'an estimate must be answered');

  it('have four requests there, while a send is answered', async () => {
    node.hold(CALLED);
    const asked = [first, second].flatMap((by) => Array.from({ length: 4 }, () => estimate(by)));
    await eventually(() => node.held >= 4, PATIENCE_MS, 'the node must be asked');
    if (!heavy) throw new Error('nobody is signed in');
    expect((await sends.send(heavy)).status).toBe(201);
    expect(node.held).toBe(4);
    node.release();
    await Promise.all(asked);
  });

  it('have one there where they are long, while the short ones of others are answered', async () => {
    node.hold(BURNING);
    const asked = Array.from({ length: 3 }, () => estimate(heavy, BURNING));
    await eventually(() => node.held >= 1, PATIENCE_MS, 'the node must be asked');
    await answered(first);
    await answered(second);
    expect(node.held).toBe(1);
    node.release();
    await Promise.all(asked);
  });

  it('are refused once a caller has had so much gas simulated, and nobody else is', async () => {
    const last = await eventually(
      async () => {
        const answer = await estimate(heavy, BURNING);
        return answer.status === 429 && answer;
      },
      PATIENCE_MS,
      'one must be refused',
    );
    expect(last.body).toMatchObject({ code: 'rate_limited' });
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
    await answered(first);
  });
});

/** Before a node: does not answer requests with a text in them, as long as they are held. */
class HeldNode {
  held = 0;
  private text: string | undefined;
  private released = Promise.withResolvers<undefined>();

  private constructor(private readonly server: Server) {}

  static async start(rpcUrl: string): Promise<HeldNode> {
    const server = createServer((request, response) => {
      const pass = async (): Promise<void> => {
        const body = await text(request);
        await node.pass(body);
        const answer = await fetch(rpcUrl, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
        response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
      };
      pass().catch(() => response.destroy());
    });
    const node = new HeldNode(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return node;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  hold(withText: string): void {
    this.held = 0;
    this.text = withText;
    this.released = Promise.withResolvers();
  }

  release(): void {
    this.text = undefined;
    this.released.resolve(undefined);
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  async pass(body: string): Promise<void> {
    if (this.text === undefined || !body.includes(this.text)) return;
    this.held += 1;
    await this.released.promise;
  }
}
