import { ProviderGateway, requestsIn } from '../../../../shared/testing/chain/provider-gateway.ts';

/** So few that a backfill needs many requests. */
const RANGE_BLOCKS = 10;

/** A provider whose answers with logs of later blocks wait until the test lets them go, so that no backfill ends until then. */
export class HeldProvider {
  private readonly gates = new Map<number, PromiseWithResolvers<undefined>>();
  private gateway: ProviderGateway | undefined;

  /** @param heldFrom the blocks from which on answers wait, one after the other */
  constructor(heldFrom: readonly number[]) {
    for (const block of heldFrom) this.gates.set(block, Promise.withResolvers<undefined>());
  }

  /** Starts it in front of a node. Returns its address. */
  async start(nodeUrl: string): Promise<string> {
    this.gateway = await ProviderGateway.start(nodeUrl, 'here');
    this.gateway.answer = (body, honest) => this.answer(body, honest);
    return this.gateway.url;
  }

  letGo(block: number): void {
    this.gates.get(block)?.resolve(undefined);
  }

  async stop(): Promise<void> {
    for (const block of this.gates.keys()) this.letGo(block);
    await this.gateway?.stop();
  }

  private async answer(body: string, honest: () => Promise<string>): Promise<string> {
    const requests = requestsIn(body);
    const ranges = requests
      .filter(({ method }) => method === 'eth_getLogs')
      .flatMap(({ params: [filter] }) => {
        const { fromBlock, toBlock } = filter as { fromBlock?: string; toBlock?: string };
        return toBlock === undefined ? [] : [{ from: Number(fromBlock), to: Number(toBlock) }];
      });
    if (ranges.some(({ from, to }) => to - from >= RANGE_BLOCKS)) {
      const error = { code: -32_600, message: `block range is too large, max is ${String(RANGE_BLOCKS)} blocks` };
      return JSON.stringify(requests.map(({ id }) => ({ jsonrpc: '2.0', id, error })));
    }
    const newest = Math.max(-1, ...ranges.map(({ to }) => to));
    const waits = Array.from(this.gates).filter(([block]) => newest >= block);
    await Promise.all(waits.map(([, { promise }]) => promise));
    return honest();
  }
}
