import { passkeyEvents, passkeyStream } from '../../../schemas/events/account/passkey-events.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { readStream } from '../../../shared/event-store/read-stream.ts';
import type { PersonalData } from '../../../shared/key-vault/personal-data.ts';
import { claimantText } from '../../../shared/chain/identifiers/claimant.ts';
import { sessionsModel } from '../../../shared/read-models/account/sessions.ts';
import { userReferencesModel, type UserReference } from '../../../shared/read-models/account/user-references.ts';
import { entityOf, type UserDocument } from '../../../shared/read-models/account/users.ts';
import { watchesModel } from '../../../shared/read-models/event-catcher/watches.ts';
import { reservationsModel } from '../../../shared/read-models/onchain/reservations.ts';
import { listedOf, transactionsModel } from '../../../shared/read-models/onchain/transactions.ts';
import type { Filter, ReadStore } from '../../../shared/read-store/read-store.ts';
import { heldRegistration, heldSponsorship, type HeldSection } from '../../../schemas/http/account/personal-data.ts';
import type { SectionName } from './held-sections.ts';
import { messagesTo } from './sent-messages.ts';

export interface HeldSources {
  readStore: Pick<ReadStore, 'find' | 'getMany'>;
  eventStore: Pick<EventStore, 'read'>;
  personalData: Pick<PersonalData, 'open'>;
  /** Runs one piece of the reading; other callers wait for at most one piece. */
  inSlot: <Result>(piece: () => Promise<Result>) => Promise<Result>;
}

/** Whose data is read, and in which session. */
export interface HeldSubject {
  user: UserDocument;
  sessionId: string;
}

type DataOf<Name extends SectionName> = Extract<HeldSection, { name: Name }>['data'];
type ItemOf<Name extends SectionName> = DataOf<Name> extends (infer Item)[] ? Item : DataOf<Name>;

/** Items of a section, and the apps that they name. */
export interface HeldPage<Item = unknown> {
  items: readonly Item[];
  apps: readonly string[];
}

/** Yields a section in pages; the profile is one item. */
type SectionReader<Name extends SectionName> = (
  sources: HeldSources,
  subject: HeldSubject,
) => AsyncGenerator<HeldPage<ItemOf<Name>>>;

const PAGE_DOCUMENTS = 100;
/** Sessions are small. No index has their order: each page sorts all of a user's. */
const PAGE_SESSIONS = 1_000;

interface Read<Document> {
  collection: { name: string; document: { parse: (document: unknown) => Document } };
  filter: Filter;
  /** A member that is different in all of the found documents, and never changes. */
  by: keyof Document & string;
  /** Less than the least value of that member. */
  after: string | number;
  limit: number;
}

/** Yields all documents that match, in pages, in the order of one member. */
async function* pagesOf<Document>(
  { readStore, inSlot }: Pick<HeldSources, 'readStore' | 'inSlot'>,
  { collection, filter, by, after, limit }: Read<Document>,
): AsyncGenerator<Document[]> {
  for (let last = after; ;) {
    const from = last;
    const found = await inSlot(() =>
      readStore.find(collection.name, {
        filter: { ...filter, [by]: { gt: from } },
        sort: [[by, 'asc']],
        limit,
      }),
    );
    const documents = found.map(({ document }) => collection.document.parse(document));
    if (documents.length > 0) yield documents;
    const end = documents.at(-1);
    if (!end || documents.length < limit) return;
    last = end[by] as string | number;
  }
}

const { session } = sessionsModel.collections;
const { transaction } = transactionsModel.collections;
const { reference } = userReferencesModel.collections;
const { watch } = watchesModel.collections;
const { reservation } = reservationsModel.collections;
const watched = heldRegistration.omit({ app: true, registeredAt: true, isClaimed: true });
const registeredPasskey = passkeyEvents.PasskeyRegistered.data.pick({ credentialId: true, publicKey: true });

/** All sessions of a user, ended ones too. */
export const sessionsOf = (sources: HeldSources, userId: string) =>
  pagesOf(sources, { collection: session, filter: { userId }, by: 'id', after: '', limit: PAGE_SESSIONS });

const referencesOf = (sources: HeldSources, userId: string, kind: UserReference['kind']) =>
  pagesOf(sources, {
    ...{ collection: reference, filter: { userId, kind } },
    ...{ by: 'firstPosition', after: 0, limit: PAGE_DOCUMENTS },
  });

/** Returns the documents that references name, by id. */
const documentsAt = async <Document>(
  { readStore, inSlot }: HeldSources,
  collection: Read<Document>['collection'],
  references: readonly UserReference[],
): Promise<Map<string, Document>> => {
  const ids = references.map(({ documentId }) => documentId);
  const found = await inSlot(() => readStore.getMany(collection.name, ids));
  return new Map(Array.from(found, ([id, { document }]) => [id, collection.document.parse(document)]));
};

export const sectionReaders: { readonly [Name in SectionName]: SectionReader<Name> } = {
  async *profile(_sources, { user }) {
    const { identities: _, ...entity } = entityOf(user);
    yield await Promise.resolve({ items: [entity], apps: [] });
  },

  async *identities(sources, { user }) {
    for (const identity of user.identities) {
      const passkey = identity.method === 'passkey' ? await passkeyOf(sources, user.id, identity.id) : null;
      yield { items: [{ ...identity, passkey }], apps: [] };
    }
  },

  async *sessions(sources, { user, sessionId }) {
    for await (const page of sessionsOf(sources, user.id)) {
      const items = page.map(({ id, appId: app, method, device, createdAt, lastUsedAt, revokedAt: endedAt }) => ({
        ...{ id, app, method, device, createdAt, lastUsedAt },
        current: id === sessionId,
        endedAt,
      }));
      yield { items, apps: page.map(({ appId }) => appId) };
    }
  },

  async *transactions(sources, { user: { id: userId } }) {
    const all = {
      collection: transaction,
      filter: { userId },
      by: 'submittedPosition',
      after: 0,
      limit: PAGE_DOCUMENTS,
    } as const;
    for await (const page of pagesOf(sources, all))
      yield { items: page.map(listedOf), apps: page.map(({ appId }) => appId) };
  },

  async *registrations(sources, { user: { id: userId } }) {
    for await (const page of referencesOf(sources, userId, 'registration')) {
      const watches = await documentsAt(sources, watch, page);
      const items = page.flatMap(({ documentId, appId, time: registeredAt }) => {
        const found = watches.get(documentId);
        if (!found) return [];
        const isClaimed = found.claims.includes(claimantText({ appId, userId }));
        return [{ ...watched.parse(found), app: appId === userId ? null : appId, registeredAt, isClaimed }];
      });
      yield { items, apps: page.map(({ appId }) => appId) };
    }
  },

  async *sponsorship(sources, { user: { id: userId } }) {
    for await (const page of referencesOf(sources, userId, 'sponsorship')) {
      const reservations = await documentsAt(sources, reservation, page);
      const items = page.flatMap(({ documentId }) => {
        const found = reservations.get(documentId);
        return found?.userId === userId ? [heldSponsorship.parse({ ...found, app: found.appId })] : [];
      });
      yield { items, apps: page.map(({ appId }) => appId) };
    }
  },

  async *messages({ eventStore, inSlot }, { user: { identities } }) {
    for (const { id, method } of identities) {
      if (method !== 'email' && method !== 'messenger') continue;
      const items = await inSlot(() => messagesTo(eventStore, { id, method }));
      yield { items, apps: items.map(({ app }) => app) };
    }
  },
};

/** Returns the passkey of an identity; `null` where its key was destroyed. */
const passkeyOf = ({ eventStore, personalData, inSlot }: HeldSources, userId: string, identityId: string) =>
  inSlot(async () => {
    for await (const event of readStream(eventStore, passkeyStream(identityId))) {
      if (event.type !== 'PasskeyRegistered' || event.data['userId'] !== userId) continue;
      const [opened] = await personalData.open([event]);
      return registeredPasskey.safeParse(opened?.data).data ?? null;
    }
    return null;
  });
