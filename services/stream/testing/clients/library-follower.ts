import type { AnnalsClient, EventsOptions, StreamEvent } from '../../../../shared/client/annals-client.ts';

interface Follower {
  annals: AnnalsClient;
  channel: Pick<EventsOptions, 'chainId' | 'contractAddress' | 'eventSignature'>;
  signal: AbortSignal;
  take: (event: StreamEvent) => void;
  violate: (sentence: string) => void;
}

/**
 * Follows a channel from its first block on by `@annals/client`, as an app does: somebody signs in again when the
 * session was ended, and then the app goes on at its checkpoint. Nothing else may end an iteration. A page runs this
 * file as well, so it imports nothing but types.
 */
export const followByLibrary = async ({ annals, channel, signal, take, violate }: Follower): Promise<void> => {
  let reached: string | undefined;
  const checkpoint = {
    load: () => reached,
    save: (cursor: string) => {
      reached = cursor;
    },
  };
  while (!signal.aborted) {
    // The request for the first token may fail.
    const session = await annals.login.idToken('provider', 'id-token').catch(() => undefined);
    if (!session) continue;
    const taken = new Set<string>();
    try {
      for await (const change of annals.events({ ...channel, fromBlock: 0, checkpoint, signal })) {
        if (taken.has(change.cursor)) violate(`${change.cursor} came twice in one iteration`);
        taken.add(change.cursor);
        take(change);
      }
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (!isAborted(signal) && code !== 'session_revoked') violate(`an iteration ended: ${String(error)}`);
    }
  }
};

/** The signal may abort during each `await`, which its type does not say. */
const isAborted = (signal: AbortSignal): boolean => signal.aborted;
