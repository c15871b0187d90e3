import type { DevelopmentFile } from '../../../../schemas/development-file.ts';
import type { EventPage } from '../../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { WatchStatus } from '../../../../schemas/http/event-catcher/watched-contract.ts';
import type { EventRecord } from '../../../../schemas/http/event-catcher/event-record.ts';
import type { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import {
  callUntilServed,
  signIn,
  type Answered,
  type SignedIn,
} from '../../../../shared/testing/http/http-caller.ethers.ts';
import { registerTransfer } from '../register-transfer.ts';

export const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
export const SOMEBODY = `0x${'0'.repeat(24)}${'a1'.repeat(20)}`;
const HAPPENS_WITHIN_MS = 60_000;

/** @returns the log of a transfer that `Anvil` emits */
export const transferOf = (
  address: string,
  value: number,
  { from = SOMEBODY, to = SOMEBODY } = {},
): { address: string; topics: string[]; data: string } => ({
  address,
  topics: [TRANSFER, from, to],
  data: `0x${value.toString(16).padStart(64, '0')}`,
});

/** A client that registers the transfers of contracts on one chain, and queries them. */
export class CatcherCaller {
  private constructor(
    private readonly development: DevelopmentFile,
    readonly caller: SignedIn,
    readonly chainId: number,
  ) {}

  static async signIn(development: DevelopmentFile): Promise<CatcherCaller> {
    return new CatcherCaller(development, await signIn(development), development.chainId);
  }

  on(chainId: number): CatcherCaller {
    return new CatcherCaller(this.development, this.caller, chainId);
  }

  register(contract: string, startBlock = 0): Promise<Answered> {
    const { development, chainId } = this;
    return registerTransfer({ ...development, chainId }, this.caller, contract, 'transfer', startBlock);
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Answered> {
    return callUntilServed(this.development.eventUrl + path, { headers: { ...this.caller.bearer, ...headers } });
  }

  post(path: string, body: unknown): Promise<Answered> {
    return callUntilServed(this.development.eventUrl + path, { method: 'POST', headers: this.caller.bearer, body });
  }

  /** @param query further parameters, each after its `&` */
  async page(contract: string, query = '&take=1000'): Promise<EventPage> {
    const { body } = await this.get(this.eventsPath(contract, query));
    return body as unknown as EventPage;
  }

  async events(contract: string, query = ''): Promise<EventRecord[]> {
    return (await this.page(contract, `&take=1000${query}`)).items;
  }

  eventsPath(contract: string, query: string): string {
    return `/api/v1/events?chainId=${String(this.chainId)}&contractAddress=${contract}${query}`;
  }

  async status(contract: string): Promise<WatchStatus> {
    const { body } = await this.get(`/api/v1/status/${String(this.chainId)}/${contract}/Transfer`);
    return body as unknown as WatchStatus;
  }

  /** Waits until the status satisfies `isSo`; the failure shows the last status. */
  eventually(contract: string, isSo: (status: WatchStatus) => boolean, otherwise: string): Promise<WatchStatus> {
    return eventually(
      async () => {
        const status = await this.status(contract);
        if (isSo(status)) return status;
        throw new Error(JSON.stringify(status));
      },
      HAPPENS_WITHIN_MS,
      otherwise,
    );
  }

  /** Waits until the records of a contract are those of the chain. */
  eventuallyAsOn(anvil: Anvil, contract: string): Promise<unknown> {
    return eventually(
      async () => {
        const [records, chain] = [(await this.events(contract)).map(({ Id }) => Id), await this.idsOn(anvil, contract)];
        if (JSON.stringify(records) === JSON.stringify(chain)) return true;
        throw new Error(`${String(records.length)} records, ${String(chain.length)} logs`);
      },
      HAPPENS_WITHIN_MS,
      'the records must be those of the chain',
    );
  }

  /** The ids of the transfers on the chain. */
  async idsOn(anvil: Anvil, address: string): Promise<string[]> {
    const logs = await anvil.call('eth_getLogs', { fromBlock: '0x0', toBlock: 'latest', address });
    return (logs as { blockHash: string; transactionHash: string; logIndex: string }[]).map(
      ({ blockHash, transactionHash, logIndex }) =>
        [this.chainId, blockHash, transactionHash, Number(logIndex)].join(':'),
    );
  }
}
