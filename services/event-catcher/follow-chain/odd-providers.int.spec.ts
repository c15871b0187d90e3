import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { bloomOf } from '../../../shared/chain/bloom.ts';
import { ChainClient } from '../../../shared/chain/client/chain-client.ts';
import { JsonRpcChainReader } from '../../../shared/chain/client/chain-reader.json-rpc.ts';
import { JsonRpcNode } from '../../../shared/testing/chain/json-rpc-node.ts';
import { RpcError, toWireLog } from '../../../shared/testing/chain/wire-forms.ts';
import { transferWatch } from '../testing/example-watches.ts';
import { FollowerUnderTest, mineSome, transfer } from '../testing/follower/follower-under-test.ts';

const LIMITS = { withinMs: 30_000, quarantineMs: 100 };
const FINAL_DEPTH = 5;

type Json = Record<string, unknown>;

describe('the only provider of a chain', () => {
  let follower: FollowerUnderTest;
  let node: JsonRpcNode;
  let reader: JsonRpcChainReader;
  beforeEach(async () => {
    follower = new FollowerUnderTest({ confirmations: FINAL_DEPTH });
    follower.verifiedEveryMs = 1;
    node = await JsonRpcNode.start(follower.chain);
    reader = new JsonRpcChainReader(new ChainClient(follower.chain.chainId, [node.url], LIMITS));
    await follower.register();
  });
  afterEach(async () => {
    await follower.stop();
    reader.close();
    await node.stop();
  });

  const mineFinal = () => {
    for (let block = 0; block < FINAL_DEPTH; block += 1) follower.chain.mine([]);
  };
  /** Follows a history and some blocks at the head, and expects all records exactly once. */
  const expectAll = async () => {
    mineSome(follower.chain, 20);
    mineFinal();
    follower.start({ reader });
    await follower.verified();
    for (let block = 0; block < 4; block += 1) {
      mineSome(follower.chain, 3, 1_000 + block);
      await follower.caughtUp();
    }
    mineFinal();
    await follower.verified();
    await follower.expectChain({ isOrdered: false });
    const changes = await follower.changes();
    expect(changes.filter(({ type }) => type === 'ChainEventReverted')).toEqual([]);
    const timeOf = ({ BlockNumber }: { BlockNumber: number }) =>
      new Date((follower.chain.headers[BlockNumber]?.timestamp ?? 0) * 1_000).toISOString();
    expect(changes.map(({ data }) => data.BlockTime)).toEqual(changes.map(({ data }) => timeOf(data)));
  };
  const eachLog = (change: (log: Json) => Json) => {
    node.lie = (method, truth) => (method === 'eth_getLogs' ? (truth as Json[]).map(change) : truth);
  };

  it.each<[string, (time: number) => unknown]>([
    ['a number', (time) => time],
    ['0', () => '0x0'],
    ['a word', () => 'noon'],
    ['later than its block', () => '0xf0000000'],
  ])('may say that the time of a log is %s', async (_, timeOf) => {
    eachLog((log) => ({ ...log, blockTimestamp: timeOf(Number(log['blockTimestamp'])) }));
    await expectAll();
  });

  it.each([
    ['all its logs', (block: number) => block > 0],
    ['the logs of one block', (block: number) => block === 9],
  ])('may name another block in %s', async (_, isMisnamed) => {
    eachLog((log) => (isMisnamed(Number(log['blockNumber'])) ? { ...log, blockHash: `0x${'5a'.repeat(32)}` } : log));
    await expectAll();
  });

  it('may write quantities as numbers, and repeat logs', async () => {
    node.lie = (method, truth) => {
      if (method === 'eth_getLogs')
        return (truth as Json[]).flatMap((log) => {
          const numbered = { ...log, logIndex: Number(log['logIndex']), blockNumber: Number(log['blockNumber']) };
          return [numbered, numbered];
        });
      if (!method.startsWith('eth_getBlockBy') || truth === null) return truth;
      return { ...(truth as Json), number: Number((truth as Json)['number']) };
    };
    await expectAll();
  });

  it.each<[string, () => unknown]>([
    [
      'refuse the hash of a block',
      () => {
        throw new RpcError('unsupported filter: blockHash', { code: -32_602 });
      },
    ],
    [
      'answer with the newest block for the hash of another one',
      () =>
        follower.chain.logs
          .filter(
            ({ blockHash, topics }) => blockHash === follower.chain.tip.hash && topics[0] === transferWatch.topic0,
          )
          .map(toWireLog),
    ],
  ])('may %s', async (_, instead) => {
    node.lie = (method, truth, [filter]) =>
      method === 'eth_getLogs' && 'blockHash' in Object(filter) ? instead() : truth;
    await expectAll();
  });

  it.each<[string, (header: Json) => Json]>([
    ['without blooms', ({ logsBloom: _, ...header }) => header],
    ['whose blooms announce too much', (header) => ({ ...header, logsBloom: bloomOf([transfer(1)]) })],
    [
      'one of whose blooms announces too much',
      (header) => ({ ...header, ...(header['number'] === '0x4' && { logsBloom: bloomOf([transfer(1)]) }) }),
    ],
  ])('may have headers %s', async (_, change) => {
    node.lie = (method, truth) =>
      method.startsWith('eth_getBlockBy') && truth !== null ? change(truth as Json) : truth;
    await expectAll();
  });

  it('is said to be why the verification stands still, with the setting that may help', async () => {
    mineSome(follower.chain, 20);
    mineFinal();
    node.lie = (method, truth) => {
      if (method.includes('Receipt')) throw new RpcError('Internal error');
      return method === 'eth_getLogs' ? [] : truth;
    };
    follower.start({ reader });
    const warning = () => follower.meter.warningOf(transferWatch.watchId) ?? '';
    await follower.until(() => warning().includes('cannot be verified'), 'what stands still must be told');
    expect(warning()).toMatch(/^its blocks from \d+ on cannot be verified: .*"bloom": false/);
    node.lie = (_, truth) => truth;
    await follower.verified();
    await follower.expectChain({ isOrdered: false });
    expect(warning()).toBe('');
  });
});
