import type { Subscribe } from '../../../schemas/socket/stream-commands.ts';
import type { Claimant } from '../../../shared/chain/claimant.ts';
import { findMeantWatches } from '../../../shared/edge/meant-watches.ts';
import type { Projections } from '../../../shared/edge/projections.ts';
import { watchesModel, type WatchDocument } from '../../../shared/read-models/watches.ts';
import { readAddressMember } from '../../../shared/chain/address.ts';
import { findNamed } from '../../../shared/chain/watch-names.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { Channel } from '../domain/channel.ts';

interface Found {
  channel: Channel;
  watch: WatchDocument;
}

/** Finds the registered event that a subscriber names. */
export class FindChannel {
  constructor(
    private readonly readStore: ReadStore,
    private readonly projections: Projections,
  ) {}

  /** @throws Refusal watch_not_found, not_caught_up; validation_failed when the name fits two events */
  async find({ chainId, contractAddress, ...asked }: Subscribe, caller: Claimant): Promise<Found> {
    const address = readAddressMember('contractAddress', contractAddress, [chainId]);
    const watch = await this.projections.find(watchesModel.name, async () => {
      const selector = { name: asked.eventSignature, watchId: asked.watchId, caller };
      const watches = await findMeantWatches(this.readStore, { chainId, contractAddress: address }, selector);
      return findNamed(watches, 'eventSignature', selector);
    });
    if (!watch) throw new Refusal('watch_not_found', 'register this event of the contract first');
    const { id: watchId, eventSignature } = watch;
    const { finality } = asked;
    return { channel: { watchId, chainId, contractAddress: address, eventSignature, finality }, watch };
  }
}
