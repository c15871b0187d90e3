import { join } from 'node:path';
import { Wallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { streamAccessText, type GatewayNode } from '../../../../schemas/http/event-catcher/gateway-routes.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { callUntilServed, signIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { randomWallet } from '../../../../shared/testing/http/random-wallet.ethers.ts';
import { RunningProcesses, type ServiceProcess } from '../../../../shared/testing/processes/running-processes.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { ChainUnderTest } from '../chain-under-test.ethers.ts';
import { registerTransfer } from '../register-transfer.ts';
import { Subscriber } from '../subscriber.socketio.ts';

const TRANSFERS = 5;
const folder = temporaryFolder();

describe('the gateway of a cluster: two nodes of the stream, two event catchers', () => {
  let chain: ChainUnderTest;
  let program: RunningProcesses;
  /** Another node, which sends its clients to another event catcher. */
  let otherCatcher: ServiceProcess;
  let otherStream: ServiceProcess;
  let appKey: Wallet;
  const wallet = randomWallet();
  beforeAll(async () => {
    chain = await ChainUnderTest.start(join(folder, 'chain'));
    program = await RunningProcesses.start(join(folder, 'program'), { CHAINS: chain.setting });
    otherCatcher = await program.another('event-catcher', { EVENT_URL: '' });
    otherStream = await program.another('stream', { EVENT_URL: otherCatcher.url });
    appKey = new Wallet(program.development.app.signingKey);
    await signIn(program.development, wallet);
    await chain.mine(1, TRANSFERS);
  }, 240_000);
  afterAll(async () => {
    await program.kill();
    await chain.stop();
  });

  const nodes = async (eventUrl = program.development.eventUrl): Promise<GatewayNode[]> =>
    (await callUntilServed(`${eventUrl}/api/v1/gateway/nodes?chainId=2484`)).body['nodes'] as unknown as GatewayNode[];
  const nodeAt = async (rpcDomain: string): Promise<GatewayNode> => {
    const found = (await nodes()).find((node) => node.rpcDomain === rpcDomain);
    if (!found) throw new Error(`${rpcDomain} is not listed`);
    return found;
  };
  const sign = (signer: Wallet, { address: node }: GatewayNode, atMs = Date.now()) => {
    const timestamp = toIso(atMs);
    return { node, timestamp, signature: signer.signMessageSync(streamAccessText({ node, timestamp })) };
  };
  const validate = (body: object, eventUrl = program.development.eventUrl) =>
    callUntilServed(`${eventUrl}/api/v1/gateway/validate`, { method: 'POST', body });
  const tokenFor = async (signer: Wallet, node: GatewayNode): Promise<string> => {
    const { status, body } = await validate(sign(signer, node), node.domain);
    expect([status, body['success']]).toEqual([201, true]);
    return body['connectionToken'] as string;
  };
  const register = (token: string, eventUrl: string) => {
    const holder = { userId: '', accessToken: token, refreshToken: '', bearer: { authorization: `Bearer ${token}` } };
    return registerTransfer({ ...program.development, eventUrl }, holder, chain.token.address);
  };

  it('lists them, with where they are and what they do', async () => {
    await eventually(
      async () => (await nodes()).filter(({ healthy }) => healthy).length === 2,
      30_000,
      'both nodes must be healthy',
    );
    const head = await chain.head();
    await eventually(
      async () => (await nodes(otherCatcher.url)).every(({ headBlock }) => headBlock === head),
      30_000,
      'the head of the chain must be told',
    );
    const { eventUrl, streamUrl } = program.development;
    expect(await nodeAt(streamUrl)).toMatchObject({ domain: eventUrl, chainIds: [2484], connections: 0 });
    expect(await nodeAt(otherStream.url)).toMatchObject({ domain: otherCatcher.url, chainIds: [2484], connections: 0 });
    expect((await callUntilServed(`${eventUrl}/api/v1/gateway/nodes?chainId=7`)).body).toEqual({ nodes: [] });
  });

  it.each(['app', 'wallet'])(
    'lets a client in by the key of its %s at the node that it signed for, and no other',
    async (by) => {
      const signer = by === 'app' ? appKey : wallet;
      const [here, there] = [await nodeAt(program.development.streamUrl), await nodeAt(otherStream.url)];
      const token = await tokenFor(signer, here);
      expect((await register(token, there.domain)).body).toMatchObject({ status: 401, code: 'token_invalid' });
      expect([200, 201]).toContain((await register(token, here.domain)).status);
      const { refused } = await Subscriber.connect(there.rpcDomain, token);
      expect(refused).toMatchObject({ code: 'token_invalid' });
      for (const node of [here, there]) {
        const { subscriber } = await Subscriber.connect(node.rpcDomain, await tokenFor(signer, node));
        const asked = { chainId: 2484, contractAddress: chain.token.address, eventSignature: 'Transfer', fromBlock: 0 };
        expect(
          await eventually(
            async () => {
              const answer = await subscriber.subscribe(asked);
              return answer.ok && answer;
            },
            30_000,
            'the registration must be known',
          ),
        ).toMatchObject({ ok: true });
        const ids = await chain.transferIds();
        await eventually(() => subscriber.delivered.length === ids.length, 30_000, 'each event must arrive');
        expect(subscriber.delivered.map(({ event }) => event.Id)).toEqual(ids);
        await eventually(
          async () => (await nodeAt(node.rpcDomain)).connections === 1,
          10_000,
          'the connection must be counted',
        );
        subscriber.close();
      }
    },
  );

  it('accepts each signature once, of all processes and also after a crash', async () => {
    const signed = sign(appKey, await nodeAt(otherStream.url));
    const urls = [program.development.eventUrl, otherCatcher.url];
    const answers = await Promise.all(Array.from({ length: 10 }, (_, at) => validate(signed, urls[at % 2])));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    await program.kill('event-catcher');
    await program.restart('event-catcher');
    const { status, body } = await validate(signed);
    expect([status, body['success'], body['code']]).toEqual([401, false, 'request_replayed']);
  });

  it('refuses an old time and a stranger', async () => {
    const node = await nodeAt(program.development.streamUrl);
    const refusals = [
      [sign(appKey, node, Date.now() - 61_000), 'timestamp_out_of_window'],
      [sign(randomWallet(), node), 'app_signature_invalid'],
    ] as const;
    for (const [signed, code] of refusals)
      expect(await validate(signed)).toMatchObject({ status: 401, body: { success: false, code } });
  });

  it('says of no node that it is healthy whose event catcher was killed, and of none while the chain does not answer', async () => {
    await otherCatcher.process.kill();
    await eventually(
      async () => !(await nodeAt(otherStream.url)).healthy && (await nodeAt(program.development.streamUrl)).healthy,
      30_000,
      'only the node whose event catcher lives must be healthy',
    );
    await chain.stop();
    await eventually(
      async () => (await nodes()).every(({ healthy }) => !healthy),
      30_000,
      'no node is healthy without its chain',
    );
  });

  it('no more lists a node that was stopped, and for a while one that was killed, as not healthy', async () => {
    await otherStream.process.kill();
    await eventually(
      async () => !(await nodeAt(otherStream.url)).healthy,
      10_000,
      'a node that was killed must not be healthy',
    );
    await program.stop('stream');
    await eventually(
      async () => (await nodes()).map(({ rpcDomain }) => rpcDomain).join() === otherStream.url,
      10_000,
      'a node that was stopped must not be listed',
    );
    await eventually(async () => (await nodes()).length === 0, 40_000, 'a node that was killed must be forgotten');
  });
});
