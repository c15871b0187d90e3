import { getOrLoad, TtlCache } from '../../../shared/primitives/ttl-cache.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { unavailable } from '../../../shared/errors/refusal.ts';
import { askChain } from '../chain/ask-chain.ts';
import { reservedWeiOn } from './reserved-wei.ts';
import type { ServedChain } from '../served-chains/served-chains.ts';
import type { Sponsorships } from './sponsorships.ts';

const KEPT_MS = 500;
const CHAINS_MAX = 1_000;

interface Looked {
  wei: bigint;
  reservedWei: bigint;
  /** The sum of this process's reservations when the deposit was read. */
  mark: bigint;
}

/** The deposit of a chain's paymaster, and how much of it is reserved by all processes. */
export class Deposits {
  private readonly kept: TtlCache<Promise<Looked>>;

  constructor(
    private readonly readStore: Pick<ReadStore, 'find'>,
    private readonly sponsorships: Pick<Sponsorships, 'reservedSoFar'>,
    clock: ConstructorParameters<typeof TtlCache>[0],
  ) {
    this.kept = new TtlCache(clock, { max: CHAINS_MAX, ttlMs: KEPT_MS });
  }

  /** At most half a second old, apart from this process's reservations, which are current. */
  async of(chain: ServedChain, paymaster: string): Promise<{ wei: bigint; reservedWei: bigint }> {
    const { chainId } = chain.settings;
    const { wei, reservedWei, mark } = await this.look(chain, paymaster);
    return { wei, reservedWei: reservedWei + this.sponsorships.reservedSoFar(chainId) - mark };
  }

  private look(chain: ServedChain, paymaster: string): Promise<Looked> {
    const key = `${String(chain.settings.chainId)}/${paymaster}`;
    return getOrLoad(this.kept, key, () => this.ask(chain, paymaster));
  }

  private async ask(chain: ServedChain, paymaster: string): Promise<Looked> {
    const { chainId } = chain.settings;
    const mark = this.sponsorships.reservedSoFar(chainId);
    const [[account], reservedWei] = await Promise.all([
      askChain(chainId, () => chain.operations.accounts([paymaster])),
      reservedWeiOn(this.readStore, chainId),
    ]);
    if (!account) throw unavailable('the chain did not tell the deposit of the paymaster', undefined);
    return { wei: account.depositWei, reservedWei, mark };
  }
}
