import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { AnnalsClient } from '../../../../shared/client/annals-client.ts';
import type { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';

/** What the client of a released store read before the store was put away. */
export const storedFacts = z.object({
  /** The private key by which its user logs in. It is known to everybody, as the keys of the store are. */
  walletKey: z.string(),
  userId: z.string(),
  username: z.string().nullable(),
  /** Types of the history's items, the oldest first. A login after that is not in it. */
  history: z.array(z.string()),
  /** Ids and values of the token's transfers, in chain order. */
  transfers: z.array(z.object({ id: z.string(), value: z.unknown() })),
  transactions: z.array(z.object({ id: z.string(), userOpHash: z.string(), sender: z.string(), isOpen: z.boolean() })),
});
export type StoredFacts = z.infer<typeof storedFacts>;

/** The folder of a release, with its data folder `data` and its `facts.json`. */
export const releaseFolder = (version: string): string => join(import.meta.dirname, version);

export const readFacts = (version: string): StoredFacts =>
  storedFacts.parse(JSON.parse(readFileSync(join(releaseFolder(version), 'facts.json'), 'utf8')));

/** Reads all that a user has through the public routes. */
export const readEverything = async (
  client: AnnalsClient,
  { development: { chainId, token } }: RunningProgram,
  userId: string,
): Promise<Omit<StoredFacts, 'walletKey' | 'userId'>> => {
  if (!token) throw new Error('the local chain has no token');
  const params = { id: userId };
  const { username } = await client.routes.getUser({ params });
  const { items } = await client.routes.readHistory({ params, query: { take: 100 } });
  const events = await client.routes.queryEvents({
    query: { chainId, contractAddress: token.address, eventSignature: 'Transfer', take: 100 },
  });
  const transactions = await client.routes.listTransactions({ query: { take: 100 } });
  return {
    username,
    history: items.map(({ type }) => type),
    transfers: events.items.map(({ Id, Data }) => ({ id: Id, value: Data['value'] })),
    transactions: transactions.items.map(({ id, userOpHash, sender, status }) => ({
      id,
      userOpHash,
      sender,
      isOpen: status === 'submitted',
    })),
  };
};
