import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from 'jose';
import { messageBusReport, reportedMessageBus } from '../../../shared/host/health/message-bus-report.ts';
import { MemoryMessageBus } from '../../../shared/testing/engines/message-bus.memory.ts';
import { allTopics } from '../../../schemas/topics.ts';
import { chainsModel } from '../../../shared/read-models/event-catcher/chains.ts';
import { storedEvent } from '../../../shared/testing/event-builder.ts';
import { projectInto } from '../../../shared/testing/project.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { freezeTimers, untilTrue } from '../../../shared/testing/http/frozen-timers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../testing/account-under-test.ethers.ts';

const folder = temporaryFolder();
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

const CONTRACTS = {
  entryPoint: '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
  accountFactory: '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985',
};

const UNPREPARED = { bundler: 'built-in', paymaster: null, paymasterDeposit: null, operationsPending: 0 };

describe('the status of the account service', () => {
  let account: AccountUnderTest;
  beforeAll(async () => {
    const CHAINS =
      '[{"chainId":2484,"rpcUrls":["http://127.0.0.1:1"]},{"chainId":10,"rpcUrls":["http://127.0.0.1:1"]}]';
    const OAUTH_B = '{"issuer":"https://accounts.example","clientId":"a","clientSecret":"b"}';
    account = await startAccountUnderTest(folder, { CHAINS, OAUTH_B });
    const advanced = [2484, 5].map((chainId, at) =>
      storedEvent('ChainAdvanced', { chainId, head: 70 }, { position: at + 1 }),
    );
    await projectInto(account.foundation.readStore, [chainsModel], advanced);
  });
  afterAll(() => account.service.close());
  afterEach(() => {
    jest.useRealTimers();
  });

  it('has version, configured chains with their known heads, login methods and dependencies', async () => {
    const answer = await account.ask('/universal-account');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      name: 'Annals',
      version,
      status: 'degraded',
      loginMethods: ['wallet', 'messenger', 'email', 'oauth-b', 'passkey'],
      chains: [
        { chainId: 10, ...CONTRACTS, ...UNPREPARED, headBlock: null },
        { chainId: 2484, ...CONTRACTS, ...UNPREPARED, headBlock: 70 },
      ],
      dependencies: { eventStore: 'up', readStore: 'up' },
    });
  });

  it('has the message bus as the relay last told the read store', async () => {
    const { readStore } = account.foundation;
    const status = async () => (await account.ask('/universal-account')).json();
    const messageBus = new MemoryMessageBus();
    await messageBus.createTopics(allTopics);
    const offsets = jest.spyOn(messageBus, 'offsets').mockRejectedValue(new Error('down'));
    const relay = messageBusReport({ ...account.foundation, messageBus });
    relay.start();
    const told = (state: string) => async () => (await reportedMessageBus(readStore)) === state;
    await eventually(told('down'), 3_000, 'the relay must tell that the bus is down');
    expect(await status()).toMatchObject({ status: 'degraded', dependencies: { messageBus: 'down' } });
    offsets.mockRestore();
    await eventually(told('up'), 3_000, 'the relay must tell that the bus is up');
    expect(await status()).toMatchObject({ dependencies: { messageBus: 'up' } });
    await relay.stop();
  });

  it('is answered within 2 s when a store hangs or fails', async () => {
    const { eventStore, readStore } = account.foundation;
    const head = jest.spyOn(eventStore, 'head').mockReturnValue(new Promise(() => undefined));
    const position = jest.spyOn(readStore, 'position').mockRejectedValue(new Error('down'));
    freezeTimers();
    const answer = account.ask('/universal-account');
    await untilTrue(() => head.mock.calls.length > 0);
    await jest.advanceTimersByTimeAsync(2_000);
    const status = await (await answer).json();
    jest.useRealTimers();
    expect(status).toMatchObject({ status: 'degraded', dependencies: { eventStore: 'down', readStore: 'down' } });
    expect((await account.ask('/health/ready')).status).toBe(503);
    expect((await account.ask('/health/live')).status).toBe(200);
    for (const broken of [head, position]) broken.mockRestore();
    const isReady = async () => (await account.ask('/health/ready')).status === 200;
    await eventually(isReady, 3_000, 'it must be ready again');
  });

  it('is accompanied by the public keys that verify its tokens', async () => {
    const keys = (await (await account.ask('/.well-known/jwks.json')).json()) as JSONWebKeySet;
    const { accessToken } = await account.logIn(account.newWallet());
    const { protectedHeader } = await jwtVerify(accessToken, createLocalJWKSet(keys), { issuer: account.service.url });
    expect(protectedHeader.kid).toBe(keys.keys[0]?.kid);
  });
});
