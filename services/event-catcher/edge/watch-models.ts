import { Inject, Injectable } from '@nestjs/common';
import { readModels } from '../../../schemas/read-models/catalogue.ts';
import { chainDocument, type ChainDocument } from '../../../schemas/read-models/chains.ts';
import { watchDocument, type WatchDocument } from '../../../schemas/read-models/watches.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { Projections } from '../../../shared/edge/projections.ts';
import { READ_STORE } from '../../../shared/edge/tokens.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';

const { projection, collection } = readModels.watches;
/** More events than any contract has. */
const OF_CONTRACT_MAX = 10_000;

/** Finds what is watched, and how far its chain was read. */
@Injectable()
export class WatchModels {
  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly models: Projections,
  ) {}

  /** Never empty. @throws Refusal watch_not_found, not_caught_up */
  async ofContract(chainId: number, contractAddress: string): Promise<WatchDocument[]> {
    const found = await this.models.find(projection, async () => {
      const filter = { chainId, contractAddress };
      const documents = await this.readStore.find(collection, {
        filter,
        sort: [['id', 'asc']],
        limit: OF_CONTRACT_MAX,
      });
      return documents.length > 0 ? documents : undefined;
    });
    if (!found) throw new Refusal('watch_not_found', 'no event of this contract is registered on this chain');
    return found.map(({ document }) => watchDocument.parse(document));
  }

  /** @throws Refusal watch_not_found, not_caught_up */
  async byId(id: string): Promise<WatchDocument> {
    const found = await this.models.find(projection, () => this.known(id));
    if (!found) throw new Refusal('watch_not_found', 'no registration has this id');
    return found;
  }

  /** As far as the read model has come. */
  async known(id: string): Promise<WatchDocument | undefined> {
    const stored = (await this.readStore.getMany(collection, [id])).get(id);
    return stored && watchDocument.parse(stored.document);
  }

  /** `undefined`: the chain has not been read yet. */
  async chain(chainId: number): Promise<ChainDocument | undefined> {
    const id = String(chainId);
    const stored = (await this.readStore.getMany(readModels.chains.collection, [id])).get(id);
    return stored && chainDocument.parse(stored.document);
  }
}
