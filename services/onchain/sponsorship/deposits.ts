import { keptOrAsked, KeptValues } from '../../../shared/primitives/kept-values.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { unavailable } from '../../../shared/errors/refusal.ts';
import { askChain } from './operation-drafts.ts';
import { reservedWeiOn } from './reserved-wei.ts';
import type { ServedChain } from './served-chains.ts';
import type { Sponsorships } from './sponsorships.ts';

const KEPT_MS = 500;
const CHAINS_MAX = 1_000;

interface Looked {
  wei: bigint;
  reservedWei: bigint;
  /** What had been reserved here when it was looked at. */
  mark: bigint;
}

/** What the paymaster of a chain has, and how much of it is reserved by everybody. */
export class Deposits {
  private readonly kept: KeptValues<Promise<Looked>>;

  constructor(
    private readonly readStore: Pick<ReadStore, 'find'>,
    private readonly sponsorships: Pick<Sponsorships, 'reservedSoFar'>,
    clock: ConstructorParameters<typeof KeptValues>[0],
  ) {
    this.kept = new KeptValues(clock, { max: CHAINS_MAX, keptMs: KEPT_MS });
  }

  /** Half a second old at most, but for what was reserved here. */
  async of(chain: ServedChain, paymaster: string): Promise<{ wei: bigint; reservedWei: bigint }> {
    const { chainId } = chain.settings;
    const { wei, reservedWei, mark } = await this.look(chain, paymaster);
    return { wei, reservedWei: reservedWei + this.sponsorships.reservedSoFar(chainId) - mark };
  }

  private look(chain: ServedChain, paymaster: string): Promise<Looked> {
    const key = `${String(chain.settings.chainId)}/${paymaster}`;
    return keptOrAsked(this.kept, key, () => this.ask(chain, paymaster));
  }

  private async ask(chain: ServedChain, paymaster: string): Promise<Looked> {
    const { chainId } = chain.settings;
    const mark = this.sponsorships.reservedSoFar(chainId);
    const [[account], reservedWei] = await Promise.all([
      askChain(chain, () => chain.operations.accounts([paymaster])),
      reservedWeiOn(this.readStore, chainId),
    ]);
    if (!account) throw unavailable('the chain did not tell the deposit of the paymaster', undefined);
    return { wei: account.depositWei, reservedWei, mark };
  }
}
