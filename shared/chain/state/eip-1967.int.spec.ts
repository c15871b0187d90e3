import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { keccak256, toBeHex, toUtf8Bytes, zeroPadValue } from 'ethers';
import { Anvil } from '../../testing/chain/anvil.ts';
import { JsonRpcNode } from '../../testing/chain/json-rpc-node.ts';
import { RpcError } from '../../testing/chain/wire-forms.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { MemoryChain } from '../../testing/chain/chain-reader.memory.ts';
import { ChainClient } from '../client/chain-client.ts';
import { JsonRpcChainReader } from '../client/chain-reader.json-rpc.ts';
import { StateUnavailable } from '../chain-reader.ts';
import { BEACON_SLOT, IMPLEMENTATION_SLOT } from './eip-1967.ts';

const folder = temporaryFolder();
const IMPLEMENTATION = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const BEACON = '0x00000000000000000000000000000000000Beac0';
const wordOf = (address: string): string => zeroPadValue(address, 32);

it.each([
  ['implementation', IMPLEMENTATION_SLOT],
  ['beacon', BEACON_SLOT],
])('the slot of the %s follows from its name', (name, slot) => {
  expect(slot).toBe(toBeHex(BigInt(keccak256(toUtf8Bytes(`eip1967.proxy.${name}`))) - 1n, 32));
});

describe('the proxy at an address', () => {
  let anvil: Anvil;
  let reader: JsonRpcChainReader;
  let contracts = 0;
  beforeAll(async () => {
    anvil = await Anvil.start(folder);
    reader = new JsonRpcChainReader(new ChainClient(Anvil.chainId, [anvil.rpcUrl]));
  });
  afterAll(async () => {
    reader.close();
    await anvil.stop();
  });

  const contractWith = async (slots: Record<string, string>): Promise<string> => {
    const address = `0x${(0xc0de00 + (contracts += 1)).toString(16).padStart(40, '0')}`;
    for (const [slot, word] of Object.entries(slots)) await anvil.call('anvil_setStorageAt', address, slot, word);
    return address;
  };
  const withBeacon = async (code: string) => {
    await anvil.call('anvil_setCode', BEACON, code);
    return reader.proxyOf(await contractWith({ [BEACON_SLOT]: wordOf(BEACON) }));
  };
  /** Code that returns its 32 bytes of memory after that. */
  const returning = (prepare: string): string => `0x${prepare}60005260206000f3`;

  it('is found by its own slot', async () => {
    const address = await contractWith({ [IMPLEMENTATION_SLOT]: wordOf(IMPLEMENTATION) });
    expect(await reader.proxyOf(address)).toEqual({ kind: 'eip1967', implementation: IMPLEMENTATION });
  });

  it('is found by its beacon, which is asked for it', async () => {
    // Only for this selector.
    const answer = `60003560e01c635c60da1b14 73${IMPLEMENTATION.slice(2)} 02`.replaceAll(' ', '');
    expect(await withBeacon(returning(answer))).toEqual({ kind: 'eip1967-beacon', implementation: IMPLEMENTATION });
  });

  it('is none without either slot', async () => {
    expect(await reader.proxyOf(await contractWith({}))).toBeNull();
  });

  it.each([
    ['more than an address', IMPLEMENTATION_SLOT, `0x${'f'.repeat(64)}`],
    ['more than the address of a beacon', BEACON_SLOT, `0x1${wordOf(BEACON).slice(3)}`],
  ])('is none where a slot holds %s', async (_, slot, word) => {
    expect(await reader.proxyOf(await contractWith({ [slot]: word }))).toBeNull();
  });

  it.each([
    ['has no code', '0x'],
    ['reverts', '0x60006000fd'],
    ['uses all gas', '0x5b600056'],
    ['runs what is not code', '0xfe'],
    ['returns zero', returning('6000')],
    ['returns 31 bytes', `0x73${IMPLEMENTATION.slice(2)}600052601f6000f3`],
    ['destroys itself', '0x6000ff'],
  ])('is none where its beacon %s, and the provider is trusted as before', async (_, code) => {
    expect(await withBeacon(code)).toBeNull();
    expect((await reader.head()).number).toBeGreaterThanOrEqual(0);
  });

  it('is found where the beacon returns more than a word', async () => {
    const long = `0x73${IMPLEMENTATION.slice(2)}6000526201000060 00f3`.replaceAll(' ', '');
    expect(await withBeacon(long)).toEqual({ kind: 'eip1967-beacon', implementation: IMPLEMENTATION });
  });
});

describe('the proxy at an address, where a provider does not tell', () => {
  const holding =
    (slot: string, word: string, refused?: string): JsonRpcNode['lie'] =>
    (method, truth, params) => {
      if (method === refused) throw new RpcError(`the method ${method} does not exist`);
      return method === 'eth_getStorageAt' && params[1] === slot ? word : truth;
    };

  it.each(['eth_getStorageAt', 'eth_call'])(
    'is asked of another one: who refuses %s is trusted as before',
    async (method) => {
      const chain = new MemoryChain(2484);
      const [first, second] = await Promise.all([JsonRpcNode.start(chain), JsonRpcNode.start(chain)]);
      const reader = new JsonRpcChainReader(new ChainClient(2484, [first.url, second.url]));
      await reader.head();
      first.lie = holding(BEACON_SLOT, wordOf(BEACON), method);
      second.lie = holding(IMPLEMENTATION_SLOT, wordOf(IMPLEMENTATION));
      expect(await reader.proxyOf(BEACON)).toEqual({ kind: 'eip1967', implementation: IMPLEMENTATION });
      second.lie = first.lie;
      await expect(reader.proxyOf(BEACON)).rejects.toThrow(StateUnavailable);
      first.asked.length = 0;
      second.asked.length = 0;
      await reader.head();
      expect([...first.asked, ...second.asked]).toEqual(['eth_getBlockByNumber']);
      reader.close();
      await Promise.all([first.stop(), second.stop()]);
    },
  );

  it.each(['0xzz', 7, null, `0x${'0'.repeat(65)}`])('is asked of another one where one answers %j', async (word) => {
    const chain = new MemoryChain(2484);
    const [first, second] = await Promise.all([JsonRpcNode.start(chain), JsonRpcNode.start(chain)]);
    const reader = new JsonRpcChainReader(new ChainClient(2484, [first.url, second.url]));
    first.lie = (method, truth) => (method === 'eth_getStorageAt' ? word : truth);
    second.lie = holding(IMPLEMENTATION_SLOT, wordOf(IMPLEMENTATION));
    expect(await reader.proxyOf(BEACON)).toEqual({ kind: 'eip1967', implementation: IMPLEMENTATION });
    reader.close();
    await Promise.all([first.stop(), second.stop()]);
  });
});
