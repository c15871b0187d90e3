import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { MemoryChain } from '../../../../shared/testing/chain/chain-reader.memory.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { folderWithStores } from '../../../../shared/testing/engines/folder-with-stores.ts';
import { JsonRpcNode } from '../../../../shared/testing/chain/json-rpc-node.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { chainCommand } from './chain.commands.ts';
import { runCommandLine } from '../run-command-line.ts';
import { withEngines } from '../with-engines.ts';

const DATA_DIR = await folderWithStores(temporaryFolder());
const chain = new MemoryChain(2484);
let node: JsonRpcNode;
beforeAll(async () => {
  node = await JsonRpcNode.start(chain);
});
afterAll(() => node.stop());

const within = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  const CHAINS = JSON.stringify([{ chainId: 2484, rpcUrls: [node.url] }]);
  const environment = jest.replaceProperty(process, 'env', { DATA_DIR, CHAINS });
  try {
    return await work();
  } finally {
    environment.restore();
  }
};

/** Returns the output, the last line on standard error, and the exit code. */
const accept = async (...args: string[]) => {
  const out = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const errors = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    await within(() => runCommandLine(chainCommand(), ['accept', ...args]));
    const textOf = ({ mock }: typeof out) => mock.calls.map(([text]) => String(text)).join('');
    return { out: textOf(out), errors: textOf(errors), code: process.exitCode ?? 0 };
  } finally {
    process.exitCode = 0;
    out.mockRestore();
    errors.mockRestore();
  }
};

const inStore = <Result>(work: Parameters<typeof withEngines<'eventStore', Result>>[1]): Promise<Result> =>
  within(() => withEngines({ names: ['eventStore'], keepsFiles: false }, work));
const accepted = () => inStore(({ eventStore }) => eventStore.read('chain-2484-accepted'));
const follow = (...anchored: number[]) => {
  const { number, hash, parentHash, timestamp } = chain.tip;
  const window = [{ number, hash, parentHash, timestamp, since: 0 }];
  const anchors = anchored.map((at) => ({ number: at, hash: chain.headers[at]?.hash ?? '' }));
  const data = { chainId: 2484, head: number, finalized: number, window, anchors, backfills: [], watchesUpTo: 0 };
  return inStore(({ eventStore }) => eventStore.append('chain-2484', -1, [anEvent({ type: 'ChainAdvanced', data })]));
};

it('annals chain accept gives up the newest final block, if the chain does not have it any more, and nothing else', async () => {
  expect(await accept('--chain', '2484')).toMatchObject({
    code: 1,
    errors: 'annals: nothing of chain 2484 has been read yet\n',
  });
  chain.mine([]);
  chain.mine([]);
  await follow(0, 1);
  expect(await accept('--chain', '2484')).toMatchObject({
    code: 1,
    errors: expect.stringContaining('there is nothing to accept'),
  });
  expect(await accepted()).toEqual([]);
  const { number, hash } = chain.tip;
  chain.rollBack(1);
  expect(await accept('--chain', '2484')).toMatchObject({
    code: 1,
    errors: expect.stringContaining('endpoint 1 of chain 2484 does not say which block 2 is, or has none yet'),
  });
  chain.mine([]);
  const currentHash = chain.tip.hash;
  const inPlace = { chainId: 2484, blockNumber: number, droppedHash: hash, currentHash };
  expect(JSON.parse((await accept('--chain', '2484', '--json')).out)).toEqual(inPlace);
  const again = await accept('--chain', '2484');
  const text = `chain 2484 dropped block 2 ${hash}, and has ${currentHash} in its place`;
  expect(again).toMatchObject({ code: 0, out: expect.stringContaining(text) });
  expect(await accepted()).toMatchObject([{ type: 'FinalBlockGivenUp', data: { chainId: 2484, number, hash } }]);
  chain.rollBack(3);
  for (let block = 0; block < 3; block += 1) chain.mine([]);
  expect(await accept('--chain', '2484')).toMatchObject({
    code: 1,
    errors: expect.stringContaining('say with --from from which block on'),
  });
  expect(await accept('--chain', '2484', '--from', '1')).toMatchObject({
    code: 0,
    out: expect.stringContaining('reverts all records from block 1 on'),
  });
  expect((await accepted()).at(-1)?.data).toEqual({ chainId: 2484, number, hash, fromBlock: 1 });
});

it('annals chain accept says what is wrong with its arguments, and has help with an example', async () => {
  expect(await accept()).toMatchObject({ code: 2 });
  expect(await accept('--chain', 'x')).toMatchObject({ code: 2 });
  expect(await accept('--chain', '2484', '--from', 'x')).toMatchObject({ code: 2 });
  expect(await accept('--chain', '1')).toMatchObject({
    code: 1,
    errors: expect.stringContaining('CHAINS does not name chain 1'),
  });
  const help = await accept('--help');
  expect([help.code, help.out]).toEqual([0, expect.stringContaining('Examples:\n  annals chain accept --chain 137')]);
});
