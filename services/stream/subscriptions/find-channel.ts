import type { Subscribe } from '../../../schemas/socket/stream-commands.ts';
import type { Projections } from '../../../shared/edge/projections.ts';
import { watchesModel } from '../../../shared/read-models/watches.ts';
import { readAddressMember } from '../../../shared/chain/address.ts';
import { invalid, Refusal } from '../../../shared/errors/refusal.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { Channel } from '../domain/channel.ts';

const { watch: watchCollection } = watchesModel.collections;
const registered = watchCollection.document.pick({ eventName: true, eventSignature: true });

/** Finds the registered event that a subscriber means. */
export class FindChannel {
  constructor(
    private readonly readStore: ReadStore,
    private readonly projections: Projections,
  ) {}

  /** @throws Refusal watch_not_found, not_caught_up; validation_failed where a name means two events */
  async find({ chainId, contractAddress, eventSignature, finality }: Subscribe): Promise<Channel> {
    const address = readAddressMember('contractAddress', contractAddress);
    const meant = await this.projections.find(watchesModel.name, async () => {
      const found = await this.readStore.find(watchCollection.name, { filter: { chainId, contractAddress: address } });
      const signatures = found
        .map(({ document }) => registered.parse(document))
        .filter((watch) => means(eventSignature, watch))
        .map((watch) => watch.eventSignature);
      return signatures.length > 0 ? signatures : undefined;
    });
    const [signature, other] = meant ?? [];
    if (signature === undefined) throw new Refusal('watch_not_found', 'register this event of the contract first');
    if (other !== undefined) {
      const both = `the contract has two of that name: ${withoutIndexed(signature)} and ${withoutIndexed(other)}`;
      throw invalid({ path: 'eventSignature', message: both });
    }
    return { chainId, contractAddress: address, eventSignature: signature, finality };
  }
}

/** By name, by signature without names, or by canonical signature. */
const means = (
  given: string,
  { eventName, eventSignature }: { eventName: string; eventSignature: string },
): boolean => {
  const text = given.trim().replaceAll(/\s*([(),])\s*/g, '$1');
  return [eventName, withoutIndexed(eventSignature), eventSignature].includes(text);
};

const withoutIndexed = (signature: string): string => signature.replaceAll(' indexed', '');
