import type { WatchedProxy } from '../../../../schemas/events/event-catcher/watch-events.ts';
import type { ObservedRecord } from '../../../../schemas/events/event-catcher/chain-events.ts';
import { MemoryChain } from '../../../../shared/testing/chain/chain-reader.memory.ts';
import {
  StateUnavailable,
  type BlockHeader,
  type ChainLog,
  type ChainReader,
} from '../../../../shared/chain/chain-reader.ts';
import { parseEventSignature } from '../../../../shared/chain/identifiers/event-signature.ts';
import { sha256 } from '../../../../shared/primitives/ids.ts';
import { findEvent } from '../../domain/decoding/event-abi.ts';
import { watchIdOf } from '../../domain/watches/watch.ts';
import type { SupportedChain } from '../../edge/ports.ts';

/** Where clients find the event catcher. */
export const EVENT_URL = 'http://events.test';
export const CHAIN_ID = 2484;
export const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
export const TRANSFER = 'Transfer(address indexed,address indexed,uint256)';
export const HEAD = 40;

const parameter = (name: string, type: string, indexed = false) => ({ name, type, indexed });
export const eventAbi = (...events: object[]): string => JSON.stringify(events);
export const transferAbi = {
  type: 'event',
  name: 'Transfer',
  anonymous: false,
  inputs: [parameter('from', 'address', true), parameter('to', 'address', true), parameter('value', 'uint256')],
};
/** The body of a registration as a client sends it. Any member can be replaced by a wrong one. */
export const registration = (changes: object = {}) => ({
  chainId: CHAIN_ID,
  contractAddress: TOKEN,
  eventSignature: 'event Transfer(address indexed from, address indexed to, uint256 value);',
  eventAbi: eventAbi(transferAbi),
  startBlock: 10,
  ...changes,
});

/** A chain of blocks 0…HEAD, on which a contract has code from the block of its deployment on, or in some blocks only. */
export class DeployingChain implements SupportedChain {
  private readonly chain = new MemoryChain(CHAIN_ID);
  readonly deployedAt = new Map([[TOKEN.toLowerCase(), 7]]);
  /** The first and the last block of each life of a contract, in lower case: without them it is never destroyed. */
  readonly lives = new Map<string, [from: number, to: number][]>();
  failure: Error | undefined;
  /** The first block whose state is kept. */
  stateFrom = 0;
  /** Number of calls, answered or not. */
  calls = 0;
  /** The ranges whose logs were asked for. */
  readonly ranges: [number, number][] = [];
  isSilent = false;
  /** The error for logs from a block on, if there is one. */
  logsFailure: ((from: number) => Error | undefined) | undefined;
  /** The implementation of each proxy, in lower case; an error if it cannot be told. */
  readonly proxies = new Map<string, WatchedProxy | Error>();

  constructor() {
    while (this.chain.tip.number < HEAD) this.chain.mine([]);
  }

  head() {
    return this.failure ? Promise.reject(this.failure) : this.chain.head();
  }

  hasCode(address: string, block = HEAD): Promise<boolean> {
    this.calls += 1;
    if (this.isSilent) return new Promise(() => undefined);
    if (block < this.stateFrom) return Promise.reject(new StateUnavailable('the state was pruned'));
    const lives = this.lives.get(address) ?? [[this.deployedAt.get(address) ?? Infinity, Infinity]];
    return Promise.resolve(lives.some(([from, to]) => from <= block && block <= to));
  }

  logsOfRange(...asked: Parameters<ChainReader['logsOfRange']>): Promise<ChainLog[]> {
    this.ranges.push([asked[0], asked[1]]);
    const failure = this.logsFailure?.(asked[0]);
    return failure ? Promise.reject(failure) : this.chain.logsOfRange(...asked);
  }

  mine(logs: Parameters<MemoryChain['mine']>[0]): BlockHeader {
    return this.chain.mine(logs);
  }

  proxyOf(address: string): Promise<WatchedProxy | null> {
    const proxy = this.proxies.get(address);
    return proxy instanceof Error ? Promise.reject(proxy) : Promise.resolve(proxy ?? null);
  }
}

/** The id of the watch of an event. */
export const idOfWatch = (
  abi: { name: string; inputs: readonly { type: string }[] },
  contractAddress = TOKEN,
): string => {
  const signature = `${abi.name}(${abi.inputs.map(({ type }) => type).join(',')})`;
  return watchIdOf({ chainId: CHAIN_ID, contractAddress, fragment: findEvent([abi], parseEventSignature(signature)) });
};

const hashOf = (text: string): string => `0x${sha256(text)}`;

/** A record of a transfer, with the given members replaced. */
export const transferRecord = (changes: Partial<ObservedRecord> = {}): ObservedRecord => {
  const { BlockNumber = 10, LogIndex = 0, ContractAddress = TOKEN } = changes;
  const BlockHash = changes.BlockHash ?? hashOf(`block ${String(BlockNumber)}`);
  const WatchId = changes.WatchId ?? idOfWatch(transferAbi, ContractAddress);
  const TxHash = changes.TxHash ?? hashOf(`transaction ${String(BlockNumber)}`);
  return {
    Id: `${String(CHAIN_ID)}:${BlockHash}:${TxHash}:${String(LogIndex)}`,
    WatchId,
    ChainId: CHAIN_ID,
    ContractAddress,
    EventName: 'Transfer',
    EventSignature: TRANSFER,
    BlockNumber,
    BlockHash,
    BlockTime: '2026-01-01T00:00:00.000Z',
    TxHash,
    TxIndex: 0,
    LogIndex,
    Data: { from: TOKEN, to: TOKEN, value: '1' },
    Origin: 'backfill',
    ...changes,
  };
};
