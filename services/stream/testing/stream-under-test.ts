import { randomBytes } from 'node:crypto';
import { readAddress } from '../../../shared/chain/address.ts';
import { MemoryMessageBus } from '../../../shared/message-bus/message-bus.memory.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { testFoundation } from '../../../shared/testing/test-foundation.ts';
import { testIssuer } from '../../../shared/testing/test-tokens.jose.ts';
import { topics } from '../../../schemas/topics.ts';
import { startStream } from '../start-stream.ts';
import { CatcherStandIn } from './catcher-stand-in.ts';
import { StreamClient } from './stream-client.ts';

/** An address of its own for every test. */
export const newContract = (): string => readAddress(`0x${randomBytes(20).toString('hex')}`) ?? '';

/** The stream service on memory adapters, with what feeds it and what connects to it. */
export const streamUnderTest = async ({
  environment = {},
  clock = systemClock,
}: { environment?: Record<string, string>; clock?: Clock } = {}) => {
  const messageBus = new MemoryMessageBus();
  await messageBus.createTopics([topics.chainEvents]);
  const settings = { STREAM_PORT: '0', RATE_LIMITS: 'off', ...environment };
  const foundation = { ...(await testFoundation({ environment: settings, clock })), messageBus };
  const tokens = await testIssuer();
  const catcher = new CatcherStandIn(messageBus, foundation.readStore, () => clock.now());
  const clients: StreamClient[] = [];
  const start = async () => {
    const node = await startStream(foundation, tokens.issuer);
    const isReady = async () => (await fetch(`${node.url}/health/ready`)).status === 200;
    await eventually(isReady, 5_000, 'the node must become ready');
    return node;
  };
  let node = await start();
  return {
    foundation,
    messageBus,
    catcher,
    tokens,
    url: () => node.url,
    connect: async (claims: Record<string, string | number> = {}) => {
      const client = await StreamClient.connect(node.url, await tokens.accessToken({ claims }));
      clients.push(client);
      return client;
    },
    restart: async () => {
      await node.close();
      node = await start();
    },
    close: async () => {
      for (const client of clients) client.close();
      await node.close();
    },
  };
};
